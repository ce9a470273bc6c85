"""The interface of a run store, `RunStore`: which run has a thread, as all server processes know it. No I/O.

For each thread, a store knows the active run, how the last run ended, which input has the turn, and which runs start.
It never has the tasks of runs: the `runs.Runs` of the process that owns a run has them. `memory_store.MemoryRunStore`
is the store of one process.

Rules for every store:

1. If several callers claim a thread at the same moment, one of them gets it, and the others get `RunConflictError`. So
   does a caller that read the thread (`revision`) before another run of it: its process may have been frozen since.
2. A run is active from its claim until its owner releases it, which is when its graph has stopped. If a run was not
   stopped, a client that has received its terminal event finds the thread free, in every process.
3. A run of any process is read, cancelled and waited for through its `ActiveRun`.
4. How the last run of a thread with checkpoints ended is still kept while the next run is active.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langgraph.pregel import Pregel

from .active_run import ActiveRun, LastRun, OwnedRun, ThreadKey, ThreadNow
from .feed import Feed
from .turns import Turn


class RunStore(Protocol):
    """The runs of all threads. All methods belong to one event loop; the asynchronous ones may ask a server."""

    is_shared: bool
    """Whether other processes read and stop the runs of this one."""

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """Returns the key of a thread of a graph."""

    async def claim(self, thread: ThreadKey, run: OwnedRun, revision: int | None = None) -> int:
        """Makes a run that has not begun the active run of its thread, and returns its number. Waits while the thread
        is closed. Raises `RunConflictError` with the id of the active run, if there is one, and if the revision of the
        thread is not `revision`."""

    async def now(self, thread: ThreadKey) -> ThreadNow:
        """Returns `active`, `last` and more of a thread, at the price of one of them."""

    async def revision(self, thread: ThreadKey) -> int:
        """Returns a number that changes when a run of the thread starts, and when it ends."""

    def confirmation(self, thread: ThreadKey, run: OwnedRun) -> Awaitable[None] | None:
        """Checks that an active run of this process still has its thread, if another run may have it by now. A run that
        has lost its thread is stopped: then this returns an awaitable, in which the task of the run is cancelled.
        Returns None, at almost no cost, in any other case. Never raises."""

    def release(self, thread: ThreadKey, run: OwnedRun, last: LastRun | None, done: Callable[[], None]) -> None:
        """Frees the thread of a run that has ended, and whose graph has stopped. Never waits and never raises.

        - `last`: how the run ended; None if only its checkpoint says that.
        - `done`: called once, when every process finds the thread free, or a little later if the store does not
          answer."""

    def last_reader_left(self, thread: ThreadKey, run: OwnedRun) -> None:
        """Stops a run that needs readers and has none left in this process, unless it has readers in another one."""

    async def active(self, thread: ThreadKey) -> ActiveRun | None:
        """Returns the run that is running or stopping on a thread."""

    async def last(self, thread: ThreadKey) -> LastRun | None:
        """Returns how the last run on a thread ended, as long as that is kept."""

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets a thread that was deleted: how its last run ended, and the events of all its runs."""

    def turn(self, thread: ThreadKey) -> Turn:
        """Returns the turn on a thread."""

    async def started(self, thread: ThreadKey) -> Feed:
        """Returns a feed of the runs that start on a thread from now on, in any process."""

    async def has_inputs(self, thread: ThreadKey) -> bool:
        """Returns whether an input of another process has the turn on a thread, or waits for it. If none does, the
        feeds of the thread have every run that has started. Returns False if the store does not answer."""

    async def ping(self) -> None:
        """Raises `StoreUnavailableError` if the store does not answer."""

    async def aclose(self) -> None:
        """Forgets everything, and ends the feeds. Active runs must be stopped by their owners."""
