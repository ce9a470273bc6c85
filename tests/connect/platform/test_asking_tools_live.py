"""An interrupt that was raised inside a tool names the tool's call, also on a server: in its state is what says so."""

from typing import Any

import pytest
from langgraph_agui.connect import Platform, connect, outcome
from langgraph_agui.translator import PLATFORM_STREAM_MODES, translate_sse
from langgraph_sdk import get_client

from fixtures import FIXTURES
from tests.support.clients.agui_client import AguiClient

MODES: Any = {"stream_mode": PLATFORM_STREAM_MODES, "stream_subgraphs": True, "stream_resumable": True}
CALLS = {
    "interrupt_in_tool": {"call_approve"},
    "interrupts_in_two_tools": {"call_approve", "call_other"},
    "interrupt_in_one_of_two_tools": {"call_approve"},
    "subagents_one_asks": {"call_t2"},
}


@pytest.mark.newest
@pytest.mark.parametrize("name", CALLS)
async def test_an_interrupt_of_a_tool_names_its_call_in_the_run_and_after_it(
    dev_server: str, agui_client: AguiClient, name: str
) -> None:
    async with get_client(url=dev_server) as client:
        thread_id = str((await client.threads.create())["thread_id"])
        started: Any = await client.runs.create(thread_id, name, input=FIXTURES[name].turns[0].input, **MODES)
        run_id = str(started["run_id"])
        parts = client.runs.join_stream(thread_id, run_id, last_event_id="0-0")
        at_end = outcome(client, thread_id, run_id)
        frames = [part async for part in translate_sse(parts, thread_id=thread_id, run_id=run_id, at_end=at_end)]
        live = agui_client.play(frames=b"".join(frames)).pending_interrupts
        last = [event async for event in connect(Platform(client, name), thread_id)][-1]
    after = last.model_dump(by_alias=True, exclude_none=True)["outcome"]["interrupts"]
    assert [{item["toolCallId"] for item in items} for items in (live, after)] == [CALLS[name], CALLS[name]]
    assert [item["id"] for item in live] == [item["id"] for item in after]
