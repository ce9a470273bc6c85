"""An index in the memory of this process: `MemoryTable`. It is for checkpointers in whose database no table can be
created. `Heads` tells which threads the checkpointer has (see the module `heads`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from .row import Head, IndexRow, Reader
from .table import Selection


class Heads(Protocol):
    """The newest checkpoints of the threads of a checkpointer."""

    async def token(self) -> Hashable:
        """See `ThreadTable`."""

    async def all(self, before: str | None, count: int) -> tuple[Mapping[str, Head], str | None]:
        """Returns the newest checkpoints of all known threads, by thread id. Also returns the id of the checkpoint down
        to which all threads are known; None if all are. Looks until it knows `count` threads whose newest checkpoint is
        older than `before`."""

    async def one(self, thread_id: str) -> Head | None:
        """Returns the newest checkpoint of one thread; None if it has none."""

    def forget(self, thread_id: str) -> None:
        """Forgets a thread that was deleted."""


class MemoryTable:
    """See `ThreadTable`."""

    is_shared = False

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._rows: dict[str, dict[str, IndexRow]] = {}
        """The rows, by agent and then by thread id."""

    async def token(self) -> Hashable:
        """See `ThreadTable`."""
        return await self._heads.token()

    async def changed(
        self, reader: Reader, running: Collection[str], before: str | None, limit: int
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """See `ThreadTable`."""
        heads, floor = await self._heads.all(before, limit)
        rows = self._rows.get(reader.agent, {})

        def is_old(thread_id: str, head: Head) -> bool:
            row = rows.get(thread_id)
            if row is None:
                return True
            if not reader.may_get(row):
                return False
            return not row.is_of(head) or (thread_id in running and row.status != "running")

        changed = [
            (thread_id, head.checkpoint_id)
            for thread_id, head in heads.items()
            if (before is None or head.checkpoint_id < before) and is_old(thread_id, head)
        ]
        return sorted(changed, key=lambda thread: thread[1], reverse=True)[:limit], floor

    async def page(self, reader: Reader, selection: Selection) -> Sequence[tuple[IndexRow, Head | None]]:
        """See `ThreadTable`."""
        rows = [
            row
            for row in self._rows.get(reader.agent, {}).values()
            if row.status is not None
            and (selection.before is None or row.head.checkpoint_id < selection.before)
            and (selection.floor is None or row.head.checkpoint_id >= selection.floor)
            and (selection.statuses is None or row.status in selection.statuses)
            and reader.may_have(row)  # metadata are not compared here: another process may have changed them
        ]
        rows.sort(key=lambda row: row.head.checkpoint_id, reverse=True)
        return [(row, await self._heads.one(row.thread_id)) for row in rows[: selection.limit]]

    async def row(self, agent: str, thread_id: str) -> tuple[IndexRow | None, Head | None]:
        """See `ThreadTable`."""
        return self._rows.get(agent, {}).get(thread_id), await self._heads.one(thread_id)

    async def count(self, agent: str) -> int:
        """See `ThreadTable`."""
        return len(self._rows.get(agent, ()))

    async def put(self, agent: str, row: IndexRow, old: IndexRow | None) -> bool:
        """See `ThreadTable`."""
        rows = self._rows.setdefault(agent, {})
        edition = 0 if old is None else old.edition
        present = rows.get(row.thread_id)
        if (0 if present is None else present.edition) != edition:
            return False
        rows[row.thread_id] = replace(row, edition=edition + 1)
        return True

    async def remove(self, thread_id: str) -> None:
        """See `ThreadTable`."""
        for rows in self._rows.values():
            rows.pop(thread_id, None)
        self._heads.forget(thread_id)
