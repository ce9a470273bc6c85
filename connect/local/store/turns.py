"""The inputs of a thread, of all processes, one after the other: the interface `Turn`, and `DatabaseTurn`.

During its turn an input reads the thread, plans and starts its run: two that did so at once would plan for the same
state, and only one could start. While a thread is deleted it is closed: runs that start without a turn wait too.

From the moment it comes, each input has a ticket in a line in the run database. The first ticket has the turn. A ticket
is valid for one lease and is renewed after a third of it, so a process that is lost delays the others for one lease at
most.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol
from uuid import uuid4

from ...errors import StoreUnavailableError
from .active_run import ThreadKey, ThreadNow
from .run_database import Lease, News, RunDatabase


class Turn(Protocol):
    """The turn on one thread, which inputs take in the order in which they came."""

    async def is_taken(self) -> bool:
        """Whether an input has the turn, or waits for it."""

    def taken(self) -> AbstractAsyncContextManager[ThreadNow]:
        """Waits for the turn, and has it within the block; what the store knows of the thread then. Cancelling the wait
        gives up the place in the order."""

    def closed(self) -> AbstractAsyncContextManager[ThreadNow]:
        """As `taken`, and no run is claimed within the block."""


class DatabaseTurn:
    """The turn on one thread of a run database; see `Turn`. `known`: what follows from a lease of the thread."""

    def __init__(
        self, database: RunDatabase, thread: ThreadKey, known: Callable[[Lease], Awaitable[ThreadNow]]
    ) -> None:
        self._database = database
        self._thread = thread
        self._known = known

    async def is_taken(self) -> bool:
        """See `Turn`."""
        return (await self._database.lease_of(self._thread)).waiting > 0

    def taken(self) -> AbstractAsyncContextManager[ThreadNow]:
        """See `Turn`."""
        return self._taken(closes=False)

    def closed(self) -> AbstractAsyncContextManager[ThreadNow]:
        """See `Turn`."""
        return self._taken(closes=True)

    @asynccontextmanager
    async def _taken(self, *, closes: bool) -> AsyncGenerator[ThreadNow, None]:
        ticket = _Ticket(self._database, self._thread, closes=closes)
        try:
            if (lease := await ticket.turn()) is None:
                async with TurnNews(self._database, self._thread) as news:
                    while (lease := await ticket.turn()) is None:
                        await news.next()
            ticket.keep()
            yield await self._known(lease)
        finally:
            await ticket.give_back()


class _Ticket:
    """A place in the line of a thread."""

    def __init__(self, database: RunDatabase, thread: ThreadKey, *, closes: bool) -> None:
        self._database = database
        self._thread = thread
        self._closes = closes
        self._id = uuid4().hex
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def turn(self) -> Lease | None:
        """What is known of the thread, if it is the first. It counts for one more lease."""
        return await self._database.turn(self._thread, self._id, closes=self._closes)

    def keep(self) -> None:
        """Renews it until it is given back. Most tickets are before there is anything to renew."""
        self._timer = asyncio.get_running_loop().call_later(self._database.lease / 3, self._begin)

    async def give_back(self) -> None:
        """Takes it out of the line. If the database does not answer, it expires."""
        if self._timer is not None:
            self._timer.cancel()
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        with suppress(StoreUnavailableError):
            await self._database.leave(self._thread, self._id)

    def _begin(self) -> None:
        self._renewing = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            with suppress(StoreUnavailableError):
                await self.turn()
            await asyncio.sleep(self._database.lease / 3)


class TurnNews:
    """The notifications of a thread which say that the turn has passed on, within the block."""

    def __init__(self, database: RunDatabase, thread: ThreadKey) -> None:
        self._database = database
        self._thread = thread
        self._news = asyncio.Event()

    async def __aenter__(self) -> TurnNews:
        await self._database.subscribe(self._thread, self._take)
        self._news.clear()  # the caller asks for the turn after this anyway
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.unsubscribe(self._thread, self._take)

    async def next(self) -> None:
        """Waits until the turn has passed on, or may have."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._database.lease / 3):
                await self._news.wait()
        self._news.clear()

    def _take(self, news: News | None) -> None:
        if news is None or news.kind == "turn":
            self._news.set()
