"""`FollowedRun`: a run of another process, for all its readers in this process.

It has a view and an event log of its own. One task keeps both up to date with the run's log in the run database, as
long as the run has readers here, or callers that wait for it. What the task does with an entry of the log:

| entry | number | what happens |
|---|---|---|
| any | one that was read before | nothing |
| the next events | the next | they are applied and published |
| a snapshot | the next, and no event is missing | nothing: the view is up to date |
| a snapshot | any other | a new view begins with the snapshot, and readers get the events that bring them up to date |
| the next events | not the next | nothing: the owner finds the gap in the log too, and a snapshot follows |
| a note that the owner has handed the run over | the next | the lease is read |

If no entry has come for a while, the log is read once more, and then the lease of the thread (`run_database.Lease`):

| the lease | what happens |
|---|---|
| belongs to the run, and is valid or in doubt | the task waits |
| belongs to the run, and is lost | the owner is lost: open items are closed, and `RUN_ERROR` ends the run (`is_lost`) |
| belongs to the run, and is lost, but may be continued | the task waits for the continuation |
| belongs to a continuation of the run | the task follows the log of the continuation |
| has not belonged to the run for less than half a lease | the task waits for the run's last entry |
| has not belonged to the run for longer | the owner is lost |
| can't be read, because the database does not answer | the task waits |

The continuation of a run (rule 5 of `run_database`) is the same run for its readers. Its log begins with a snapshot,
which takes back what readers have got and is not stored. From then on, the number of the run is that of the
continuation. The notifications of the thread tell of the continuation at once. If somebody has stopped the run here,
the continuation is stopped too.

An owner that counts as lost may come back: perhaps it was frozen, or the database did not answer it. Then its run gets
a new `FollowedRun`.

If a run has an unknown format (`records.FORMAT`), only its checkpoints can be read. This process can cancel it, and
wait for it until its lease has expired. A reader gets `RUN_ERROR` at once.

A run that needs readers is stopped when no process has readers of it. So a reader gets no event before the database
knows that this process has readers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from typing import Final, cast

from ....translator import PROTOCOL_VERSION, ClientView, error_event, events
from ... import metrics
from ...access import Metadata
from ...errors import StoreUnavailableError, log_context
from ...events.encoded import Batch, EncodedEvent
from ...events.event_log import EventLog
from ...events.readers import Reader
from ...run_outcome import UNFINISHED
from .active_run import CANCEL_WAIT, RunStatus, ThreadKey
from .logs import Logs
from .records import HANDED_OVER, OUTCOMES, SNAPSHOT, Claim, Entry
from .run_database import Lease, Log, News, RunDatabase

_LATER: Final = 0.01
"""Seconds from the end of a lease to the next check."""

_log = logging.getLogger(__name__)


class FollowedRun:
    """A run of another process, or one of this process that has ended; see `ActiveRun`.

    - `on_lost`: called with the lease of the thread as long as the run is lost and may be continued.
    - `on_continued`: called when it follows the log of a continuation.
    """

    def __init__(
        self,
        database: RunDatabase,
        logs: Logs,
        thread: ThreadKey,
        number: int,
        claim: Claim,
        *,
        on_lost: Callable[[ThreadKey, Lease], None],
        on_continued: Callable[[FollowedRun], None],
    ) -> None:
        self.number = number
        self.thread_id = thread.thread_id
        self.run_id = claim.run_id
        self.metadata: Metadata = claim.metadata
        self.label = log_context(claim.agent, thread.thread_id, claim.run_id)
        self.is_stopping = False
        """Whether its lease says that the run is stopping."""
        self.is_lost = False
        """See `ActiveRun`."""
        self.is_readable = claim.is_readable
        self._claim = claim
        self._database = database
        self._logs = logs
        self._thread = thread
        self._log = Log(thread, number)
        self._on_lost = on_lost
        self._on_continued = on_continued
        self._is_subscribed = False
        """Whether the notifications of the thread are taken."""
        self._news = asyncio.Event()
        self._view = ClientView(version=PROTOCOL_VERSION)
        self._events = EventLog(self._view)
        self._events.run = number
        self._number = 0
        """The number of the last entry that is in the view."""
        self._is_in_view = False
        """Whether the view is that of the log, and not of the run that the log continues."""
        self._outcome: RunStatus | None = None
        self._gone_since: float | None = None
        """Since when the thread has not belonged to the run, as far as is known."""
        self._next_check = database.lease / 3
        """Seconds without news until the next check."""
        self._is_check_due = False
        """Whether the next check must not wait."""
        self._grace = database.lease / 2
        self._has_view, self._over = asyncio.Event(), asyncio.Event()
        self._is_noted = asyncio.Event()
        """Whether the database knows that a run which needs readers has some here; also set when the run is over."""
        self._noted_until: float | None = None
        """When the readers must be noted again; None if the database has no note of them."""
        self._users = self._readers = 0
        self._asked_to_stop: int | None = None
        """The number under which the run was asked to stop; None if nobody in this process has stopped it."""
        self._task: asyncio.Task[None] | None = None
        if not self.is_readable:
            self._refuse_readers()

    @property
    def status(self) -> RunStatus:
        """See `RunStatus`."""
        has_end = self._events.is_closed and self.is_readable
        return self._outcome or ("stopping" if self.is_stopping or has_end else "running")

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or counts as lost."""
        return self._over.is_set()

    async def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """See `ActiveRun`."""
        with self._followed(), self._counted():
            await self._has_view.wait()
            if self._claim.needs_readers:
                await self._is_noted.wait()
            async with aclosing(self._events.read(reader)) as batches:
                async for batch in batches:
                    yield batch

    async def cancel(self, wait: float = CANCEL_WAIT) -> RunStatus:
        """See `ActiveRun`."""
        with self._followed():
            await self._request_cancel()
            await self._wait_until_over(wait)
            return self._outcome or "stopping"

    async def wait(self) -> RunStatus:
        """See `ActiveRun`."""
        with self._followed():
            await self._over.wait()
            return self.status

    async def stream_end(self) -> bool:
        """See `ActiveRun`. Waits for the end of the run itself, which follows."""
        with self._followed():
            await self._wait_until_over(CANCEL_WAIT)
            return self._over.is_set()

    async def aclose(self) -> None:
        """Ends the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _request_cancel(self) -> None:
        """Asks the owner of the run to stop it. The request has no effect if a continuation has the thread of which
        this process does not know yet. So the lease is read next, and the continuation is asked too (`_follow`)."""
        number = self.number
        await self._database.request_cancel(self._thread, number, self._claim.owner)
        self._asked_to_stop = number
        self._is_check_due = True
        self._news.set()

    async def _wait_until_over(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    @contextmanager
    def _followed(self) -> Generator[None, None, None]:
        """Follows the run within the block, and for a while after it."""
        self._users += 1
        self._begin()
        try:
            yield
        finally:
            self._users -= 1

    def _begin(self) -> None:
        """Begins the task, if the run is not over."""
        if not self._over.is_set() and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(), name=f"follower of {self.run_id}")

    @contextmanager
    def _counted(self) -> Generator[None, None, None]:
        """Counts one more reader within the block."""
        self._readers += 1
        self._news.set()
        try:
            yield
        finally:
            self._readers -= 1
            self._news.set()

    # --- continuations --------------------------------------------------------------------------------------------

    def is_continued_by(self, claim: Claim) -> bool:
        """Returns whether a claim is that of a continuation of this run, perhaps not the first one."""
        return not self.is_over and claim.run_id == self.run_id and claim.continues >= self.number

    def continue_in(self, number: int, claim: Claim) -> None:
        """Follows the run in the log of its continuation from now on."""
        self._logs.leave(self._log, self._take)
        self.number, self._claim, self._log = number, claim, Log(self._thread, number)
        self._number, self._is_in_view, self._gone_since = 0, False, None
        self._is_noted.clear()
        self._noted_until = None
        if not claim.is_readable:
            self._lose()
        elif self._task is not None:
            self._logs.follow(self._log, self._take)
        self._news.set()
        self._on_continued(self)

    def take_over(self, events: EventLog, number: int) -> None:
        """Gives the readers of a run of this process that has lost its thread its continuation, or its end. `events`:
        the event log of that run, to which nobody else adds anything any more. `number`: the number of its last entry
        in the run database."""
        events.on_last_reader_left = self._news.set
        self._view, self._events, self._number, self._is_in_view = events.view, events, number, True
        self._has_view.set()
        self._is_check_due = True
        self._users += 1  # until the run is over: readers may still come to that event log
        self._begin()

    def _take_news(self, news: News | None) -> None:
        """Takes a notification of the thread of a lost run."""
        if news is not None and news.claim is not None and self.is_continued_by(news.claim):
            self.continue_in(news.fence, news.claim)
        elif news is None or news.kind == "back":
            self._is_check_due = True
            self._news.set()

    async def _wait_for_continuation(self, now: Lease) -> None:
        self._gone_since = None
        self._next_check = min(self._next_check, now.seconds + _LATER)
        self._on_lost(self._thread, now)
        if not self._is_subscribed:
            self._is_subscribed = True
            await self._database.subscribe(self._thread, self._take_news)
            self._is_check_due = True  # the continuation may have been claimed before

    def _find_continuation(self, now: Lease) -> bool:
        """Returns whether the run has a continuation, which is followed then: one that has the thread, or that had it
        last."""
        number, last = self.number, None if now.last is None else now.last.last
        if now.claim is not None and self.is_continued_by(now.claim):
            self.continue_in(now.fence, now.claim)
        elif last is not None and last.run_id == self.run_id and last.number > number:
            self.continue_in(last.number, replace(self._claim, continues=number))
        return self.number > number

    # --- reading the log ------------------------------------------------------------------------------------------

    def _take(self, entries: Sequence[Entry]) -> None:
        """Applies the entries of the log that the view lacks. Never raises."""
        if self._over.is_set():
            return
        try:
            for entry in entries:
                self._apply(entry)
        except Exception:
            _log.exception("The run could not be followed any more (%s).", self.label)
            self._lose()
        self._news.set()

    async def _follow(self) -> None:
        if self.is_readable:
            self._logs.follow(self._log, self._take, self._number)
        try:
            while not self._over.is_set():
                self._news.clear()  # first, so that everything that comes from now on causes another turn
                if self._claim.needs_readers and self.is_readable:
                    await self._note_readers()
                if self._asked_to_stop not in (None, self.number):
                    with suppress(StoreUnavailableError):
                        await self._request_cancel()
                if not self._over.is_set() and (self._is_check_due or not await self._is_news_within(self._next_check)):
                    self._is_check_due = False
                    if not self._users:
                        self._task = None  # the next user starts another one
                        return
                    await self._check()
        except Exception:
            _log.exception("The run could not be followed any more (%s).", self.label)
            self._lose()
        finally:
            self._logs.leave(self._log, self._take)
            if self._is_subscribed:
                self._is_subscribed = False
                await self._database.unsubscribe(self._thread, self._take_news)

    async def _note_readers(self) -> None:
        """Notes in the database, for the owner, whether the run has readers here."""
        now, until = asyncio.get_running_loop().time(), self._noted_until
        has_readers = max(self._readers, self._events.readers) > 0
        if has_readers and self._is_noted.is_set() and until is not None and now < until:
            return
        if not has_readers:
            if until is None:
                return
            self._is_noted.clear()  # a reader that comes meanwhile waits for the next note
        with suppress(StoreUnavailableError):
            await self._database.note_readers(self._thread, self.number, self._claim.owner, has_readers=has_readers)
            self._noted_until = now + self._database.lease / 3 if has_readers else None
            if has_readers:
                self._is_noted.set()

    async def _is_news_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        return self._news.is_set()

    async def _read_log(self) -> None:
        """Takes the new entries that the log has now, if the database answers."""
        if self.is_readable:
            with suppress(StoreUnavailableError):
                self._take(await self._database.entries(self._log, self._number))

    # --- what becomes of the run: see the tables above ------------------------------------------------------------

    def _apply(self, entry: Entry) -> None:
        if entry.number <= self._number or not (self._events.is_closed or self._shows(entry)):
            return
        self._number = entry.number
        self._gone_since = None
        self._is_check_due = entry.kind == HANDED_OVER
        if entry.kind in OUTCOMES:
            self._end(cast(RunStatus, entry.kind))
        elif self._view.terminal is not None:
            self._events.close()

    def _shows(self, entry: Entry) -> bool:
        """Brings the view up to date with an entry. Returns whether the entry could be applied."""
        is_next = entry.number == self._number + 1
        if entry.kind == SNAPSHOT:
            if not (is_next and entry.at == self._events.end and self._is_in_view):
                self._begin_anew(entry)
        elif is_next and self._is_in_view:
            self._publish(entry)
        else:
            return False
        return True

    def _begin_anew(self, entry: Entry) -> None:
        self._view = ClientView(version=PROTOCOL_VERSION)
        for event, _ in entry.events(self._thread.cipher):
            self._view.apply_emitted(event)
        self._events.restart(self._view, entry.at, self.number)
        self._is_in_view = True
        self._has_view.set()

    def _publish(self, entry: Entry) -> None:
        logged = entry.events(self._thread.cipher)
        first = entry.at - len(logged) + 1
        batch = [EncodedEvent(event, self.number, at, frame) for at, (event, frame) in enumerate(logged, first)]
        for encoded in batch:
            self._view.apply_emitted(encoded.event)
        self._events.publish_encoded(batch)

    async def _check(self) -> None:
        """Finds out whether the owner is lost, after no entry has come for a while."""
        at = self._log, self._number
        await self._read_log()
        if (self._log, self._number) != at or self._over.is_set():
            return
        self._next_check = self._database.lease / 3
        try:
            now = await self._database.lease_of(self._thread)
        except StoreUnavailableError:
            self._gone_since = None
            return
        if (self._log, self._number) != at or self._over.is_set():
            return  # an entry has been read meanwhile, or a continuation has been found
        if now.fence == self.number and now.is_continuable:
            await self._wait_for_continuation(now)
        elif now.fence == self.number and now.state == "lost":
            self._lose()
        elif self._claim.has_input and self._find_continuation(now):
            pass
        elif now.fence in (self.number, 0) and now.state != "free":
            self._gone_since = None
            self._next_check = min(self._next_check, now.seconds + _LATER)
        elif not self.is_readable:
            self.is_lost = True
            self._end("failed")
        else:
            self._wait_for_last_entry(asyncio.get_running_loop().time())

    def _wait_for_last_entry(self, now: float) -> None:
        """Waits for the last entry of a run that no longer has its thread, until the owner counts as lost."""
        if self._gone_since is None:
            self._gone_since = now
        left = self._gone_since + self._grace - now
        if left > 0:
            self._next_check = left
        else:
            self._lose()

    def _end(self, outcome: RunStatus) -> None:
        if self._view.live or self._view.run_id is None:
            self._emit_error()
        self._outcome = outcome
        self._events.close()
        for event in (self._has_view, self._is_noted, self._over):
            event.set()

    def _refuse_readers(self) -> None:
        _log.warning("The run is of another version, and cannot be followed (%s).", self.label)
        self._emit_error()
        self._has_view.set()
        self._is_noted.set()

    def _lose(self) -> None:
        _log.warning("The process that ran the run is lost (%s).", self.label)
        metrics.run_lost()
        self.is_lost = True
        self._end("failed")

    def _emit_error(self) -> None:
        """Closes open items, and ends the run with the error that a late joiner gets too. The owner does not emit these
        events, and may continue with other ones if it comes back."""
        is_unknown = self._view.run_id is None
        started = [events.run_started(self.thread_id, self.run_id, PROTOCOL_VERSION)] if is_unknown else []
        emitted = [*started, *self._view.open.closings(), error_event(UNFINISHED.error)]
        for event in emitted:
            self._view.apply(event)
        self._events.close_with(emitted)
