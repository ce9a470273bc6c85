"""`outcome` as the `at_end` of `translate`: however a server's run ended, the joined stream ends in that way.

After success or an interrupt the real client has what the thread has.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
import respx
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Platform, RetryPolicy, outcome
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import Ending, Failed, Finished, Lost, Options, translate_sse
from langgraph_sdk import get_client

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.guests import ending, values_of
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.servers.gates import Gates, gates
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
