"""Who runs on a thread, as all server processes know it: the `RunStore` interface. No I/O.

A store knows, by thread: the active run, how the last one ended, whose turn it is, and which runs start. It never has
the tasks of runs: those are `runs.Runs`' of the process that owns them. `memory_store.MemoryRunStore` is the store of
one process.

Rules for every store:

1. Of all that claim a thread at the same moment, one gets it; the others get `RunConflictError`. So does a claim for
   which the thread was read (`revision`) before another run of it: its process may have been frozen since.
2. A run is active from its claim until its owner releases it, which is when its graph has stopped. A client that got
   the terminal event of a run that was not stopped finds the thread free, in every process.
3. A run of any process is read, cancelled and waited for through its `ActiveRun`.
4. How the last run of a thread with checkpoints ended is kept when a new one begins, until that one has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langgraph.pregel import Pregel

from .active_run import ActiveRun, LastRun, OwnedRun, ThreadKey, ThreadNow
from .feed import Feed
from .turns import Turn


class RunStore(Protocol):
    """Who runs on a thread. All methods belong to one event loop; what is asynchronous may ask a server."""

    is_shared: bool
    """Whether other processes read and stop the runs of this one."""

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """The key of a graph's thread."""

    async def claim(self, thread: ThreadKey, run: OwnedRun, revision: int | None = None) -> int:
        """Makes a run, which has not begun, the active one of its thread; its number. Waits while the thread is closed.
        Raises `RunConflictError`, with the id of the active run, where there is one; and where the thread has another
        `revision` than this."""

    async def now(self, thread: ThreadKey) -> ThreadNow:
        """What is known of a thread: `active`, `last` and more, at the price of one of them."""

    async def revision(self, thread: ThreadKey) -> int:
        """A number that changes when a run of the thread starts, and when it ends."""

    def confirmation(self, thread: ThreadKey, run: OwnedRun) -> Awaitable[None] | None:
        """What an active run of this process waits for before it continues, where another run may have its thread by
        now; a run that has lost it is stopped. None, at almost no cost, in any other case. Never raises."""

    def release(self, thread: ThreadKey, run: OwnedRun, last: LastRun | None, done: Callable[[], None]) -> None:
        """The run has ended and its graph has stopped: the thread is to be free. `last`: how it ended; None where only
        its checkpoint says that. `done`: called once, when every process finds the thread free, or a little later where
        they cannot be asked. Never waits and never raises."""

    def last_reader_left(self, thread: ThreadKey, run: OwnedRun) -> None:
        """A run that is to be stopped without readers has no more in this process: stops it, if it has none in any."""

    async def active(self, thread: ThreadKey) -> ActiveRun | None:
        """The run that is running or stopping on a thread."""

    async def last(self, thread: ThreadKey) -> LastRun | None:
        """How the last run on a thread ended, as long as that is kept."""

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets how the last run on a thread ended, and the events of all its runs: the thread was deleted."""

    def turn(self, thread: ThreadKey) -> Turn:
        """The turn on a thread."""

    async def started(self, thread: ThreadKey) -> Feed:
        """The runs that start on a thread from now on, of all processes."""

    async def has_inputs(self, thread: ThreadKey) -> bool:
        """Whether an input of another process waits for its turn on a thread, or has it. If not, the feeds of the
        thread have every run that has started. False where that can't be asked."""

    async def ping(self) -> None:
        """Raises `StoreUnavailableError` where it can't be asked."""

    async def aclose(self) -> None:
        """Forgets everything, and ends what `started` gave. Runs that are active are their owners' to stop."""
