"""The index of an `AsyncSqliteSaver`, in its database: `SqliteTable`. It uses the saver's connection under its lock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from sqlite3 import DatabaseError
from typing import Any
from weakref import proxy

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ..encryption import cipher_of
from .sql_table import SqlTable


class SqliteTable(SqlTable):
    """See `SqlTable`."""

    json_type = "TEXT"
    writes = "writes"
    tables = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    errors = DatabaseError

    def __init__(self, saver: AsyncSqliteSaver) -> None:
        super().__init__(cipher_of(saver))
        self._saver = proxy(saver)  # the checkpointer keeps its index alive, not the other way round
        self._writing: set[asyncio.Future[int]] = set()

    async def token(self) -> Any:
        """See `ThreadTable`. `data_version` changes with writes of other connections, `total_changes` with those of
        this one."""
        ((version,),) = await self.select("PRAGMA data_version")
        return version, self._saver.conn.total_changes

    async def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `SqlTable`."""
        await self._saver.setup()
        async with self._saver.lock, self._saver.conn.execute(statement, values) as cursor:
            return [tuple(row) for row in await cursor.fetchall()]

    async def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See `SqlTable`."""
        task = asyncio.ensure_future(self._write(statement, values))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(
            task
        )  # a cancelled caller must not leave a transaction open, which would block others

    async def _write(self, statement: str, values: Sequence[Any]) -> int:
        await self._saver.setup()
        async with self._saver.lock:
            try:
                async with self._saver.conn.execute(statement, values) as cursor:
                    await self._saver.conn.commit()
                    return int(cursor.rowcount)
            except DatabaseError:
                await self._saver.conn.rollback()
                raise

    def has(self, column: str) -> str:
        """See `SqlTable`."""
        return f"EXISTS (SELECT 1 FROM json_each({column}) j WHERE j.key = ? AND j.value = ?)"

    def knows(self, column: str) -> str:
        """See `SqlTable`."""
        return f"EXISTS (SELECT 1 FROM json_each({column}) j WHERE j.key = ?)"

    def pair(self, name: str, value: Any) -> tuple[Any, ...]:
        """See `SqlTable`."""
        return name, value
