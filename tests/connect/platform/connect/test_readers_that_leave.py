"""A reader that goes away, however, wherever its stream is: its connections are closed and no task is left."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from langgraph_agui.connect import RetryPolicy, connect, connect_sse, watch, watch_sse

from tests.support.clients.batch_readers import turns, until
from tests.support.clients.platform.recorded_run import Recorded
from tests.support.clients.platform.scripted_connects import AT_ONCE, Desk, desk
from tests.support.servers.platforms.fault_server import WITHIN, Answer, End, answered, dropped, refused
from tests.support.servers.platforms.scripted_platform import Broken, ScriptedPlatform

Prepare = Callable[[ScriptedPlatform], None]
HELD = Broken(at=4000, end=End.HELD)
STREAM = "/stream"
"""Of a run. That of the thread is not there."""
WAITING = RetryPolicy(initial_delay=60, max_delay=60, first_answer=3600)


@pytest.fixture
async def at() -> AsyncIterator[Desk]:
    async with desk() as opened:
        yield opened


def _streams(*streams: Broken | Answer, **instead: list[Answer | None]) -> Prepare:
    def prepare(platform: ScriptedPlatform) -> None:
        platform.streams, platform.instead = [*streams], {name: [*answers] for name, answers in instead.items()}

    return prepare


STATES: dict[str, tuple[Prepare, RetryPolicy, str, int]] = {
    "at the first question": (_streams(runs=[dropped(End.HELD)]), AT_ONCE, "/runs", 1),
    "before the headers": (_streams(dropped(End.HELD)), AT_ONCE, STREAM, 1),
    "at the state, joined": (_streams(HELD, state=[dropped(End.HELD)]), AT_ONCE, "/state", 1),
    "in the stream": (_streams(HELD), AT_ONCE, "/state", 1),
    "asking for the run": (_streams(Broken(at=4000), runs=[None, dropped(End.HELD)]), AT_ONCE, "/runs", 2),
    "waiting to come again": (_streams(Broken(at=4000)), WAITING, "/runs", 2),
    "waiting to ask again": (_streams(runs=[refused(502)]), WAITING, "/runs", 1),
    "joining again": (_streams(Broken(at=4000), dropped(End.HELD)), AT_ONCE, STREAM, 2),
}
"""Where a stream comes to and stays: what prepares it, how patient it is, its last path, and how often that comes."""
ENTRIES: dict[str, Any] = {"connect": connect, "connect_sse": connect_sse, "watch": watch, "watch_sse": watch_sse}


def others() -> set[asyncio.Task[Any]]:
    """The tasks that are neither the test's nor the server's."""
    return {
        task
        for task in asyncio.all_tasks() - {asyncio.current_task()}
        if getattr(task.get_coro(), "__qualname__", "") != "FaultServer.serve"
    }


def in_use(at: Desk) -> list[Any]:
    """The connections that the client's pool has given out."""
    pool = at.client.http.client._transport._pool
    return [each for each in pool.connections if not each.is_idle() and not each.is_closed()]


def asked_for(at: Desk, path: str) -> int:
    """How often a path with this end was asked for."""
    found = [asked.path for asked in at.server.requests if asked.path.endswith(path)]
    return len([each for each in found if path != STREAM or "/runs/" in each])


async def all_gone(at: Desk) -> None:
    """Returns when the server has seen every connection end."""
    async with asyncio.timeout(WITHIN):
        for asked in at.server.requests:
            await asked.gone.wait()


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("state", STATES)
async def test_a_reader_that_is_cancelled_leaves_nothing(
    recorded_chat: Recorded, at: Desk, state: str, entry: str
) -> None:
    prepare, retry, path, times = STATES[state]
    platform = ScriptedPlatform(recorded_chat, present=1)
    prepare(platform)
    at.open(platform)
    reads = asyncio.create_task(_read(ENTRIES[entry](at.client, platform.thread_id, retry=retry)))
    await until(lambda: reads.done() or asked_for(at, path) == times)
    await asyncio.wait({reads}, timeout=0.15)
    await turns(50)  # it waits now: httpcore 1.0 loses a connection of a request that is cancelled where it gives way
    assert not reads.done()
    reads.cancel()
    with suppress(asyncio.CancelledError):
        await reads
    await turns(20)
    assert others() == set()
    assert in_use(at) == []
    await all_gone(at)


async def _read(stream: Any) -> None:
    async for _ in stream:
        pass


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("count", [1, 2, 5])
async def test_a_stream_that_is_closed_leaves_nothing(
    recorded_chat: Recorded, at: Desk, count: int, entry: str
) -> None:
    platform = ScriptedPlatform(recorded_chat, present=1)
    platform.streams = [HELD]
    at.open(platform)
    stream = ENTRIES[entry](at.client, platform.thread_id)
    for _ in range(1 if entry.endswith("sse") else count):
        await anext(stream)
    await stream.aclose()
    assert in_use(at) == []
    await turns(20)  # generators of httpx are closed by the loop
    assert others() == set()
    await all_gone(at)


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_stream_that_is_forgotten_leaves_nothing(recorded_chat: Recorded, at: Desk, entry: str) -> None:
    platform = ScriptedPlatform(recorded_chat, present=1)
    platform.streams = [HELD]
    at.open(platform)
    stream = ENTRIES[entry](at.client, platform.thread_id)
    await anext(stream)
    del stream
    gc.collect()
    await all_gone(at)
    assert in_use(at) == []


async def test_a_stream_that_was_never_read_has_asked_nothing(recorded_chat: Recorded, at: Desk) -> None:
    platform = ScriptedPlatform(recorded_chat)
    at.open(platform)
    await connect(at.client, platform.thread_id).aclose()
    assert at.server.requests == []


@pytest.mark.parametrize("question", ["thread", "state", "runs", "stream"])
async def test_a_refusal_leaves_nothing(recorded_chat: Recorded, at: Desk, question: str) -> None:
    platform = ScriptedPlatform(recorded_chat, present=1)
    if question != "stream":
        platform.instead = {"thread": [dropped(End.HELD)], "state": [dropped(End.HELD)]}
    if question in ("thread", "state"):
        platform.instead["runs"] = [answered([])]  # both are requested only where no run is known
    platform.instead[question] = [refused(403)]
    guest = await at.told(platform)
    assert guest.end == "forbidden"
    assert others() == set()
    assert in_use(at) == []
    await all_gone(at)


@pytest.mark.parametrize("entry", ["connect", "connect_sse"])
async def test_a_stream_that_ended_leaves_nothing(recorded_chat: Recorded, at: Desk, entry: str) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.streams = [Broken(at=4000)]
    at.open(platform)
    await _read(ENTRIES[entry](at.client, platform.thread_id, retry=AT_ONCE))
    assert others() == set()
    assert in_use(at) == []
    await all_gone(at)
