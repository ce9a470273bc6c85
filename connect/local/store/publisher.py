"""`Publisher`: the owner's side of a run. One task appends the run's events to its log in the run database, and renews
its lease.

The publisher reads the run as any reader does, beginning with a snapshot. Its next entry is a snapshot again when

- the log has a gap;
- the publisher is so far behind that the run's own event log has dropped its next events. So the size of that event log
  limits the memory that is used while the database does not answer;
- the log has become long: the snapshot replaces its entries. All events before the snapshot are appended first, so that
  readers elsewhere can skip it.

| the database answers | the publisher |
|---|---|
| `ok` | continues |
| `gap`: the log is empty, or lacks its last entries | continues with a snapshot |
| `taken`: the lease was lost, and another run has the thread | stops the run with an error, and publishes no more |
| `taken`, and the run may be continued | stops the graph; the readers get the continuation (`followed_run`) |
| an unexpected exception | logs it, and continues with a snapshot; after a few in a row it stops the run |
| the run is to stop | stops the run |
| the run has none of the readers that it needs | stops the run, but not in the first half lease after an outage |
| nothing | repeats the command; the run continues |

If the process stood still, or the answer to its claim was late, the lease may have expired, and another run may have
the thread. Therefore the database is asked which run has the thread before the graph begins or continues (`renewals`),
since the graph may write a checkpoint then.

At the end of a run, the thread is freed first, and then the run emits its last events. If the database does not answer,
the run emits them after `_LONGEST_WAIT` seconds, and the thread is freed when the database answers again.

A run that is handed over publishes nothing more: its continuation begins with a snapshot of what is stored. Only an
entry without events follows in its log, which tells the processes that follow the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from itertools import chain, repeat
from typing import Final, TypeVar

from ....translator import PROTOCOL_VERSION, Cancelled, Options
from ...errors import StoreUnavailableError
from ...events.encoded import Batch, EncodedEvent
from ...events.event_log import EventLog
from ...events.readers import Reader
from ...run_outcome import UNFINISHED
from ..encryption import seal
from .active_run import LastRun, OwnedRun
from .appends import Appends
from .background import PAUSES
from .records import HANDED_OVER, MORE, OUTCOMES, SNAPSHOT, Entry, RunEnd
from .renewals import TAKEN, HeldLease, Renewals, clock
from .run_database import Append, Appended, Own, RunDatabase

_LONGEST_WAIT: Final = 1.0
"""Seconds for which readers in this process wait, at most, until the database knows the end of a run."""
_LOG_BYTES: Final = 64_000
"""The size of a log, in bytes, above which a snapshot replaces its entries; or twice the size of its last snapshot, if
that is more."""
_FULL: Final = 256
"""The number of events in a batch from which on the next batch is not delayed by the window."""
_ENDS: Final = frozenset({"RUN_FINISHED", "RUN_ERROR"})
_OPTIONS: Final = Options(protocol_version=PROTOCOL_VERSION, first_state="delta")

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Publisher:
    """The hold of a run that other processes can read (see `Hold`): it publishes the run, from its claim on.

    - `appends`, `renewals`: those of the process.
    - `sent`: when the claim was sent, by `clock`.
    - `last`: how the thread's previous run ended.
    - `window`: seconds for which events are gathered.
    - `follow`: called if the run has lost its thread, perhaps to its continuation. Takes the run's event log, and the
      number of the last entry in the run database.
    - `at_end`: called when the publisher is done.
    """

    def __init__(
        self,
        database: RunDatabase,
        appends: Appends,
        own: Own,
        run: OwnedRun,
        sent: float,
        last: RunEnd | None,
        window: float,
        renewals: Renewals,
        follow: Callable[[EventLog, int], None],
        at_end: Callable[[], None],
    ) -> None:
        self.run = run
        self.number = own.fence
        self.is_free = False
        """Whether the run is over for this process."""
        self._database = database
        self._appends = appends
        self._own = own
        self._window = window
        self._renewals = renewals
        self._lease = HeldLease(own, sent, database.lease, self._lose_lease)
        self._follow = follow
        self._at_end = at_end
        self._now = asyncio.get_running_loop().time
        self._reader = Reader(_OPTIONS)
        self._batches: AsyncGenerator[Batch, None] | None = None
        self._step: asyncio.Task[Batch | None] | None = None
        """Reads the next batch."""
        self._has_read_all = False
        self._number = self._at = 0
        """The number of the last entry in the log, and the number of events up to its end."""
        self._kind = SNAPSHOT
        """The kind of the next entry."""
        self._bytes = self._snapshot_bytes = 0
        self._counts_from = 0.0
        """The time from which on the number of readers elsewhere is right again after an outage: by then their
        processes have noted them in the database."""
        self._had_readers = False
        """Whether a reader of this process has left, or other processes have had readers."""
        self._last_before = last
        self._last: RunEnd | None = None
        self._done: Callable[[], None] | None = None
        """The callback that `release` or `hand_over` was given."""
        self._is_handed_over = False
        """Whether another process is to continue the run."""
        self._stored_input = b""
        """What replaces the input of the run when it is handed over."""
        self._has_ended = False
        """Whether the database knows that the run is over."""
        self._is_known = asyncio.Event()
        """Set when the database knows that the run is over, or when the publisher has ended."""
        self._is_over = self._is_lost = False
        self._woken = asyncio.Event()
        renewals.hold(self._lease)
        self.task = asyncio.get_running_loop().create_task(self._publish(), name=f"publisher of {run.run_id}")

    def wake(self) -> None:
        """Makes the publisher renew the lease now, since the answer says whether the run is to stop."""
        self._woken.set()

    def confirmation(self) -> Awaitable[None] | None:
        """See `Hold`."""
        self._renewals.look(self._lease)
        return asyncio.sleep(0) if self._is_lost else None  # the run's task is cancelled in the sleep

    async def wait_for_end(self, seconds: float) -> None:
        """Waits until the database knows that the run is over, for this many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_known.wait()

    def last_reader_left(self) -> None:
        """See `Hold`."""
        self._had_readers = True
        self.wake()

    @property
    def last(self) -> RunEnd | None:
        """How the thread's last run ended: the previous run, until this one is over."""
        return (self._last if self.is_free else None) or self._last_before

    def release(self, last: LastRun | None, done: Callable[[], None]) -> None:
        """See `Hold`."""
        if last is not None:  # without a checkpointer, the log will be all that is left of the run
            self._last = RunEnd.of(last, self._own.claim)
        self._leave_thread(done)

    def hand_over(self, stored_input: bytes, done: Callable[[], None]) -> None:
        """See `Hold`."""
        self._is_handed_over, self._stored_input = True, stored_input
        self._leave_thread(done)

    def _leave_thread(self, done: Callable[[], None]) -> None:
        self._done = done
        self._renewals.leave(self._lease)
        if self._is_over:
            self._free()
        else:
            asyncio.get_running_loop().call_later(_LONGEST_WAIT, self._free)
            self.wake()

    def _free(self) -> None:
        """Lets the run emit its last events, once."""
        if self._done is not None and not self.is_free:
            self.is_free = True
            self._done()

    async def _publish(self) -> None:
        failures = 0
        try:
            while not self._is_over:
                try:
                    await self._turn()
                    failures = 0
                except Exception:
                    _log.exception("The run could not be published (%s).", self.run.label)
                    if failures == len(PAUSES):
                        self._lose("The run can't be published, and is stopped")
                        break
                    await asyncio.sleep(PAUSES[failures])
                    failures += 1
                    await self._begin_anew()
        finally:
            self._is_over = True
            self._renewals.leave(self._lease)
            self._is_known.set()
            await self._leave()
            self._free()
            self._at_end()

    async def _turn(self) -> None:
        await self._wait()
        self._woken.clear()  # first, so that everything that happens from now on causes another turn
        if self._done is not None and not self._has_ended:
            await self._end()
        elif self._step is not None and self._step.done():
            step, self._step = self._step, None
            await self._publish_batch(step.result())
        elif not self._has_ended:
            await self._append(None)

    async def _wait(self) -> None:
        """Waits until a batch is ready, something else happens, or the lease has to be renewed."""
        if self._step is None and not self._has_read_all:
            self._step = asyncio.get_running_loop().create_task(self._read())
            self._step.add_done_callback(lambda _: self._woken.set())
        if self._step is not None and self._step.done():
            return  # the batch was ready, but something else was done first
        with suppress(TimeoutError):
            async with asyncio.timeout(self._database.lease / 3):
                await self._woken.wait()

    async def _read(self) -> Batch | None:
        if self._batches is None:
            self._batches = self.run.published(self._reader)
        return await anext(self._batches, None)

    async def _publish_batch(self, batch: Batch | None) -> None:
        """Appends a batch; None says that there are no more."""
        if batch is None:
            self._has_read_all = True
            if self._has_ended:
                await self._append(self._entry(self.run.status, []))
            return
        if self._has_ended:
            batch = await self._to_the_end(batch)
        if self._kind == MORE and not self._continues(batch):
            await self._begin_anew()
            return
        is_last = self._has_ended and self._kind == MORE and batch[-1].event["type"] in _ENDS
        await self._append(self._entry(self.run.status if is_last else self._kind, batch))
        if self._bytes > max(_LOG_BYTES, 2 * self._snapshot_bytes) and not self._is_over:
            await self._shorten()
        elif len(batch) < _FULL and not self._has_ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._window):
                    await self._woken.wait()

    async def _to_the_end(self, batch: Batch) -> Batch:
        """Returns a batch of a run that has ended together with all batches after it. They are ready, so one entry is
        enough for all."""
        while self._batches is not None and batch[-1].event["type"] not in _ENDS:
            rest = await anext(self._batches, None)
            if rest is None:
                break
            batch = [*batch, *rest]
        return batch

    async def _shorten(self) -> None:
        """Appends all events that are ready, then a snapshot that replaces the entries of the log."""
        reader, batches = self._reader, self._batches
        self._reader = Reader(_OPTIONS)
        self._batches = self.run.published(self._reader)
        snapshot, rest = await anext(self._batches), list[EncodedEvent]()
        while batches is not None and _at(reader) < _at(self._reader):  # these are ready: no other task runs
            rest += await anext(batches)
        if batches is not None:
            await batches.aclose()
        if rest and self._continues(rest):
            await self._append(self._entry(MORE, rest))
            if self._is_over or self._kind == SNAPSHOT:
                return  # another run has the thread, or the next entry is a snapshot anyway
        await self._append(self._entry(SNAPSHOT, snapshot))

    def _continues(self, batch: Batch) -> bool:
        """Returns whether the reader's last batch follows directly after the events in the log."""
        return _at(self._reader) == self._at + len(batch)

    def _entry(self, kind: str, batch: Batch) -> Entry:
        frames = b"".join(event.frame(PROTOCOL_VERSION) for event in batch)
        return Entry(self.number, self._number + 1, kind, _at(self._reader), seal(frames, self._own.thread.cipher))

    async def _append(self, entry: Entry | None) -> None:
        """Appends an entry, and acts on the answer. With None, only renews the lease."""
        # a run that is to be continued is not stopping, or else its continuation would be asked to stop
        status = "free" if self._has_ended else "running" if self.run.is_handed_over else self.run.status
        append = Append(self._own, status, entry, self._number)

        async def send() -> Appended:
            sent = clock()
            appended = await self._appends.append(append)
            if status != "free" and appended.answer != "taken":
                self._lease.renewed(sent)
            return appended

        had_readers = self._had_readers and not self.run.readers  # else the last reader that leaves causes another turn
        answer, is_cancelled, elsewhere = await self._answer(send)
        if answer == "taken":
            self._lose()
        elif answer == "gap":
            if self._kind != SNAPSHOT:  # else the next entry mends the gap anyway
                await self._begin_anew()
        elif entry is not None:
            self._count(entry)
        self._had_readers = self._had_readers or elsewhere > 0
        is_left = had_readers and not (self.run.readers or elsewhere) and self._now() >= self._counts_from
        if is_cancelled or (is_left and self.run.needs_readers):
            self.run.stop(Cancelled())

    def _count(self, entry: Entry) -> None:
        """Notes that an entry is in the log."""
        self._number, self._at = entry.number, entry.at
        self._bytes += len(entry.frames)
        if entry.kind == SNAPSHOT:
            self._bytes = self._snapshot_bytes = len(entry.frames)
        self._kind = MORE
        self._is_over = entry.kind in OUTCOMES

    async def _end(self) -> None:
        """Frees the thread, and then lets the run emit its last events."""
        if self._is_handed_over:
            await self._hand_over()
        elif not await self._answer(lambda: self._database.release(self._own, self._last)):
            self._lose()
        else:
            self._has_ended = True
            self._is_known.set()
            self._free()
            if self._has_read_all:
                await self._append(self._entry(self.run.status, []))

    async def _hand_over(self) -> None:
        """Gives up the run, and tells the processes that follow it."""
        await self._answer(lambda: self._database.hand_over(self._own, self._stored_input))
        self._is_over = True
        self._is_known.set()
        self._free()
        entry = Entry(self.number, self._number + 1, HANDED_OVER, self._at, seal(b"", self._own.thread.cipher))
        with suppress(StoreUnavailableError):  # otherwise they find out that the run is lost
            await self._appends.append(Append(self._own, "free", entry, self._number))

    def _lose_lease(self, why: str) -> None:
        if self._done is None:  # else the run has ended, and the answer to `release` says whether it had the thread
            self._lose(why)

    def _lose(self, why: str = TAKEN) -> None:
        if self._is_over or self._has_ended:
            return
        _log.error("%s (%s).", why, self.run.label)
        self._is_over = self._is_lost = True
        self._renewals.leave(self._lease)
        events = self.run.give_way() if why == TAKEN and self._own.claim.has_input else None
        if events is None:
            self.run.stop(UNFINISHED)
        else:
            self._follow(events, self._number)
        self.wake()

    async def _begin_anew(self) -> None:
        """Reads the run from its beginning again, so that the next entry is a snapshot."""
        await self._leave()
        self._reader, self._kind, self._has_read_all = Reader(_OPTIONS), SNAPSHOT, False

    async def _leave(self) -> None:
        """Stops reading the run."""
        step, self._step = self._step, None
        if step is not None:
            step.cancel()
            await asyncio.wait([step])
        batches, self._batches = self._batches, None
        if batches is not None:
            await batches.aclose()

    async def _answer(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Repeats a command until the database answers, and returns the answer. The pauses are so short that the lease
        is renewed after an outage before the run counts as lost."""
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            try:
                return await ask()
            except StoreUnavailableError:
                await asyncio.sleep(min(pause, self._database.lease / 8))
                self._counts_from = self._now() + self._database.lease / 2
        raise AssertionError("unreachable: the pauses never end")


def _at(reader: Reader) -> int:
    """Returns the number of events of the run that a reader has received."""
    return 0 if reader.offset is None else reader.offset.event
