"""A minute of the random run; `make chaos` runs it for longer, with other seeds."""

from pathlib import Path

import pytest

from tests.chaos.run import run


@pytest.mark.services
@pytest.mark.early
@pytest.mark.timeout(600)
async def test_a_minute_of_faults_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    report = await run(tmp_path, seconds=60, seed=7, lease=4.0)
    assert report.wrong == [], report.summary
