"""Streams of a real server, translated while they come: the SDK's and `RemoteGraph`'s parts."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_agui.connect.testing.expected import comparable, expected, unattributed
from langgraph_agui.translator import (
    PLATFORM_STREAM_MODES,
    STREAM_MODES,
    Ending,
    Failed,
    Finished,
    Options,
    translate,
    translate_sse,
)
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures import FIXTURES
from tests.support.clients.agui_client import AguiClient

NAMES = ["agent_parallel_tools", "subagents_in_parallel", "subgraph_two_levels", "reasoning_anthropic", "ids_responses"]


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


def platform(client: LangGraphClient, name: str, thread_id: str, **how: Any) -> AsyncIterator[Any]:
    """The parts of a platform run of a fixture's first turn."""
    return client.runs.stream(thread_id, name, input=FIXTURES[name].turns[0].input, **how)


async def thread(client: LangGraphClient) -> str:
    """A new thread's id."""
    return str((await client.threads.create())["thread_id"])


async def finished() -> Ending:
    """The ending of a run that is known to end well."""
    return Finished()


async def conversation(client: LangGraphClient, thread_id: str) -> list[Any]:
    """What the server holds of a thread's conversation, in the form that is compared."""
    state = await client.threads.get_state(thread_id)
    return comparable(expected(state["values"], Options()).messages)


@pytest.mark.parametrize("subgraphs", [True, False])
@pytest.mark.parametrize("modes", [PLATFORM_STREAM_MODES, STREAM_MODES], ids=["tuples", "accumulated"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_platform_run_ends_with_the_threads_conversation(
    client: LangGraphClient, agui_client: AguiClient, name: str, modes: list[str], subgraphs: bool
) -> None:
    thread_id = await thread(client)
    parts = platform(client, name, thread_id, stream_mode=modes, stream_subgraphs=subgraphs)
    frames = [frame async for frame in translate_sse(parts, thread_id=thread_id, run_id="r", at_end=finished)]
    played = agui_client.play(frames=b"".join(frames))
    assert played.accepted
    assert comparable(unattributed(played.messages)) == await conversation(client, thread_id)


@pytest.mark.parametrize("subgraphs", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_a_remote_graph_is_streamed_like_a_local_one(
    client: LangGraphClient, agui_client: AguiClient, name: str, subgraphs: bool
) -> None:
    thread_id = await thread(client)
    graph = RemoteGraph(name, client=client)
    config: Any = {"configurable": {"thread_id": thread_id}}
    modes: Any = STREAM_MODES
    parts = graph.astream(FIXTURES[name].turns[0].input, config, stream_mode=modes, subgraphs=subgraphs)
    frames = [frame async for frame in translate_sse(parts, thread_id=thread_id, run_id="r")]
    played = agui_client.play(frames=b"".join(frames))
    assert played.accepted
    assert comparable(unattributed(played.messages)) == await conversation(client, thread_id)


async def test_a_platform_runs_error_is_told(client: LangGraphClient) -> None:
    parts = platform(client, "node_raises", await thread(client), stream_mode=PLATFORM_STREAM_MODES)
    told = [event async for event in translate(parts, thread_id="t", run_id="r")]
    assert told[-1].type.value == "RUN_ERROR"


@pytest.mark.parametrize(
    ("ending", "kind"), [(Failed("lost it"), "RUN_ERROR"), (Finished(), "RUN_FINISHED"), (None, "RUN_ERROR")]
)
async def test_whoever_asked_the_platform_says_how_a_run_ended(
    client: LangGraphClient, ending: Ending | None, kind: str
) -> None:
    async def asked() -> Ending | None:
        return ending

    parts = platform(client, "plain_text", await thread(client), stream_mode=PLATFORM_STREAM_MODES)
    told = [event async for event in translate(parts, thread_id="t", run_id="r", at_end=asked)]
    assert told[-1].type.value == kind
