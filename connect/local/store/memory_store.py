"""`MemoryRunStore`: the run store of one process.

It keeps:

- An active run: until its owner releases it.
- How a run of a graph with a checkpointer ended (`LastRun`): until the thread's next run ends, or runs of `remembered`
  other threads have ended. The checkpoint has everything else, but shows a run that was cancelled or killed as one at a
  breakpoint.
- An ended run of a graph without a checkpointer, since its messages are stored nowhere else: until the thread's next
  run, for `linger` seconds, or until `lingering` other such runs have ended.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from langgraph.pregel import Pregel

from ....translator import Cancelled
from ..checkpointers import has_checkpointer
from ..encryption import cipher_of
from .active_run import LastRun, OwnedRun, ThreadKey
from .background import Background
from .memory_database import MemoryData, MemoryRunDatabase
from .records import RunEnd
from .retention import Retention
from .run_database import Own, Wake
from .run_store import RunStore


class MemoryRunStore(RunStore):
    """The runs of one event loop, by checkpointer and thread id; without a checkpointer, by agent. See `RunStore`.

    - `linger`: seconds for which an ended run of a graph without a checkpointer can still be read.
    - `lingering`: the number of such runs, at most.
    - `remembered`: the number of threads whose revision and last run's end are kept.
    - `retention`: which finished runs are kept with their events, for `threads(source).runs` and the inspector. None
      keeps none.
    """

    is_shared = False
    _database: MemoryRunDatabase

    def __init__(
        self,
        *,
        linger: float = 60.0,
        lingering: int = 100,
        remembered: int = 1_000,
        retention: Retention | None = None,
    ) -> None:
        self._kept = linger, lingering, remembered
        self._namespaces = _Namespaces()
        super().__init__(retention=retention)

    def _connect(self, process: str, background: Background, wake: Wake) -> MemoryRunDatabase:
        return MemoryRunDatabase(MemoryData(*self._kept), process, wake)

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """Returns the key of a thread of a graph. Agents with the same checkpointer share its threads. Without a
        checkpointer, no other agent has the thread; without a name either, no other graph."""
        if has_checkpointer(graph):
            return ThreadKey(self._namespaces.of(graph.checkpointer), thread_id, cipher_of(graph.checkpointer))
        return ThreadKey(self._namespaces.of(graph) if agent is None else f"agent {agent}", thread_id)

    def _make_holder(
        self, own: Own, run: OwnedRun, sent: float, last: RunEnd | None, at_end: Callable[[], None]
    ) -> LocalHold:
        return LocalHold(self._database, own, run, last, at_end)


class LocalHold:
    """A run whose thread is free as soon as it ends, because no other process has to know. See `Hold`."""

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
        """Does nothing: no other process stops the run."""

    def confirmation(self) -> None:
        """There is no other process."""

    async def wait_for_end(self, seconds: float) -> None:
        """Returns at once: the database knows the end as soon as the run is released."""

    def last_reader_left(self) -> None:
        """Stops the run: no other process has readers."""
        self.run.stop(Cancelled())

    def release(self, last: LastRun | None, done: Callable[[], None]) -> None:
        """See `Hold`."""
        self.is_free = True
        self._at_end()
        self._database.free(self._own, None if last is None else RunEnd(last))
        done()

    def hand_over(self, stored_input: bytes, done: Callable[[], None]) -> None:
        """See `Hold`. No other process can continue the run."""
        self.release(None, done)


class _Namespaces:
    """A namespace for each object, by identity. Objects are not kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._count = 0

    def name(self, owner: Any, name: str) -> None:
        """Gives the namespace of an object this name."""
        at = id(owner)
        self._known[at] = (weakref.ref(owner, lambda gone: self._drop(at, gone)), name)

    def of(self, owner: Any) -> str:
        """Returns the namespace of an object, which is the same as long as the object exists."""
        entry = self._known.get(id(owner))
        if entry is not None and entry[0]() is owner:
            return entry[1]
        self._count += 1
        name = f"{type(owner).__name__} {self._count}"
        self.name(owner, name)
        return name

    def _drop(self, at: int, gone: weakref.ref[Any]) -> None:
        if at in self._known and self._known[at][0] is gone:
            del self._known[at]
