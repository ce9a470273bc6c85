"""`LocalThreads`: the threads of a compiled graph in this process.

Rules:

1. A thread is as new as its newest checkpoint. The ids of checkpoints grow with time, so they order the threads and
   serve as cursors of pages.
2. Lists are read from an index (`index`), which has every thread of the checkpointer. A page may be short, and says
   where to continue.
3. The metadata of a thread are those that `update` has written to the graph's store. Those with which the thread's runs
   were started take precedence, so that `update` cannot change the owner of a thread. The newest checkpoint may lack
   the metadata of a run, because `update_state` drops them. The first checkpoint still has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..access import owner_of
from ..errors import (
    NotSupportedError,
    RunConflictError,
    checked_thread_id,
    log_context,
)
from ..thread_info import (
    LIMIT,
    Checkpoint,
    RunInfo,
    ThreadInfo,
    ThreadPage,
    ThreadStatus,
    checked_limit,
    existing_thread,
    first_checkpoints,
    matches,
)
from .checkpointers import Graph, reading, wait_for_answer
from .checkpoints.history import history
from .finished_runs import runs_of
from .index.index import index_of
from .index.reading import NAMESPACE, IndexedAgent, updated_metadata
from .index.row import IndexRow
from .index.table import Selection
from .source import GraphSource
from .thread import LocalThread

_MOST_ROWS: Final = 1_000
"""Rows of the index that are read for one page, at most, if few of them belong to the list."""
_NEXT_ROWS: Final = 64
"""Rows of each further query, if the first one did not fill the page."""
_SEARCHED_ROWS: Final = 250
"""Rows of each query of a search for a text, because few threads may have the text."""


class LocalThreads:
    """See `thread_info.Threads`."""

    def __init__(self, source: GraphSource) -> None:
        self._source = source
        self._graph: Graph | None = None
        """The graph that reads the threads, once it is needed."""

    @property
    def _saver(self) -> BaseCheckpointSaver[Any] | None:
        saver = self._source.graph.checkpointer
        return saver if isinstance(saver, BaseCheckpointSaver) else None

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        text: str | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """See `thread_info.Threads`."""
        last, count = _checked_cursor(after), checked_limit(limit) + 1
        if text is not None:
            count = max(count, _SEARCHED_ROWS)
        await self._source.prepare()
        if self._saver is None:
            return ThreadPage([])
        required, listed, rows_read = metadata or {}, list[tuple[str, ThreadInfo]](), 0
        # since a row was written, a run of its thread may have begun or ended, or the thread may have become readable
        statuses = None if status is None else {status, "running", "unreadable"}
        agent, index, runs = await self._agent(), index_of(self._saver), self._source.runs
        seconds = self._source.read_timeout
        with self._reading(None):
            lock, running = runs.indexing.lock(agent), runs.threads_running(agent.key("").namespace)
            floor = await wait_for_answer(index.catch_up(agent, running, last, lock), seconds)
            while rows_read < _MOST_ROWS:
                selection = Selection(count, last, floor, statuses, required)
                page = await wait_for_answer(index.page(agent, selection), seconds)
                for checkpoint_id, row in page:
                    if len(listed) == limit:
                        return _page(listed, last)
                    last = checkpoint_id
                    if row is None or status not in (None, row.status):
                        continue
                    if not (agent.may_use(row) and required.items() <= row.metadata.items()):
                        continue
                    if matches(info := _info(row), text):
                        listed.append((row.head.checkpoint_id, info))
                if len(page) < count:
                    return _page(listed, floor)
                rows_read, count = rows_read + count, _NEXT_ROWS if text is None else _SEARCHED_ROWS
        return _page(listed, last)

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """See `thread_info.Threads`."""
        checked_thread_id(thread_id, in_url=False)
        await self._source.prepare(thread_id)
        if self._saver is None:
            return None
        with self._reading(thread_id):
            agent = await self._agent()
            row = await wait_for_answer(index_of(self._saver).row(agent, thread_id), self._source.read_timeout)
        return None if row is None or row.status is None or not agent.may_use(row) else _info(row)

    async def update(self, thread_id: str, metadata: Mapping[str, Any]) -> ThreadInfo:
        """See `thread_info.Threads`."""
        self._source.access.check_written(metadata)
        await existing_thread(self, thread_id)
        store = self._source.graph.store
        if store is None:
            raise NotSupportedError("The graph has no store to keep the metadata of threads in.")
        with self._reading(thread_id):
            agent = await self._agent()
            before = await wait_for_answer(updated_metadata(agent, thread_id), self._source.read_timeout)
            await store.aput(NAMESPACE, thread_id, {**before, **metadata})
            await index_of(agent.saver).read(agent, thread_id)
        return await existing_thread(self, thread_id)

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`. Inputs that arrive meanwhile, and runs that `start` begins, wait, and then run on
        a new thread. A thread that can't be read is deleted like any other. A deletion that has failed can be repeated:
        the checkpoints are deleted after the data in other places, since without them the thread is unknown."""
        await self._source.hold_threads(thread_id)  # the thread may have a run in another process
        await existing_thread(self, thread_id)
        store, key = self._source.runs.store, self._source.key(thread_id)
        kept = self._source.graph.store
        async with store.turn(key, closes=True):
            if (await existing_thread(self, thread_id)).status == "running":
                raise RunConflictError(
                    f"thread {thread_id!r} has an active run: delete the thread when the run has ended"
                )
            with self._reading(thread_id):
                agent = await self._agent()
                await store.forget(key)
                if kept is not None:
                    await kept.adelete(NAMESPACE, thread_id)
                await agent.saver.adelete_thread(thread_id)
                await index_of(agent.saver).remove(agent, thread_id)

    async def runs(self, thread_id: str, *, limit: int = LIMIT) -> Sequence[RunInfo]:
        """See `thread_info.Threads`."""
        checked_limit(limit)
        return await runs_of(self._source, checked_thread_id(thread_id, in_url=False), limit)

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`."""
        checked_limit(limit)
        if await self.get(thread_id) is None:
            return []
        with self._reading(thread_id):
            config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
            graph = await LocalThread(self._source, thread_id).graph()
            checkpoints = history(graph, config, self._source.read_timeout, before)
            return await first_checkpoints(checkpoints, limit)

    async def _agent(self) -> IndexedAgent:
        source, options = self._source, await self._source.options()
        if self._graph is None:
            self._graph = await source.graph_to_read({})
        return source.runs.indexed(self._graph, source.agent, source.access, options.messages_key)

    def _reading(self, thread_id: str | None) -> Any:
        return reading(log_context(self._source.agent or self._source.graph, thread_id))


def _page(listed: list[tuple[str, ThreadInfo]], after: str | None) -> ThreadPage:
    """Returns the page. It is sorted again, since a thread that was written meanwhile may be newer than those before
    it. `after`: where the next page begins."""
    listed.sort(key=lambda thread: thread[0], reverse=True)
    return ThreadPage([info for _, info in listed], after)


def _info(row: IndexRow) -> ThreadInfo:
    """Returns a thread as a list shows it. `row`: a row with a status."""
    assert row.status is not None
    assert row.updated_at is not None
    created_at = row.first.created_at
    return ThreadInfo(
        thread_id=row.thread_id,
        updated_at=datetime.fromisoformat(row.updated_at),
        created_at=None if created_at is None else datetime.fromisoformat(created_at),
        status=row.status,
        metadata=row.metadata,
        agent=owner_of(row.metadata),
        opening=row.opening,
    )


def _checked_cursor(after: str | None) -> str | None:
    """Checks the `next` of a page, and returns it. Raises `ValueError` if it is not the id of a checkpoint."""
    try:
        return None if after is None else str(UUID(after))
    except ValueError:
        raise ValueError(f"after: expected the `next` of a page, got {after!r:.64}") from None
