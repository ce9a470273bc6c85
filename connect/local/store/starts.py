"""`Starts`: gives the feeds of this process the runs that start on their threads in other processes.

Other processes are notified of a claim, and are notified again if the owner renews the lease after it had expired.
When notifications may have been lost, the active run is looked up. A run that the feeds already have is skipped; a run
that counted as lost and came back is another object.

Notifications arrive in the order in which they were sent. So once a mark has arrived (`catch_up`), a feed has all runs
that started before the mark was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4
from weakref import WeakSet, ref

from ...errors import StoreUnavailableError
from .active_run import ActiveRun, ThreadKey
from .feed import Feed
from .records import Claim
from .run_database import News, RunDatabase, Take

_MOST_UNUSED = 64
"""The number of threads without feeds that stay subscribed; if more threads have feeds, as many as those."""

FindRun = Callable[[ThreadKey, int, Claim], ActiveRun | None]
"""Returns the run of another process, by its fence and its claim; None for a run of this process."""


class Starts:
    """The feeds of all threads. `find`: returns the run of a claim. `look`: returns the active run of a thread."""

    def __init__(
        self,
        database: RunDatabase,
        find: FindRun,
        look: Callable[[ThreadKey], Awaitable[ActiveRun | None]],
    ) -> None:
        self._database = database
        self._find = find
        self._look = look
        self._threads: dict[ThreadKey, _Thread] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def feed(self, thread: ThreadKey) -> Feed:
        """Returns a feed that gets every run that starts from now on."""
        feed, state = Feed(self._database.lease / 3), self._threads.setdefault(thread, _Thread())
        state.feeds.add(feed)
        if state.subscribed is None:  # a task of its own: other callers wait for it too if the first one is cancelled
            state.subscribed = self._begin(self._subscribe(thread, state))
        if not state.subscribed.done():
            await asyncio.wait([state.subscribed])
        return feed

    async def _subscribe(self, thread: ThreadKey, state: _Thread) -> None:
        state.take = lambda news: self._take(thread, state, news)
        await self._database.subscribe(thread, state.take)
        await self._sweep()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def start(self, thread: ThreadKey, number: int, run: ActiveRun) -> None:
        """Gives the feeds of a thread a run that has started or come back, once."""
        state = self._threads.get(thread)
        if state is not None and (number > state.number or (number == state.number and run is not state.run())):
            state.number, state.run = number, ref(run)
            for feed in state.feeds:
                feed.start(run)

    def wake(self, thread: ThreadKey) -> None:
        """Wakes the feeds of a thread, because the line of inputs may be empty now. The cost does not depend on the
        feeds of other threads."""
        if (state := self._threads.get(thread)) is not None:
            for feed in state.feeds:
                feed.wake()

    async def catch_up(self, thread: ThreadKey, seconds: float) -> None:
        """Waits until the feeds of a thread have every run that has started, for this many seconds at most. Raises
        `StoreUnavailableError`."""
        state = self._threads.get(thread)
        if state is None:
            return
        mark, has_arrived = uuid4().hex, asyncio.Event()
        state.marks[mark] = has_arrived
        try:
            await self._database.publish_mark(thread, mark)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await has_arrived.wait()
        finally:
            del state.marks[mark]

    def close(self) -> None:
        """Ends all feeds."""
        for state in self._threads.values():
            for feed in state.feeds:
                feed.close()
        for task in self._tasks:
            task.cancel()

    def _take(self, thread: ThreadKey, state: _Thread, news: News | None) -> None:
        if news is None:
            self._begin(self._start_active(thread))
            self.wake(thread)
        elif news.claim is not None:
            if news.fence >= state.number and (run := self._find(thread, news.fence, news.claim)):
                self.start(thread, news.fence, run)
        elif news.kind == "turn":
            self.wake(thread)
        elif news.mark in state.marks:
            state.marks[news.mark].set()

    async def _start_active(self, thread: ThreadKey) -> None:
        """Gives the feeds the active run of a thread, whose notification may have been lost."""
        try:
            run = await self._look(thread)
        except StoreUnavailableError:
            return  # once the database answers, the takers are called with None again
        if run is not None and run.is_readable:
            self.start(thread, run.number, run)

    async def _sweep(self) -> None:
        """Unsubscribes from threads without feeds, if there are many."""
        unused = [(thread, state) for thread, state in self._threads.items() if not state.feeds]
        if len(unused) > max(_MOST_UNUSED, len(self._threads) // 2):
            for thread, state in unused:
                if not state.feeds and self._threads.get(thread) is state and state.take is not None:
                    del self._threads[thread]
                    await self._database.unsubscribe(thread, state.take)


class _Thread:
    def __init__(self) -> None:
        self.feeds: WeakSet[Feed] = WeakSet()
        self.number = 0
        """The number of the last run that the feeds have."""
        self.run: Callable[[], ActiveRun | None] = lambda: None
        """Returns that run, or None once it has no readers."""
        self.take: Take | None = None
        self.subscribed: asyncio.Task[None] | None = None
        """Done when the subscription has begun, or the database did not answer in time."""
        self.marks: dict[str, asyncio.Event] = {}
        """The marks that have not arrived yet."""
