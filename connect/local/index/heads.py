"""The newest checkpoints of threads, for an index in memory. `MemoryHeads` is for LangGraph's in-memory checkpointer,
`SqlTable` for a database in which the user may not create tables, and `ListedHeads` for any other checkpointer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import proxy

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from .row import Head

_PAGE: Final = 64
_SCANNED: Final = 1_024
"""Checkpoints that are looked through for one page, at most."""


class MemoryHeads:
    """See `Heads`. Reads the checkpointer's public attributes `storage` and `writes`."""

    def __init__(self, saver: InMemorySaver) -> None:
        self._saver = proxy(saver)  # the checkpointer keeps its index alive, not the other way round

    async def token(self) -> None:
        """See `Heads`. Returns None: a token would save nothing, since reading the checkpoints is as fast."""

    async def all(self, before: str | None, count: int) -> tuple[Mapping[str, Head], None]:
        """See `Heads`."""
        heads = ((thread_id, self._head(thread_id)) for thread_id in list(self._saver.storage))
        return {thread_id: head for thread_id, head in heads if head is not None}, None

    async def one(self, thread_id: str) -> Head | None:
        """See `Heads`."""
        return self._head(thread_id)

    def forget(self, thread_id: str) -> None:
        """Does nothing: there is nothing to forget."""

    def _head(self, thread_id: str) -> Head | None:
        ids = self._saver.storage[thread_id].get("") if thread_id in self._saver.storage else None
        if not ids:
            return None
        newest = max(ids)
        return Head(newest, len(self._saver.writes.get((thread_id, "", newest), ())), min(ids))


class ListedHeads:
    """See `Heads`. A checkpointer lists whole checkpoints of all threads and subgraphs together, the newest first,
    which is slow. So each checkpoint is listed once. New ones are listed for every page, and older ones when a page
    reaches them, about `_SCANNED` for one page. If another process writes a checkpoint late, under an older id, it is
    not seen until the thread has its next one."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._saver = proxy(saver)  # the checkpointer keeps its index alive, not the other way round
        self._heads: dict[str, Head] = {}
        self._newest: str | None = None
        """The id of the newest checkpoint that was seen."""
        self._oldest: str | None = None
        """The id of the checkpoint down to which all were seen."""
        self._is_complete = False

    async def token(self) -> None:
        """See `Heads`. Returns None: only a list of the checkpoints can tell whether anything was written."""

    async def all(self, before: str | None, count: int) -> tuple[Mapping[str, Head], str | None]:
        """See `Heads`."""

        def has_enough() -> bool:
            older = (head for head in self._heads.values() if before is None or head.checkpoint_id < before)
            return (self._is_complete and self._newest is not None) or sum(1 for _ in older) >= count

        left = _SCANNED - await self._see_newer()
        while left > 0 and not has_enough():
            page = await self._page(self._oldest)
            self._see(page)
            self._oldest = page[-1][0] if page else self._oldest
            self._newest = self._newest or (page[0][0] if page else None)
            self._is_complete = len(page) < _PAGE
            left -= _PAGE
            if not page:
                break
        return self._heads, None if self._is_complete else self._oldest

    async def one(self, thread_id: str) -> Head | None:
        """See `Heads`."""
        saved = await self._saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        return None if saved is None else Head(saved.checkpoint["id"], len(saved.pending_writes or ()))

    def forget(self, thread_id: str) -> None:
        """See `Heads`."""
        self._heads.pop(thread_id, None)

    async def _see_newer(self) -> int:
        """Looks at the checkpoints that are newer than all that were seen. Returns how many it looked through."""
        previous, newest, last, seen = self._newest, None, None, 0
        while previous is not None:
            page = await self._page(last)
            seen += len(page)
            newest = newest or (page[0][0] if page else previous)
            newer = [checkpoint for checkpoint in page if checkpoint[0] > previous]
            self._see(newer)
            if len(newer) < _PAGE:
                break
            last = page[-1][0]
            if seen >= _SCANNED:  # there may be a gap: older checkpoints are looked through again from here on
                self._oldest, self._is_complete = last, False
                break
        self._newest = newest
        return seen

    def _see(self, page: Sequence[tuple[str, str | None, int]]) -> None:
        for checkpoint_id, thread_id, writes in page:
            if thread_id is None:
                continue
            head = self._heads.get(thread_id)
            if head is None or checkpoint_id >= head.checkpoint_id:
                self._heads[thread_id] = Head(checkpoint_id, writes)

    async def _page(self, before: str | None) -> list[tuple[str, str | None, int]]:
        """Returns a page of checkpoints, the newest first. Each has its id, its thread (None for a subgraph), and the
        number of its writes. The page is read to its end at once, since a checkpointer may be locked while it lists."""
        older: Any = None if before is None else {"configurable": {"checkpoint_id": before}}
        page = []
        async for saved in self._saver.alist(None, before=older, limit=_PAGE):
            key: Any = saved.config["configurable"]
            thread_id = None if key.get("checkpoint_ns") else str(key["thread_id"])
            page.append((str(key["checkpoint_id"]), thread_id, len(saved.pending_writes or ())))
        return page
