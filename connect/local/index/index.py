"""The index of a checkpointer's threads: `ThreadIndex`, which keeps the rows up to date. A `ThreadTable` stores them.

Rules:

1. A row records the newest checkpoint that the thread had when it was read, and the number of its writes. Each list
   compares both with the checkpointer, unless the database says that nothing has been written since. So runs of other
   programs (a scheduler's `ainvoke`, another process) are noticed, and no clock is needed.
2. Once lists are used in a process, the thread of each run that ends there is read, so that lists have little left to
   read. Before a page is returned, other threads that have changed are read, the newest first, at most `_READ` for one
   page. If there are more, the page ends with the last one that was read, and has a next page. So the index of a
   database that already has threads is made bit by bit.
3. A row is written only if nobody else has written it since the thread was read.
4. The status of a thread changes without a checkpoint when a run begins, or ends before its first checkpoint. The run
   store knows of both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from ...recent import Recent
from .heads import ListedHeads, MemoryHeads
from .memory_table import MemoryTable
from .reading import IndexedAgent, read_row, updated_metadata
from .row import IndexRow, Reader
from .sql_table import SqlTable
from .table import Selection, ThreadTable

_READ: Final = 64
"""Threads that are read for one page, at most."""
_READ_FOR: Final = 2.0
"""Seconds after which no more threads are read for one page."""
_QUICK: Final = 0.05
"""Seconds. If a comparison of more than `_MANY` threads takes longer, not every list makes one."""
_MANY: Final = 5_000
"""See `_QUICK`."""
_RARER: Final = 20
"""The pause after a comparison that took long, as a multiple of its duration."""
_TRIES: Final = 3
"""How often a thread is read at most, if others write its row meanwhile."""
_AGAIN: Final = 60.0
"""Seconds after which a thread that could not be read is read again."""
_MOST: Final = 1_000
"""Comparisons, and unreadable threads, that are remembered."""

_log = logging.getLogger(__name__)


class ThreadIndex:
    """The index of the threads of one checkpointer. Every method raises what the checkpointer raises."""

    def __init__(self) -> None:
        self.is_used = False
        """Whether a list has been read in this process."""
        self._table: ThreadTable | None = None
        self._compared: Recent[Hashable, Hashable] = Recent(_MOST)
        """By reader and running threads: the table's token before a comparison that found no thread to read."""
        self._not_before = 0.0
        """When the next comparison may be made, by `time.monotonic`."""
        self._unreadable: Recent[tuple[str, str], float] = Recent(_MOST)
        """By agent and thread: when the thread could not be read, by `time.monotonic`."""

    async def page(self, agent: IndexedAgent, selection: Selection) -> list[tuple[str, IndexRow | None]]:
        """Returns rows of an agent. For each, returns the id of the checkpoint by which it was selected, and the row as
        it is now. The row is None if the thread was deleted, or has become newer than `selection.before`."""
        table = await self._ready(agent)
        rows: list[tuple[str, IndexRow | None]] = []
        for row, head in await table.page(agent.reader, selection):
            current: IndexRow | None = row
            if head is None:
                await table.remove(row.thread_id)
                current = None
            elif not row.is_of(head) or await self._is_old(agent, row, table):
                current = await self.read(agent, row.thread_id)
                if (
                    current is not None
                    and selection.before is not None
                    and current.head.checkpoint_id >= selection.before
                ):
                    current = None
            rows.append((row.head.checkpoint_id, current))
        return rows

    async def row(self, agent: IndexedAgent, thread_id: str) -> IndexRow | None:
        """Returns the row of one thread, as it is now; None if the thread does not exist."""
        table = await self._ready(agent)
        row, head = await table.row(agent.reader.agent, thread_id)
        if head is None:
            if row is not None:
                await table.remove(thread_id)
            return None
        if row is None or not row.is_of(head) or row.status == "unreadable" or await self._is_old(agent, row, table):
            return await self.read(agent, thread_id)
        return row

    async def catch_up(
        self,
        agent: IndexedAgent,
        running: Collection[str],
        before: str | None,
        lock: AbstractAsyncContextManager[Any],
    ) -> str | None:
        """Reads the threads that have changed, the newest first, at most as many as one page may read. Returns the id
        of the checkpoint down to which the index is up to date; None if all of it is.

        - `running`: the ids of threads that have a run of this process.
        - `before`: the id of a checkpoint; only threads with an older one are read.
        - `lock`: held while it reads, so that only one of several lists reads, and the others wait."""
        self.is_used = True
        table, key = await self._ready(agent), (agent.reader, frozenset(running))
        async with lock:
            token = await table.token()
            is_known = token is not None and self._compared.get(key) == token
            if is_known or (before is None and time.monotonic() < self._not_before):
                return None
            changed, floor = await self._find_changed(agent.reader, table, running, before)
            count = await self._read_first(agent, changed)
            if count < len(changed):
                _, read = changed[count - 1]
                return read if floor is None else max(read, floor)
            if before is None and floor is None and not changed:
                self._compared[key] = token
            return floor

    async def _find_changed(
        self, reader: Reader, table: ThreadTable, running: Collection[str], before: str | None
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """See `ThreadTable.changed`. Returns up to one thread more than one page may read. A comparison that took long
        is not repeated for a while."""
        began = time.monotonic()
        changed = await table.changed(reader, running, before, _READ + 1)
        took = time.monotonic() - began
        if took > _QUICK and await table.count(reader.agent) > _MANY:
            self._not_before = began + took + _RARER * took
        return changed

    async def _read_first(self, agent: IndexedAgent, changed: Sequence[tuple[str, str]]) -> int:
        """Reads the first of these threads, as many as one page may read, but at least one. Returns their number."""
        until = time.monotonic() + _READ_FOR
        for count, (thread_id, _) in enumerate(changed[:_READ]):
            if count and time.monotonic() > until:
                return count
            await self._try(agent, thread_id)
        return min(len(changed), _READ)

    async def read(self, agent: IndexedAgent, thread_id: str) -> IndexRow | None:
        """Reads a thread, writes its row and returns it; None if the thread does not exist."""
        table = await self._ready(agent)
        row: IndexRow | None = None
        for _ in range(_TRIES):
            old, head = await table.row(agent.reader.agent, thread_id)
            if head is None:
                if old is not None:
                    await table.remove(thread_id)
                return None
            row = await read_row(agent, thread_id, head, old)
            if row.status == "unreadable":
                self._unreadable[agent.reader.agent, thread_id] = time.monotonic()
            if await table.put(agent.reader.agent, row, old):
                if old is None and (await table.row(agent.reader.agent, thread_id))[1] is None:
                    await table.remove(thread_id)  # it was deleted meanwhile
                    return None
                break
        return row

    async def remove(self, agent: IndexedAgent, thread_id: str) -> None:
        """Removes the row of a thread that was deleted."""
        await (await self._ready(agent)).remove(thread_id)

    async def _try(self, agent: IndexedAgent, thread_id: str) -> None:
        """Reads one of several threads. If it can't be read, this is logged, and the other threads are still read."""
        try:
            await self.read(agent, thread_id)
        except Exception:  # whatever a checkpointer raises
            await (await self._ready(agent)).row(agent.reader.agent, thread_id)  # raises if no thread can be read
            _log.exception("A thread can't be read, and is not listed (%s).", agent.label(thread_id))

    async def _is_old(self, agent: IndexedAgent, row: IndexRow, table: ThreadTable) -> bool:
        """Returns whether the status or the metadata of a thread have changed, although its checkpoints have not."""
        if not table.is_shared and row.written != await updated_metadata(agent, row.thread_id):
            return True
        if row.status == "unreadable":
            read_at = self._unreadable.get((agent.reader.agent, row.thread_id))
            return read_at is None or time.monotonic() - read_at > _AGAIN
        return await agent.is_running(row.thread_id) != (row.status == "running")

    async def _ready(self, agent: IndexedAgent) -> ThreadTable:
        """Returns the table, which is made when it is first needed."""
        if self._table is None:
            self._table = await _table_of(agent)
        return self._table


_indexes: WeakKeyDictionary[BaseCheckpointSaver[Any], ThreadIndex] = WeakKeyDictionary()


def index_of(saver: BaseCheckpointSaver[Any]) -> ThreadIndex:
    """Returns the index of a checkpointer."""
    if saver not in _indexes:
        _indexes[saver] = ThreadIndex()
    return _indexes[saver]


async def _table_of(agent: IndexedAgent) -> ThreadTable:
    """Returns the table for a checkpointer: in its database, or in this process."""
    saver = agent.saver
    if isinstance(saver, InMemorySaver):
        return MemoryTable(MemoryHeads(saver))
    table = _sql_table(saver)
    if table is None:
        return MemoryTable(ListedHeads(saver))
    try:
        await table.create()
    except table.errors as error:
        await table.all(None, 0)  # raises if the database can't be read at all
        _log.warning(
            "The table for lists of threads can't be created in the checkpointer's database, so each process keeps the "
            "lists for itself: %s (%s).",
            error,
            agent.label(None),
        )
        return MemoryTable(table)
    return table


def _sql_table(saver: BaseCheckpointSaver[Any]) -> SqlTable | None:
    """Returns the table for one of LangGraph's two SQL checkpointers, or a class derived from them; None for any
    other."""
    modules = {base.__module__ for base in type(saver).__mro__}
    if "langgraph.checkpoint.sqlite.aio" in modules:
        from .sqlite_table import SqliteTable

        return SqliteTable(saver)  # type: ignore[arg-type]
    if "langgraph.checkpoint.postgres.aio" in modules:
        from .postgres_table import PostgresTable

        return PostgresTable(saver)  # type: ignore[arg-type]
    return None
