"""Where the threads of graphs of this process are kept: in memory, in a SQLite file, in PostgreSQL. Never which
graphs."""

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
"""The advisory lock of a database whose tables are being made."""
_LOOK_EVERY: Final = 0.1
"""Seconds between two looks whether another process has made them."""
_CONNECT_WITHIN: Final = 10
"""Seconds."""
_CONNECTIONS: Final = 4
"""A process needs few: LangGraph's saver uses one at a time, and its store one."""


@dataclass(frozen=True, slots=True)
class Threads:
    """What a graph is given that has none of its own. `are_shared`: whether other processes have the same threads."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore
    are_shared: bool = False


@asynccontextmanager
async def kept_threads(file: Path | None, postgres: str | None = None) -> AsyncIterator[Threads]:
    """Threads, and the store beside them: in a SQLite file, in the PostgreSQL database of a URL, or else in memory.
    What is opened is closed at the end of the block.

    Raises `Failure` for what is no database, or can't be reached, and where the package that reads one is not
    installed.
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
        # aiosqlite leaves a thread behind when it can't open a file, which speaks to a loop that may be closed by then.
        (await asyncio.to_thread(sqlite3.connect, file, check_same_thread=False)).close()
        saver = await lifetime.enter_async_context(AsyncSqliteSaver.from_conn_string(str(file)))
        store = await lifetime.enter_async_context(AsyncSqliteStore.from_conn_string(str(file)))
        await saver.setup()  # a file that is no database is opened as if it were one
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
    asked: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        url, kwargs=asked, min_size=1, max_size=_CONNECTIONS, open=False, check=AsyncConnectionPool.check_connection
    )
    try:
        async with await AsyncConnection.connect(url, connect_timeout=_CONNECT_WITHIN, **asked) as locks:
            await _locked(locks)
            await lifetime.enter_async_context(pool)
            saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
            await saver.setup()
            await store.setup()
    except Exception as error:
        raise Failure(f"the database of --postgres can't be used: {brief(error)}") from error
    return Threads(saver, store, are_shared=True)


async def _locked(connection: Any) -> None:
    """Waits until this process alone makes the tables, until the connection is closed: two at once would fail. It asks
    again and again, since the indexes of the other process wait for every statement that waits."""
    while True:
        answer = await connection.execute("SELECT pg_try_advisory_lock(%s) AS is_mine", (_SETUP,))
        if (await answer.fetchone())["is_mine"]:
            return
        await asyncio.sleep(_LOOK_EVERY)


def not_installed(option: str, missing: ModuleNotFoundError, package: str) -> Failure:
    """The failure of an option without its package."""
    return Failure(f"{option} needs a package that is not installed ({missing.name}): pip install {package}")
