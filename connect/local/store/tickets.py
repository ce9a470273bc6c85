"""The queued inputs of a thread, of all processes, one after the other: `TicketTurn`.

From the moment it comes, each input has a ticket in a line in the run database. The first ticket has the turn. A ticket
is valid for one lease and is renewed after a third of it, so a process that is lost delays the others for one lease at
most.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from uuid import uuid4

from ...errors import StoreUnavailableError
from .active_run import ThreadKey
from .run_database import News, RunDatabase


class TicketTurn:
    """The turn on one thread; see `Turn`."""

    def __init__(self, database: RunDatabase, thread: ThreadKey) -> None:
        self._database = database
        self._thread = thread

    async def is_taken(self) -> bool:
        """See `Turn`."""
        return await self._database.waiting(self._thread) > 0

    def taken(self) -> AbstractAsyncContextManager[bool]:
        """See `Turn`."""
        return self._taken(closes=False)

    def closed(self) -> AbstractAsyncContextManager[bool]:
        """See `Turn`."""
        return self._taken(closes=True)

    async def news(self) -> None:
        """Waits until the turn has passed on, or may have."""
        async with _TurnMessages(self._database, self._thread) as messages:
            await messages.next(self._database.lease / 3)

    @asynccontextmanager
    async def _taken(self, *, closes: bool) -> AsyncGenerator[bool, None]:
        ticket, has_waited = uuid4().hex, False
        try:
            if not await self._database.turn(self._thread, ticket, closes=closes):
                has_waited = True
                async with _TurnMessages(self._database, self._thread) as messages:
                    while not await self._database.turn(self._thread, ticket, closes=closes):
                        await messages.next(self._database.lease / 3)
            renewing = asyncio.get_running_loop().create_task(self._renew(ticket, closes=closes))
            try:
                yield has_waited
            finally:
                renewing.cancel()
                await asyncio.wait([renewing])
        finally:
            with suppress(StoreUnavailableError):  # then the ticket expires
                await self._database.leave(self._thread, ticket)

    async def _renew(self, ticket: str, *, closes: bool) -> None:
        while True:
            await asyncio.sleep(self._database.lease / 3)
            with suppress(StoreUnavailableError):
                await self._database.turn(self._thread, ticket, closes=closes)


class _TurnMessages:
    """The notifications of a thread which say that the turn has passed on."""

    def __init__(self, database: RunDatabase, thread: ThreadKey) -> None:
        self._database = database
        self._thread = thread
        self._news = asyncio.Event()

    async def __aenter__(self) -> _TurnMessages:
        await self._database.subscribe(self._thread, self._take)
        self._news.clear()  # the caller asks for the turn after this anyway
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.unsubscribe(self._thread, self._take)

    async def next(self, seconds: float) -> None:
        """Waits for the next one, so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def _take(self, news: News | None) -> None:
        if news is None or news.kind == "turn":
            self._news.set()
