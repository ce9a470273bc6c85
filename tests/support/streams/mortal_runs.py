"""Runs of a graph that end as those of a killed process do: nothing is stored after a certain write.

Here: checkpointers that stop after a number of writes, and the runs that stop with them. Never here: what continues
such a run.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from uuid import uuid4

import aiosqlite
import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool


class Death:
    """The death of a process after `writes` writes; None is never. `writes` counts down, and `task` is cancelled."""

    def __init__(self, writes: int | None = None) -> None:
        self.writes = writes
        self.count = 0
        self.is_dead = False
        self.task: asyncio.Task[Any] | None = None

    def comes(self) -> bool:
        """Counts a write that is about to happen, and returns whether the process is dead by then."""
        if self.writes is not None and self.count >= self.writes and not self.is_dead:
            self.is_dead = True
            if self.task is not None:
                self.task.cancel()
        self.count += not self.is_dead
        return self.is_dead


def mortal(kind: type[BaseCheckpointSaver[Any]]) -> Any:
    """The class of a checkpointer of this kind that writes nothing once its `death` has come."""

    class Mortal(kind):  # type: ignore[valid-type, misc]
        death = Death()

        async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            if self.death.comes():
                return config
            return await super().aput(config, checkpoint, metadata, new_versions)

        async def aput_writes(
            self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
        ) -> None:
            if not self.death.comes():
                await super().aput_writes(config, writes, task_id, task_path)

    return Mortal


class Database(Protocol):
    """A database of checkpoints, which can be copied."""

    def saver(self, death: Death | None = None) -> BaseCheckpointSaver[Any]:
        """A checkpointer on it, as a new process would make it."""

    def copied(self) -> AbstractAsyncContextManager["Database"]:
        """A copy of it."""


class _SqliteDatabase:
    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    def saver(self, death: Death | None = None) -> BaseCheckpointSaver[Any]:
        return _with_death(mortal(AsyncSqliteSaver)(self._connection), death)

    @asynccontextmanager
    async def copied(self) -> AsyncGenerator[Database, None]:
        async with aiosqlite.connect(":memory:") as copy:
            await self._connection.backup(copy)
            yield _SqliteDatabase(copy)


class _PostgresDatabase:
    def __init__(self, server: str, name: str, pool: AsyncConnectionPool[Any]) -> None:
        self._server, self._name, self._pool = server, name, pool

    def saver(self, death: Death | None = None) -> BaseCheckpointSaver[Any]:
        return _with_death(mortal(AsyncPostgresSaver)(self._pool), death)

    @asynccontextmanager
    async def copied(self) -> AsyncGenerator[Database, None]:
        await self._pool.close()  # nobody may use a database that is copied
        async with _new_postgres_database(self._server, self._name) as copy:
            yield copy


def _with_death(saver: Any, death: Death | None) -> BaseCheckpointSaver[Any]:
    saver.death = death or Death()
    made: BaseCheckpointSaver[Any] = saver
    return made


@asynccontextmanager
async def sqlite_database() -> AsyncGenerator[Database, None]:
    """An empty database in memory."""
    async with aiosqlite.connect(":memory:") as connection:
        yield _SqliteDatabase(connection)


@asynccontextmanager
async def postgres_database(server: str) -> AsyncGenerator[Database, None]:
    """An empty database of a server. Nothing reads it any more once it was copied."""
    async with _new_postgres_database(server, "template1") as database:
        await AsyncPostgresSaver(database._pool).setup()
        yield database


@asynccontextmanager
async def _new_postgres_database(server: str, template: str) -> AsyncGenerator[_PostgresDatabase, None]:
    name = f"d{uuid4().hex}"
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    asked: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    url = server.rpartition("/")[0] + f"/{name}"
    async with AsyncConnectionPool(url, kwargs=asked, min_size=1, max_size=2, open=False) as pool:
        yield _PostgresDatabase(server, name, pool)


async def run_until_death(graph: Any, given: Any, config: Any, death: Death) -> bool:
    """Runs a graph until it ends or the death comes, and returns whether it has ended."""

    async def consume() -> None:
        async for _ in graph.astream(given, config, durability="sync", subgraphs=True):
            pass

    death.task = asyncio.create_task(consume())
    await asyncio.wait([death.task])
    if death.is_dead:
        return False
    death.task.result()
    return True
