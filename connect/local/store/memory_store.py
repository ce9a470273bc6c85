"""The run store of one process: `MemoryRunStore`.

What is kept, and for how long:

- An active run: until its owner releases it.
- An ended run of a graph with a checkpointer: how it ended (`LastRun`), until the thread's next run ends, or until runs
  of as many other threads as `remembered` says have ended. The checkpoint has the rest, but shows a run that was
  cancelled or killed as one at a breakpoint.
- An ended run of a graph without a checkpointer: the run itself, since its messages are stored nowhere else; until the
  thread's next run, for `linger` seconds, or until as many others as `lingering` says have ended.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from langgraph.pregel import Pregel

from ....translator import Cancelled
from ..checkpointers import has_checkpointer
from .active_run import LastRun, OwnedRun, ThreadKey
from .background import Background
from .database_store import DatabaseRunStore
from .memory_database import MemoryData, MemoryRunDatabase
from .records import RunEnd
from .run_database import Own, Wake


class MemoryRunStore(DatabaseRunStore):
    """The runs of one event loop, by checkpointer and thread id; without a checkpointer, by agent. See `RunStore`.

    - `linger`: seconds for which an ended run of a graph without a checkpointer can still be read.
    - `lingering`: how many such runs at most.
    - `remembered`: for how many threads the end of their last run is kept, and their revision.
    """

    is_shared = False
    _database: MemoryRunDatabase

    def __init__(self, *, linger: float = 60.0, lingering: int = 100, remembered: int = 1_000) -> None:
        self._kept = linger, lingering, remembered
        self._namespaces = _Namespaces()
        super().__init__()

    def _connect(self, process: str, background: Background, wake: Wake) -> MemoryRunDatabase:
        return MemoryRunDatabase(MemoryData(*self._kept), process, wake)

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """The key of a graph's thread. Agents with the same checkpointer share its threads; without a checkpointer no
        other agent can have them, and without a name no other graph."""
        if has_checkpointer(graph):
            return ThreadKey(self._namespaces.of(graph.checkpointer), thread_id)
        return ThreadKey(self._namespaces.of(graph) if agent is None else f"agent {agent}", thread_id)

    def confirmation(self, thread: ThreadKey, run: OwnedRun) -> None:
        """There is no other process."""

    def _hold(self, own: Own, run: OwnedRun, sent: float, last: RunEnd | None, at_end: Callable[[], None]) -> _Held:
        return _Held(self._database, own, run, last, at_end)


class _Held:
    """A run whose thread is free at once when it ends: nobody else has to be told. See `Holder`."""

    is_free = False

    def __init__(
        self, database: MemoryRunDatabase, own: Own, run: OwnedRun, last: RunEnd | None, at_end: Callable[[], None]
    ) -> None:
        self.run = run
        self.number = own.fence
        self.last = last
        self._database = database
        self._own = own
        self._at_end = at_end

    def wake(self) -> None:
        """There are no readers elsewhere."""

    def confirmation(self) -> None:
        """There is no other process."""

    async def wait_for_end(self, seconds: float) -> None:
        """It has ended."""

    def last_reader_left(self) -> None:
        """Stops the run."""
        self.run.stop(Cancelled())

    def release(self, last: LastRun | None, done: Callable[[], None]) -> None:
        """See `RunStore.release`."""
        self.is_free = True
        self._at_end()
        self._database.free(self._own, None if last is None else RunEnd(last))
        done()


class _Namespaces:
    """A namespace for each object, by identity; objects are not kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._count = 0

    def of(self, given: Any) -> str:
        """The namespace of an object, the same as long as the object exists."""
        known = self._known.get(id(given))
        if known is not None and known[0]() is given:
            return known[1]
        self._count += 1
        name = f"{type(given).__name__} {self._count}"
        at = id(given)
        self._known[at] = (weakref.ref(given, lambda gone: self._drop(at, gone)), name)
        return name

    def _drop(self, at: int, gone: weakref.ref[Any]) -> None:
        if at in self._known and self._known[at][0] is gone:
            del self._known[at]
