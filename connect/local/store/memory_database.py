"""`MemoryRunDatabase`: a run database in the memory of one process. No I/O.

It belongs to one event loop, and its methods do not suspend while they change it, so it has no locks. It never fails,
so no lease expires. Logs, readers and requests to stop are not needed in one process, whose readers read its runs
directly. They allow several stores of one event loop to share a database, as several processes share a Redis.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ...recent import Recent
from .active_run import ThreadKey
from .records import SNAPSHOT, Claim, Entry, RunEnd
from .retention import Retention, StoredRun
from .run_database import (
    CONTINUED_WITHIN,
    Append,
    Appended,
    Claimed,
    Lease,
    Log,
    LostThread,
    News,
    Own,
    RunDatabase,
    Take,
    Wake,
)

_LEASE: Final = 3.0e7
"""Seconds: about a year."""
_MOST_LOGS: Final = 100


@dataclass(slots=True)
class _Finished:
    """A finished run that is kept. `until`: in seconds since 1970."""

    about: bytes
    events: bytes
    until: float


@dataclass(slots=True)
class _Thread:
    """The record of a thread; see `RunDatabase`. `is_lost`: whether the run was handed over. `ended`: the token of the
    last run that was released. `forgotten`: the fence up to which nothing is kept."""

    fence: int = 0
    run: Own | None = None
    status: str = ""
    is_cancelled: bool = False
    is_lost: bool = False
    ended: str = ""
    forgotten: int = 0
    input: bytes = b""
    last: RunEnd | None = None


class MemoryData:
    """The data that the processes share.

    - `linger`: seconds for which an ended run of a graph without a checkpointer can still be read.
    - `lingering`: the number of such runs, at most.
    - `remembered`: the number of threads whose fence and last run's end are kept.
    """

    def __init__(self, linger: float = 60.0, lingering: int = 100, remembered: int = 1_000) -> None:
        self.active: dict[ThreadKey, _Thread] = {}
        self.idle: Recent[ThreadKey, _Thread] = Recent(remembered)
        self.lines: dict[ThreadKey, list[str]] = {}
        """The tickets of inputs, in the order in which they came."""
        self.closed: dict[ThreadKey, str] = {}
        """The ticket that has closed a thread."""
        self.takers: dict[ThreadKey, list[Take]] = {}
        self.lost_takers: dict[tuple[str, str], Callable[[], None]] = {}
        """What `subscribe_lost` was given, by the namespace and the process."""
        self.logs: Recent[Log, list[Entry]] = Recent(_MOST_LOGS)
        self.finished: dict[Log, _Finished] = {}
        """The finished runs that are kept, the oldest first."""
        self.finished_bytes = 0
        """The size of their events."""
        self.readers: dict[Log, set[str]] = {}
        self.processes: dict[str, Wake] = {}
        self.readings: set[asyncio.Event] = set()
        """The events that wake processes which wait for entries."""
        self._linger = linger
        self._most_lingering = lingering
        self._lingering: OrderedDict[ThreadKey, asyncio.TimerHandle] = OrderedDict()

    def thread(self, thread: ThreadKey) -> _Thread:
        """Returns the record of a thread; a new one, which is not stored, if there is none."""
        state = self.active.get(thread) or self.idle.get(thread)
        return _Thread() if state is None else state

    def notify(self, thread: ThreadKey, news: News) -> None:
        """Passes on a notification."""
        for take in list(self.takers.get(thread, ())):
            take(news)

    def keep(self, thread: ThreadKey, end: RunEnd) -> None:
        """Keeps how a run ended, and the run itself for `linger` seconds if its graph has no checkpointer."""
        self.thread(thread).last = end
        if end.last.run is not None:
            timer = asyncio.get_running_loop().call_later(self._linger, self.drop, thread)
            self._lingering[thread] = timer
            if len(self._lingering) > self._most_lingering:
                self.drop(next(iter(self._lingering)))

    def drop(self, thread: ThreadKey) -> None:
        """Drops an ended run that was kept."""
        if (timer := self._lingering.pop(thread, None)) is not None:
            timer.cancel()
            self.thread(thread).last = None

    def drop_finished(self, log: Log) -> None:
        """Drops a finished run that was kept."""
        self.finished_bytes -= len(self.finished.pop(log).events)

    def close(self) -> None:
        """Drops all ended runs that were kept for their readers."""
        for thread in list(self._lingering):
            self.drop(thread)


class MemoryRunDatabase(RunDatabase):
    """The data as one process sees them. `wake`: see `Wake`."""

    def __init__(self, data: MemoryData, process: str, wake: Wake) -> None:
        self.process = process
        self.lease = _LEASE
        self._data = data
        self._news = asyncio.Event()
        data.processes[process] = wake

    def other_loop(self) -> MemoryRunDatabase:
        """See `RunDatabase.other_loop`. No lease is ever due here."""
        return self

    def start(self) -> None:
        """Does nothing: there is nothing to connect to."""

    async def aclose(self) -> None:
        """Removes the process, and drops ended runs that were kept."""
        self._data.processes.pop(self.process, None)
        self._data.readings.discard(self._news)
        for key in [key for key in self._data.lost_takers if key[1] == self.process]:
            del self._data.lost_takers[key]
        self._data.close()

    # --- who has a thread -----------------------------------------------------------------------------------------

    async def keep_contact(self, *, is_first: bool) -> None:
        """Returns None: the process is always in contact."""

    async def claim(
        self,
        thread: ThreadKey,
        token: str,
        claim: Claim,
        contact: bytes | None,
        revision: int | None = None,
        run_input: bytes = b"",
        ticket: str = "",
    ) -> Claimed | Claim | Literal["closed", "changed"]:
        """See `RunDatabase.claim`."""
        state = self._data.thread(thread)
        if thread in self._data.closed or token == state.ended:
            return "closed"
        if state.run is not None and state.run.token == token:
            return Claimed(state.fence, state.last)
        if state.run is not None and not (state.is_lost and claim.continues == state.fence):
            return state.run.claim
        if revision not in (None, state.fence):
            return "changed"
        self._data.drop(thread)
        self._data.idle.pop(thread, None)
        self._data.active[thread] = state
        is_cancelled = claim.continues > 0 and (state.is_cancelled or state.status == "stopping")
        self._own(Own(thread, max(time.time_ns() // 1_000_000, state.fence + 1), token, claim))  # also after a restart
        state.input, state.is_cancelled = run_input, is_cancelled
        self._data.notify(thread, News("started", state.fence, claim))
        if ticket:
            await self.leave(thread, ticket)
        return Claimed(state.fence, state.last)

    async def withdraw(self, thread: ThreadKey, token: str) -> None:
        """See `RunDatabase.withdraw`. No claim is carried out later."""
        run = self._data.thread(thread).run
        if run is not None and run.token == token:
            self.free(run, None)

    async def renew(self, runs: Sequence[Own]) -> list[bool]:
        """See `RunDatabase.renew`."""
        return [self._is_owned(own) for own in runs]

    async def release(self, own: Own, last: RunEnd | None) -> bool:
        """See `RunDatabase.release`."""
        return self.free(own, last)

    def free(self, own: Own, last: RunEnd | None) -> bool:
        """Does the same as `release`, synchronously."""
        state = self._data.thread(own.thread)
        if state.ended == own.token:
            return True
        if not self._is_owned(own):
            return False
        state = self._data.active.pop(own.thread)
        state.ended, state.fence, state.run, state.status, state.input = own.token, own.fence + 1, None, "", b""
        self._data.idle[own.thread] = state
        if last is not None:
            self._data.keep(own.thread, last)
        return True

    async def input_of(self, log: Log) -> bytes:
        """See `RunDatabase.input_of`."""
        state = self._data.thread(log.thread)
        return state.input if state.fence == log.fence else b""

    async def hand_over(self, own: Own, run_input: bytes = b"") -> bool:
        """See `RunDatabase.hand_over`."""
        state = self._data.thread(own.thread)
        if not (state.run == own and state.is_lost):
            if state.ended == own.token or not self._is_owned(own):
                return False
            state.is_lost, state.input = True, run_input or state.input
            for (namespace, _), take in list(self._data.lost_takers.items()):
                if namespace == own.thread.namespace:
                    take()
        return True

    async def lost_threads(self, namespace: str) -> list[LostThread]:
        """See `RunDatabase.lost_threads`."""
        active = self._data.active.items()
        lost = [thread for thread, state in active if thread.namespace == namespace and state.is_lost and state.input]
        return [LostThread(replace(thread, cipher=None), await self.lease_of(thread)) for thread in lost]

    async def subscribe_lost(self, namespace: str, take: Callable[[], None]) -> None:
        """See `RunDatabase.subscribe_lost`."""
        self._data.lost_takers[namespace, self.process] = take

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """See `RunDatabase.lease_of`."""
        state = self._data.thread(thread)
        waiting = len(self._data.lines.get(thread, ()))
        if state.run is None:
            return Lease("free", 0.0, state.fence, None, False, state.last, waiting)
        if state.is_lost:
            waits = CONTINUED_WITHIN * _LEASE if state.input else 0.0
            is_stopping = state.is_cancelled or state.status == "stopping"
            claim = state.run.claim
            return Lease("lost", waits, state.fence, claim, is_stopping, state.last, waiting, is_handed_over=True)
        is_stopping = state.status == "stopping"
        return Lease("valid", _LEASE, state.fence, state.run.claim, is_stopping, state.last, waiting)

    async def forget(self, thread: ThreadKey) -> None:
        """See `RunDatabase.forget`."""
        self._data.drop(thread)
        self._data.idle.pop(thread, None)
        if (state := self._data.active.pop(thread, None)) is not None:
            self._data.idle[thread] = _Thread(state.fence + 1, forgotten=state.fence)
        for log in [log for log in self._data.logs if log.thread == thread]:
            del self._data.logs[log]
        for log in [log for log in self._data.finished if log.thread == thread]:
            self._data.drop_finished(log)

    def _own(self, own: Own) -> None:
        state = self._data.active[own.thread]
        state.fence, state.run, state.status = own.fence, own, ""
        state.is_cancelled = state.is_lost = False

    def _is_owned(self, own: Own) -> bool:
        """Returns whether the run has its thread. A run takes its thread again if no higher fence is known."""
        state = self._data.thread(own.thread)
        if state.fence < own.fence:
            self._data.active[own.thread] = state
            self._own(own)
        return state.fence == own.fence and not state.is_lost

    # --- the events of runs ---------------------------------------------------------------------------------------

    async def append(self, entries: Sequence[Append]) -> list[Appended]:
        """See `RunDatabase.append`."""
        return [self._append(append) for append in entries]

    def _append(self, append: Append) -> Appended:
        own, entry, state = append.own, append.entry, self._data.thread(append.own.thread)
        if append.status == "free":
            if state.forgotten >= own.fence or not state.fence:
                return Appended("ok", False, 0)  # its thread was deleted meanwhile
        elif not self._is_owned(own):
            return Appended("taken", False, 0)
        else:
            state.status = append.status
        log, answer = self._data.logs.setdefault(Log(own.thread, own.fence), []), self._logged(append)
        if answer == "ok" and entry is not None and entry.number > (log[-1].number if log else 0):
            if entry.kind == SNAPSHOT:
                log.clear()
            log.append(entry)
            for news in self._data.readings:
                news.set()
        is_cancelled = state.is_cancelled and append.status != "free"
        return Appended(answer, is_cancelled, len(self._data.readers.get(Log(own.thread, own.fence), ())))

    def _logged(self, append: Append) -> Literal["ok", "gap"]:
        """Returns `ok` if the log has all entries before this one."""
        log = self._data.logs.get(Log(append.own.thread, append.own.fence))
        newest = log[-1].number if log else 0
        if append.entry is None:
            return "ok" if newest >= append.number else "gap"
        follows = append.entry.kind == SNAPSHOT or newest >= append.entry.number - 1
        return "ok" if follows else "gap"

    async def read(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        """See `RunDatabase.read`."""
        self._data.readings.add(self._news)
        if not (logged := self._there(logs)):
            await self._news.wait()
            logged = self._there(logs)
        self._news.clear()
        return logged

    def _there(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        kept = self._data.logs
        logged = {log: [entry for entry in kept.get(log, ()) if entry.number > after] for log, after in logs.items()}
        return {log: entries for log, entries in logged.items() if entries}

    async def interrupt_read(self) -> None:
        """See `RunDatabase.interrupt_read`."""
        self._news.set()

    async def entries(self, log: Log, after: int) -> list[Entry]:
        """See `RunDatabase.entries`."""
        return self._there({log: after}).get(log, [])

    async def has_log(self, log: Log) -> bool:
        """See `RunDatabase.has_log`."""
        return bool(self._data.logs.get(log))

    async def logs(self, thread: ThreadKey) -> list[int]:
        """See `RunDatabase.logs`. Only the newest logs are kept, for as long as there is room for them."""
        return sorted(log.fence for log in self._data.logs if log.thread == thread)

    async def drop_log(self, log: Log) -> None:
        """See `RunDatabase.drop_log`."""
        self._data.logs.pop(log, None)

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """See `RunDatabase.note_readers`."""
        readers = self._data.readers.setdefault(Log(thread, fence), set())
        if has_readers:
            readers.add(self.process)
            return
        readers.discard(self.process)
        if not readers:
            del self._data.readers[Log(thread, fence)]
        self._wake(owner, fence)

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """See `RunDatabase.request_cancel`."""
        state = self._data.thread(thread)
        if state.fence == fence and state.run is not None:
            state.is_cancelled = True
            self._wake(owner, fence)

    def _wake(self, owner: str, fence: int) -> None:
        if owner in self._data.processes:
            self._data.processes[owner](fence)

    # --- finished runs --------------------------------------------------------------------------------------------

    async def keep(self, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
        """See `RunDatabase.keep`. The limits are those of all namespaces together."""
        data, now = self._data, time.time()
        state = data.thread(log.thread)
        if state.forgotten >= log.fence or not state.fence:
            return  # its thread was deleted meanwhile
        if log in data.finished:
            data.drop_finished(log)
        data.finished[log] = _Finished(about, events, now + retention.age)
        data.finished_bytes += len(events)
        for oldest, run in list(data.finished.items()):
            within = len(data.finished) <= retention.runs and data.finished_bytes <= retention.bytes
            if within and run.until > now:
                break
            data.drop_finished(oldest)

    async def finished_runs(self, thread: ThreadKey) -> list[StoredRun]:
        """See `RunDatabase.finished_runs`."""
        kept = [(log, run) for log, run in self._data.finished.items() if log.thread == thread]
        return [StoredRun(log.fence, run.about, len(run.events)) for log, run in kept if run.until > time.time()]

    async def finished_events(self, log: Log) -> bytes:
        """See `RunDatabase.finished_events`."""
        run = self._data.finished.get(log)
        return b"" if run is None or run.until <= time.time() else run.events

    # --- queued inputs, notifications -----------------------------------------------------------------------------

    async def enter(self, thread: ThreadKey, ticket: str) -> tuple[Lease, bool]:
        """See `RunDatabase.enter`."""
        lease, line = await self.lease_of(thread), self._data.lines.get(thread, [])
        if lease.is_idle and not line:
            self._data.lines[thread] = line = [ticket]
        return lease, line[:1] == [ticket]

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> Lease | None:
        """See `RunDatabase.turn`."""
        line = self._data.lines.setdefault(thread, [])
        if ticket not in line:
            line.append(ticket)
        has_turn = line[0] == ticket
        if has_turn and closes:
            self._data.closed[thread] = ticket
        return await self.lease_of(thread) if has_turn else None

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """See `RunDatabase.leave`."""
        line = self._data.lines.get(thread, [])
        if ticket in line:
            line.remove(ticket)
        if not line:
            self._data.lines.pop(thread, None)
        if self._data.closed.get(thread) == ticket:
            del self._data.closed[thread]
        self._data.notify(thread, News("turn"))

    async def subscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.subscribe`."""
        self._data.takers.setdefault(thread, []).append(take)

    async def unsubscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.unsubscribe`."""
        takers = self._data.takers[thread]
        takers.remove(take)
        if not takers:
            del self._data.takers[thread]

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """See `RunDatabase.publish_mark`."""
        self._data.notify(thread, News("mark", mark=mark))
