"""Which channels of a platform's graph have reducers, and that what is written there takes the place of what was."""

from typing import Any

import httpx
import pytest
import respx
from ag_ui.core import RunAgentInput
from langgraph_agui.connect.inputs import Intake
from langgraph_agui.connect.inputs.channels import InputChannels, input_channels_of_schemas, json_of, written
from langgraph_agui.connect.platform.channels import with_reducers
from langgraph_agui.connect.platform.retry import RetryPolicy
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.backend import Backend
from tests.gates import gates

GRAPH = "gated_writer"
POLICY = RetryPolicy()
UNKNOWN = InputChannels("messages", frozenset({"messages", "count", "notes"}))


async def places(client: LangGraphClient) -> InputChannels:
    (assistant,) = await client.assistants.search(graph_id=GRAPH)
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    return await with_reducers(client, GRAPH, input_channels_of_schemas(dict(schemas), "messages"), POLICY)


async def test_a_platform_tells_which_channels_have_reducers(backend: Backend) -> None:
    async with backend.client() as client:
        found = await places(client)
    assert (found.reducers, found.begun) == (frozenset({"notes"}), frozenset({"notes"}))


async def test_nothing_is_left_of_asking(backend: Backend) -> None:
    async with backend.client() as client:
        before = {thread["thread_id"] for thread in await client.threads.search(limit=1000)}
        await places(client)
        assert {thread["thread_id"] for thread in await client.threads.search(limit=1000)} == before


async def test_what_a_client_changes_takes_the_place_of_what_a_platforms_thread_held(backend: Backend) -> None:
    intake = Intake(state={"count", "notes"})
    async with gates(), backend.client() as client:
        known = await places(client)
        thread_id = (await client.threads.create())["thread_id"]
        for number in (10, 20):
            held: Any = (await client.threads.get_state(thread_id))["values"] or {}
            state = {"count": number, "notes": [f"mine {number}"]}
            sent = RunAgentInput(thread_id=thread_id, run_id="r", messages=[], state=state)
            values = json_of(written(known, sent, intake, held))
            ended: Any = await client.runs.wait(thread_id, GRAPH, input={"messages": [], **values})
            assert (ended["count"], ended["notes"]) == (
                number + 1,
                [f"mine {number}", f"note {number + 1}", "reported"],
            )


@pytest.mark.parametrize(
    "already",
    [InputChannels(None), InputChannels("messages", frozenset({"messages"})), InputChannels(None, None, frozenset())],
)
async def test_a_platform_is_not_asked_for_nothing(already: InputChannels) -> None:
    async with get_client(url="http://nobody.example") as client:
        with respx.mock:  # a request would raise
            assert await with_reducers(client, GRAPH, already, POLICY) is already


@respx.mock
async def test_a_platform_that_does_not_say_leaves_it_unknown() -> None:
    respx.route().mock(return_value=httpx.Response(422, json={"detail": "no such thing"}))
    async with get_client(url="http://platform.example") as client:
        assert await with_reducers(client, GRAPH, UNKNOWN, POLICY) is UNKNOWN
