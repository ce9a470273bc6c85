"""The runs that start on threads in other processes, for the feeds of this one: `Starts`.

A claim is notified, and once more by an owner whose lease had expired and who still has the thread. When notifications
may have been lost, the active run is looked up. A run that the feeds have had already is skipped; one that counted as
lost and came back is another object.

Notifications arrive in the order in which they were sent. So once a mark has arrived (`catch_up`), a feed
has all runs that started before it.
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
"""How many threads without feeds stay subscribed; more, if even more threads have feeds."""

Found = Callable[[ThreadKey, int, Claim], ActiveRun | None]
"""The run of another process, by its fence and its claim; None for one of this process."""


class Starts:
    """The feeds of all threads. `database`: notifies. `find`: the run of a
    claim. `look`: the active run of a thread."""

    def __init__(
        self,
        database: RunDatabase,
        find: Found,
        look: Callable[[ThreadKey], Awaitable[ActiveRun | None]],
    ) -> None:
        self._database = database
        self._find = find
        self._look = look
        self._threads: dict[ThreadKey, _Thread] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def feed(self, thread: ThreadKey) -> Feed:
        """A feed that has every run which starts from now on."""
        feed, known = Feed(self._database.lease / 3), self._threads.setdefault(thread, _Thread())
        known.feeds.add(feed)
        if known.subscribed is None:  # a task of its own: others wait for it too when the first caller is cancelled
            known.subscribed = self._begin(self._subscribe(thread, known))
        if not known.subscribed.done():
            await asyncio.wait([known.subscribed])
        return feed

    async def _subscribe(self, thread: ThreadKey, known: _Thread) -> None:
        known.take = lambda news: self._take(thread, known, news)
        await self._database.subscribe(thread, known.take)
        await self._sweep()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def start(self, thread: ThreadKey, number: int, run: ActiveRun) -> None:
        """Gives the feeds a run that has started or come back, once."""
        known = self._threads.get(thread)
        if known is not None and (number > known.number or (number == known.number and run is not known.run())):
            known.number, known.run = number, ref(run)
            for feed in known.feeds:
                feed.start(run)

    async def catch_up(self, thread: ThreadKey, seconds: float) -> None:
        """Waits until the feeds of a thread have every run that has started, so many seconds at most. Raises
        `StoreUnavailableError`."""
        known = self._threads.get(thread)
        if known is None:
            return
        mark, has_arrived = uuid4().hex, asyncio.Event()
        known.marks[mark] = has_arrived
        try:
            await self._database.publish_mark(thread, mark)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await has_arrived.wait()
        finally:
            del known.marks[mark]

    def close(self) -> None:
        """Ends all feeds."""
        for known in self._threads.values():
            for feed in known.feeds:
                feed.close()
        for task in self._tasks:
            task.cancel()

    def _take(self, thread: ThreadKey, known: _Thread, news: News | None) -> None:
        if news is None:
            self._begin(self._start_active(thread))
            known.wake()
        elif news.claim is not None:
            if news.fence >= known.number and (run := self._find(thread, news.fence, news.claim)):
                self.start(thread, news.fence, run)
        elif news.kind == "turn":
            known.wake()
        elif news.mark in known.marks:
            known.marks[news.mark].set()

    async def _start_active(self, thread: ThreadKey) -> None:
        """The active run of a thread reaches the feeds, if its notification was lost."""
        try:
            run = await self._look(thread)
        except StoreUnavailableError:
            return  # it is subscribed again when the database answers
        if run is not None and run.is_readable:
            self.start(thread, run.number, run)

    async def _sweep(self) -> None:
        """Unsubscribes threads without feeds, when there are many."""
        unused = [(thread, known) for thread, known in self._threads.items() if not known.feeds]
        if len(unused) > max(_MOST_UNUSED, len(self._threads) // 2):
            for thread, known in unused:
                if not known.feeds and self._threads.get(thread) is known and known.take is not None:
                    del self._threads[thread]
                    await self._database.unsubscribe(thread, known.take)


class _Thread:
    def __init__(self) -> None:
        self.feeds: WeakSet[Feed] = WeakSet()
        self.number = 0
        """That of the last run that the feeds have."""
        self.run: Callable[[], ActiveRun | None] = lambda: None
        """Gives that run, or None once nobody reads it any more."""
        self.take: Take | None = None
        self.subscribed: asyncio.Task[None] | None = None
        """Ends when the thread is subscribed, or the database did not answer in time."""
        self.marks: dict[str, asyncio.Event] = {}
        """The marks that have not arrived yet."""

    def wake(self) -> None:
        """Wakes the feeds: perhaps no input of the thread is queued any more."""
        for feed in self.feeds:
            feed.wake()
