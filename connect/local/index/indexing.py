"""Updates of the index when runs end: `Indexing`, one for each `Runs`. The threads are read in background tasks, which
no run and no client waits for."""

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
        """The lock that a list of a checkpointer's threads holds while it reads those that have changed."""
        return self._locks.setdefault(agent.key("").namespace, asyncio.Lock())

    def run_ended(self, agent: IndexedAgent, thread_id: str) -> None:
        """Updates the row of a thread whose run has ended, if lists are asked for in this process."""
        if not index_of(agent.saver).is_used:
            return
        task = asyncio.get_running_loop().create_task(self._read(agent, thread_id), name=f"index {thread_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self, wait: float) -> None:
        """Waits up to `wait` seconds until the rows of all runs that have ended are written. The others are cancelled:
        the next list reads their threads."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=wait)
            for task in late:
                task.cancel()

    async def _read(self, agent: IndexedAgent, thread_id: str) -> None:
        try:
            await index_of(agent.saver).read(agent, thread_id)
        except Exception:  # whatever a checkpointer raises
            _log.warning("The index of threads waits for the next list (%s).", agent.label(thread_id), exc_info=True)
