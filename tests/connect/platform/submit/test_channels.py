"""What a client writes to a platform's channels replaces what the thread had, with a reducer and without one."""

from typing import Any

import pytest
from ag_ui.core import Message, RunAgentInput, UserMessage
from langgraph_agui.connect import run
from langgraph_agui.connect.inputs import Intake
from langgraph_agui.connect.platform.backend import Platform

from tests.support.servers.gates import gates
from tests.support.servers.platforms.backend import Backend


@pytest.mark.parametrize(
    ("replaced", "notes"),
    [
        pytest.param({"notes"}, ["mine 20", "note 21", "reported"], id="named"),
        pytest.param(
            set(), ["mine 10", "note 11", "reported", "mine 20", "note 21", "reported"], id="through its reducer"
        ),
    ],
)
async def test_a_channel_with_a_reducer_is_replaced_if_its_owner_names_it(
    backend: Backend, replaced: set[str], notes: list[str]
) -> None:
    async with gates() as gate, backend.client() as client:
        intake = Intake(state={"count", "notes"}, replaced=replaced, config=gate.config())
        thread_id = (await client.threads.create())["thread_id"]
        before = {thread["thread_id"] for thread in await client.threads.search(limit=1000)}
        for number in (10, 20):
            state = {"count": number, "notes": [f"mine {number}"]}
            messages: list[Message] = [UserMessage(id=f"u{number}", content="go")]
            given = RunAgentInput(thread_id=thread_id, run_id=f"r{number}", messages=messages, state=state)
            async for _ in run(Platform(client, "gated_writer"), given, intake=intake):
                pass
        values: Any = (await client.threads.get_state(thread_id))["values"]
        assert (values["count"], values["notes"]) == (21, notes)
        assert {thread["thread_id"] for thread in await client.threads.search(limit=1000)} == before
