"""The lock of the process that serves the threads of an agent: `ProcessLock`.

Without a shared run store, only the process of a run knows of it. Two processes with the same threads would run a
thread twice, and a stop or a reload in one would not find the run of the other. So before a server runs anything, it
takes a lock in the place where the checkpoints are. A second server is refused:

| checkpointer | lock |
|---|---|
| `AsyncSqliteSaver` | one byte of the file `<database>.agui-lock`, which the operating system locks |
| `AsyncPostgresSaver` | an advisory lock, in a transaction of a connection of its own, which stays open |
| in memory | none: no other process has the threads |
| any other | none: it is not known where its threads are |

Rules:

1. A lock is for the name of an agent. Servers of other agents may use the same database, since an agent uses only its
   own threads, and those of the agents with whom it shares them. It takes the locks of those agents too.
2. When the process ends, its locks are free, even after `kill -9`. No file stays locked, and children that survive the
   process do not hold a lock.
3. A process that is restarted waits a little for the one before it.
4. Within a process, a lock is taken once, however many apps ask for it. It is taken when it is first needed, which is
   after a server has forked its workers.
"""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable
from hashlib import sha256
from typing import Any, Final

from ..errors import OtherProcessError
from .checkpointers import wait_for_answer

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PATIENCE: Final = 2.0
"""Seconds to wait for a process that has the lock and may be about to end."""
_LOOK_EVERY: Final = 0.05
"""Seconds between two attempts to take the lock."""
_CONNECT_WITHIN: Final = 5
"""Seconds for a connection to PostgreSQL."""
_OFFSETS: Final = 0x7FFFFFFF
"""The largest offset of a locked byte. The file need not be that long."""


class ProcessLock:
    """The lock on the threads of some agents in one checkpointer, for one app. `names`: the names of the agents."""

    def __init__(self, saver: object, names: Iterable[str]) -> None:
        self._saver = saver
        self._names = sorted(set(names))
        self._place: _Place | None = None
        """The place in which the lock is held; None while it is not held."""
        self._is_patient = True
        self._mutex = asyncio.Lock()

    async def take(self, seconds: float, *, waits: bool = True) -> None:
        """Takes the lock, unless this process already has it.

        - `seconds`: the time within which the checkpointer must answer.
        - `waits`: whether to wait for a process that may be about to end.

        Raises `OtherProcessError` if another process has the lock, and what the checkpointer raises.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + (_PATIENCE if waits and self._is_patient else 0.0)
        while not await wait_for_answer(self._try_to_take(), seconds):
            if clock() >= until:
                # the other process is not about to end, so the next request need not wait
                self._is_patient = self._is_patient and not waits
                raise OtherProcessError
            await asyncio.sleep(_LOOK_EVERY)
        self._is_patient = True

    async def release(self) -> None:
        """Frees the lock, unless another app of this process needs it."""
        async with self._mutex:
            place, self._place = self._place, None
            if place is not None and not place.is_inherited:
                await place.leave(self._names)

    async def _try_to_take(self) -> bool:
        """Takes the locks that are free. Returns whether this process now has all of them, or needs none."""
        async with self._mutex:
            place = self._place
            if place is None or place.is_inherited:
                place = await _place_of(self._saver)
            if place is None:
                return True
            for name in self._names:
                if not await place.lock(name):
                    return False
            if place is not self._place:
                place.join(self._names)
                self._place = place
            return True


class _Place(ABC):
    """A place in which this process holds locks, by the names of agents."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self._users: Counter[str] = Counter()
        """How many apps need each lock."""
        self._pid = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether the process from which this one was forked has made the place."""
        return self._pid != os.getpid()

    @abstractmethod
    async def lock(self, name: str) -> bool:
        """Takes the lock if it is free. Returns whether this process has it."""

    @abstractmethod
    async def close(self) -> None:
        """Frees all locks."""

    def join(self, names: Iterable[str]) -> None:
        """Notes that one more app needs these locks."""
        self._users.update(names)

    async def leave(self, names: Iterable[str]) -> None:
        """Notes that one app fewer needs these locks. Frees all locks of the place when no app needs any of them."""
        self._users -= Counter(names)
        if not self._users and _places.get(self.key) is self:
            del _places[self.key]
            await self.close()


_places: dict[Hashable, _Place] = {}
"""The places of this process. There is one for each file, since closing any descriptor of a file frees all locks on
it."""
_inherited: list[_Place] = []
"""Places of the process from which this one was forked. They are kept, since this process must not close them."""


async def _place_of(saver: object) -> _Place | None:
    """Returns the place of a checkpointer's lock; None if it needs no lock."""
    place: _Place
    if _is_a(saver, "langgraph.checkpoint.sqlite.aio", "AsyncSqliteSaver"):
        path = await _sqlite_file(saver)
        if path is None:
            return None
        place = _File(path)
    elif _is_a(saver, "langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver"):
        place = _Database(await _conninfo(saver))
    else:
        return None
    present = _places.setdefault(place.key, place)
    if present.is_inherited:
        _inherited.append(present)
        _places[place.key] = present = place
    return present


def _is_a(saver: object, module: str, name: str) -> bool:
    """Returns whether a checkpointer is of this class, without importing the class."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(saver, kind)


class _File(_Place):
    """A file next to a SQLite database. It is never removed, since that could remove the lock of another process."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._file: int | None = None
        self._names: set[str] = set()

    async def lock(self, name: str) -> bool:
        """See `_Place`."""
        if name in self._names:
            return True
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        if _lock(self._file, zlib.crc32(name.encode()) & _OFFSETS):
            self._names.add(name)
        elif not self._names:
            await self.close()
        return name in self._names

    async def close(self) -> None:
        """See `_Place`."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._names = None, set()


if sys.platform == "win32":

    def _lock(file: int, offset: int) -> bool:
        os.lseek(file, offset, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _lock(file: int, offset: int) -> bool:
        """Locks one byte. Returns whether it did: another process may have it. Unlike `flock`, children do not inherit
        it."""
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return False
        return True


async def _sqlite_file(saver: Any) -> str | None:
    """Returns the path of the lock file of a SQLite database; None for a database in memory."""
    await saver.setup()  # connects, unless it is connected
    async with saver.conn.execute("PRAGMA database_list") as rows:
        paths = [path async for _, name, path in rows if name == "main"]
    return _lock_file(paths[0]) if paths and paths[0] else None


def _lock_file(database: str) -> str:
    return f"{os.path.realpath(database)}.agui-lock"


class _Database(_Place):
    """A connection to a PostgreSQL database, with a transaction that stays open: a pooler such as PgBouncer gives
    it a session of its own for that time. The transaction holds no snapshot, so it does not delay VACUUM."""

    def __init__(self, conninfo: str) -> None:
        super().__init__((conninfo, asyncio.get_running_loop()))
        self._conninfo = conninfo
        self._connection: Any = None
        self._names: set[str] = set()
        self._mutex = asyncio.Lock()

    async def lock(self, name: str) -> bool:
        """See `_Place`. If the connection was lost, the locks were too, and are taken again."""
        import psycopg

        async with self._mutex:
            try:
                if self._connection is not None:
                    await self._connection.execute("SELECT 1")
            except psycopg.Error:
                await self.close()
            if name not in self._names:
                await self._try_lock(name)
            return name in self._names

    async def _try_lock(self, name: str) -> None:
        from psycopg import AsyncConnection

        if self._connection is None:
            self._connection = await AsyncConnection.connect(
                self._conninfo, prepare_threshold=None, connect_timeout=_CONNECT_WITHIN
            )
        try:
            await self._connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            schema = await (await self._connection.execute("SELECT current_schema()")).fetchone()
            digest = sha256(f"langgraph-agui\0{schema[0]}\0{name}".encode()).digest()
            key = int.from_bytes(digest[:8], "big", signed=True)  # advisory locks are per database
            answer = await self._connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [key])
            if (await answer.fetchone())[0]:
                self._names.add(name)
        finally:
            if not self._names:
                await self.close()

    async def close(self) -> None:
        """See `_Place`."""
        connection, self._connection, self._names = self._connection, None, set()
        if connection is not None:
            await connection.close()


async def _conninfo(saver: Any) -> str:
    """Returns the connection string of a checkpointer's own connections, with the password."""
    from psycopg.conninfo import make_conninfo
    from psycopg_pool import AsyncConnectionPool

    if isinstance(saver.conn, AsyncConnectionPool):
        async with saver.conn.connection() as connection:
            info = connection.info
            return str(make_conninfo(**info.get_parameters(), password=info.password or None))
    info = saver.conn.info
    return str(make_conninfo(**info.get_parameters(), password=info.password or None))
