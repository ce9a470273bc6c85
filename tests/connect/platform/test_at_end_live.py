"""`outcome` as the `at_end` of `translate`: however a server's run ended, the joined stream ends in that way.

After success or an interrupt the real client has what the thread has.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
import respx
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_agui.connect import Platform, RetryPolicy, outcome
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import (
    STREAM_MODES,
    Ending,
    Failed,
    Finished,
    Lost,
    Options,
    Translator,
    encode,
    translate_sse,
)
from langgraph_sdk import get_client

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.reader_clients import ending, values_of
from tests.support.servers.gates import Gates, asked, gates
from tests.support.servers.platforms.backend import Backend, cases

URL = "http://platform.test"
AT_ONCE = RetryPolicy(initial_delay=0, max_attempts=3)

Act = Callable[[Started, Gates], Awaitable[None]]


class Case(NamedTuple):
    """A run of a graph, what is done with it while it streams, and how it ends."""

    graph: str
    end: str
    act: Act | None = None


def stopped(action: Any) -> Act:
    """The run is stopped in the middle of its second message."""

    async def stop(run: Started, gate: Gates) -> None:
        await gate.reached("second 2")
        await run.client.runs.cancel(run.thread_id, run.run_id, wait=True, action=action)

    return stop


CASES = {
    "success": Case("gated_chat", "success"),
    "interrupt": Case("gated_asking", "interrupt"),
    "two interrupts": Case("gated_asking_twice", "interrupt"),
    "interrupt in a subgraph": Case("gated_asking_inside", "interrupt"),
    "breakpoint": Case("gated_stopping", "interrupt"),
    "failure": Case("gated_raising", "ValueError"),
    "cancelled": Case("gated_chat", "cancelled", stopped("interrupt")),
    "rolled back": Case("gated_chat", "cancelled", stopped("rollback")),
}
NAMES = cases(CASES, aegra={"rolled back": "has no rollback"})


async def streamed(run: Started) -> bytes:
    """The frames of a run that is joined from its start."""
    parts = run.client.runs.join_stream(run.thread_id, run.run_id, last_event_id="0-0")
    at_end = outcome(run.client, run.thread_id, run.run_id)
    frames = translate_sse(parts, thread_id=run.thread_id, run_id=run.run_id, at_end=at_end)
    return b"".join([frame async for frame in frames])


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What `outcome` has logged."""
    name = "langgraph_agui.connect.platform.join.attach"
    return [record.getMessage() for record in caplog.records if record.name == name]


@pytest.mark.parametrize("name", NAMES)
async def test_a_joined_stream_ends_as_its_run_did(backend: Backend, agui_client: AguiClient, name: str) -> None:
    case = CASES[name]
    async with gates() as gate, backend.client() as client:
        if case.act is not None:
            gate.hold("second 2")
        run = await started(client, case.graph, gate, **FULL)
        reading = asyncio.create_task(streamed(run))
        if case.act is not None:
            await case.act(run, gate)
        frames = await reading
        state = await run.state()
    played = agui_client.play(frames=frames)
    assert (played.warnings, ending(orjson.loads(frames.rpartition(b"data:")[2]))) == ([], case.end)
    if case.end in ("success", "interrupt"):
        wanted = expected(values_of(state), Options())
        assert comparable(played.messages) == comparable(wanted.messages)
        assert played.state == wanted.state
        assert len(played.pending_interrupts) == (max(1, len(state["interrupts"])) if case.end == "interrupt" else 0)


WAYS: dict[str, dict[str, Any]] = {
    "without subgraphs": {"subgraphs": False},
    "with subgraphs": {"subgraphs": True},
    "version 2": {"version": "v2"},
}


async def wrapped(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The same parts, of a generator that is not LangGraph's."""
    async for part in stream:
        yield part


async def by_hand(stream: AsyncIterator[Any], **how: Any) -> bytes:
    """The last frame of a stream whose parts are fed one by one."""
    run = Translator("t", "r", **how)
    run.start()
    async for part in stream:
        run.feed(part)
    return encode(run.finish()[-1])


@pytest.mark.parametrize("way", WAYS)
async def test_a_cancelled_run_of_a_remote_graph_is_no_success(dev_server: str, way: str) -> None:
    """Its parts have the shapes of a local graph's."""
    async with get_client(url=dev_server) as client:
        graph = RemoteGraph("gated_chat", client=client)

        async def last(read: Callable[[AsyncIterator[Any]], Coroutine[Any, Any, bytes]], *modes: Any) -> dict[str, Any]:
            thread_id = str((await client.threads.create())["thread_id"])
            async with gates() as gate:
                gate.hold("second 2")
                parts = graph.astream(
                    asked(), gate.config(thread_id), stream_mode=list(modes or STREAM_MODES), **WAYS[way]
                )
                reading = asyncio.create_task(read(parts))
                await gate.reached("second 2")
                (run,) = await client.runs.list(thread_id)
                await client.runs.cancel(thread_id, run["run_id"], wait=True)
                frame = await reading
            return dict(orjson.loads(frame.rpartition(b"data:")[2]))

        async def translated(stream: AsyncIterator[Any]) -> bytes:
            return b"".join([frame async for frame in translate_sse(stream, thread_id="t", run_id="r")])

        assert (await last(translated)).get("code") == "lost"
        assert (await last(translated, "updates", "values")).get("code") == "lost"
        assert (await last(lambda stream: translated(wrapped(stream)))).get("code") == "lost"
        assert (await last(by_hand)).get("code") == "lost"
        assert (await last(lambda stream: by_hand(stream, source="platform"), "values")).get("code") == "lost"


async def test_a_local_graph_that_calls_a_remote_graph_is_local(dev_server: str) -> None:
    """Its stream has messages as JSON too."""
    async with get_client(url=dev_server) as client:
        builder = StateGraph(MessagesState).add_node("remote", RemoteGraph("plain_text", client=client))
        graph = builder.add_edge(START, "remote").compile()
        parts = graph.astream(asked(), stream_mode=STREAM_MODES, subgraphs=True)
        frames = [frame async for frame in translate_sse(parts, thread_id="t", run_id="r")]
    assert any(b'"TEXT_MESSAGE_CONTENT"' in frame for frame in frames)
    assert b'"outcome":{"type":"success"}' in frames[-1]


async def test_interrupts_that_the_stream_does_not_show_are_those_of_the_thread(
    backend: Backend, agui_client: AguiClient
) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_asking_twice", gate, stream_mode="messages-tuple", stream_resumable=True)
        played = agui_client.play(frames=await streamed(run))
        state = await run.state()
    assert sorted(each["id"] for each in played.pending_interrupts) == sorted(
        each["id"] for each in state["interrupts"]
    )
    assert played.state == expected(state["values"], Options()).state


async def test_a_run_that_is_active_still_is_lost(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 2")
        run = await started(client, "gated_chat", gate)
        await gate.reached("first 2")
        assert isinstance(await outcome(client, run.thread_id, run.run_id, retry=AT_ONCE)(), Lost)
        gate.open("first 2")
        ended = await outcome(Platform(client), run.thread_id, run.run_id)()
        state = await run.state()
    assert isinstance(ended, Finished)
    assert ended.state == state["values"]
    (line,) = logged(caplog)
    assert f"thread {run.thread_id!r}, run {run.run_id!r}" in line


UNANSWERED: dict[str, tuple[Any, Ending]] = {
    "unreachable": (httpx.ConnectError("refused"), Lost("ConnectError: refused")),
    "broken": (httpx.Response(502), Lost("HTTP 502")),
    "refused": (httpx.Response(403, json={"detail": "no"}), Failed({"error": "forbidden", "message": "no"})),
}


@pytest.mark.parametrize("name", UNANSWERED)
@respx.mock
async def test_without_an_answer_the_run_is_not_taken_for_finished(name: str, caplog: pytest.LogCaptureFixture) -> None:
    answer, expected_ending = UNANSWERED[name]
    respx.route().mock(side_effect=[answer] * AT_ONCE.max_attempts)
    async with get_client(url=URL) as client:
        assert await outcome(client, "the-thread", "the-run", retry=AT_ONCE)() == expected_ending
    (line,) = logged(caplog)
    assert "thread 'the-thread', run 'the-run'" in line


async def test_what_is_no_client_and_what_is_no_id_raise_at_once() -> None:
    graph = StateGraph(MessagesState).add_node("node", lambda state: {}).add_edge(START, "node").compile()
    with pytest.raises(TypeError, match="expected an asynchronous client of langgraph_sdk, got CompiledStateGraph"):
        outcome(graph, "t", "r")
    async with get_client(url=URL) as client:
        for thread_id, run_id in (("a/b", "r"), ("t", "")):
            with pytest.raises(ValueError, match="id"):
                outcome(client, thread_id, run_id)
