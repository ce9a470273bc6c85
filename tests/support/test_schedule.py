"""The plugin that gives tests to xdist's workers."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent

PLAIN = "def test_one(): ...\ndef test_two(): ...\ndef test_three(): ..."
ON_THE_SERVER = "import pytest\n@pytest.fixture\ndef dev_server(): ...\ndef test_one(dev_server: str): ..."
EARLY = "import pytest\npytestmark = pytest.mark.early\ndef test_one(): ..."


def test_files_stay_whole_what_takes_long_begins_and_is_named(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_a=PLAIN, test_b=ON_THE_SERVER, test_c=PLAIN, test_d=ON_THE_SERVER, test_e=EARLY)
    pytester.makeini("[pytest]\nmarkers = early")
    options = ["-p", "xdist", "-p", "tests.support.schedule", "--numprocesses", "2", "-v"]
    result = pytester.runpytest(*options)
    result.assert_outcomes(passed=9)
    ran: dict[str, list[str]] = {"[gw0]": [], "[gw1]": []}
    for line in result.outlines:
        if line.startswith(tuple(ran)):
            ran[line.split()[0]].append(line.split()[-1])
    one, other = sorted(ran.values())
    assert one[:2] == ["test_b.py::test_one", "test_d.py::test_one"]
    assert other[0] == "test_e.py::test_one"
    for file in ("test_a.py", "test_c.py"):
        assert sorted(sum(name.startswith(file) for name in names) for names in (one, other)) == [0, 3]
    [title] = [place for place, line in enumerate(result.outlines) if "files that took longest" in line]
    named = [line.split()[-1] for line in result.outlines[title:] if " s  " in line]
    assert sorted(named) == [f"test_{name}.py" for name in "abcde"]
