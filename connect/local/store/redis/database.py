"""`RedisRunDatabase`: the run database in a Redis. Each method is one command or script."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from langgraph.checkpoint.serde.base import CipherProtocol

from ..active_run import ThreadKey
from ..background import Background
from ..records import Claim, Entry, RunEnd
from ..retention import Retention, StoredRun
from ..run_database import Append, Appended, Claimed, Lease, Log, LostThread, Own, RunDatabase, Take, Wake
from . import scripts
from .commands import Commands
from .keys import (
    EMPTIED,
    MARK,
    Keys,
    contact_key,
    continuable,
    continuable_key,
    continuable_thread,
    entry_of,
    finished_keys,
    finished_log,
    finished_name,
    handed_over_channel,
    news_of,
    owner_channel,
)
from .reader import LogReader
from .subscriber import Subscriber

_DAY: Final = 86_400_000
"""Milliseconds for which the outcome of a run is kept."""
_CONTACTS_A_LEASE: Final = 3
"""A contact expires after a lease divided by this: earlier than any lease that could not be renewed."""
_AT_ONCE: Final = 256
"""Threads that are looked up by one pipeline."""
_NOTED: Final = 60.0
"""Seconds for which a note that a run has an input is kept at least: its claim may come after it."""


class RedisLeaseRenewer:
    """Renews leases with connections of its own; see `LeaseRenewer`. `lease`: seconds."""

    def __init__(self, commands: Commands, lease: float) -> None:
        self.lease = lease
        self._lease_ms = round(lease * 1_000)
        self._commands = commands

    async def renew(self, runs: Sequence[Own]) -> list[bool]:
        """See `RunDatabase.renew`."""
        asked = [(((keys := Keys(own.thread)).thread,), (*_own(own), self._lease_ms, keys.channel)) for own in runs]
        return [answer == b"ok" for answer in await self._commands.run_all(scripts.RENEW, asked)]

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._commands.aclose()


class RedisRunDatabase(RedisLeaseRenewer, RunDatabase):
    """The threads of one Redis, for one process.

    - `lease`: the length of a lease, in seconds.
    - `process`: the id of the process. `background`: the tasks of its store. `wake`: see `Wake`.
    - `timeout`: seconds for which the beginning of a subscription is waited for.
    """

    def __init__(
        self, commands: Commands, lease: float, process: str, background: Background, wake: Wake, timeout: float
    ) -> None:
        super().__init__(commands, lease)
        self.process = process
        own = (owner_channel(process), lambda message: wake(None if message is None else int(message)))
        idle = max(lease / 3, 1.0)
        self._subscriber = Subscriber(commands, background, own, idle=idle, wait=timeout)
        self._reader = LogReader(commands, self._subscriber, process, idle)
        self._takers: dict[tuple[ThreadKey, Take], Callable[[bytes | None], None]] = {}

    def other_loop(self) -> RedisLeaseRenewer:
        """See `RunDatabase.other_loop`."""
        return RedisLeaseRenewer(self._commands.of_another_loop(), self.lease)

    def start(self) -> None:
        """See `RunDatabase.start`."""
        self._subscriber.start()

    async def keep_contact(self, *, is_first: bool) -> bytes:
        """See `RunDatabase.keep_contact`."""
        names = (contact_key(self.process), EMPTIED)
        args = (self._lease_ms // _CONTACTS_A_LEASE, _DAY, int(not is_first))
        return bytes(await self._commands.run(scripts.CONTACT, names, args, proves=True))

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
        keys, expected = Keys(thread), "" if revision is None else revision
        names, half = (*self._lease_keys(thread), *_line(thread)), self._lease_ms // 2
        args = (half, token, self._lease_ms, _DAY, claim.to_json(), keys.channel, contact or b"", expected, run_input)
        if run_input:
            await self._note_continuable(thread, token)
        answer, value, last = await self._commands.run(scripts.CLAIM, names, (*args, claim.continues, ticket))
        if answer == b"claimed":
            return Claimed(int(value), RunEnd.from_json(last, thread.cipher) if last else None)
        if answer == b"busy":
            return Claim.from_json(value)
        if answer == b"doubt":
            return int(value) / 1_000
        return "changed" if answer == b"changed" else "closed"

    async def withdraw(self, thread: ThreadKey, token: str) -> None:
        """See `RunDatabase.withdraw`."""
        await self._commands.run(scripts.WITHDRAW, (Keys(thread).thread,), (token, _DAY))

    async def input_of(self, log: Log) -> bytes:
        """See `RunDatabase.input_of`."""
        name = Keys(log.thread).thread
        fence, run_input = await self._commands.ask(lambda: self._client.hmget(name, "fence", "input"))
        return run_input if run_input is not None and int(fence) == log.fence else b""

    async def lease_of(self, thread: ThreadKey) -> Lease:
        """See `RunDatabase.lease_of`."""
        names, args = self._lease_and_line_keys(thread), (self._lease_ms // 2,)
        return _lease(await self._commands.run(scripts.LEASE, names, args), thread.cipher)

    async def append(self, entries: Sequence[Append]) -> list[Appended]:
        """See `RunDatabase.append`."""
        answers = await self._commands.run_all(scripts.APPEND, [self._appended(entry) for entry in entries])
        return [Appended(answer.decode(), cancel == b"1", readers) for answer, cancel, readers in answers]

    def _appended(self, append: Append) -> tuple[Sequence[str], Sequence[str | bytes | int]]:
        own, entry, keys = append.own, append.entry, Keys(append.own.thread)
        names = (keys.thread, keys.log(own.fence), keys.readers(own.fence), keys.logs)
        args = (*_own(own), append.status, self._lease_ms, round(append.kept * 1_000) + self._lease_ms, keys.channel)
        if entry is None:
            return names, (*args, append.number, "", 0, b"", keys.appended)
        return names, (*args, entry.number, entry.kind, entry.at, entry.frames, keys.appended)

    async def release(self, own: Own, last: RunEnd | None) -> bool:
        """See `RunDatabase.release`."""
        keys, stored = Keys(own.thread), b"" if last is None else last.to_json(own.thread.cipher)
        answer = await self._commands.run(scripts.END, (keys.thread,), (*_own(own), stored, keys.channel))
        if own.claim.has_input:
            name, run = continuable_key(own.thread.namespace), continuable(own.thread, own.token)
            await self._commands.ask(lambda: self._client.zrem(name, run))
        return bool(answer == b"free")

    async def hand_over(self, own: Own, run_input: bytes = b"") -> bool:
        """See `RunDatabase.hand_over`."""
        args = (*_own(own), handed_over_channel(own.thread.namespace), run_input)
        return bool(await self._commands.run(scripts.HAND_OVER, (Keys(own.thread).thread,), args) == b"lost")

    async def _note_continuable(self, thread: ThreadKey, token: str) -> None:
        """Notes that a run has an input: before its claim, so that it is found even if this process is lost then."""
        name, run = continuable_key(thread.namespace), continuable(thread, token)

        async def noted() -> None:
            async with self._client.pipeline(transaction=False) as pipeline:
                pipeline.zadd(name, {run: round(time.time() * 1_000)})
                pipeline.pexpire(name, _DAY)
                await pipeline.execute()

        await self._commands.ask(noted)

    async def lost_threads(self, namespace: str) -> list[LostThread]:
        """See `RunDatabase.lost_threads`. Drops runs that were claimed long ago and have ended. The others stay noted
        for another day, because a run may last longer."""
        name, lost = continuable_key(namespace), list[LostThread]()

        async def read() -> Any:
            async with self._client.pipeline(transaction=False) as pipeline:
                pipeline.zrange(name, 0, -1, withscores=True)
                pipeline.pexpire(name, _DAY)
                return (await pipeline.execute())[0]

        noted = await self._commands.ask(read)
        for runs in (noted[start : start + _AT_ONCE] for start in range(0, len(noted), _AT_ONCE)):
            threads = [continuable_thread(namespace, run) for run, _ in runs]
            asked = [(self._lease_and_line_keys(thread), (self._lease_ms // 2,)) for thread in threads]
            answers = await self._commands.run_all(scripts.LEASE, asked)
            leases = [_lease([*fields[:5], b"", 0], None) for fields in answers]
            lost += map(LostThread, threads, leases)
            before = (time.time() - _NOTED) * 1_000
            ended = [run for (run, at), lease in zip(runs, leases, strict=True) if not lease.claim and at < before]
            if ended:
                await self._commands.ask(partial(self._client.zrem, name, *ended))
        kept = [run for run in lost if run.lease.state == "lost" and run.lease.claim and run.lease.claim.has_input]
        return list({run.thread: run for run in kept}.values())

    async def subscribe_lost(self, namespace: str, take: Callable[[], None]) -> None:
        """See `RunDatabase.subscribe_lost`."""
        await self._subscriber.subscribe(handed_over_channel(namespace), lambda _: take())

    async def forget(self, thread: ThreadKey) -> None:
        """See `RunDatabase.forget`."""
        keys = Keys(thread)
        fences = await self._commands.run(scripts.FORGET, (keys.thread, keys.logs), ())
        runs = [name for fence in map(int, fences) for name in (keys.log(fence), keys.readers(fence))]
        finished = [*map(int, await self._commands.ask(lambda: self._client.zrange(keys.finished, 0, -1)))]
        runs += map(keys.finished_run, finished)
        await self._commands.ask(lambda: self._client.delete(keys.logs, keys.finished, *runs))
        if finished:
            names = [finished_name(Log(thread, fence)) for fence in finished]
            await self._commands.run(scripts.FORGET_FINISHED, finished_keys(thread), names)

    async def keep(self, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
        """See `RunDatabase.keep`. The run is noted among those of the namespace in a second step, since that may be in
        another part of a cluster. If this process is lost in between, the run is dropped at its age."""
        keys, age = Keys(log.thread), round(retention.age * 1_000)
        run = keys.finished_run(log.fence)
        names = (keys.thread, keys.finished, run)
        if not await self._commands.run(scripts.KEEP, names, (log.fence, age, about, events)):
            return
        args = (finished_name(log), len(events), age, retention.runs, retention.bytes)
        dropped = await self._commands.run(scripts.NOTE_FINISHED, finished_keys(log.thread), args)
        for oldest in map(finished_log, dropped):
            await self._drop_finished(Keys(oldest.thread), oldest.fence)

    async def _drop_finished(self, keys: Keys, fence: int) -> None:
        async def drop() -> None:
            async with self._client.pipeline(transaction=False) as pipeline:
                pipeline.delete(keys.finished_run(fence))
                pipeline.zrem(keys.finished, fence)
                await pipeline.execute()

        await self._commands.ask(drop)

    async def finished_runs(self, thread: ThreadKey) -> list[StoredRun]:
        """See `RunDatabase.finished_runs`."""
        keys = Keys(thread)
        fences = [*map(int, await self._commands.ask(lambda: self._client.zrange(keys.finished, 0, -1)))]
        if not fences:
            return []

        async def read() -> Any:
            async with self._client.pipeline(transaction=False) as pipeline:
                for fence in fences:
                    pipeline.hget(keys.finished_run(fence), "about")
                    pipeline.hstrlen(keys.finished_run(fence), "events")
                return await pipeline.execute()

        answers = await self._commands.ask(read)
        kept = zip(fences, answers[::2], answers[1::2], strict=True)
        return [StoredRun(fence, about, size) for fence, about, size in kept if about is not None]

    async def finished_events(self, log: Log) -> bytes:
        """See `RunDatabase.finished_events`."""
        name = Keys(log.thread).finished_run(log.fence)
        return await self._commands.ask(lambda: self._client.hget(name, "events")) or b""

    async def entries(self, log: Log, after: int) -> list[Entry]:
        """See `RunDatabase.entries`."""
        name, first = Keys(log.thread).log(log.fence), f"{log.fence}-{after + 1}"
        logged: Any = await self._commands.ask(lambda: self._client.xrange(name, min=first))
        return [entry_of(entry_id, fields) for entry_id, fields in logged]

    async def read(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        """See `RunDatabase.read`."""
        return await self._reader.read(logs)

    async def interrupt_read(self) -> None:
        """See `RunDatabase.interrupt_read`."""
        await self._reader.interrupt()

    async def has_log(self, log: Log) -> bool:
        """See `RunDatabase.has_log`."""
        name = Keys(log.thread).log(log.fence)
        return bool(await self._commands.ask(lambda: self._client.exists(name)))

    async def logs(self, thread: ThreadKey) -> list[int]:
        """See `RunDatabase.logs`."""
        fences = await self._commands.run(scripts.LOGS, (Keys(thread).logs,), ())
        return sorted(map(int, fences))

    async def drop_log(self, log: Log) -> None:
        """See `RunDatabase.drop_log`."""
        keys = Keys(log.thread)
        await self._commands.run(scripts.DROP_LOG, (keys.logs, keys.log(log.fence)), (log.fence,))

    async def request_cancel(self, thread: ThreadKey, fence: int, owner: str) -> None:
        """See `RunDatabase.request_cancel`."""
        await self._commands.run(scripts.CANCEL, (Keys(thread).thread,), (fence, owner_channel(owner), fence))

    async def note_readers(self, thread: ThreadKey, fence: int, owner: str, *, has_readers: bool) -> None:
        """See `RunDatabase.note_readers`."""
        ms = self._lease_ms if has_readers else 0
        args = (self.process, ms, owner_channel(owner), fence)
        await self._commands.run(scripts.READERS, (Keys(thread).readers(fence),), args)

    async def enter(self, thread: ThreadKey, ticket: str) -> tuple[Lease, bool]:
        """See `RunDatabase.enter`."""
        args = (self._lease_ms // 2, ticket, self._lease_ms)
        *fields, has_turn = await self._commands.run(scripts.ENTER, self._lease_and_line_keys(thread), args)
        return _lease(fields, thread.cipher), bool(has_turn)

    async def turn(self, thread: ThreadKey, ticket: str, *, closes: bool) -> Lease | None:
        """See `RunDatabase.turn`."""
        names = (*self._lease_and_line_keys(thread), Keys(thread).closed)
        args = (self._lease_ms // 2, ticket, self._lease_ms, int(closes))
        fields = await self._commands.run(scripts.TURN, names, args)
        return _lease(fields, thread.cipher) if fields else None

    async def leave(self, thread: ThreadKey, ticket: str) -> None:
        """See `RunDatabase.leave`."""
        await self._commands.run(scripts.LEAVE, _line(thread), (ticket, Keys(thread).channel))

    async def subscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.subscribe`."""

        def taken(message: bytes | None) -> None:
            news = None if message is None else news_of(message)
            if message is None or news is not None:
                take(news)

        self._takers[thread, take] = taken
        await self._subscriber.subscribe(Keys(thread).channel, taken)

    async def unsubscribe(self, thread: ThreadKey, take: Take) -> None:
        """See `RunDatabase.unsubscribe`."""
        await self._subscriber.unsubscribe(Keys(thread).channel, self._takers.pop((thread, take)))

    async def publish_mark(self, thread: ThreadKey, mark: str) -> None:
        """See `RunDatabase.publish_mark`."""
        message = f"{MARK} 0-0 0\n{mark}"
        await self._commands.ask(lambda: self._client.publish(Keys(thread).channel, message))

    @property
    def _client(self) -> Any:
        return self._commands.client

    def _lease_keys(self, thread: ThreadKey) -> tuple[str, str, str]:
        return Keys(thread).thread, contact_key(self.process), EMPTIED

    def _lease_and_line_keys(self, thread: ThreadKey) -> tuple[str, ...]:
        keys = Keys(thread)
        return *self._lease_keys(thread), keys.line, keys.alive


def _lease(fields: Sequence[Any], cipher: CipherProtocol | None) -> Lease:
    state, ms, fence, claim, status, last, waiting = fields
    run, ended = Claim.from_json(claim) if claim else None, RunEnd.from_json(last, cipher) if last else None
    is_stopping, is_handed_over = status == b"stopping", status == b"lost"
    return Lease(state.decode(), ms / 1_000, int(fence), run, is_stopping, ended, waiting, is_handed_over)


def _own(own: Own) -> tuple[str | bytes | int, ...]:
    return own.fence, own.token, _DAY, own.claim.to_json()


def _line(thread: ThreadKey) -> tuple[str, str, str]:
    keys = Keys(thread)
    return keys.line, keys.alive, keys.closed
