"""A pytest plugin: where the environment has CI, a test that would be skipped fails, with the reason of the skip.

Loaded with `-p tests.support.no_skips`, which `make test` does. An expected failure counts as a skip.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test: failed."""
    return _unskipped((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A skipped module: an error."""
    return _unskipped((yield))


def _unskipped(report: _Report) -> _Report:
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        reason = vars(report).pop("wasxfail", report.longrepr)
        report.longrepr = f"Nothing is skipped in CI: {reason}"
    return report
