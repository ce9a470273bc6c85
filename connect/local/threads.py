"""The threads of a compiled graph in this process, read from its checkpointer: `LocalThreads`.

Rules:

1. A thread is as new as its newest checkpoint. Ids of checkpoints grow with time, so they order threads and are the
   pages' cursors.
2. Checkpointers list the newest checkpoints first, those of all threads and subgraphs. They are read in pages, at most
   `_SCANNED` for one answer: a page of threads may be short, and says where to continue. LangGraph's in-memory
   checkpointer lists thread by thread; there the newest ids are read off its public `storage`.
3. Metadata are those that `update` has written to the graph's store, and over them those with which the thread's runs
   were started: nothing that is written changes whose a thread is. The newest checkpoint may be without what a run left
   (`update_state` drops it); then the first one has it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import START

from ..access import MARK, USER, owner_of
from ..errors import (
    NotSupportedError,
    RunConflictError,
    checked_thread_id,
    log_context,
)
from ..run_outcome import RunOutcome
from ..thread_info import (
    LIMIT,
    Checkpoint,
    ThreadInfo,
    ThreadPage,
    ThreadStatus,
    checked_limit,
    first_checkpoints,
    known,
    opening_of,
)
from .checkpointers import reading
from .checkpoints.history import history
from .connect import found
from .source import GraphSource

_PAGE: Final = 64
_SCANNED: Final = 1_024
"""Checkpoints that are looked through for one answer."""
_NAMESPACE: Final = ("agui_threads",)
"""Where in the graph's store the metadata of threads are, by thread id."""
_LANGGRAPHS: Final = frozenset({"source", "step", "parents", "run_id", "thread_id", "writes"})


class LocalThreads:
    """See `thread_info.Threads`."""

    def __init__(self, source: GraphSource) -> None:
        self._source = source
        saver = source.graph.checkpointer
        self._saver = saver if isinstance(saver, BaseCheckpointSaver) else None
        self._store = source.graph.store

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """See `thread_info.Threads`."""
        listed: list[ThreadInfo] = []
        seen: set[str] = set()
        scanned, last = 0, _checked_cursor(after)
        checked_limit(limit)
        with self._reading(None):
            async with aclosing(self._newest(after)) as checkpoints:
                async for checkpoint_id, thread_id in checkpoints:
                    if len(listed) == limit or scanned == _SCANNED:
                        return ThreadPage(listed, last)
                    scanned, last = scanned + 1, checkpoint_id
                    if thread_id is None or thread_id in seen:
                        continue
                    seen.add(thread_id)
                    info = await self._info(thread_id, after, metadata)
                    if info is not None and status in (None, info.status):
                        listed.append(info)
        return ThreadPage(listed)

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """See `thread_info.Threads`."""
        with self._reading(checked_thread_id(thread_id, in_url=False)):
            return await self._info(thread_id)

    async def update(self, thread_id: str, metadata: Mapping[str, Any]) -> ThreadInfo:
        """See `thread_info.Threads`."""
        self._source.access.check_written(metadata)
        await known(self, thread_id)
        if self._store is None:
            raise NotSupportedError("The graph has no store to keep the metadata of threads in.")
        with self._reading(thread_id):
            await self._store.aput(_NAMESPACE, thread_id, {**await self._written(thread_id), **metadata})
        return await known(self, thread_id)

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`. Inputs that come meanwhile, and runs that `start` begins, wait, and run on a new
        thread."""
        await known(self, thread_id)
        store, key = self._source.runs.store, self._source.key(thread_id)
        async with store.turn(key).closed():
            if (await known(self, thread_id)).status == "running":
                raise RunConflictError(f"thread {thread_id!r} has a run that is running")
            with self._reading(thread_id):
                if self._saver is not None:
                    await self._saver.adelete_thread(thread_id)
                await store.forget(key)
                if self._store is not None:
                    await self._store.adelete(_NAMESPACE, thread_id)

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`."""
        checked_limit(limit)
        if await self.get(thread_id) is None:
            return []
        with self._reading(thread_id):
            return await first_checkpoints(history(self._source.graph, _config(thread_id), before), limit)

    async def _newest(self, after: str | None) -> AsyncGenerator[tuple[str, str | None], None]:
        """Checkpoints, the newest first: their ids and their threads; without a thread, a subgraph's."""
        if isinstance(self._saver, InMemorySaver):
            storage = self._saver.storage.items()
            newest = [(max(spaces[""]), thread_id) for thread_id, spaces in storage if spaces.get("")]
            for checkpoint_id, thread_id in sorted(newest, reverse=True):
                if after is None or checkpoint_id < after:
                    yield checkpoint_id, thread_id
            return
        last = after
        while self._saver is not None:
            before: Any = None if last is None else {"configurable": {"checkpoint_id": last}}
            # read whole before anything else is: a checkpointer may be locked while it lists
            page = [each.config["configurable"] async for each in self._saver.alist(None, before=before, limit=_PAGE)]
            for key in page:
                last = str(key["checkpoint_id"])
                yield last, None if key.get("checkpoint_ns") else str(key["thread_id"])
            if len(page) < _PAGE:
                return

    async def _info(
        self, thread_id: str, after: str | None = None, wanted: Mapping[str, Any] | None = None
    ) -> ThreadInfo | None:
        """One thread; None if it is unknown, another agent's or user's, without the wanted metadata, or newer than the
        checkpoint `after`: an earlier page has it."""
        newest = None if self._saver is None else await self._saver.aget_tuple(_config(thread_id))
        if newest is None or (after is not None and newest.checkpoint["id"] >= after):
            return None
        if not await self._source.may_use(thread_id):
            return None
        own, first = _metadata(newest), await self._first(thread_id)
        if first is not None:
            own = {**_metadata(first), **own}
        metadata = {**await self._written(thread_id), **own}
        if wanted is not None and not wanted.items() <= metadata.items():
            return None
        options = await self._source.options()
        now = await found(self._source, thread_id, options)
        return ThreadInfo(
            thread_id=thread_id,
            updated_at=datetime.fromisoformat(newest.checkpoint["ts"]),
            created_at=None if first is None else datetime.fromisoformat(first.checkpoint["ts"]),
            status=now.status if isinstance(now, RunOutcome) else "running",
            metadata=metadata,
            agent=owner_of(metadata),
            opening=_opening(first, options.messages_key) or opening_of(_values(newest).get(options.messages_key)),
        )

    async def _first(self, thread_id: str) -> CheckpointTuple | None:
        """The thread's first checkpoint; None where an update of its state made the thread."""
        assert self._saver is not None
        firsts = [each async for each in self._saver.alist(_config(thread_id), filter={"step": -1}, limit=1)]
        return firsts[0] if firsts else None

    async def _written(self, thread_id: str) -> dict[str, Any]:
        """What `update` has written."""
        item = None if self._store is None else await self._store.aget(_NAMESPACE, thread_id)
        return {} if item is None else {name: value for name, value in item.value.items() if name != MARK}

    def _reading(self, thread_id: str | None) -> Any:
        return reading(log_context(self._source.agent or self._source.graph, thread_id))


def _checked_cursor(after: str | None) -> str | None:
    """The `next` of a page; raises `ValueError` for what is no id of a checkpoint."""
    try:
        return None if after is None else str(UUID(after))
    except ValueError:
        raise ValueError(f"after: expected the `next` of a page, got {after!r:.64}") from None


def _config(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _values(saved: CheckpointTuple) -> dict[str, Any]:
    return saved.checkpoint["channel_values"]


def _opening(first: CheckpointTuple | None, messages_key: str) -> str | None:
    """The opening of the thread's first input; later checkpoints may be without it (messages that were summarised)."""
    given = None if first is None else _values(first).get(START)
    return opening_of(given.get(messages_key)) if isinstance(given, Mapping) else None


def _metadata(saved: CheckpointTuple) -> dict[str, Any]:
    """What a run left in a checkpoint, without what LangGraph keeps there."""
    return {
        name: value
        for name, value in saved.metadata.items()
        if name not in _LANGGRAPHS and not name.startswith(USER)  # LangGraph keeps a run's `configurable` there too
    }
