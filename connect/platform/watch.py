"""Follows a thread of a platform: every run on it, from any client.

There are three ways, and the first one that the server has is used. `PlatformSource.watches_by` names it.

- `stream`: the server streams whole threads (`GET /threads/{id}/stream`), and that stream is kept open. It has each run
  from its first event on, even a run whose events are not kept for later joins. `langgraph dev` has the events of
  protocol v3 too (`POST /threads/{id}/stream/events`), but these come no sooner, lack the messages of runs that the
  older API has started, and have no position at which a reader could go on after a lost connection.
- `announcements`: the server announces the beginnings and ends of runs in the events of protocol v3 (Aegra). The thread
  is looked at when a run is announced, and its active run is attached to. Writes to the state are not announced, so the
  thread is looked at in long intervals too. Aegra itself looks for new runs every 250 ms, for each such stream, so a
  run is known that much later; nothing else of its interface tells of a run whose id is not known.
- `polls`: the thread is looked at in short intervals.

Rules of the thread's stream (measured on `langgraph dev`):
- `metadata` with a run's id and an attempt begins a run (or begins it again). `metadata` with the status `run_done`
  ends it. The events in between have no id. Runs do not overlap.
- The stream is opened before the thread is looked at, so it repeats runs that the look has shown. These are skipped.
- Before langgraph-api 0.10, `langgraph dev` sends one event of a run each 0.2 s on this stream, so that it is seconds
  late after a few tokens. On such a server, a run is attached to as soon as it begins, if its events are kept: its own
  stream is not slow. (Of a run that is not kept, the own stream would lack the beginning.)
- A run that starts at the same time may begin before the server reads the stream for this reader. Then its first events
  are missing, or all but its end.
- `state_update` announces a write to the state, and may overtake the events of a run. So it is a hint to look at the
  thread when no run is active. So are events that do not belong to a run that began here.
- After a lost connection there is a gap: the thread is looked at again, which attaches to a run that is still active.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import NamedTuple

from ...translator import Options, Translator, UnreadablePartError
from ..errors import ConnectionLost, PlatformError, log_context
from ..events.encoded import Batches, Event, to_batch
from ..events.relay import Relayed, relaying
from ..events.timed_iterator import TIMED_OUT, TimedIterator, TimedOut
from ..idle import end_events
from .connect import ThreadFollower, is_due, is_running
from .http import Received
from .join.attach import outcome_of_error, replays
from .join.run_stream import Connected, run_announcements, thread_events
from .outcome import ACTIVE
from .source import WatchedBy
from .thread import NOT_FOUND

POLL = 0.5
"""Seconds between two looks at a thread whose server neither streams it nor announces its runs."""
_RARELY = 10
"""How much longer that is if the server announces runs."""
_HINT_PAUSE = 0.1
"""Seconds without an event after a hint before the thread is looked at: the hint may come before what it is about."""
_HINT_MOST = 0.5
"""Seconds after a hint at which the thread is looked at without such a pause."""
_OVER_PAUSE = 0.05
_OVER_TRIES = 40
"""How often the status of a run is requested after the stream has called it done, until it has ended."""
_WAYS: Mapping[WatchedBy, str] = {
    "stream": "the thread's stream has its runs",
    "announcements": "its runs are announced, and attached to",
    "polls": "the server neither streams the thread nor announces its runs, so that it is read in intervals",
}

_log = logging.getLogger(__name__)


async def watch_thread(follower: ThreadFollower, poll: float = POLL) -> Batches:
    """Returns the thread's state, and then every run on it, until the reader leaves or the server refuses a request.

    `poll`: seconds between two looks, if the server does not stream threads. Raises `PlatformError`, and
    `ConnectionLost` if the server is away. Later the batches raise only `PlatformError`, between runs; within a run it
    ends the run with `RUN_ERROR`.
    """
    notices = TimedIterator(thread_events(follower.thread))
    try:
        await notices.next()
    except PlatformError as error:
        if error.status != NOT_FOUND:
            raise
        return _look_again_and_again(follower, poll)
    _note_way(follower, "stream")
    return _Following(follower, notices).batches()


@relaying
async def _look_again_and_again(follower: ThreadFollower, poll: float) -> Relayed:
    """Yields what is new whenever a run is announced, or else in intervals."""
    announcements = TimedIterator(run_announcements(follower.thread))
    try:
        is_announced = await _is_announced(announcements, None)
        _note_way(follower, "announcements" if is_announced else "polls")
        while True:
            yield follower.batches(joins=is_due)
            if is_announced:
                is_announced = await _is_announced(announcements, poll * _RARELY)
            else:
                await asyncio.sleep(poll)
    finally:
        await announcements.aclose()


async def _is_announced(announcements: TimedIterator[None], seconds: float | None) -> bool:
    """Waits for the next announcement, and takes all that are there. Returns whether more can come."""
    try:
        while await announcements.next(seconds) is not TIMED_OUT and seconds is not None:
            seconds = 0
    except StopAsyncIteration:
        return False
    return True


def _note_way(follower: ThreadFollower, way: WatchedBy) -> None:
    follower.platform.watches_by = way
    _log.debug("Watches a thread by %s: %s (%s).", way, _WAYS[way], log_context(None, follower.thread.id, None))


class _Followed(NamedTuple):
    """A run that is emitted while it runs."""

    id: str
    """The platform's id of the run, which may be emitted under its client's id."""
    translator: Translator
    options: Options


class _Following:
    """A reader of a thread's stream, which is between runs, in a run that is emitted, or in one that is skipped."""

    def __init__(self, follower: ThreadFollower, notices: TimedIterator[Received | Connected]) -> None:
        self._follower = follower
        self._notices = notices
        self._run: _Followed | None = None
        """The run that is emitted."""
        self._skipped: str | None = None
        """The run that is skipped up to its end, because it was emitted already."""
        self._look_until: float | None = None
        """When the thread is looked at, at the latest; None without a hint."""
        self._is_slow = False
        """Whether the server sends the thread's stream slowly."""
        self._attaches = False
        """Whether the thread is looked at now, to attach to a run that has begun."""

    @relaying
    async def batches(self) -> Relayed:
        """Yields the thread's state, and then its runs."""
        try:
            yield self._look()
            await self._follower.prepare()
            self._is_slow = await self._follower.platform.streams_threads_slowly()
            while True:
                notice = await self._next()
                if isinstance(notice, Received):
                    events = await self._take(notice)
                else:
                    events = await self._after_gap() if isinstance(notice, Connected) else []
                if events:
                    yield to_batch(events)
                if self._attaches or not isinstance(notice, Received):
                    yield self._look()
                    self._hand_end()
        except (ConnectionLost, PlatformError) as error:
            if self._run is None:
                raise
            yield to_batch(self._fail(self._run, error))
        finally:
            await self._notices.aclose()

    async def _next(self) -> Received | Connected | TimedOut:
        """Returns the next notice, or `TIMED_OUT` if it is time to look at the thread."""
        if self._look_until is None or self._run is not None:
            return await self._notices.next()
        if self._skipped is None and asyncio.get_running_loop().time() > self._look_until:
            return TIMED_OUT
        return await self._notices.next(_HINT_PAUSE)

    @relaying
    async def _look(self) -> Relayed:
        """Yields the thread as it is, and the run that is running. Later runs come from the stream."""
        self._look_until, self._attaches = None, False
        yield self._follower.batches(joins=is_running, follow=False)
        self._skipped = self._follower.attached_run

    async def _after_gap(self) -> list[Event]:
        """Returns the end of a run that ended during a gap."""
        run, self._skipped = self._run, None
        if run is None or await self._is_active(run.id):
            return []
        self._run = None
        return await self._end(run)

    def _hand_end(self) -> None:
        """Stops emitting a run here if an attachment has emitted the rest of it. (A run that begins again goes on.)"""
        if self._run is not None and self._run.translator.view is not self._follower.reader.view:
            self._run = None

    async def _take(self, received: Received) -> list[Event]:
        data = received.data
        if received.event == "state_update":
            self._hint()
        elif received.event == "metadata" and isinstance(data, Mapping) and "run_id" in data:
            run_id = str(data["run_id"])
            return await (self._begin(run_id, received) if "attempt" in data else self._run_done(run_id))
        elif self._run is not None:
            return self._feed(self._run, received)
        elif self._skipped is None:
            self._hint()
        return []

    async def _begin(self, run_id: str, received: Received) -> list[Event]:
        """Returns the events of a run that has begun, or has begun again, after those that end the run before it."""
        before, self._run, self._skipped = self._run, None, None
        if before is not None and before.id == run_id:
            self._run = before
            return self._feed(before, received)
        events = [] if before is None else await self._end(before)
        if self._follower.has_emitted(run_id) or not await self._follower.thread.exists():
            self._skipped = run_id
            return events
        if self._is_slow and (run := await self._follower.thread.run(run_id)) is not None and replays(run):
            self._skipped, self._attaches = run_id, True
            return events
        self._run = _Followed(run_id, *await self._follower.translator_of(run_id))
        return events + self._run.translator.start()

    async def _run_done(self, run_id: str) -> list[Event]:
        """Returns the events of the end of a run."""
        run, self._skipped = self._run, None
        if run is not None and run.id == run_id:
            for _ in range(_OVER_TRIES):
                if not await self._is_active(run_id):
                    break
                await asyncio.sleep(_OVER_PAUSE)
            self._run = None
            return await self._end(run)
        if not self._follower.has_emitted(run_id):
            self._hint()
        return []

    def _feed(self, run: _Followed, received: Received) -> list[Event]:
        try:
            return run.translator.feed(received)
        except UnreadablePartError as error:
            return self._fail(run, error)

    async def _end(self, run: _Followed) -> list[Event]:
        """Returns the events that end a run, however it ended."""
        self._follower.mark_emitted(run.id)
        try:
            return end_events(run.translator, await self._follower.thread.outcome(run.id), run.options)
        except (ConnectionLost, PlatformError) as error:
            return end_events(run.translator, outcome_of_error(self._follower.thread.id, run.id, error), run.options)

    def _fail(self, run: _Followed, error: ConnectionLost | PlatformError | UnreadablePartError) -> list[Event]:
        self._run, self._skipped = None, run.id
        self._follower.mark_emitted(run.id)
        return end_events(run.translator, outcome_of_error(self._follower.thread.id, run.id, error), run.options)

    async def _is_active(self, run_id: str) -> bool:
        run = await self._follower.thread.run(run_id)
        return run is not None and run.get("status") in ACTIVE

    def _hint(self) -> None:
        if self._look_until is None:
            self._look_until = asyncio.get_running_loop().time() + _HINT_MOST
