"""Updates the index when runs end: `Indexing`, one for each `Runs`. The threads are read in background tasks, for which
no run and no client waits."""

from __future__ import annotations

import asyncio
import logging

from .index import index_of
from .reading import IndexedAgent

_log = logging.getLogger(__name__)


class Indexing:
    """The tasks that read threads, and the locks that lists hold."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    def lock(self, agent: IndexedAgent) -> asyncio.Lock:
        """Returns the lock that a list of a checkpointer's threads holds while it reads the threads that have
        changed."""
        return self._locks.setdefault(agent.key("").namespace, asyncio.Lock())

    def run_ended(self, agent: IndexedAgent, thread_id: str) -> None:
        """Updates the row of a thread whose run has ended, if lists have been read in this process."""
        if not index_of(agent.saver).is_used:
            return
        task = asyncio.get_running_loop().create_task(self._read(agent, thread_id), name=f"index {thread_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self, wait: float) -> None:
        """Waits up to `wait` seconds until the rows of all runs that have ended are written. Cancels the updates that
        take longer: the next list reads their threads."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=wait)
            for task in late:
                task.cancel()

    async def _read(self, agent: IndexedAgent, thread_id: str) -> None:
        try:
            await index_of(agent.saver).read(agent, thread_id)
        except Exception:  # whatever a checkpointer raises
            _log.warning(
                "The row of a thread was not updated, and waits for a list (%s).", agent.label(thread_id), exc_info=True
            )
