"""Which cases of a sweep become tests."""

import pytest

pytest_plugins = ["pytester"]

HOOK = "from tests.support.sweeps import leave_out_sweeps as pytest_generate_tests"
TESTS = """
import pytest
from tests.support.sweeps import CHOSEN, SWEEP, in_turn

@CHOSEN
@pytest.mark.parametrize(("case", "variant"), in_turn({"a": "xy", "b": "xy"}))
def test_some(case, variant, chosen): ...

@pytest.mark.parametrize("case", [pytest.param(1, marks=SWEEP)])
def test_swept(case): ...
"""


def test_cases_of_a_sweep_are_left_out_but_a_test_has_parameters(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers = sweep")
    pytester.makeconftest(HOOK)
    pytester.makepyfile(test_a=TESTS)
    lines = pytester.runpytest("--collect-only", "-q").outlines
    names = [line.partition("::")[2] for line in lines if "::" in line]
    assert names == ["test_some[a-x-some]", "test_some[b-y-some]", "test_swept[1]"]
