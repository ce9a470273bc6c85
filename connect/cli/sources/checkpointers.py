"""Opens the storage for threads of graphs in this process: memory, a SQLite file, or PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from ..errors import Failure, brief

_SETUP: Final = 0x61677569
"""The key of the advisory lock that a process holds while it creates the tables."""
_RETRY_EVERY: Final = 0.1
"""Seconds between two attempts to take the lock."""
_CONNECT_WITHIN: Final = 10
"""Seconds that connecting to PostgreSQL may take."""
_CONNECTIONS: Final = 4
"""The size of the pool. A process needs few: LangGraph's checkpointer and its store use one connection at a time
each."""


@dataclass(frozen=True, slots=True)
class Threads:
    """The checkpointer and store for graphs that have none. `are_shared`: whether other processes use the same ones."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore
    are_shared: bool = False


@asynccontextmanager
async def open_threads(file: Path | None, postgres: str | None = None) -> AsyncIterator[Threads]:
    """Opens a checkpointer and a store in a SQLite file, in the PostgreSQL database of a URL, or in memory. Both are
    closed at the end of the block.

    Raises `Failure` if the file is not a database, if the database can't be reached, or if a package is not installed.
    """
    async with AsyncExitStack() as lifetime:
        if file is not None:
            yield await _in_sqlite(file, lifetime)
        elif postgres is not None:
            yield await _in_postgres(postgres, lifetime)
        else:
            yield Threads(InMemorySaver(), InMemoryStore())


async def _in_sqlite(file: Path, lifetime: AsyncExitStack) -> Threads:
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        from langgraph.store.sqlite.aio import AsyncSqliteStore
    except ModuleNotFoundError as missing:
        raise not_installed("--sqlite", missing, "langgraph-checkpoint-sqlite") from missing
    try:
        # If aiosqlite can't open a file, it leaves a thread running that calls an event loop which may be closed then.
        (await asyncio.to_thread(sqlite3.connect, file, check_same_thread=False)).close()
        saver = await lifetime.enter_async_context(AsyncSqliteSaver.from_conn_string(str(file)))
        store = await lifetime.enter_async_context(AsyncSqliteStore.from_conn_string(str(file)))
        await saver.setup()  # fails here if the file is not a database; opening it does not
        await store.setup()
    except Exception as error:
        raise Failure(f"{file} can't be used: {brief(error)}") from error
    return Threads(saver, store)


async def _in_postgres(url: str, lifetime: AsyncExitStack) -> Threads:
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from langgraph.store.postgres.aio import AsyncPostgresStore
        from psycopg import AsyncConnection
        from psycopg.rows import DictRow, dict_row
        from psycopg_pool import AsyncConnectionPool
    except ModuleNotFoundError as missing:
        raise not_installed("--postgres", missing, "'langgraph-agui[postgres]'") from missing
    options: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        url, kwargs=options, min_size=1, max_size=_CONNECTIONS, open=False, check=AsyncConnectionPool.check_connection
    )
    try:
        async with await AsyncConnection.connect(url, connect_timeout=_CONNECT_WITHIN, **options) as locks:
            await _lock_setup(locks)
            await lifetime.enter_async_context(pool)
            saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
            await saver.setup()
            await store.setup()
    except Exception as error:
        raise Failure(f"the database of --postgres can't be used: {brief(error)}") from error
    return Threads(saver, store, are_shared=True)


async def _lock_setup(connection: Any) -> None:
    """Waits until no other process creates the tables, and locks them until the connection is closed, because two
    processes that create them at once fail. It polls: a statement that waits for the lock would block the other
    process, whose indexes are created only once all open statements have ended
    (https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY)."""
    while True:
        answer = await connection.execute("SELECT pg_try_advisory_lock(%s) AS is_mine", (_SETUP,))
        if (await answer.fetchone())["is_mine"]:
            return
        await asyncio.sleep(_RETRY_EVERY)


def not_installed(option: str, missing: ModuleNotFoundError, package: str) -> Failure:
    """Returns the error for an option whose package is not installed."""
    return Failure(f"{option} needs a package that is not installed ({missing.name}): pip install {package}")
