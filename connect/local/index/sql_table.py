"""An index in a table of a SQL checkpointer's database: `SqlTable`. It has the statements, which `sqlite_table` and
`postgres_table` execute.

The number in the table's name is the version of its format. A later format gets a table of its own, so that servers of
both versions can run at the same time. To list the threads, a statement looks up the next larger thread id in the
checkpointer's primary key, again and again. Each step costs the same, however many checkpoints a thread has.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from langgraph.checkpoint.serde.base import CipherProtocol

from ...errors import log_context
from ..encryption import SealedError, seal, unseal
from .row import First, Head, IndexRow, Reader, comparable, to_json
from .table import Selection

_log = logging.getLogger(__name__)

_TABLE: Final = "agui_threads_1"

_COLUMNS: Final = "thread_id, checkpoint_id, writes, status, access, metadata, shown, edition"

_ROW: Final = ", ".join(f"r.{column.strip()}" for column in _COLUMNS.split(","))

_NO_OWNER: Final = ""

_THREADS: Final = (
    "WITH RECURSIVE ids(id) AS (SELECT min(thread_id) FROM checkpoints UNION ALL "
    "SELECT (SELECT min(c.thread_id) FROM checkpoints c WHERE c.thread_id > ids.id) FROM ids WHERE ids.id IS NOT NULL)"
)
"""Selects the ids of all threads, and a null at the end."""


class SqlTable(ABC):
    """See `ThreadTable`; and `Heads`, for an index in memory where the user may not create tables. The placeholders in
    statements are question marks."""

    is_shared = True
    json_type: ClassVar[str]
    """The type of a JSON column."""
    writes: ClassVar[str]
    """The name of the checkpointer's table of writes."""
    tables: ClassVar[str]
    """The query that counts the tables with a name. Its only value is the name."""

    def __init__(self, cipher: CipherProtocol | None) -> None:
        self._cipher = cipher
        self._has_warned = False

    @abstractmethod
    async def token(self) -> Any:
        """See `ThreadTable`."""

    @abstractmethod
    async def select(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Returns the rows of a query."""

    @abstractmethod
    async def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Executes a statement and commits it. Returns how many rows it wrote."""

    @abstractmethod
    def has(self, column: str) -> str:
        """Returns the condition that a JSON column has a name with a value. Its values are those of `pair`."""

    @abstractmethod
    def knows(self, column: str) -> str:
        """Returns the condition that a JSON column has a name. Its only value is the name."""

    @abstractmethod
    def pair(self, name: str, value: Any) -> tuple[Any, ...]:
        """Returns the values of the condition `has`."""

    async def create(self) -> None:
        """Creates the table if it does not exist, and checks that it can be written. Raises what the database
        raises."""
        if not await self._exists():
            try:
                await self._make()
            except self.errors:
                if not await self._exists():  # another process has made it at the same moment
                    raise
        await self.write(f"DELETE FROM {_TABLE} WHERE thread_id IS NULL")

    async def _exists(self) -> bool:
        ((count,),) = await self.select(self.tables, (_TABLE,))
        return bool(count)

    async def _make(self) -> None:
        await self.write(
            f"CREATE TABLE IF NOT EXISTS {_TABLE} (thread_id TEXT NOT NULL, agent TEXT NOT NULL, "
            f"checkpoint_id TEXT NOT NULL, writes INTEGER NOT NULL, status TEXT, owner TEXT NOT NULL, "
            f"access {self.json_type} NOT NULL, metadata {self.json_type} NOT NULL, shown {self.json_type} NOT NULL, "
            f"edition INTEGER NOT NULL, PRIMARY KEY (thread_id, agent))"
        )
        await self.write(
            f"CREATE INDEX IF NOT EXISTS {_TABLE}_newest ON {_TABLE} (agent, checkpoint_id) WHERE status IS NOT NULL"
        )

    @property
    @abstractmethod
    def errors(self) -> type[Exception]:
        """The class of the errors that the database raises for a statement that it refuses."""

    async def changed(
        self, reader: Reader, running: Collection[str], before: str | None, limit: int
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """See `ThreadTable`."""
        allowed, values = self._condition_of(reader, or_in_time=True)
        started = f"OR (r.status <> 'running' AND r.thread_id IN ({_marks(running)}))" if running else ""
        older = "AND h.checkpoint_id < ?" if before is not None else ""
        rows = await self.select(
            f"{_THREADS}, heads(thread_id, checkpoint_id) AS (SELECT ids.id, {self._newest('ids.id')} FROM ids "
            f"WHERE ids.id IS NOT NULL) "
            f"SELECT h.thread_id, h.checkpoint_id FROM heads h "
            f"LEFT JOIN {_TABLE} r ON r.agent = ? AND r.thread_id = h.thread_id "
            f"WHERE h.checkpoint_id IS NOT NULL {older} AND (r.thread_id IS NULL OR ({allowed} AND "
            f"(r.status IS NULL OR r.checkpoint_id <> h.checkpoint_id "
            f"OR r.writes <> {self._writes('h.thread_id', 'h.checkpoint_id')} {started}))) "
            f"ORDER BY h.checkpoint_id DESC LIMIT ?",
            (reader.agent, *(() if before is None else (before,)), *values, *running, limit),
        )
        return [(thread_id, checkpoint_id) for thread_id, checkpoint_id in rows], None

    async def page(self, reader: Reader, selection: Selection) -> Sequence[tuple[IndexRow, Head | None]]:
        """See `ThreadTable`."""
        allowed, values = self._condition_of(reader)
        conditions, placed = ["r.agent = ?", "r.status IS NOT NULL", allowed], [reader.agent, *values]
        for name, value in comparable(selection.metadata):
            conditions.append(self.has("r.metadata"))
            placed += self.pair(name, value)
        if selection.statuses is not None:
            conditions.append(f"r.status IN ({_marks(selection.statuses)})")
            placed += selection.statuses
        for comparison, limiting in (("<", selection.before), (">=", selection.floor)):
            if limiting is not None:
                conditions.append(f"r.checkpoint_id {comparison} ?")
                placed.append(limiting)
        where = " AND ".join(conditions)
        rows = await self.select(
            f"SELECT {_ROW}, {self._head('r.thread_id')} FROM {_TABLE} r WHERE {where} "
            f"ORDER BY r.checkpoint_id DESC LIMIT ?",
            (*placed, selection.limit),
        )
        return [(self._row(columns, reader.agent), _head(columns[8:])) for columns in rows]

    async def row(self, agent: str, thread_id: str) -> tuple[IndexRow | None, Head | None]:
        """See `ThreadTable`."""
        (columns,) = await self.select(
            f"SELECT {_ROW}, {self._head('t.id')} FROM (SELECT CAST(? AS TEXT) AS id) t "
            f"LEFT JOIN {_TABLE} r ON r.thread_id = t.id AND r.agent = ?",
            (thread_id, agent),
        )
        return None if columns[0] is None else self._row(columns, agent), _head(columns[8:])

    async def count(self, agent: str) -> int:
        """See `ThreadTable`."""
        ((count,),) = await self.select(f"SELECT count(*) FROM {_TABLE} WHERE agent = ?", (agent,))
        return int(count)

    async def put(self, agent: str, row: IndexRow, old: IndexRow | None) -> bool:
        """See `ThreadTable`."""
        first = row.first
        shown = {
            "updated_at": row.updated_at,
            "opening": self._seal(row.opening),
            "first": [first.id, first.created_at, self._seal(first.opening), first.metadata],
        }
        written = (
            row.head.checkpoint_id,
            row.head.writes,
            row.status,
            row.owner or _NO_OWNER,
            *(to_json(value) for value in (row.access, row.metadata, shown)),
        )
        if old is None:
            statement = (
                f"INSERT INTO {_TABLE} (checkpoint_id, writes, status, owner, access, metadata, shown, thread_id, "
                f"agent, edition) VALUES ({_marks(range(9))}, 1) ON CONFLICT DO NOTHING"
            )
            return await self.write(statement, (*written, row.thread_id, agent)) == 1
        statement = (
            f"UPDATE {_TABLE} SET checkpoint_id = ?, writes = ?, status = ?, owner = ?, access = ?, metadata = ?, "
            f"shown = ?, edition = edition + 1 WHERE thread_id = ? AND agent = ? AND edition = ?"
        )
        return await self.write(statement, (*written, row.thread_id, agent, old.edition)) == 1

    async def remove(self, thread_id: str) -> None:
        """See `ThreadTable`."""
        await self.write(f"DELETE FROM {_TABLE} WHERE thread_id = ?", (thread_id,))

    async def all(self, before: str | None, count: int) -> tuple[Mapping[str, Head], None]:
        """See `Heads`."""
        rows = await self.select(f"{_THREADS} SELECT ids.id, {self._head('ids.id')} FROM ids WHERE ids.id IS NOT NULL")
        heads = ((thread_id, _head(rest)) for thread_id, *rest in rows)
        return {thread_id: head for thread_id, head in heads if head is not None}, None

    async def one(self, thread_id: str) -> Head | None:
        """See `Heads`."""
        (columns,) = await self.select(
            f"SELECT {self._head('t.id')} FROM (SELECT CAST(? AS TEXT) AS id) t", (thread_id,)
        )
        return _head(columns)

    def forget(self, thread_id: str) -> None:  # noqa: B027 - no subclass has to do anything
        """Does nothing: there is nothing to forget."""

    def _condition_of(self, reader: Reader, *, or_in_time: bool = False) -> tuple[str, list[Any]]:
        """Returns the condition for rows that the reader may have, as far as a database can compare their values, and
        the values of the condition. `or_in_time`: whether to include rows that it may have later; see
        `Reader.may_get`."""
        conditions, values = ["r.agent IS NOT NULL"], list[Any]()
        if reader.owners is not None:
            conditions.append(f"r.owner IN ({_marks([_NO_OWNER, *reader.owners])})")
            values += [_NO_OWNER, *sorted(reader.owners)]
        for name, value in reader.where:
            has = self.has("r.access")
            conditions.append(f"({has} OR NOT {self.knows('r.access')})" if or_in_time else has)
            values += [*self.pair(name, value), name] if or_in_time else self.pair(name, value)
        return f"({' AND '.join(conditions)})", values

    def _newest(self, thread: str) -> str:
        return f"(SELECT max(c.checkpoint_id) FROM checkpoints c WHERE c.thread_id = {thread} AND c.checkpoint_ns = '')"

    def _writes(self, thread: str, checkpoint: str) -> str:
        return (
            f"(SELECT count(*) FROM {self.writes} w WHERE w.thread_id = {thread} AND w.checkpoint_ns = '' "
            f"AND w.checkpoint_id = {checkpoint})"
        )

    def _head(self, thread: str) -> str:
        """Returns the columns of a `Head`."""
        first = (
            f"(SELECT min(c.checkpoint_id) FROM checkpoints c WHERE c.thread_id = {thread} AND c.checkpoint_ns = '')"
        )
        return f"{self._newest(thread)}, {self._writes(thread, self._newest(thread))}, {first}"

    def _row(self, columns: Sequence[Any], agent: str) -> IndexRow:
        thread_id, checkpoint_id, writes, status, *texts, edition = columns[:8]
        access, metadata, shown = (json.loads(value) if isinstance(value, str) else value for value in texts)
        label = log_context(agent, thread_id)
        first_id, created_at, opening, left = shown["first"]
        return IndexRow(
            thread_id=thread_id,
            head=Head(checkpoint_id, writes, first_id),
            first=First(id=first_id, created_at=created_at, opening=self._unseal(opening, label), metadata=left),
            access=access,
            status=status,
            updated_at=shown["updated_at"],
            opening=self._unseal(shown["opening"], label),
            metadata=metadata,
            edition=edition,
        )

    def _seal(self, opening: str | None) -> str | dict[str, str] | None:
        """Returns the opening of a thread, encrypted if the checkpointer encrypts."""
        if opening is None or self._cipher is None:
            return opening
        return {"sealed": b64encode(seal(opening.encode(errors="replace"), self._cipher)).decode()}

    def _unseal(self, stored: str | dict[str, str] | None, label: str) -> str | None:
        """Decrypts what `_seal` returned. Returns None if that fails, which is logged once, with `label`."""
        if not isinstance(stored, dict):
            return stored
        try:
            return unseal(b64decode(stored["sealed"]), self._cipher).decode()
        except SealedError as error:
            if not self._has_warned:
                self._has_warned = True
                _log.warning("The opening of a thread in the index cannot be read: %s (%s).", error, label)
            return None


def _marks(values: Collection[Any]) -> str:
    return ", ".join("?" * len(values))


def _head(columns: Sequence[Any]) -> Head | None:
    checkpoint_id, writes, first_id = columns
    return None if checkpoint_id is None else Head(checkpoint_id, writes, first_id)
