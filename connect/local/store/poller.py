"""`Poller` reads one thread at intervals, for all its watchers, because checkpoints that other programs write leave no
stream. `Pollers`: the pollers of all threads.

Rules:
- The interval is the shortest that a watcher of the thread asks for. Each read without a change makes it longer, up to
  `_LONGEST` times; a change, a new watcher and the end of a run of this process make it short again.
- While a run of this process is active on the thread, nothing is read: its watchers get the run's events.
- After a read that raises, the watchers read the thread themselves, and log and emit the exception.
- The poller's task lives as long as it has watchers.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from .active_run import ThreadKey
from .feed import Feed

_GROWTH: Final = 1.5
_LONGEST: Final = 10
"""The longest pause, in intervals."""

_UNKNOWN: Final = object()


class Poller:
    """Polls one thread.

    - `read`: reads a value that identifies the thread's newest checkpoint.
    - `is_busy`: returns whether a run of this process is active on the thread.
    """

    def __init__(self, read: Callable[[], Awaitable[Any]], is_busy: Callable[[], bool]) -> None:
        self._read = read
        self._is_busy = is_busy
        self._mark: Any = _UNKNOWN
        self._growth = 1.0
        self._task: asyncio.Task[None] | None = None
        self._intervals: dict[Feed, float] = {}

    @property
    def has_watchers(self) -> bool:
        """Whether the thread has watchers."""
        return bool(self._intervals)

    @property
    def interval(self) -> float:
        """Seconds until the next read."""
        return min(self._intervals.values()) * self._growth

    def join(self, feed: Feed, interval: float) -> None:
        """Adds a watcher, which has read the thread or is about to. `interval`: in seconds."""
        is_shorter = interval < min(self._intervals.values(), default=math.inf)
        self._intervals[feed] = interval
        if is_shorter or self._growth > 1:
            self._restart()

    def leave(self, feed: Feed) -> None:
        """Removes a watcher. Without watchers the task ends."""
        self._intervals.pop(feed, None)
        if not self._intervals and self._task is not None:
            self._task.cancel()
            self._task = None

    def repeat(self) -> None:
        """Makes the next read count as a change, because a watcher could not read the thread."""
        self._mark = _UNKNOWN

    def hurry(self) -> None:
        """Makes the interval short again."""
        if self._growth > 1:
            self._restart()

    def _restart(self) -> None:
        self._growth = 1.0
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._poll()) if self._intervals else None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self.interval)
            if self._is_busy():
                self._growth = 1.0
                continue
            try:
                mark = await self._read()
            except Exception:  # a checkpointer may raise anything; the watchers read the thread too, and log it
                mark = _UNKNOWN
            is_new = mark is not _UNKNOWN and mark != self._mark
            self._growth = 1.0 if is_new else min(self._growth * _GROWTH, _LONGEST)
            self._mark = mark
            if is_new or mark is _UNKNOWN:
                for feed in self._intervals:
                    feed.change()


class Pollers:
    """The pollers of one event loop, by thread; each exists while it has watchers."""

    def __init__(self) -> None:
        self._pollers: dict[ThreadKey, Poller] = {}

    @contextmanager
    def watching(
        self,
        thread: ThreadKey,
        feed: Feed,
        interval: float,
        read: Callable[[], Awaitable[Any]],
        is_busy: Callable[[], bool],
    ) -> Generator[Poller, None, None]:
        """Adds a watcher to the poller of a thread within the block, and gives the poller."""
        poller = self._pollers.setdefault(thread, Poller(read, is_busy))
        poller.join(feed, interval)
        try:
            yield poller
        finally:
            poller.leave(feed)
            if not poller.has_watchers and self._pollers.get(thread) is poller:
                del self._pollers[thread]
