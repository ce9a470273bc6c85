"""Following a thread of a platform: every run that comes on it, whoever starts it.

Where the server streams whole threads (`GET /threads/{id}/stream`), that stream is held open and has each run from its
first event on, also of runs that keep nothing for later joins. Elsewhere (Aegra) the thread is looked at in intervals,
and what runs is attached to.

Rules of the thread's stream (measured on `langgraph dev`):
- `metadata` with a run's id and an attempt begins a run (or begins it anew), `metadata` with the status `run_done` ends
  it; what is between carries no id. Runs do not overlap.
- It is opened before the thread is looked at. So it repeats what the look told: such runs are passed over.
- A run that starts at once may begin before the server listens to it for us: its first events are missing then, or
  all but its end.
- `state_update` says that somebody wrote the state, and may overtake a run's events. So it is taken as a hint to look
  when no run is going on; and so are events that belong to no run that began here.
- A connection lost is a gap: the thread is looked at again, which attaches to a run that is still going on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from ...translator import Options, Translator, UnreadablePartError
from ..encoded import Batches, to_batch
from ..errors import ConnectionLost, PlatformError
from ..idle import end_events
from ..timed_iterator import SILENCE, Silence, TimedIterator
from .attach import broken_off
from .connect import PlatformTelling, is_due, is_going
from .http import Received
from .outcome import ACTIVE
from .run_stream import Joined, followed
from .thread import NOT_FOUND

Event = dict[str, Any]

POLL = 0.5
"""Seconds between two looks at a thread whose server does not stream it."""
_HINT_PAUSE = 0.1
"""Seconds of silence after a hint before the thread is looked at: the hint may come before what it is about."""
_HINT_MOST = 0.5
"""Seconds after a hint at which the thread is looked at without any silence."""
_OVER_PAUSE = 0.05
_OVER_TRIES = 40
"""How often it is asked whether a run is over that the server said is done."""


async def watched(telling: PlatformTelling, poll: float = POLL) -> Batches:
    """What the thread holds, then every run of it, until the reader goes away, or the server for good.

    Raises `PlatformError` and `ConnectionLost` as the server's answers do, when no run is being told.
    """
    notices = TimedIterator(followed(telling.thread))
    try:
        try:
            await notices.next()
        except PlatformError as error:
            if error.status != NOT_FOUND:
                raise
            told = _polled(telling, poll)
        else:
            told = _Following(telling, notices).told()
        async with aclosing(told) as batches:
            async for batch in batches:
                yield batch
    finally:
        await notices.aclose()


async def _polled(telling: PlatformTelling, poll: float) -> Batches:
    while not telling.is_lost:
        async with aclosing(telling.told_now(joins=is_due)) as batches:
            async for batch in batches:
                yield batch
        await asyncio.sleep(poll)


class _Heard(NamedTuple):
    """A run that is told while it goes on."""

    id: str
    """The platform's; it may be told under its client's."""
    told: Translator
    options: Options


class _Following:
    """A reader of a thread's stream: between runs, in one that is told, or in one that is passed over."""

    def __init__(self, telling: PlatformTelling, notices: TimedIterator[Received | Joined]) -> None:
        self._telling = telling
        self._notices = notices
        self._run: _Heard | None = None
        """The run that is told."""
        self._passed: str | None = None
        """The run that is passed over, up to its end: it was told."""
        self._look_until: float | None = None
        """When the thread is to be looked at, if it is."""

    async def told(self) -> Batches:
        """What is, and what comes."""
        try:
            async with aclosing(self._looked()) as batches:
                async for batch in batches:
                    yield batch
            while not self._telling.is_lost:
                notice = await self._next()
                if isinstance(notice, Received):
                    events = await self._heard(notice)
                else:
                    events = await self._left() if isinstance(notice, Joined) else []
                if events:
                    yield to_batch(events)
                if not isinstance(notice, Received):
                    async with aclosing(self._looked()) as batches:
                        async for batch in batches:
                            yield batch
                    self._hand_over()
        except (ConnectionLost, PlatformError) as error:
            if self._run is None:
                raise
            yield to_batch(self._broken_off(self._run, error))

    async def _next(self) -> Received | Joined | Silence:
        """What comes next; silence if the thread is to be looked at."""
        if self._look_until is None or self._run is not None:
            return await self._notices.next()
        if self._passed is None and asyncio.get_running_loop().time() > self._look_until:
            return SILENCE
        return await self._notices.next(_HINT_PAUSE)

    async def _looked(self) -> Batches:
        """The thread as it is, and the run that is going on; those that come after it are the stream's to emit."""
        self._look_until = None
        async with aclosing(self._telling.told_now(joins=is_going, follow=False)) as batches:
            async for batch in batches:
                yield batch
        self._passed = self._telling.joined

    async def _left(self) -> list[Event]:
        """After a gap: the end of a run that ended meanwhile."""
        run, self._passed = self._run, None
        if run is None or await self._is_active(run.id):
            return []
        self._run = None
        return await self._over(run)

    def _hand_over(self) -> None:
        """A run whose rest was told otherwise is not told here any more. (One that is to begin anew is.)"""
        if self._run is not None and self._run.told.view is not self._telling.reader.view:
            self._run = None

    async def _heard(self, received: Received) -> list[Event]:
        data = received.data
        if received.event == "state_update":
            self._hint()
        elif received.event == "metadata" and isinstance(data, Mapping) and "run_id" in data:
            run_id = str(data["run_id"])
            return await (self._began(run_id, received) if "attempt" in data else self._done(run_id))
        elif self._run is not None:
            return self._fed(self._run, received)
        elif self._passed is None:
            self._hint()
        return []

    async def _began(self, run_id: str, received: Received) -> list[Event]:
        """A run began, or began anew."""
        before, self._run, self._passed = self._run, None, None
        if before is not None and before.id == run_id:
            self._run = before
            return self._fed(before, received)
        events = [] if before is None else await self._over(before)
        if self._telling.has_told(run_id):
            self._passed = run_id
            return events
        self._run = _Heard(run_id, *await self._telling.begun(run_id))
        return events + self._run.told.start()

    async def _done(self, run_id: str) -> list[Event]:
        """A run ended."""
        run, self._passed = self._run, None
        if run is not None and run.id == run_id:
            for _ in range(_OVER_TRIES):
                if not await self._is_active(run_id):
                    break
                await asyncio.sleep(_OVER_PAUSE)
            self._run = None
            return await self._over(run)
        if not self._telling.has_told(run_id):
            self._hint()
        return []

    def _fed(self, run: _Heard, received: Received) -> list[Event]:
        try:
            return run.told.feed(received)
        except UnreadablePartError as error:
            return self._broken_off(run, error)

    async def _over(self, run: _Heard) -> list[Event]:
        """The end of a run, however it ended."""
        self._telling.ended(run.id)
        try:
            return end_events(run.told, await self._telling.thread.ended(run.id), run.options)
        except (ConnectionLost, PlatformError) as error:
            return end_events(run.told, broken_off(run.id, error), run.options)

    def _broken_off(self, run: _Heard, error: ConnectionLost | PlatformError | UnreadablePartError) -> list[Event]:
        self._run, self._passed = None, run.id
        self._telling.ended(run.id)
        return end_events(run.told, broken_off(run.id, error), run.options)

    async def _is_active(self, run_id: str) -> bool:
        run = await self._telling.thread.run(run_id)
        return run is not None and run.get("status") in ACTIVE

    def _hint(self) -> None:
        if self._look_until is None:
            self._look_until = asyncio.get_running_loop().time() + _HINT_MOST
