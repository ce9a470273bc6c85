"""What a client writes to a platform's channels replaces what the thread had, with a reducer and without one."""

from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import Message, RunAgentInput, UserMessage
from langgraph_agui.connect import cancel, run, threads
from langgraph_agui.connect.inputs import Intake
from langgraph_agui.connect.platform.backend import Platform

from tests.support.clients.platform.chats import asking, room
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


async def test_a_stopped_run_that_goes_on_with_another_state_breaks_no_thread(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """A server keeps what the first input writes until a step has ended; what the next ones change waits."""
    async with room(backend) as here:
        thread_id, source = str(uuid4()), Platform(here.client, "gated_fronted")
        here.gate.hold("front")
        for number in (1, 2, 3, 4):
            fields = {"run_id": f"run-{number}", "state": {"mood": f"mood {number}"}}
            given = asking("go", "first", thread_id=thread_id).model_copy(update=fields)
            asker = here.asks("gated_fronted", given, intake=here.intake(state={"mood"}))
            await here.gate.reached("front", number)
            if number < 4:
                await cancel(source, thread_id)
            else:
                here.gate.open("front")
            await asker.task
        values = await here.values(thread_id)
        assert (values["mood"], values["messages"][-1]["content"]) == ("mood 2", "human: go")
        assert caplog.text.count("The values of an input for 'mood' are left out") == 2
        found = await threads(source).get(thread_id)
        assert found is not None
        assert found.status == "idle"
