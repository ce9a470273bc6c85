"""Stopping the run of a thread of a local graph."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.errors import RunNotFoundError
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.connect import cancel_local
from langgraph_agui.connect.local.runs import Runs
from langgraph_agui.connect.testing import Pause

from tests.paced import HELLO, on, quick, waiting


@pytest.mark.parametrize("run_id", [None, "r"])
async def test_cancelling_stops_the_threads_run(run_id: str | None) -> None:
    graph = waiting(point := Pause(), InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        await cancel_local(Local(graph, runs=runs), "t", run_id)
        assert run.status == "cancelled"
        assert point.is_cancelled


async def test_cancelling_another_run_than_the_one_that_is_running_is_refused() -> None:
    graph = waiting(Pause(), InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
        with pytest.raises(RunNotFoundError, match="'other' is not active on thread 't'; 'r' is"):
            await cancel_local(Local(graph, runs=runs), "t", "other")
        assert run.status == "running"


async def test_cancelling_where_nothing_runs_is_refused() -> None:
    graph = quick()
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        with pytest.raises(RunNotFoundError, match="no run"):
            await cancel_local(Local(graph, runs=runs), "t")
