"""The stream of one platform run, held open until the run has ended, and that of a whole thread, held open for good.
Which events are new, `cursor` decides; what they mean, nobody here knows.

A connection that closes, well or badly, proves nothing about the run: it is asked. While it is active the stream is
joined again, after a pause; one that stood for longer than any pause was no failure, but what proxies do to quiet
streams. What a run does not keep (it is not resumable, or what was kept is gone) cannot be had
again: that is said, by `Joined.gap`, and its reader mends it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from typing import NamedTuple

from ..errors import ConnectionLost
from .http import Received, opened
from .outcome import ACTIVE
from .replayed import ReplayFilter
from .retry import Retries, RetryPolicy
from .thread import PlatformThread

_END = "end"
"""What Aegra sends last."""


class Joined(NamedTuple):
    """A connection to the run stands from here on."""

    gap: bool
    """Whether events that came before it may be missing."""


async def joined(thread: PlatformThread, run_id: str, *, replays: bool) -> AsyncGenerator[Received | Joined, None]:
    """The run's events, each once, with a `Joined` in front of those of each connection that follows on nothing.

    `replays`: whether the server keeps the run's events and is to send them from the first on. Ends when the run has
    ended. Raises `PlatformError` for what the server refuses, `ConnectionLost` when it stays away.
    """
    cursor, clock = ReplayFilter(), asyncio.get_running_loop().time
    retry = Retries(thread.policy)
    path = f"/threads/{thread.id}/runs/{run_id}/stream"
    is_first = True
    while True:
        cut, since = ConnectionLost("the stream was closed while its run went on"), math.inf
        try:
            resume = cursor.resume_id() if replays else None
            async with opened(
                thread.client, path, last_event_id=resume, read_timeout=thread.policy.read_timeout
            ) as received:
                since = clock()
                cursor.connected()
                if is_first or not replays:
                    yield Joined(gap=not is_first)
                is_first = False
                heard = clock()
                async for event in received:
                    new = cursor.take(event, waited=clock() - heard)
                    if replays and cursor.gap:
                        yield Joined(gap=True)
                    if event.event == _END:
                        break
                    for each in new:
                        retry.progressed()
                        yield each
                    heard = clock()  # now it waits for the server again, and no more for its reader
        except ConnectionLost as lost:
            cut = lost
        if _stood(clock() - since, cut, thread.policy):
            retry.progressed()
        run = await thread.run(run_id)
        if run is None or run.get("status") not in ACTIVE:
            return
        await retry.pause(cut)


async def followed(thread: PlatformThread) -> AsyncGenerator[Received | Joined, None]:
    """The events of every run of a thread while they come, and of writes to its state, with a `Joined` in front of each
    connection's. Never ends. Raises `PlatformError` (404 where the server has no such stream), and `ConnectionLost`
    when it stays away."""
    retry, clock = Retries(thread.policy), asyncio.get_running_loop().time
    path, asks = f"/threads/{thread.id}/stream", {"stream_modes": "run_modes,state_update"}
    is_first = True
    while True:
        cut, since = ConnectionLost("the thread's stream was closed"), math.inf
        try:
            async with opened(thread.client, path, params=asks, read_timeout=thread.policy.read_timeout) as received:
                since = clock()
                yield Joined(gap=not is_first)
                is_first = False
                async for event in received:
                    retry.progressed()
                    yield event
        except ConnectionLost as lost:
            cut = lost
        if _stood(clock() - since, cut, thread.policy):
            retry.progressed()
        await retry.pause(cut)


def _stood(seconds: float, cut: ConnectionLost, policy: RetryPolicy) -> bool:
    """Whether a connection that was lost had been a good one. Silence is none, however long it lasts."""
    return seconds > policy.max_delay and not cut.is_silence
