"""The interface of a run database, `RunDatabase`, which a run store keeps outside of its process, and the values that
its methods return. No I/O.

A run database is small: it decides which run has a thread, keeps the events of runs for other processes, and passes on
a few notifications. The other modules of this folder decide, once for all implementations, when to ask it and what to
do with the answer.

Rules for every implementation:

1. A run has its thread until it is released, or until it is lost and another run is claimed. A claim that is granted
   gets a number, the fence, which is higher than that of any earlier claim of the thread.
2. A run is lost half a lease after its lease has expired, but only for a process that has been in contact with the
   database for the last half lease without a pause: while the database did not answer this process, it may not have
   answered the owners either, and they could not renew their leases. Until then the lease is in doubt.
   - A process is in contact as long as it calls `keep_contact` more often than its contact expires, after a third of a
     lease or earlier. A contact is identified by its beginning: after a pause, another one begins.
   - A database that has lost its data does not know of runs that go on. So it keeps since when it has been empty, and
     a thread without a fence is in doubt for half a lease from then on. If a process that has been in contact before
     (`is_first=False`) finds no such note, the data were lost, and the database has been empty since now. If a process
     that makes contact for the first time finds none, the database is new, and no thread is in doubt.
3. Every command may be carried out twice, or late, because a caller that gets no answer sends its command again.
   - A claim has a token. A claim of a run that has ended does nothing, nor does a claim with an earlier contact, or
     one that was withdrawn.
   - An entry that the log already has is not written again.
4. A run keeps its thread as long as no higher fence is known, even if its lease has expired or the database has lost
   its data: the next command of the run takes the thread again.
5. A lost run that has an input (`claim(run_input=)`) may be continued. The run that continues it has the same id, a
   fence of its own, and says so in its claim (`Claim.continues`). For `CONTINUED_WITHIN` leases after a run was lost,
   no other claim is granted, unless this process was not in contact: then the time begins with its contact.
   - An owner may also hand its run over. Then the run is lost at once, without doubt, and all commands of its owner
     are answered as if another run had the thread.
   - If somebody wanted a lost run to stop, its continuation is asked to stop.
6. An entry follows the last one of the log, or is a snapshot, which replaces all entries of the log.
7. Notifications of a thread arrive in the order in which they were sent. If some may have been lost, the takers are
   called with None.
8. Nothing is kept for ever: a log is kept for as long as its last entry says (`Append.kept`), the input of a run until
   the run ends, a finished run as its `Retention` says, and everything else about a thread for a day.
9. Finished runs are kept apart from everything that decides who has a thread. Their ages are measured by the clock of
   the day, since they outlive the machine's start.

All methods raise `StoreUnavailableError` if the database does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from .active_run import ThreadKey
from .records import Claim, Entry, RunEnd
from .retention import Retention, StoredRun

LOG_KEPT: Final = 60.0
"""Seconds for which the log of a run is kept after the lease that its last entry renews: readers in other processes
need it for that long."""
CONTINUED_WITHIN: Final = 3
"""Leases after a run was lost, for which its thread waits for a process that continues the run."""


class Claimed(NamedTuple):
    """A claim that was granted: the fence, and how the thread's last run ended."""

    fence: int
    last: RunEnd | None


class Lease(NamedTuple):
    """The lease of a thread.

    - `state`: `valid`: a run has the thread. `lost`: the run is lost, and another one may claim the thread.
      `doubt`: it is not known yet whether the run is lost, or whether there is a run. `free`: there is no run.
    - `seconds`: how long the lease is still valid, or in doubt at most, or for how long the thread of a lost run waits
      for its continuation.
    - `fence`, `claim`, `is_stopping`: those of the run. A free thread has its highest fence here, or 0 if none is
      known. The fence rises when a run is claimed and when it is released. A lost run is also stopping if somebody
      wanted it to stop.
    - `last`: how the thread's last run ended.
    - `waiting`: the number of tickets in the line of the thread.
    - `is_handed_over`: whether the run is lost because its owner has handed it over. Not known if it is stopping.
    """

    state: Literal["valid", "doubt", "lost", "free"]
    seconds: float
    fence: int
    claim: Claim | None
    is_stopping: bool
    last: RunEnd | None
    waiting: int
    is_handed_over: bool = False

    @property
    def is_continuable(self) -> bool:
        """Whether the thread waits for the continuation of a lost run."""
        return self.state == "lost" and self.seconds > 0

    @property
    def is_idle(self) -> bool:
        """Whether any run may claim the thread."""
        return self.state == "free" or (self.state == "lost" and not self.is_continuable)


class LostThread(NamedTuple):
    """A thread whose run is lost and may be continued. Its key has no cipher, and its lease has no `last`, since no
    agent is known that could decrypt it."""

    thread: ThreadKey
    lease: Lease


@dataclass(frozen=True, slots=True)
class Own:
    """A run as its owner knows it: the thread, the fence, the token and the claim."""

    thread: ThreadKey
    fence: int
    token: str
    claim: Claim


class Log(NamedTuple):
    """Identifies the log of a run: the thread and the fence of the run."""

    thread: ThreadKey
    fence: int


@dataclass(frozen=True, slots=True)
class Append:
    """A command that appends an entry to the log of a run, and renews the lease of the run.

    - `own`: the run.
    - `status`: the status of the run, or `free` after its end, when it needs no lease.
    - `entry`: the entry; with None the command only renews the lease.
    - `number`: the number of the last entry before this one.
    - `kept`: seconds, in addition to a lease, for which the log is kept if no other entry follows.
    """

    own: Own
    status: str
    entry: Entry | None
    number: int
    kept: float = LOG_KEPT


class Appended(NamedTuple):
    """The answer to an `Append`.

    - `answer`: `ok`: the entry is in the log. `gap`: the log lacks entries before this one, so the next entry must be
      a snapshot. `taken`: another run has the thread.
    - `is_cancelled`: whether the run is to stop.
    - `readers`: the number of other processes that have readers of the run.
    """

    answer: Literal["ok", "gap", "taken"]
    is_cancelled: bool
    readers: int


@dataclass(frozen=True, slots=True)
class News:
    """A notification of a thread.

    - `kind`: `started`: a run was claimed. `back`: the owner of a run has renewed its lease after it had expired.
      `turn`: the turn has passed on. `mark`: its receiver has received everything that was sent before it.
    - `fence`, `claim`: those of the run that started or came back.
    - `mark`: the id of the mark.
    """

    kind: Literal["started", "back", "turn", "mark"]
    fence: int = 0
    claim: Claim | None = None
    mark: str = ""


Take = Callable[[News | None], None]
"""Takes the notifications of a thread; None says that some may have been lost."""
Wake = Callable[[int | None], None]
"""Called when another process wants a run of this process to stop, or no longer has readers of it. Takes the fence of
the run, or None if it may be any run."""


class LeaseRenewer(Protocol):
    """Renews the leases of a process, from another event loop than that of its runs."""

    async def renew(self, runs: Sequence[Own]) -> Sequence[bool]:
        """See `RunDatabase.renew`."""

    async def aclose(self) -> None:
        """Closes its connections."""


class RunDatabase(LeaseRenewer, Protocol):
    """The run database as one process sees it. See the rules of this module.

    - `process`: the id of the process.
    - `lease`: the length of a lease, in seconds.
    """

    process: str
    lease: float

    def other_loop(self) -> LeaseRenewer:
        """Returns the same database for another event loop, in which this must be called."""

    def start(self) -> None:
        """Begins to listen for the requests of other processes that concern runs of this process."""

    # --- who has a thread -----------------------------------------------------------------------------------------

    async def keep_contact(self, *, is_first: bool) -> bytes | None:
        """Keeps this process in contact, and returns its contact, which changes after a pause. Returns None if the
        process is always in contact.

        `is_first`: whether the process has not been in contact yet. Then an empty database is a new one. If a process
        that has been in contact finds it empty, the implementation notes that the data were lost now (rule 2).

        Raises `StoreUnavailableError` even if the database answers but would refuse a claim, for example because it is
        full. So an implementation writes something at each call."""

    async def claim(
        self,
        thread: ThreadKey,
        token: str,
        claim: Claim,
        contact: bytes | None,
        revision: int | None = None,
        run_input: bytes = b"",
        ticket: str = "",
    ) -> Claimed | Claim | float | Literal["closed", "changed"]:
        """Claims a thread for a run.

        Returns `Claimed` if the claim is granted, or the claim of the active run. Returns the seconds after which the
        caller may try again if the lease is in doubt, or if `contact` is not the present contact of the process.
        Returns `closed` if an input has closed the thread, and `changed` if the fence of the thread is not `revision`.
        A lost run that may be continued counts as active, unless the claim continues it (rule 5).

        `run_input`: what another process needs to start the run again if this process is lost, or nothing. It is stored
        as it is: the caller encrypts it.

        `ticket`: the ticket of the input that starts the run. It leaves the line if the claim is granted."""

    async def withdraw(self, thread: ThreadKey, token: str) -> None:
        """Takes back a claim that got no answer. If it was granted, the thread is free again. If it is carried out
        later, it does nothing."""

    async def input_of(self, log: Log) -> bytes:
        """Returns the `run_input` of a run that has not ended, whether or not its owner is lost. Returns nothing
        (`b""`) if the claim had none, if the run has ended, if another run has been claimed, and if the database has
        lost its data."""

    async def renew(self, runs: Sequence[Own]) -> Sequence[bool]:
        """Renews the leases of runs. Returns for each, in this order, False if another run has its thread."""

    async def release(self, own: Own, last: RunEnd | None) -> bool:
        """Frees the thread of a run, and keeps how the run ended. Returns False if another run has the thread. `last`
        is None if only the checkpoint says how the run ended."""

    async def hand_over(self, own: Own, run_input: bytes = b"") -> bool:
        """Gives up a run that has an input and has not ended, so that it is lost at once, and notifies those who have
        called `subscribe_lost`. Returns False if another run has the thread, or if the run has ended. `run_input`
        replaces its input, unless it is empty."""

    async def lost_threads(self, namespace: str) -> Sequence[LostThread]:
        """Returns the threads of a namespace whose runs are lost and have an input, however long ago they were lost."""

    async def subscribe_lost(self, namespace: str, take: Callable[[], None]) -> None:
        """Calls `take` from now on whenever a run of a namespace has been handed over, or may have been."""

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """Returns the lease of a thread, and what else the database knows of the thread at the same moment."""

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets a thread that was deleted: how its last run ended, and the events of all its runs, also those of
        finished runs. If it has a run, the run loses the thread, and does not get it back if its owner returns."""

    # --- the events of runs ---------------------------------------------------------------------------------------

    async def append(self, entries: Sequence[Append]) -> Sequence[Appended]:
        """Appends an entry to the log of each of these runs, and renews their leases."""

    async def read(self, logs: Mapping[Log, int]) -> Mapping[Log, Sequence[Entry]]:
        """Returns the new entries of these logs: those that come after the numbers given. Waits until there are any,
        until `interrupt_read` is called, or for a while. Only one call may wait at a time."""

    async def interrupt_read(self) -> None:
        """Makes a `read` that waits return, so that it can be called with other logs."""

    async def entries(self, log: Log, after: int) -> Sequence[Entry]:
        """Returns the entries that a log has now after the entry number `after`."""

    async def has_log(self, log: Log) -> bool:
        """Returns whether the log of a run still exists."""

    async def logs(self, thread: ThreadKey) -> Sequence[int]:
        """Returns the fences of the runs of a thread whose logs still exist, the oldest first."""

    async def drop_log(self, log: Log) -> None:
        """Deletes the log of a run that has ended."""

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """Notes for one more lease that this process has readers of a run; or deletes the note, and tells the owner of
        the run."""

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """Asks the owner of a run to stop it. The owner learns of this at its next entry at the latest."""

    # --- finished runs --------------------------------------------------------------------------------------------

    async def keep(self, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
        """Keeps a finished run, and drops the oldest runs of its namespace that are over a limit. Does nothing if the
        thread was deleted since the run was claimed.

        - `log`: identifies the run.
        - `about`, `events`: what `finished_runs` and `finished_events` return, as they are: the caller encrypts them.
        - `retention`: the limits."""

    async def finished_runs(self, thread: ThreadKey) -> Sequence[StoredRun]:
        """Returns the finished runs of a thread that are kept, the oldest first."""

    async def finished_events(self, log: Log) -> bytes:
        """Returns the events of a finished run; nothing (`b""`) if they are not kept."""

    # --- queued inputs --------------------------------------------------------------------------------------------

    async def enter(self, thread: ThreadKey, ticket: str) -> tuple[Lease, bool]:
        """Returns the lease of a thread, and whether a new ticket has the turn. If no run has the thread, and no other
        ticket is in the line, it gets the turn for one lease. Otherwise it does not join the line."""

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> Lease | None:
        """Puts a ticket at the end of the line, or renews it for one more lease. Returns the lease of the thread if the
        ticket has the turn. `closes`: whether the thread is closed to claims during this turn."""

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """Takes a ticket out of the line."""

    # --- notifications --------------------------------------------------------------------------------------------

    async def subscribe(self, thread: ThreadKey, take: Take) -> None:
        """Calls `take` with every notification of a thread from now on; or, if the database does not answer in time,
        from when it answers."""

    async def unsubscribe(self, thread: ThreadKey, take: Take) -> None:
        """Stops calling `take`."""

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """Sends a mark to all who have subscribed to the thread."""
