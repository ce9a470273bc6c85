"""What is kept in Redis, as methods: `Database`. Each method is one command or script. Its callers decide when it is
sent, and what follows from the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

from ..active_run import ThreadKey
from . import scripts
from .commands import Commands
from .keys import EMPTIED, MARK, Claim, Entry, Keys, contact_key, owner_channel

_DAY: Final = 86_400_000
"""Milliseconds for which the outcome of a run is kept."""
_CONTACTS_A_LEASE: Final = 3
"""A contact ends after this part of a lease: earlier than any lease that could not be renewed."""
_LOG: Final = 60_000
"""Milliseconds for which a log is kept after its last entry."""

Answer = Literal["ok", "gap", "taken"]
"""Of an entry: it is in the log; entries before it are missing there; or another run has the thread."""


class Claimed(NamedTuple):
    """A claim that was granted: the fence, and how the thread's last run ended."""

    fence: int
    last: bytes


class Lease(NamedTuple):
    """The lease of a thread.

    - `state`: `valid`: its run has it. `lost`: its run has lost it, and another may claim the thread.
      `doubt`: it is not yet known whether the run is lost, or whether there is one. `free`: there is none.
    - `seconds`: for which it is valid, or in doubt.
    - `fence`, `claim`, `is_stopping`: of its run; of a free thread the highest fence, 0 if none is known.
    """

    state: Literal["valid", "doubt", "lost", "free"]
    seconds: float
    fence: int
    claim: Claim | None
    is_stopping: bool


class Appended(NamedTuple):
    """The answer to an entry, whether the run is to stop, and how many other processes have readers of it."""

    answer: Answer
    is_cancelled: bool
    readers: int


@dataclass(frozen=True, slots=True)
class Own:
    """A run as its owner knows it: its thread, its fence, its token, its claim as stored."""

    thread: ThreadKey
    fence: int
    token: str
    claim: bytes


class Database:
    """The threads of one Redis. `lease`: seconds. `process`: the id of this one. Everything raises
    `StoreUnavailableError` where Redis does not answer."""

    def __init__(self, commands: Commands, lease: float, process: str) -> None:
        self.process = process
        self.lease = lease
        self.lease_ms = round(lease * 1_000)
        self._commands = commands

    async def keep_contact(self, *, is_first: bool) -> bytes:
        """Keeps this process in contact; the contact, which is another one after a pause. `is_first`: it has not been
        in contact yet."""
        names, given = (
            (contact_key(self.process), EMPTIED),
            (self.lease_ms // _CONTACTS_A_LEASE, _DAY, int(not is_first)),
        )
        return bytes(await self._commands.run(scripts.CONTACT, names, given, proves=True))

    async def claim(
        self, thread: ThreadKey, token: str, claim: bytes, contact: bytes, revision: int | None = None
    ) -> Claimed | Claim | float | Literal["closed", "changed"]:
        """Claims a thread. Gives `Claimed`; or the claim of the active run; or the seconds for which it is in doubt, or
        has another contact than this one; or `changed`: it does not have the fence `revision`."""
        keys, wanted = Keys(thread), "" if revision is None else revision
        names = (*self._lease_keys(thread), keys.closed)
        given = (self.lease_ms // 2, token, self.lease_ms, _DAY, claim, keys.channel, contact, wanted)
        answer, value, last = await self._commands.run(scripts.CLAIM, names, given)
        if answer == b"claimed":
            return Claimed(int(value), last)
        if answer == b"busy":
            return Claim.from_json(value)
        if answer == b"doubt":
            return int(value) / 1_000
        return "changed" if answer == b"changed" else "closed"

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """The lease of a thread."""
        names, given = self._lease_keys(thread), (self.lease_ms // 2,)
        state, ms, fence, claim, status = await self._commands.run(scripts.LEASE, names, given)
        found = Claim.from_json(claim) if claim else None
        return Lease(state.decode(), ms / 1_000, int(fence), found, status == b"stopping")

    async def fence(self, thread: ThreadKey) -> int:
        """The highest fence of a thread; 0 if none is known."""
        (fence,) = await self._hash(Keys(thread).thread, "fence")
        return int(fence or 0)

    async def append(self, own: Own, status: str, entry: Entry | None, number: int) -> Appended:
        """Appends an entry, and renews the lease; None only renews it. `status`: the run's, or `free` after its end.
        `number`: of the last entry."""
        keys = Keys(own.thread)
        written = (number, "", 0, b"") if entry is None else (entry.number, entry.kind, entry.at, entry.frames)
        answer, cancel, readers = await self._commands.run(
            scripts.APPEND,
            (keys.thread, keys.log(own.fence), keys.readers(own.fence), keys.logs),
            (*_own(own), status, self.lease_ms, _LOG + self.lease_ms, keys.channel, *written),
        )
        return Appended(cast(Answer, answer.decode()), cancel == b"1", readers)

    async def end(self, own: Own, last: bytes) -> bool:
        """Frees the thread; False if another run has it."""
        keys = Keys(own.thread)
        answer = await self._commands.run(scripts.END, (keys.thread,), (*_own(own), last, keys.channel))
        return bool(answer == b"free")

    async def renew(self, own: Own) -> bool:
        """Renews the lease of a run; False if another run has the thread."""
        keys = Keys(own.thread)
        answer = await self._commands.run(scripts.RENEW, (keys.thread,), (*_own(own), self.lease_ms, keys.channel))
        return bool(answer == b"ok")

    async def last(self, thread: ThreadKey) -> bytes | None:
        """How the last run of a thread ended; see `last_from_json`."""
        (last,) = await self._hash(Keys(thread).thread, "last")
        return last

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets how the last run ended, and the events of all runs."""
        keys = Keys(thread)
        found = await self._commands.run(scripts.FORGET, (keys.thread, keys.logs), ())
        runs = [name for fence in map(int, found) for name in (keys.log(fence), keys.readers(fence))]
        await self._commands.ask(lambda: self._client.delete(keys.logs, *runs))

    async def entries(self, thread: ThreadKey, fence: int, after: int) -> list[Entry]:
        """The entries of a run's log after the entry of this number."""
        name, first = Keys(thread).log(fence), f"{fence}-{after + 1}"
        found: Any = await self._commands.ask(lambda: self._client.xrange(name, min=first))
        return [Entry.of_log(entry_id, fields) for entry_id, fields in found]

    async def has_log(self, thread: ThreadKey, fence: int) -> bool:
        """Whether a run's log is still there."""
        name = Keys(thread).log(fence)
        return bool(await self._commands.ask(lambda: self._client.exists(name)))

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """Asks the owner of a run to stop it. The owner sees this at its next entry at the latest."""
        await self._commands.run(scripts.CANCEL, (Keys(thread).thread,), (fence, owner_channel(owner), fence))

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """Notes for one more lease that this process has readers of a run; or that it has none any more."""
        ms = self.lease_ms if has_readers else 0
        args = (self.process, ms, owner_channel(owner), fence)
        await self._commands.run(scripts.READERS, (Keys(thread).readers(fence),), args)

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """Publishes a mark on a thread's channel."""
        message = f"{MARK} 0-0 0\n{mark}"
        await self._commands.ask(lambda: self._client.publish(Keys(thread).channel, message))

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> bool:
        """Whether it is this ticket's turn; it counts for one more lease. `closes`: no run is claimed in its turn."""
        return bool(await self._commands.run(scripts.TURN, _line(thread), (ticket, self.lease_ms, int(closes))))

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """Takes a ticket back."""
        await self._commands.run(scripts.LEAVE, _line(thread), (ticket, Keys(thread).channel))

    async def waiting(self, thread: ThreadKey) -> int:
        """How many tickets there are."""
        return int(await self._commands.run(scripts.WAITING, _line(thread), ()))

    @property
    def _client(self) -> Any:
        return self._commands.client

    async def _hash(self, name: str, *fields: str) -> list[bytes | None]:
        found: list[bytes | None] = await self._commands.ask(lambda: self._client.hmget(name, fields))
        return found

    def _lease_keys(self, thread: ThreadKey) -> tuple[str, str, str]:
        return Keys(thread).thread, contact_key(self.process), EMPTIED


def _own(own: Own) -> tuple[str | bytes | int, ...]:
    return own.fence, own.token, _DAY, own.claim


def _line(thread: ThreadKey) -> tuple[str, str, str]:
    keys = Keys(thread)
    return keys.line, keys.alive, keys.closed
