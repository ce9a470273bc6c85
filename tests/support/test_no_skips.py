"""The plugin that lets nothing be skipped in CI."""

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent

SKIPS = {
    "a test": "import pytest\n@pytest.mark.skip(reason='later')\ndef test_it() -> None: ...",
    "a test while it runs": "import pytest\ndef test_it() -> None: pytest.skip('later')",
    "a module": "import pytest\npytest.skip('later', allow_module_level=True)",
    "an expected failure": "import pytest\n@pytest.mark.xfail(reason='later')\ndef test_it() -> None: assert False",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of the run inside, which finds the plugin."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("CI", "true")
    return monkeypatch


def outcome(pytester: pytest.Pytester, source: str, arguments: Sequence[str] = ()) -> pytest.RunResult:
    """What becomes of this module in a pytest of its own, with no plugin but ours."""
    pytester.makepyfile(source)
    return pytester.runpytest("-p", "tests.support.no_skips", *arguments)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("source", SKIPS.values(), ids=SKIPS)
def test_a_skip_fails_in_ci(pytester: pytest.Pytester, source: str) -> None:
    result = outcome(pytester, source)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    result.stdout.fnmatch_lines(["*Nothing is skipped in CI: *later*"])


@pytest.mark.parametrize("source", SKIPS.values(), ids=SKIPS)
def test_a_skip_is_one_elsewhere(pytester: pytest.Pytester, environment: pytest.MonkeyPatch, source: str) -> None:
    environment.delenv("CI")
    assert outcome(pytester, source).ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


@pytest.mark.usefixtures("environment")
def test_what_passes_passes_in_ci(pytester: pytest.Pytester) -> None:
    outcome(pytester, "def test_it() -> None: ...").assert_outcomes(passed=1)


@pytest.mark.usefixtures("environment")
def test_a_skip_fails_in_a_worker_too(pytester: pytest.Pytester) -> None:
    assert outcome(pytester, SKIPS["a test"], ["-p", "xdist", "-n", "1"]).ret == pytest.ExitCode.TESTS_FAILED
