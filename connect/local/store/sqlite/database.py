"""`SqliteRunDatabase`: the run database in a SQLite file. Each method is one step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from ....errors import StoreUnavailableError
from ..active_run import ThreadKey
from ..records import Claim, Entry, RunEnd
from ..retention import Retention, StoredRun
from ..run_database import Append, Appended, Claimed, Lease, Log, LostThread, Own, RunDatabase, Take, Wake
from . import steps
from .changes import Changes
from .connection import Connection
from .tables import handed_over_channel, name_of


class SqliteLeaseRenewer:
    """Renews leases with a connection of its own; see `LeaseRenewer`. `lease`: seconds."""

    def __init__(self, connection: Connection, lease: float) -> None:
        self.lease = lease
        self._connection = connection
        self._run = connection.run

    async def renew(self, runs: Sequence[Own]) -> list[bool]:
        """See `RunDatabase.renew`."""
        return await self._run(steps.renew, runs, self.lease)

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._connection.aclose()


class SqliteRunDatabase(SqliteLeaseRenewer, RunDatabase):
    """The threads of one file, for one process.

    - `path`: the file.
    - `lease`: the length of a lease, in seconds.
    - `process`: the id of the process. `wake`: see `Wake`.
    - `timeout`: seconds that a step may take.
    """

    def __init__(self, path: str, lease: float, process: str, wake: Wake, timeout: float) -> None:
        self._changes = Changes(process, wake)
        super().__init__(Connection(path, timeout, self._changes.look), lease)
        self.process = process

    def other_loop(self) -> SqliteLeaseRenewer:
        """See `RunDatabase.other_loop`."""
        return SqliteLeaseRenewer(self._connection.of_another_loop(), self.lease)

    def start(self) -> None:
        """See `RunDatabase.start`."""
        self._connection.start()

    async def keep_contact(self, *, is_first: bool) -> bytes:
        """See `RunDatabase.keep_contact`."""
        return await self._run(steps.keep_contact, self.process, self.lease, is_first, proves=True)

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
        """See `RunDatabase.claim`."""
        args = (name_of(thread), token, claim, contact, revision, self.process, self.lease, thread.cipher)
        return await self._run(steps.claim, *args, run_input, ticket)

    async def hand_over(self, own: Own, run_input: bytes = b"") -> bool:
        """See `RunDatabase.hand_over`."""
        return await self._run(steps.hand_over, own, run_input)

    async def lost_threads(self, namespace: str) -> list[LostThread]:
        """See `RunDatabase.lost_threads`."""
        return await self._run(steps.lost_threads, namespace, self.process, self.lease, writes=False)

    async def subscribe_lost(self, namespace: str, take: Callable[[], None]) -> None:
        """See `RunDatabase.subscribe_lost`."""
        self._changes.add(handed_over_channel(namespace), lambda _: take())
        with suppress(StoreUnavailableError):  # once the file can be read, all takers are called
            await self._run(steps.nothing, writes=False)

    async def input_of(self, log: Log) -> bytes:
        """See `RunDatabase.input_of`."""
        return await self._run(steps.input_of, log, writes=False)

    async def withdraw(self, thread: ThreadKey, token: str) -> None:
        """See `RunDatabase.withdraw`."""
        await self._run(steps.withdraw, name_of(thread), token)

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """See `RunDatabase.lease_of`."""
        return await self._run(steps.lease_of, name_of(thread), self.process, self.lease, thread.cipher, writes=False)

    async def append(self, entries: Sequence[Append]) -> list[Appended]:
        """See `RunDatabase.append`."""
        return await self._run(steps.append, entries, self.lease)

    async def release(self, own: Own, last: RunEnd | None) -> bool:
        """See `RunDatabase.release`."""
        return await self._run(steps.release, own, last)

    async def forget(self, thread: ThreadKey) -> None:
        """See `RunDatabase.forget`."""
        await self._run(steps.forget, name_of(thread))

    async def entries(self, log: Log, after: int) -> list[Entry]:
        """See `RunDatabase.entries`."""
        return await self._run(steps.entries, log, after, writes=False)

    async def read(self, logs: Mapping[Log, int]) -> Mapping[Log, Sequence[Entry]]:
        """See `RunDatabase.read`."""
        entries = self._changes.reading(logs)
        await self._run(steps.nothing, writes=False)  # after each step, the thread looks for changes
        with suppress(TimeoutError):
            async with asyncio.timeout(self.lease / 3):
                return await entries
        return {}

    async def interrupt_read(self) -> None:
        """See `RunDatabase.interrupt_read`."""
        self._changes.end_reading()

    async def has_log(self, log: Log) -> bool:
        """See `RunDatabase.has_log`."""
        return await self._run(steps.has_log, log, writes=False)

    async def logs(self, thread: ThreadKey) -> list[int]:
        """See `RunDatabase.logs`."""
        return await self._run(steps.logs, name_of(thread), writes=False)

    async def drop_log(self, log: Log) -> None:
        """See `RunDatabase.drop_log`."""
        await self._run(steps.drop_log, log)

    async def keep(self, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
        """See `RunDatabase.keep`."""
        await self._run(steps.keep, log, about, events, retention)

    async def finished_runs(self, thread: ThreadKey) -> list[StoredRun]:
        """See `RunDatabase.finished_runs`."""
        return await self._run(steps.finished_runs, name_of(thread), writes=False)

    async def finished_events(self, log: Log) -> bytes:
        """See `RunDatabase.finished_events`."""
        return await self._run(steps.finished_events, name_of(log.thread), log.fence, writes=False)

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """See `RunDatabase.note_readers`."""
        seconds = self.lease if has_readers else 0.0
        await self._run(steps.note_readers, name_of(thread), fence, owner, self.process, seconds)

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """See `RunDatabase.request_cancel`."""
        await self._run(steps.cancel, name_of(thread), fence, owner)

    async def enter(self, thread: ThreadKey, ticket: str) -> tuple[Lease, bool]:
        """See `RunDatabase.enter`."""
        return await self._run(steps.enter, name_of(thread), ticket, self.process, self.lease, thread.cipher)

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> Lease | None:
        """See `RunDatabase.turn`."""
        return await self._run(steps.turn, name_of(thread), ticket, closes, self.process, self.lease, thread.cipher)

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """See `RunDatabase.leave`."""
        await self._run(steps.leave, name_of(thread), ticket)

    async def subscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.subscribe`."""
        self._changes.add(name_of(thread), take)
        with suppress(StoreUnavailableError):  # once the file can be read, all takers are called with None
            await self._run(steps.nothing, writes=False)
            take(None)

    async def unsubscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.unsubscribe`."""
        self._changes.remove(name_of(thread), take)

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """See `RunDatabase.publish_mark`."""
        await self._run(steps.notify, name_of(thread), "mark", 0, mark.encode())
