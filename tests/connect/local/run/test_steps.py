"""The steps of runs of this process: each is open while its node runs, also of a node that streams nothing."""

import asyncio
from typing import Any

from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import Pause

from tests.support.clients.batch_readers import BatchReader, turns
from tests.support.streams.pausing_graphs import HELLO, on, waiting


def steps(events: list[dict[str, Any]]) -> list[str]:
    """`+name` for a start, `-name` for an end, `*` for a text."""
    marks = {"STEP_STARTED": "+", "STEP_FINISHED": "-", "TEXT_MESSAGE_CONTENT": "*"}
    return [marks[each["type"]] + each.get("stepName", "") for each in events if each["type"] in marks]


async def test_a_step_is_open_while_its_node_runs() -> None:
    point, listener = Pause(), BatchReader()
    async with Runs() as runs:
        run = await runs.start(waiting(point), HELLO, on("t"))
        reading = asyncio.create_task(listener.hear(run.attach(listener.reader)))
        await point.reached.wait()
        await turns()
        assert steps(listener.events) == ["+first", "*", "*", "-first", "+wait"]
        point.open.set()
        await reading
    assert steps(listener.events)[5:] == ["*", "-wait"]
