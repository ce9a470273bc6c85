"""An index in the memory of this process: `MemoryTable`, for checkpointers in whose database there can be no table.
Which threads the checkpointer has, its `Heads` say (see `heads`)."""

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
        """Those of all known threads, by thread id, and the id of the checkpoint down to which all threads are known;
        None: all are. Looks until `count` threads are known whose newest checkpoint is older than `before`."""

    async def one(self, thread_id: str) -> Head | None:
        """That of one thread; None: it has none."""

    def forget(self, thread_id: str) -> None:
        """Forgets a thread that was deleted."""


class MemoryTable:
    """See `ThreadTable`."""

    is_shared = False

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._rows: dict[str, dict[str, IndexRow]] = {}
        """By agent, and then by thread id."""

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

    async def page(self, reader: Reader, wanted: Selection) -> Sequence[tuple[IndexRow, Head | None]]:
        """See `ThreadTable`."""
        rows = [
            row
            for row in self._rows.get(reader.agent, {}).values()
            if row.status is not None
            and (wanted.before is None or row.head.checkpoint_id < wanted.before)
            and (wanted.floor is None or row.head.checkpoint_id >= wanted.floor)
            and (wanted.statuses is None or row.status in wanted.statuses)
            and reader.may_have(row)  # metadata are no condition here: another process may have changed them
        ]
        rows.sort(key=lambda row: row.head.checkpoint_id, reverse=True)
        return [(row, await self._heads.one(row.thread_id)) for row in rows[: wanted.limit]]

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
        known = rows.get(row.thread_id)
        if (0 if known is None else known.edition) != edition:
            return False
        rows[row.thread_id] = replace(row, edition=edition + 1)
        return True

    async def remove(self, thread_id: str) -> None:
        """See `ThreadTable`."""
        for rows in self._rows.values():
            rows.pop(thread_id, None)
        self._heads.forget(thread_id)
