"""The progress of a tool in a run of this process: its output too, for readers that join, and not after the run."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call
from langgraph_agui.translator import ClientView

from tests.support.clients.batch_readers import BatchReader, turns
from tests.support.clients.locally import connected
from tests.support.streams.pausing_graphs import HELLO, on


def _activities(view: ClientView) -> list[dict[str, Any]]:
    return [message["content"] for message in view.messages if message["role"] == "activity"]


@pytest.mark.newest
async def test_a_reader_that_joins_has_the_progress_so_far() -> None:
    point = Pause()

    @tool
    async def dig(runtime: ToolRuntime) -> str:
        """Digs."""
        progress = {"tool_call_id": runtime.tool_call_id, "progress": 1}
        runtime.stream_writer({"name": "agui_tool_progress", "value": progress})
        runtime.emit_output_delta("sand")
        await point()
        runtime.emit_output_delta("gold")
        return "Found."

    model = ScriptedChatModel(turns=[tool_call("dig", {}, "call-1"), "Done."])
    graph = create_agent(model, [dig], checkpointer=InMemorySaver())
    first, second = BatchReader(), BatchReader()
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"))
        reading = asyncio.create_task(first.hear(run.attach(first.reader)))
        await point.reached.wait()
        joining = asyncio.create_task(second.hear(run.attach(second.reader)))
        await turns()
        so_far = {"toolCallId": "call-1", "toolName": "dig", "status": "running", "progress": 1, "output": ["sand"]}
        assert _activities(first.view) == _activities(second.view) == [so_far]
        point.open.set()
        await asyncio.gather(reading, joining)
        done = {**so_far, "status": "done", "output": ["sand", "gold"]}
        assert _activities(first.view) == _activities(second.view) == [done]
        assert first.view.messages == second.view.messages
        reloaded = await connected(Local(graph, runs=Runs()))
    assert _activities(reloaded.view) == []
    assert [message["content"] for message in reloaded.view.messages if message["role"] == "tool"] == ["Found."]
