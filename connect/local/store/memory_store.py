"""The run store of one process: `MemoryRunStore`.

What is kept, and for how long:

- An active run: until its owner releases it.
- An ended run of a graph with a checkpointer: how it ended (`LastRun`), until the thread's next run ends, or until runs
  of as many other threads as `remembered` says have ended. The checkpoint has the rest, but shows a run that was
  cancelled or killed as one at a breakpoint.
- An ended run of a graph without a checkpointer: the run itself, since its messages are stored nowhere else; until the
  thread's next run, for `linger` seconds, or until as many others as `lingering` says have ended.

All of it belongs to one event loop and changes between its suspensions only: there are no locks.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

from langgraph.pregel import Pregel

from ....translator import Cancelled
from ...errors import RunConflictError
from ...recent import Recent
from ..checkpointers import has_checkpointer
from .active_run import ActiveRun, LastRun, OwnedRun, ThreadKey
from .feed import Feed, Feeds
from .turns import MemoryTurn, MemoryTurns


class MemoryRunStore:
    """The runs of one event loop, by checkpointer and thread id; without a checkpointer, by agent. See `RunStore`.

    - `linger`: seconds for which an ended run of a graph without a checkpointer can still be read.
    - `lingering`: how many such runs at most.
    - `remembered`: for how many threads the end of their last run is kept, and their revision.
    """

    is_shared = False

    def __init__(self, *, linger: float = 60.0, lingering: int = 100, remembered: int = 1_000) -> None:
        self._linger = linger
        self._most_lingering = lingering
        self._number = 0
        self._changes = count(1)
        self._revisions: Recent[ThreadKey, int] = Recent(remembered)
        self._namespaces = _Namespaces()
        self._active: dict[ThreadKey, ActiveRun] = {}
        self._lingering: OrderedDict[ThreadKey, tuple[LastRun, asyncio.TimerHandle]] = OrderedDict()
        self._remembered: Recent[ThreadKey, LastRun] = Recent(remembered)
        self._feeds = Feeds()
        self._turns = MemoryTurns()

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """The key of a graph's thread. Agents with the same checkpointer share its threads; without a checkpointer no
        other agent can have them, and without a name no other graph."""
        if has_checkpointer(graph):
            return ThreadKey(self._namespaces.of(graph.checkpointer), thread_id)
        return ThreadKey(self._namespaces.of(graph) if agent is None else f"agent {agent}", thread_id)

    async def claim(self, thread: ThreadKey, run: OwnedRun, revision: int | None = None) -> int:
        """Makes a run the active one of its thread; see `RunStore.claim`."""
        await self._turns.of(thread).opened()
        if thread in self._active:
            active = self._active[thread]
            raise RunConflictError(f"thread {thread.thread_id!r} has a run that is {active.status}, {active.run_id!r}")
        if revision not in (None, await self.revision(thread)):
            raise RunConflictError(f"thread {thread.thread_id!r} has had another run meanwhile")
        self._forget(thread)
        self._active[thread] = run
        self._revisions[thread] = next(self._changes)
        for feed in self._feeds.of(thread):
            feed.start(run)
        self._number = max(time.time_ns() // 1_000_000, self._number + 1)  # rises also across restarts
        return self._number

    async def revision(self, thread: ThreadKey) -> int:
        """See `RunStore.revision`."""
        return self._revisions.get(thread, 0)

    def confirmation(self, thread: ThreadKey, run: OwnedRun) -> None:
        """There is no other process."""

    def release(self, thread: ThreadKey, run: OwnedRun, last: LastRun | None, done: Callable[[], None]) -> None:
        """The thread is free at once; see `RunStore.release`."""
        if self._active.get(thread) is run:
            del self._active[thread]
            self._revisions[thread] = next(self._changes)
        if last is not None:
            self._keep(thread, last)
        done()

    def last_reader_left(self, thread: ThreadKey, run: OwnedRun) -> None:
        """Stops the run: there are no readers elsewhere."""
        run.stop(Cancelled())

    def _keep(self, thread: ThreadKey, last: LastRun) -> None:
        if last.run is None:
            self._remembered[thread] = last
            return
        timer = asyncio.get_running_loop().call_later(self._linger, self._forget, thread)
        self._lingering[thread] = (last, timer)
        if len(self._lingering) > self._most_lingering:
            self._forget(next(iter(self._lingering)))

    async def active(self, thread: ThreadKey) -> ActiveRun | None:
        """The run that is running or stopping on a thread."""
        return self._active.get(thread)

    async def last(self, thread: ThreadKey) -> LastRun | None:
        """How the last run on a thread ended, as long as that is kept."""
        return self._lingering[thread][0] if thread in self._lingering else self._remembered.get(thread)

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets how the last run on a thread ended."""
        self._remembered.pop(thread, None)
        self._revisions.pop(thread, None)
        self._forget(thread)

    def turn(self, thread: ThreadKey) -> MemoryTurn:
        """The turn on a thread."""
        return self._turns.of(thread)

    async def started(self, thread: ThreadKey) -> Feed:
        """The runs that start on a thread from now on."""
        return self._feeds.add(Feed(), thread)

    async def has_inputs(self, thread: ThreadKey) -> bool:
        """There is no other process."""
        return False

    async def ping(self) -> None:
        """See `RunStore.ping`."""

    async def aclose(self) -> None:
        """Ends all feeds, and frees the runs that have ended."""
        self._feeds.close()
        for thread in list(self._lingering):
            self._forget(thread)

    def _forget(self, thread: ThreadKey) -> None:
        if (lingering := self._lingering.pop(thread, None)) is not None:
            lingering[1].cancel()


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
