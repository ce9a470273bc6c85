"""`MemoryRunStoreWithFile`: the run store of one process whose finished runs outlive it, in a file.

`SqliteRunDatabase` keeps them in the same tables, so they are also found if several processes share the file later.
"""

from __future__ import annotations

import os
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..active_run import ThreadKey
from ..background import Background
from ..memory_database import MemoryData, MemoryRunDatabase
from ..memory_store import MemoryRunStore
from ..retention import Retention, StoredRun
from ..run_database import Log, Wake
from . import steps
from .connection import Connection
from .store import NAMESPACE
from .tables import name_of

_TIMEOUT: Final = 2.0
"""Seconds that a step may take."""


class MemoryRunStoreWithFile(MemoryRunStore):
    """A `MemoryRunStore` that keeps the finished runs on the threads of one checkpointer in a file, and those on all
    other threads in memory.

    - `path`: the file, which is created if it does not exist. It must not be the file of the checkpointer.
    - `checkpointer`: the one whose threads outlive the process.
    """

    def __init__(
        self, path: str | os.PathLike[str], checkpointer: BaseCheckpointSaver[Any], retention: Retention
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        super().__init__(retention=retention)
        self._namespaces.name(checkpointer, NAMESPACE)

    def _connect(self, process: str, background: Background, wake: Wake) -> MemoryRunDatabase:
        return _WithFile(MemoryData(*self._kept), process, wake, self._path)


class _WithFile(MemoryRunDatabase):
    """A run database in memory whose finished runs on the threads of one namespace are in a file."""

    def __init__(self, data: MemoryData, process: str, wake: Wake, path: str) -> None:
        super().__init__(data, process, wake)
        self._connection = Connection(path, _TIMEOUT, None)
        self._run = self._connection.run

    async def keep(self, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
        """See `RunDatabase.keep`."""
        if log.thread.namespace == NAMESPACE:
            await self._run(steps.keep, log, about, events, retention)
        else:
            await super().keep(log, about, events, retention)

    async def finished_runs(self, thread: ThreadKey) -> list[StoredRun]:
        """See `RunDatabase.finished_runs`."""
        if thread.namespace == NAMESPACE:
            return await self._run(steps.finished_runs, name_of(thread), writes=False)
        return await super().finished_runs(thread)

    async def finished_events(self, log: Log) -> bytes:
        """See `RunDatabase.finished_events`."""
        if log.thread.namespace == NAMESPACE:
            return await self._run(steps.finished_events, name_of(log.thread), log.fence, writes=False)
        return await super().finished_events(log)

    async def forget(self, thread: ThreadKey) -> None:
        """See `RunDatabase.forget`."""
        await super().forget(thread)
        if thread.namespace == NAMESPACE:
            await self._run(steps.forget, name_of(thread))

    async def aclose(self) -> None:
        """See `RunDatabase.aclose`."""
        await super().aclose()
        await self._connection.aclose()
