"""`RUN_DATABASES`: the run databases, each with what tests do to it. The contract suite, the random machine, processes
under load and the chaos command run on all of them. A database is added in this file: a class, and its name in the
list.
"""

import asyncio
import os
import random
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from langgraph_agui.connect import RedisRunStore, SqliteRunStore
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.background import Background
from langgraph_agui.connect.local.store.memory_database import MemoryData, MemoryRunDatabase
from langgraph_agui.connect.local.store.redis.commands import Commands
from langgraph_agui.connect.local.store.redis.database import RedisRunDatabase
from langgraph_agui.connect.local.store.redis.keys import EMPTIED, Keys, contact_key
from langgraph_agui.connect.local.store.renewals import clock
from langgraph_agui.connect.local.store.run_database import Log, RunDatabase, Wake
from langgraph_agui.connect.local.store.run_store import RunStore
from langgraph_agui.connect.local.store.sqlite.database import SqliteRunDatabase
from redis.asyncio import Redis

from tests.support.servers.databases.redis_server import RedisServer, running_redis

LEASE = 60.0
"""The lease of `SharedRuns.database`, in seconds: it is over when a test ends it."""
TIMEOUT = 5.0

_ADVANCE = """
local ms = tonumber(ARGV[1])
local function earlier(time) return string.format('%.0f', time - ms) end
for _, key in ipairs(redis.call('KEYS', 'agui:*')) do
  local is_of = function(ending) return string.find(key, ending) ~= nil end
  if is_of(':thread$') then
    local till = redis.call('HGET', key, 'until')
    if till then redis.call('HSET', key, 'until', earlier(till)) end
  elseif is_of(':alive$') or is_of(':readers:%d+$') then
    for _, name in ipairs(redis.call('HKEYS', key)) do
      redis.call('HSET', key, name, earlier(redis.call('HGET', key, name)))
    end
  elseif is_of(':logs$') or is_of('^agui:continuable:') or is_of('}:ages$') then
    for _, name in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -ms, name) end
  elseif is_of('^agui:contact:') or is_of('^agui:emptied$') then
    redis.call('SET', key, earlier(redis.call('GET', key)), 'KEEPTTL')
  end
  local expires = redis.call('PTTL', key)
  if expires >= 0 then redis.call('PEXPIRE', key, expires - ms) end
end
"""
"""Argument: ms. The tables of `keys.py` say what is in a key."""

Fault = Callable[[float, random.Random], Awaitable[None]]
"""What may happen to a database, with a lease in seconds and a source of chance."""


class SharedRuns(ABC):
    """What processes share their runs by: a run database at `address`, which is empty at first."""

    name: ClassVar[str]
    is_service: ClassVar[bool] = False
    """Whether it needs a server: tests on it have the mark `services`."""
    is_of_one_process: ClassVar[bool] = False
    """Whether all who share it are in this process: then it is always in contact, and leases never end."""
    says_when_it_wakes: ClassVar[bool] = False
    """Whether a process is woken with None as soon as others can wake it; they always can otherwise."""
    examples: ClassVar[int]
    """How many threads the random machine makes in it: see `tests.support.random.examples`."""
    address: str

    @classmethod
    @abstractmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Self]:
        """Gives a database, for as long as the block lasts. `folder`: for its files."""

    @abstractmethod
    def database(self, process: str, background: Background, wake: Wake) -> RunDatabase:
        """The database as a process sees it, with the lease `LEASE`. `background`, `wake`: those of the process."""

    @classmethod
    @abstractmethod
    def store_at(cls, address: str, **how: Any) -> RunStore:
        """The store of a process for a database at this address. `how`: `lease`, `timeout`, `blocked`."""

    def store(self, **how: Any) -> RunStore:
        """The store of a process: see `store_at`."""
        return self.store_at(self.address, **how)

    def faults(self) -> tuple[list[Fault], list[Fault]]:
        """What may happen to it while processes use it: outages, and losses of its data."""
        return [], []

    async def stored(self) -> bytes:
        """All bytes that it keeps."""
        raise NotImplementedError

    @abstractmethod
    async def empty(self) -> None:
        """Loses all data. Data in memory are those of processes that have not begun yet: the others keep theirs."""

    @abstractmethod
    async def advance(self, seconds: float) -> None:
        """So much time passes for the database, in which nothing uses it. The contacts of processes change with it:
        they are those of the moment of which they speak."""

    @abstractmethod
    async def drop_newest(self, thread: ThreadKey, fence: int) -> None:
        """Loses the newest entry of a run's log."""

    async def end_lease(self, thread: ThreadKey) -> None:
        """The lease of the thread's run is over."""
        raise NotImplementedError

    @abstractmethod
    async def expire(self, thread: ThreadKey, process: str, leases: float) -> None:
        """The lease of the thread's run expired so many leases ago, and the process has been in contact for longer."""

    async def end_contact(self, process: str) -> None:
        """The process is no longer in contact."""
        raise NotImplementedError

    async def age_contact(self, process: str) -> bytes:
        """The process has been in contact for long. Returns the contact."""
        raise NotImplementedError


class InMemory(SharedRuns):
    name = "memory"
    is_of_one_process = True
    examples = 60

    def __init__(self) -> None:
        self.data = MemoryData()

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Self]:
        yield cls()

    def database(self, process: str, background: Background, wake: Wake) -> MemoryRunDatabase:
        return MemoryRunDatabase(self.data, process, wake)

    @classmethod
    def store_at(cls, address: str, **how: Any) -> RunStore:
        raise NotImplementedError

    def store(self, **how: Any) -> RunStore:
        return _MemoryStore(self.data)

    async def empty(self) -> None:
        self.data = MemoryData()

    async def advance(self, seconds: float) -> None:
        for run in self.data.finished.values():  # nothing else in it depends on a clock
            run.until -= seconds

    async def drop_newest(self, thread: ThreadKey, fence: int) -> None:
        if log := self.data.logs.get(Log(thread, fence)):
            log.pop()

    async def expire(self, thread: ThreadKey, process: str, leases: float) -> None:
        self.data.thread(thread).is_lost = True


class _MemoryStore(RunStore):
    """The store of one of several processes for data in memory."""

    def __init__(self, data: MemoryData) -> None:
        self._data = data
        super().__init__("default", window=0.001, timeout=1.0, blocked=300.0)

    def _connect(self, process: str, background: Background, wake: Wake) -> MemoryRunDatabase:
        return MemoryRunDatabase(self._data, process, wake)


class InFile(SharedRuns):
    name = "sqlite"
    examples = 60

    def __init__(self, path: Path) -> None:
        self.address = str(path)

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Self]:
        yield cls(folder / "runs.db")

    def database(self, process: str, background: Background, wake: Wake) -> SqliteRunDatabase:
        return SqliteRunDatabase(self.address, LEASE, process, wake, TIMEOUT)

    @classmethod
    def store_at(cls, address: str, **how: Any) -> RunStore:
        return SqliteRunStore(address, **how)

    def faults(self) -> tuple[list[Fault], list[Fault]]:
        return [self.lock_file], []

    async def lock_file(self, lease: float, chance: random.Random) -> None:
        """Another program writes to the file for a while, as a process that is frozen inside of a transaction."""
        with closing(sqlite3.connect(self.address, timeout=60.0, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(lease * chance.uniform(0.1, 2))
            writer.execute("ROLLBACK")

    async def stored(self) -> bytes:
        return self._bytes()

    async def empty(self) -> None:
        for file in self._files():
            with suppress(FileNotFoundError):
                os.unlink(file)

    def _bytes(self) -> bytes:
        return b"".join(Path(file).read_bytes() for file in self._files() if os.path.exists(file))

    def _files(self) -> list[str]:
        return [f"{self.address}{end}" for end in ("", "-wal", "-shm")]

    async def advance(self, seconds: float) -> None:
        """All times in the file, which are its numbers with a fraction, are so much longer ago."""
        with closing(sqlite3.connect(self.address)) as database, database:
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE '% REAL%'").fetchall():
                for _, column, kind, *_ in database.execute(f"PRAGMA table_info({table})").fetchall():
                    if kind == "REAL":
                        database.execute(f"UPDATE {table} SET {column} = {column} - ?", (seconds,))

    async def drop_newest(self, thread: ThreadKey, fence: int) -> None:
        for log, newest in self._change("SELECT log, newest FROM logs WHERE fence = ?", fence):
            self._change("DELETE FROM entries WHERE log = ? AND number = ?", log, newest)
            [(before,)] = self._change("SELECT coalesce(max(number), 0) FROM entries WHERE log = ?", log)
            if before:
                self._change("UPDATE logs SET newest = ? WHERE log = ?", before, log)
            else:
                self._change("DELETE FROM logs WHERE log = ?", log)

    async def end_lease(self, thread: ThreadKey) -> None:
        self._change("UPDATE threads SET until = 0 WHERE claim IS NOT NULL")

    async def expire(self, thread: ThreadKey, process: str, leases: float) -> None:
        until = clock() - leases * LEASE
        self._change("UPDATE threads SET until = ?", until)
        self._change("UPDATE contacts SET since = ? WHERE process = ?", until, process)

    async def end_contact(self, process: str) -> None:
        with suppress(sqlite3.OperationalError):  # the file is new
            self._change("DELETE FROM contacts")

    async def age_contact(self, process: str) -> bytes:
        self._change("UPDATE contacts SET since = 0, until = 1e12")
        self._change("UPDATE facts SET value = 0 WHERE name = 'emptied'")
        return b"0.0"

    def _change(self, statement: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self.address)) as database, database:
            return database.execute(statement, values).fetchall()


class InRedis(SharedRuns):
    name = "redis"
    is_service = True
    says_when_it_wakes = True
    examples = 400

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.address = server.url

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Self]:
        with running_redis() as server:
            yield cls(server)

    def database(self, process: str, background: Background, wake: Wake) -> RedisRunDatabase:
        return RedisRunDatabase(Commands(self.address, TIMEOUT), LEASE, process, background, wake, TIMEOUT)

    @classmethod
    def store_at(cls, address: str, **how: Any) -> RunStore:
        return RedisRunStore(address, **how)

    def faults(self) -> tuple[list[Fault], list[Fault]]:
        return [self.pause_redis], [self.empty_redis, self.restart_redis]

    async def pause_redis(self, lease: float, chance: random.Random) -> None:
        """Redis answers nothing for a while."""
        self.server.pause()
        try:
            await asyncio.sleep(lease * chance.uniform(0.1, 2))
        finally:
            self.server.resume()

    async def empty_redis(self, lease: float, chance: random.Random) -> None:
        """FLUSHALL."""
        await self.empty()

    async def restart_redis(self, lease: float, chance: random.Random) -> None:
        """Redis is killed, and comes back without its data."""
        await asyncio.to_thread(self.server.kill)
        await asyncio.sleep(lease * chance.uniform(0, 1.5))
        await asyncio.to_thread(self.server.start)

    async def stored(self) -> bytes:
        async with self._client() as client:
            dumps = [await client.dump(key) or b"" for key in await client.keys()]
            logs = [repr(await client.xrange(key)).encode() for key in await client.keys("*:log:*")]
        return b"".join([*dumps, *logs])

    async def empty(self) -> None:
        async with self._client() as client:
            await client.flushall()

    async def advance(self, seconds: float) -> None:
        """What expires does so earlier, and all times are so much longer ago."""
        async with self._client() as client:
            await client.eval(_ADVANCE, 0, round(seconds * 1_000))

    async def drop_newest(self, thread: ThreadKey, fence: int) -> None:
        log = Keys(thread).log(fence)
        async with self._client() as client:
            newest, *before = await client.xrevrange(log, count=2) or [None]
            if before:
                await client.xdel(log, newest[0])
                await client.execute_command("XSETID", log, before[0][0])  # the stream forgets it too
            else:
                await client.delete(log)

    async def end_lease(self, thread: ThreadKey) -> None:
        async with self._client() as client:
            await client.hset(Keys(thread).thread, "until", 0)

    async def expire(self, thread: ThreadKey, process: str, leases: float) -> None:
        async with self._client() as client:
            seconds, micros = await client.time()
            until = round(seconds * 1_000 + micros / 1_000 - leases * LEASE * 1_000)
            await client.hset(Keys(thread).thread, "until", until)
            await client.set(contact_key(process), 0)

    async def end_contact(self, process: str) -> None:
        async with self._client() as client:
            await client.delete(contact_key(process))

    async def age_contact(self, process: str) -> bytes:
        async with self._client() as client:
            await client.mset({contact_key(process): 0, EMPTIED: 0})
        return b"0"

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        async with Redis.from_url(self.address) as client:
            yield client


RUN_DATABASES: dict[str, type[SharedRuns]] = {database.name: database for database in (InMemory, InFile, InRedis)}
"""All of them, by their names."""
OF_PROCESSES = {name: database for name, database in RUN_DATABASES.items() if not database.is_of_one_process}
"""Those that several processes can share."""


def on_each(databases: dict[str, type[SharedRuns]]) -> list[Any]:
    """The parameters of a fixture that gives each of them: their names."""
    marks = {name: pytest.mark.services if each.is_service else () for name, each in databases.items()}
    return [pytest.param(name, marks=marks[name]) for name in databases]
