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
from collections.abc import AsyncIterator
from typing import NamedTuple

from .http import Cut, Received, opened
from .outcome import ACTIVE
from .replayed import Cursor
from .retry import Patience, Policy
from .thread import PlatformThread

_END = "end"
"""What Aegra sends last."""


class Joined(NamedTuple):
    """A connection to the run stands from here on."""

    gap: bool
    """Whether events that came before it may be missing."""


async def joined(thread: PlatformThread, run_id: str, *, replays: bool) -> AsyncIterator[Received | Joined]:
    """The run's events, each once, with a `Joined` in front of those of each connection that follows on nothing.

    `replays`: whether the server keeps the run's events and is to send them from the first on. Ends when the run has
    ended. Raises `PlatformError` for what the server refuses, `Cut` when it stays away.
    """
    cursor, clock = Cursor(), asyncio.get_running_loop().time
    patience = Patience(thread.policy)
    path = f"/threads/{thread.id}/runs/{run_id}/stream"
    is_first = True
    while True:
        cut, since = Cut("the stream was closed while its run went on"), math.inf
        try:
            resume = cursor.resume_id() if replays else None
            async with opened(thread.client, path, last_event_id=resume, stall=thread.policy.stall) as received:
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
                        patience.progressed()
                        yield each
                    heard = clock()  # now it waits for the server again, and no more for its reader
        except Cut as lost:
            cut = lost
        if _stood(clock() - since, cut, thread.policy):
            patience.progressed()
        run = await thread.run(run_id)
        if run is None or run.get("status") not in ACTIVE:
            return
        await patience.pause(cut)


async def followed(thread: PlatformThread) -> AsyncIterator[Received | Joined]:
    """The events of every run of a thread while they come, and of writes to its state, with a `Joined` in front of each
    connection's. Never ends. Raises `PlatformError` (404 where the server has no such stream), and `Cut` when it stays
    away."""
    patience, clock = Patience(thread.policy), asyncio.get_running_loop().time
    path, asks = f"/threads/{thread.id}/stream", {"stream_modes": "run_modes,state_update"}
    is_first = True
    while True:
        cut, since = Cut("the thread's stream was closed"), math.inf
        try:
            async with opened(thread.client, path, params=asks, stall=thread.policy.stall) as received:
                since = clock()
                yield Joined(gap=not is_first)
                is_first = False
                async for event in received:
                    patience.progressed()
                    yield event
        except Cut as lost:
            cut = lost
        if _stood(clock() - since, cut, thread.policy):
            patience.progressed()
        await patience.pause(cut)


def _stood(seconds: float, cut: Cut, policy: Policy) -> bool:
    """Whether a connection that was lost had been a good one. Silence is none, however long it lasts."""
    return seconds > policy.most and not cut.is_silence
