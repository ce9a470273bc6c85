"""A minute of each random run; `make chaos` runs them for longer, with other seeds."""

from pathlib import Path

import pytest

from tests.chaos.platform import run_platform
from tests.chaos.run import run
from tests.support.servers.platforms.backend import BACKENDS
from tests.support.sweeps import SWEEP


@pytest.mark.services
@pytest.mark.early
@pytest.mark.timeout(600)
async def test_a_minute_of_faults_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    report = await run(tmp_path, seconds=60, seed=7, lease=4.0)
    assert report.wrong == [], report.summary


@pytest.mark.parametrize("name", [pytest.param(name, marks=SWEEP) for name in BACKENDS])
async def test_a_minute_of_faults_of_a_langgraph_server_ends_no_stream_and_loses_nothing(name: str) -> None:
    report = await run_platform(name, seconds=60, seed=7)
    assert report.wrong == [], report.summary
