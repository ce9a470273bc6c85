"""Following a thread of a platform: every run that comes on it, whoever starts it.

Where the server streams whole threads (`GET /threads/{id}/stream`), that stream is held open and has each run from its
first event on, also of runs that keep nothing for later joins. Elsewhere (Aegra) the thread is looked at in intervals,
and what runs is attached to.

Rules of the thread's stream (measured on `langgraph dev`):
- `metadata` with a run's id and an attempt begins a run (or begins it anew), `metadata` with the status `run_done` ends
  it; what is between carries no id. Runs do not overlap.
- It is opened before the thread is looked at. So it repeats what the look told: such runs are passed over.
- `state_update` says that somebody wrote the state, and may overtake a run's events. It is taken as a hint to look when
  no run is going on.
- A connection lost is a gap: the thread is looked at again, which attaches to a run that is still going on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..translator import Failed, Translator, UnreadablePartError
from .idle import Ended, told_end
from .joined import Joined, followed
from .lookahead import Lookahead, Silence
from .platform import PlatformTelling
from .thread import NOT_FOUND
from .told import Batches, tell
from .wire import PlatformError, Received

Event = dict[str, Any]

POLL = 0.5
"""Seconds between two looks at a thread whose server does not stream it."""
_HINT_PAUSE = 0.1
"""Seconds of silence after a hint before the thread is looked at: the hint may come before what it is about."""


async def watched(telling: PlatformTelling, poll: float = POLL) -> Batches:
    """What the thread holds, then every run of it, until the reader goes away.

    Raises `PlatformError` and `Cut` as the server's answers do.
    """
    notices = Lookahead(followed(telling.thread))
    try:
        try:
            await notices.next(None)
        except PlatformError as error:
            if error.status != NOT_FOUND:
                raise
            async for batch in _polled(telling, poll):
                yield batch
        async for batch in _Following(telling, notices).told():
            yield batch
    finally:
        await notices.aclose()


async def _polled(telling: PlatformTelling, poll: float) -> Batches:
    while True:
        async for batch in telling.told_now():
            yield batch
        await asyncio.sleep(poll)


class _Following:
    """A reader of a thread's stream: between runs, in one that is told, or in one that is passed over."""

    def __init__(self, telling: PlatformTelling, notices: Lookahead[Received | Joined]) -> None:
        self._telling = telling
        self._notices = notices
        self._run: Translator | None = None
        """The run that is told."""
        self._is_hinted = False

    async def told(self) -> Batches:
        """What is, and what comes."""
        async for batch in self._looked():
            yield batch
        while True:
            waits = self._is_hinted and self._run is None
            notice = await self._notices.next(_HINT_PAUSE if waits else None)
            if isinstance(notice, Joined | Silence):
                self._run = None
                async for batch in self._looked():
                    yield batch
            elif events := await self._heard(notice):
                yield tell(events)

    async def _looked(self) -> Batches:
        """The thread as it is, and the run that is going on; those that come after it are the stream's to tell."""
        self._is_hinted = False
        async for batch in self._telling.told_now(follow=False):
            yield batch

    async def _heard(self, received: Received) -> list[Event]:
        data = received.data
        if received.event == "state_update":
            self._is_hinted = True
        elif received.event == "metadata" and isinstance(data, Mapping) and "run_id" in data:
            return await self._marked(str(data["run_id"]), data)
        return self._fed(received)

    async def _marked(self, run_id: str, mark: Mapping[str, Any]) -> list[Event]:
        """The start of a run, its start anew, or its end."""
        run = self._run
        if "attempt" not in mark:
            return [] if run is None or run.run_id != run_id else await self._ended(run)
        if run is not None and run.run_id == run_id:
            return run.feed(("metadata", mark))
        events = [] if run is None else await self._ended(run)
        if not self._telling.has_told(run_id):
            self._run = await self._telling.begun(run_id)
            events += self._run.start()
        return events

    def _fed(self, received: Received) -> list[Event]:
        run = self._run
        if run is None:
            return []
        try:
            return run.feed(received)
        except UnreadablePartError as error:
            self._run = None
            return told_end(run, Ended(run.run_id, None, Failed(error)))

    async def _ended(self, run: Translator) -> list[Event]:
        self._run = None
        self._telling.ended(run.run_id)
        return told_end(run, await self._telling.thread.ended(run.run_id))
