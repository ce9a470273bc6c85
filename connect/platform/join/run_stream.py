"""Reads the events of one platform run until the run has ended (`run_events`), those of a whole thread without an end
(`thread_events`), and the announcements of a thread's runs (`run_announcements`). Which events are new is decided in
`replayed`; what they mean is not known here.

If a connection is closed, even without an error, this proves nothing about the run, so the runs of the thread are
requested. While the run is active, its stream is joined again after a pause. A connection that lasted longer than the
longest pause does not count as a failure, because proxies close quiet streams. Events that the server has not stored
(the run is not resumable, or the events were deleted) are lost. `Connected.gap` says so, and `attach` reads the
thread's state again.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

from ...errors import ConnectionLost, PlatformError
from ...recent import Recent
from ..calls import Retries, RetryPolicy
from ..http import Received, event_stream
from ..look import JsonObject, ThreadRuns
from ..outcome import ACTIVE
from ..thread import PlatformThread
from .replayed import ReplayFilter

_LIFECYCLE: Final[Any] = {"channels": ["lifecycle"]}
"""What is requested of the events of protocol v3: the beginnings and ends of runs and of their subgraphs."""
_REMEMBERED: Final = 1_024
"""How many announcements are known again when the stream repeats them."""
_AGAIN: Final = 1.0
"""Seconds after which a stream of announcements that the server has closed is opened again, at most."""

_END = "end"
"""The last event of a stream from Aegra."""


class Connected(NamedTuple):
    """The stream is connected."""

    gap: bool
    """Whether events before this point may be missing."""


class Ended(NamedTuple):
    """The run has ended. This is the last item of its stream."""

    run: JsonObject | None
    """The run after its end; None if it was deleted."""
    runs: ThreadRuns | None
    """The runs of the thread, listed after its end; None if the thread was deleted."""


async def run_events(
    thread: PlatformThread, run_id: str, *, replays: bool
) -> AsyncGenerator[Received | Connected | Ended, None]:
    """Yields the run's events, each once. A `Connected` precedes the events of each connection that does not continue
    the one before. `Ended` is the last item.

    `replays` says whether the server stores the run's events, and is to send them from the first one. Raises
    `PlatformError` if the server refuses a request, and `ConnectionLost` if it can't be reached again.
    """
    replay, clock = ReplayFilter(), asyncio.get_running_loop().time
    retries, policy = Retries(thread.contact), thread.contact.policy
    path = f"/threads/{thread.id}/runs/{run_id}/stream"
    is_first = True
    while True:
        lost, since = ConnectionLost("the stream was closed while its run was active"), math.inf
        try:
            resume = replay.resume_id() if replays else None
            stream = event_stream(thread.client, path, last_event_id=resume, read_timeout=policy.read_timeout)
            async with AsyncExitStack() as connection:
                async with thread.contact.attempt():
                    received = await connection.enter_async_context(stream)
                since = clock()
                replay.note_joined()
                if is_first or not replays:
                    yield Connected(gap=not is_first)
                is_first = False
                waits_since = clock()
                async for event in received:
                    new = replay.take(event, waited=clock() - waits_since, time=time.time())
                    if replays and replay.gap:
                        yield Connected(gap=True)
                    if event.event == _END:
                        break
                    for item in new:
                        retries.progressed()
                        yield item
                    waits_since = clock()  # from here on it waits for the server, and no longer for the reader
        except ConnectionLost as error:
            lost = error
        if _has_lasted(clock() - since, lost, policy):
            retries.progressed()
        run, runs = await _run_and_others(thread, run_id)
        if run is not None and await thread.has_waited_for_end(run):
            run, runs = await _run_and_others(thread, run_id)
        if run is None or run.get("status") not in ACTIVE:
            yield Ended(run, runs)
            return
        await retries.pause(lost)


async def _run_and_others(thread: PlatformThread, run_id: str) -> tuple[JsonObject | None, ThreadRuns | None]:
    """Returns a run and the runs of its thread; None for each that is gone."""
    runs = await thread.runs()
    run = None if runs is None else runs.with_id(run_id)
    if run is None and runs is not None:
        run = await thread.run(run_id)
    return run, runs


async def thread_events(thread: PlatformThread) -> AsyncGenerator[Received | Connected, None]:
    """Yields the events of all runs of a thread, and of writes to its state, as they arrive. A `Connected` precedes the
    events of each connection. Never ends. Raises `PlatformError` (404 if the server has no such stream), and
    `ConnectionLost` if it can't be reached again."""
    retries, policy, clock = Retries(thread.contact), thread.contact.policy, asyncio.get_running_loop().time
    path, params = f"/threads/{thread.id}/stream", {"stream_modes": "run_modes,state_update"}
    is_first = True
    while True:
        lost, since = ConnectionLost("the thread's stream was closed"), math.inf
        try:
            stream = event_stream(thread.client, path, params=params, read_timeout=policy.read_timeout)
            async with AsyncExitStack() as connection:
                async with thread.contact.attempt():
                    received = await connection.enter_async_context(stream)
                since = clock()
                yield Connected(gap=not is_first)
                is_first = False
                async for event in received:
                    retries.progressed()
                    yield event
        except ConnectionLost as error:
            lost = error
        if _has_lasted(clock() - since, lost, policy):
            retries.progressed()
        await retries.pause(lost)


async def run_announcements(thread: PlatformThread) -> AsyncGenerator[None, None]:
    """Yields when a run of a thread begins or ends, and whenever such an announcement may have been missed. Ends at
    once if the server does not announce runs.

    This is the thread's stream of LangChain's protocol v3 (`POST /threads/{id}/stream/events`), of which only the
    channel `lifecycle` is requested. It only says that it is time to look at the thread: on `langgraph dev` it lacks
    the messages of runs that the older API has started, on Aegra their contents, and on both it begins with the first
    run that is kept, whatever was read before. A lost connection is left to the next look, which reports it.
    """
    announced: Recent[str, None] = Recent(_REMEMBERED)
    path, policy = f"/threads/{thread.id}/stream/events", thread.contact.policy
    is_first = True
    while True:
        pause = 0.0
        try:
            stream = event_stream(thread.client, path, body=_LIFECYCLE, read_timeout=policy.read_timeout)
            async with stream as received:
                is_first = False
                yield
                async for event in received:
                    event_id = event.data.get("event_id") if isinstance(event.data, Mapping) else None
                    if event_id not in announced:
                        announced[str(event_id)] = None
                        yield
        except ConnectionLost:
            if is_first:
                return
            yield
            pause = policy.max_delay
        except PlatformError:
            return
        # Aegra closes a stream on which nothing has happened for 30 seconds
        await asyncio.sleep(max(pause, _AGAIN) * random.uniform(0.5, 1))


def _has_lasted(seconds: float, lost: ConnectionLost, policy: RetryPolicy) -> bool:
    """Whether a connection lasted long enough not to count as a failure. If nothing arrived on it, it is a failure in
    any case."""
    return seconds > policy.max_delay and not lost.is_timeout
