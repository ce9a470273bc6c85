"""The index of an `AsyncPostgresSaver`, in its database: `PostgresTable`. It uses the saver's connections under its
lock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from weakref import proxy

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, AsyncCursor, Error
from psycopg.rows import TupleRow, tuple_row

from ..encryption import cipher_of
from .row import to_json
from .sql_table import SqlTable


class PostgresTable(SqlTable):
    """See `SqlTable`."""

    json_type = "JSONB"
    writes = "checkpoint_writes"
    tables = "SELECT count(to_regclass(?))"
    errors = Error

    def __init__(self, saver: AsyncPostgresSaver) -> None:
        super().__init__(cipher_of(saver))
        self._saver = proxy(saver)  # the checkpointer keeps its index alive, not the other way round

    async def token(self) -> Any:
        """See `ThreadTable`. Two equal snapshots see the same rows, since no transaction that writes has begun or ended
        in between."""
        ((snapshot,),) = await self.select("SELECT CAST(txid_current_snapshot() AS TEXT)")
        return snapshot

    async def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `SqlTable`."""
        async with self._cursor() as cursor:
            await cursor.execute(_with_percent_signs(statement), values)
            return await cursor.fetchall()

    async def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See `SqlTable`."""
        async with self._cursor() as cursor:
            await cursor.execute(_with_percent_signs(statement), values)
            if self._saver.pipe is not None:
                await self._saver.pipe.sync()
            return cursor.rowcount

    def has(self, column: str) -> str:
        """See `SqlTable`."""
        return f"{column} @> CAST(? AS JSONB)"

    def knows(self, column: str) -> str:
        """See `SqlTable`."""
        return f"jsonb_exists({column}, ?)"

    def pair(self, name: str, value: Any) -> tuple[Any, ...]:
        """See `SqlTable`."""
        return (to_json({name: value}),)

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[AsyncCursor[TupleRow]]:
        conn = self._saver.conn
        async with self._saver.lock, AsyncExitStack() as taken:
            connection: Any = conn if isinstance(conn, AsyncConnection) else None
            if connection is None:
                connection = await taken.enter_async_context(conn.connection())
            yield await taken.enter_async_context(connection.cursor(row_factory=tuple_row))


def _with_percent_signs(statement: str) -> Any:
    return statement.replace("?", "%s")
