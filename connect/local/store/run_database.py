"""What a run store keeps outside of its process: the interface `RunDatabase`, and the values of its answers. No I/O.

A run database is small: it decides who has a thread, keeps the events of runs for other processes, and passes on a few
notifications. When it is asked, and what follows from the answer, is decided once for all implementations, by the
modules of this folder.

Rules for every implementation:

1. A run has a thread until it is released, or is lost and another run is claimed. Each claim that is granted has a
   higher number, the fence, than everything that was granted for the thread before.
2. A run is lost when its lease has been over for half a lease. While a process could not ask the database, owners could
   not renew their leases either. So the process that asks must have been in contact for half a lease (`keep_contact`).
3. Every command may be carried out again, and late: a caller whose answer was lost sends it again.
   - A claim has a token. The claim of a run that has ended does nothing, nor does one with a contact that is over.
   - An entry that is in the log already is not written again.
4. A run keeps its thread as long as no higher fence is known, also if its lease is over or the database has lost its
   data: its next command takes the thread again.
5. An entry follows the last one of the log, or is a snapshot, which replaces all entries of the log.
6. Notifications of a thread arrive in the order in which they were sent. They may be lost: then the takers are told so.
7. Nothing is kept for ever: a log for as long as its last entry says (`Append.kept`), the input of a run until the run
   ends, and everything else about a thread for a day.

All methods raise `StoreUnavailableError` where the database does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from .active_run import ThreadKey
from .records import Claim, Entry, RunEnd

LOG_KEPT: Final = 60.0
"""Seconds for which the log of a run is kept after its last entry, and in addition to its lease: readers of other
processes need it for that long."""


class Claimed(NamedTuple):
    """A claim that was granted: the fence, and how the thread's last run ended."""

    fence: int
    last: RunEnd | None


class Lease(NamedTuple):
    """The lease of a thread.

    - `state`: `valid`: its run has it. `lost`: its run has lost it, and another may claim the thread.
      `doubt`: it is not yet known whether the run is lost, or whether there is one. `free`: there is none.
    - `seconds`: for which it is valid, or in doubt.
    - `fence`, `claim`, `is_stopping`: of its run; of a free thread the highest fence, 0 if none is known. The fence
      rises when a run is claimed and when it is released.
    - `last`: how the thread's last run ended.
    - `waiting`: how many tickets there are.
    """

    state: Literal["valid", "doubt", "lost", "free"]
    seconds: float
    fence: int
    claim: Claim | None
    is_stopping: bool
    last: RunEnd | None
    waiting: int


@dataclass(frozen=True, slots=True)
class Own:
    """A run as its owner knows it: its thread, its fence, its token, its claim."""

    thread: ThreadKey
    fence: int
    token: str
    claim: Claim


class Log(NamedTuple):
    """The log of a run: its thread and its fence."""

    thread: ThreadKey
    fence: int


@dataclass(frozen=True, slots=True)
class Append:
    """An entry for the log of a run, which renews its lease as well.

    - `own`: the run.
    - `status`: the run's, or `free` after its end: then it needs no lease.
    - `entry`: None only renews the lease.
    - `number`: that of the last entry before this one.
    - `kept`: seconds for which the log is kept from now on, if no other entry follows.
    """

    own: Own
    status: str
    entry: Entry | None
    number: int
    kept: float = LOG_KEPT


class Appended(NamedTuple):
    """The answer to an entry.

    - `answer`: `ok`: it is in the log. `gap`: entries before it are missing in the log, and a snapshot has to be next.
      `taken`: another run has the thread.
    - `is_cancelled`: whether the run is to stop.
    - `readers`: how many other processes have readers of it.
    """

    answer: Literal["ok", "gap", "taken"]
    is_cancelled: bool
    readers: int


@dataclass(frozen=True, slots=True)
class News:
    """A notification of a thread.

    - `kind`: `started`: a run was claimed. `back`: the owner of a run whose lease was over has renewed it. `turn`: the
      turn has passed on. `mark`: whoever gets it has got all that was sent before.
    - `fence`, `claim`: of the run.
    - `mark`: which one it is.
    """

    kind: Literal["started", "back", "turn", "mark"]
    fence: int = 0
    claim: Claim | None = None
    mark: str = ""


Take = Callable[[News | None], None]
"""Takes what is notified of a thread; None: something may have been lost."""
Wake = Callable[[int | None], None]
"""Another process wants one of this process's runs to stop, or has no readers of it any more. Takes the fence of the
run; None: it may be any of them."""


class LeaseRenewer(Protocol):
    """The leases of a process, from another event loop."""

    async def renew(self, runs: Sequence[Own]) -> Sequence[bool]:
        """See `RunDatabase.renew`."""

    async def aclose(self) -> None:
        """Closes its connections."""


class RunDatabase(LeaseRenewer, Protocol):
    """The threads of one namespace and more, as one process sees them. `process`: its id. `lease`: seconds. See the
    module."""

    process: str
    lease: float

    def other_loop(self) -> LeaseRenewer:
        """The same database for another event loop; called there."""

    def start(self) -> None:
        """Begins to listen for what other processes want of this one's runs."""

    # --- who has a thread -----------------------------------------------------------------------------------------

    async def keep_contact(self, *, is_first: bool) -> bytes | None:
        """Keeps this process in contact; the contact, which is another one after a pause. None: it is always in
        contact. `is_first`: it has not been in contact yet, so an empty database is a new one. For a process that has
        been in contact it has lost its data, and for half a lease any thread may have a run. Raises
        `StoreUnavailableError` also where a claim would be refused."""

    async def claim(
        self,
        thread: ThreadKey,
        token: str,
        claim: Claim,
        contact: bytes | None,
        revision: int | None = None,
        run_input: bytes = b"",
    ) -> Claimed | Claim | float | Literal["closed", "changed"]:
        """Claims a thread. Gives `Claimed`; or the claim of the active run; or the seconds for which it is in doubt, or
        has another contact than this one; or `closed`; or `changed`: its fence is not `revision`.
        `run_input`: what another process needs to start the run again, should this one be lost; empty: nothing. It is
        stored as it is: the caller encrypts it."""

    async def input_of(self, log: Log) -> bytes:
        """The `run_input` of a run that has not ended, whether its owner is lost or not. Empty if there is none, if the
        run has ended or another one has been claimed, and after the database has lost its data."""

    async def renew(self, runs: Sequence[Own]) -> Sequence[bool]:
        """Renews the leases of runs, in this order; for each False if another run has its thread."""

    async def release(self, own: Own, last: RunEnd | None) -> bool:
        """Frees the thread of a run, and keeps how it ended; False if another run has it. None: only the checkpoint
        says how it ended."""

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """The lease of a thread, and what else is known of it at this moment."""

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets how the last run ended, and the events of all runs: the thread was deleted. Its run, if it has one,
        is lost, and does not have the thread any more should its owner come back."""

    # --- the events of runs ---------------------------------------------------------------------------------------

    async def append(self, entries: Sequence[Append]) -> Sequence[Appended]:
        """Appends an entry to the log of each of these runs, and renews their leases."""

    async def read(self, logs: Mapping[Log, int]) -> Mapping[Log, Sequence[Entry]]:
        """The entries of these logs after those of these numbers. Waits until there are any, or `interrupt_read` is
        called, or for a while. There is one such call at a time."""

    async def interrupt_read(self) -> None:
        """Makes `read` return if it waits: it is to be called with other logs."""

    async def entries(self, log: Log, after: int) -> Sequence[Entry]:
        """The entries of a log after the entry of this number that are there now."""

    async def has_log(self, log: Log) -> bool:
        """Whether a run's log is still there."""

    async def logs(self, thread: ThreadKey) -> Sequence[int]:
        """The fences of the runs of a thread whose logs are there, the oldest first."""

    async def drop_log(self, log: Log) -> None:
        """Deletes the log of a run that has ended."""

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """Notes for one more lease that this process has readers of a run; or, for its owner too, that it has none any
        more."""

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """Asks the owner of a run to stop it. The owner sees this at its next entry at the latest."""

    # --- queued inputs --------------------------------------------------------------------------------------------

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> Lease | None:
        """Gives a ticket a place in the order, or renews it for one more lease. If it is its turn, what is known of the
        thread. `closes`: no run is claimed in its turn."""

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """Takes a ticket back."""

    # --- notifications --------------------------------------------------------------------------------------------

    async def subscribe(self, thread: ThreadKey, take: Take) -> None:
        """Calls `take` with all that is notified of a thread from now on. If the database does not answer in time, that
        begins when it does."""

    async def unsubscribe(self, thread: ThreadKey, take: Take) -> None:
        """Ends what `subscribe` began."""

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """Notifies a mark."""
