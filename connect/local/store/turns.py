"""Lets the inputs of a thread have their turns, one at a time, in all processes: `turn_if_idle`
and `turn_on`.

During its turn, an input reads the thread, plans its run and starts it. Two inputs that did so at the same time would
plan for the same state, and only one could start. While a thread is being deleted, it is closed, and even runs that
start without a turn wait.

Each input takes a ticket when it arrives. The tickets of a thread form a line in the run database, and the first one
has the turn. A ticket is valid for one lease, and is renewed after a third of a lease, so a process that is lost delays
the others for one lease at most. A ticket leaves the line when the thread is claimed for the run of its input, or else
at the end of the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext, suppress
from uuid import uuid4

from ...errors import StoreUnavailableError
from .active_run import ThreadKey
from .run_database import Lease, News, RunDatabase


@asynccontextmanager
async def turn_if_idle(database: RunDatabase, thread: ThreadKey) -> AsyncGenerator[tuple[Lease, Ticket | None], None]:
    """Looks at a thread, and has the turn within the block if no run has the thread and no other input is in the line.
    The target of `as` is the lease of the thread, and the ticket that has the turn. Otherwise the ticket is None, and
    the line stays as it is."""
    ticket = Ticket(database, thread)
    try:
        lease, has_turn = await database.enter(thread, ticket.id)
        if has_turn:
            ticket.keep()
        else:
            ticket.has_left()
        yield lease, ticket if has_turn else None
    finally:
        await ticket.give_back()


@asynccontextmanager
async def turn_on(
    database: RunDatabase, thread: ThreadKey, *, closes: bool, lock: asyncio.Lock | None = None
) -> AsyncGenerator[tuple[Lease, Ticket], None]:
    """Waits for the turn on a thread, and has it within the block. Inputs get it in the order in which they arrived.
    The target of `as` is the lease of the thread at that moment, and the ticket. Cancelling the wait gives up the place
    in the line.

    - `closes`: whether the thread is closed within the block, so that no run is claimed.
    - `lock`: held while the input joins the line. Inputs that share a lock join in the order in which they ask for it,
      even if the database carries out commands in another order.
    """
    ticket = Ticket(database, thread, closes=closes)
    try:
        async with lock or nullcontext():
            lease = await ticket.turn()
        if lease is None:
            async with TurnNews(database, thread) as news:
                while (lease := await ticket.turn()) is None:
                    await news.next()
        ticket.keep()
        yield lease, ticket
    finally:
        await ticket.give_back()


class Ticket:
    """A place in the line of a thread. `id`: identifies it there."""

    def __init__(self, database: RunDatabase, thread: ThreadKey, *, closes: bool = False) -> None:
        self.id = uuid4().hex
        self._database = database
        self._thread = thread
        self._closes = closes
        self._is_in_line = True
        """Whether it may be in the line."""
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def turn(self) -> Lease | None:
        """Renews the ticket for one more lease. Returns the lease of the thread if the ticket is the first."""
        return await self._database.turn(self._thread, self.id, closes=self._closes)

    def keep(self) -> None:
        """Renews the ticket until it is given back. Most tickets are given back before the first renewal."""
        self._timer = asyncio.get_running_loop().call_later(self._database.lease / 3, self._begin)

    def has_left(self) -> None:
        """Notes that the ticket is not in the line: a claim has taken it out, or it has not joined. Has no effect if it
        is being renewed, since that may put it into the line again."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_in_line = self._renewing is not None

    async def give_back(self) -> None:
        """Takes the ticket out of the line. If the database does not answer, the ticket expires."""
        if self._timer is not None:
            self._timer.cancel()
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        if self._is_in_line:
            with suppress(StoreUnavailableError):
                await self._database.leave(self._thread, self.id)

    def _begin(self) -> None:
        self._renewing = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            with suppress(StoreUnavailableError):
                await self.turn()
            await asyncio.sleep(self._database.lease / 3)


class TurnNews:
    """Subscribes, within the block, to the notifications that the turn on a thread has passed on."""

    def __init__(self, database: RunDatabase, thread: ThreadKey) -> None:
        self._database = database
        self._thread = thread
        self._news = asyncio.Event()

    async def __aenter__(self) -> TurnNews:
        await self._database.subscribe(self._thread, self._take)
        self._news.clear()  # the caller asks for the turn next anyway
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
