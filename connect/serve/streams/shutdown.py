"""Ends the open requests and streams of an app in time when its server ends: `Closing`. The events with which a stream
ends are decided in `transmission`.

    open --begin(), aclose()--> closing: new requests are refused; streams between two runs end at once
         --grace seconds, or nothing is open any more--> closed: requests and streams that are still open are
         interrupted --drained()--> runs that other processes can read may finish, for up to `drain` seconds
         --stopped()--> runs are stopped, and the store is closed

A server waits for its streams before it ends an app's lifespan. So streams end first, and their readers connect to
another process. The end begins at a signal (`signals`), or else at the end of the app's lifespan.

The end takes at most `grace` and `drain` seconds, and then `STOP` seconds for runs that do not stop, and `STOP` seconds
for a store that does not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from starlette.requests import Request

from ..errors import Refusal, logged_refusal, shutting_down

STOP: Final = 2.0
"""Seconds in which runs have to stop after `grace` and `drain`, and in which the store then has to close."""


class StreamInterrupted(Exception):  # noqa: N818 - not an error
    """An open request or stream was interrupted. `by_server`: because the server ends. Otherwise the client has
    left."""

    def __init__(self, *, by_server: bool) -> None:
        super().__init__()
        self.by_server = by_server


def refusal_to(error: BaseException, request: Request, closing: Closing) -> Refusal:
    """Logs an error, and returns the refusal of the request that raised it. That includes requests that the end of the
    server interrupts or cancels, because a server would log its own cancellation as an error. Raises cancellations that
    have another reason."""
    if isinstance(error, StreamInterrupted) or (isinstance(error, asyncio.CancelledError) and closing.has_begun):
        error = shutting_down()
    if not isinstance(error, Exception):
        raise error
    return logged_refusal(error, request)


class OpenRequest:
    """One open request or stream. `end` interrupts it at whatever it waits for."""

    def __init__(self, timeout: asyncio.Timeout, is_idle: Callable[[], bool]) -> None:
        self._timeout = timeout
        self.is_idle = is_idle
        """Whether it could end now without losing events."""
        self.ended: StreamInterrupted | None = None

    def end(self, *, by_server: bool) -> None:
        """Interrupts it. Only the first call has an effect."""
        if self.ended is None:
            self.ended = StreamInterrupted(by_server=by_server)
            self._timeout.reschedule(asyncio.get_running_loop().time())


class Closing:
    """Ends the open requests and streams of one app. `grace`: seconds that they have when the server ends. `drain`:
    seconds that runs have after that. It is `app.state.closing`."""

    def __init__(self, grace: float, drain: float = 0.0) -> None:
        self._grace = grace
        self._drain = drain
        self._until: float | None = None
        """When `grace` and `drain` are over, by the event loop's clock, or None if the end has not begun."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which the end last began."""
        self._is_hurried = False
        self._wait: asyncio.Timeout | None = None
        """The timeout of the current wait for streams or for runs, or None between waits."""
        self._open: set[OpenRequest] = set()
        self._ending: asyncio.Task[None] | None = None
        self._gone: asyncio.Event | None = None
        self.at_begin: Callable[[], None] = lambda: None
        """Called once, when the end begins."""
        self.has_begun = False
        """Whether the end has begun, so that new requests are refused."""

    @asynccontextmanager
    async def opened(
        self, is_idle: Callable[[], bool] = lambda: False, *, is_answer: bool = False
    ) -> AsyncIterator[OpenRequest]:
        """Counts the block as open, so that it can be interrupted. Raises `StreamInterrupted` if it was interrupted,
        and `Refusal` if the end has begun.

        `is_answer` says that the block answers a request that was accepted before. Such a block is never refused.
        """
        if self.has_begun and not is_answer:
            raise shutting_down()
        opened: OpenRequest | None = None
        try:
            async with asyncio.timeout(None) as timeout:
                opened = OpenRequest(timeout, is_idle)
                self._open.add(opened)
                if self._ending is not None and self._ending.done():
                    opened.end(by_server=True)
                try:
                    yield opened
                finally:
                    self._remove(opened)
        except TimeoutError:
            if opened is None or opened.ended is None:
                raise
            raise opened.ended from None

    def begin(self) -> None:
        """Begins the end of requests and streams, which takes at most `grace` seconds. Has to be called in the event
        loop."""
        if self.has_begun:
            return
        self.has_begun = True
        loop = self._loop = asyncio.get_running_loop()
        self._until = loop.time() + self._grace + self._drain
        self.at_begin()
        self._ending = loop.create_task(self._end(), name="the end of what is open")

    async def aclose(self) -> None:
        """Begins the end, and returns when all requests and streams have ended or have been interrupted."""
        self.begin()
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def drained(self, runs: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Awaits these coroutines, each of which waits for runs to finish, for at most `drain` seconds. `hurry` ends
        the wait."""
        with suppress(TimeoutError):
            async with self._waiting(self._drain):
                await asyncio.gather(*runs)

    async def stopped(self, stop: Coroutine[Any, Any, None]) -> bool:
        """Awaits `stop`, which stops runs or closes the store, for the rest of `grace` and `drain`, but for at least
        `STOP` seconds. Returns whether it ended in time."""
        loop = asyncio.get_running_loop()
        left = 0.0 if self._until is None or self._is_hurried else self._until - loop.time()
        try:
            async with asyncio.timeout(max(left, STOP)):
                await stop
        except TimeoutError:
            return False
        return True

    def hurry(self) -> None:
        """Begins the end, and ends the waits for streams and for runs at once. Has to be called in the event loop."""
        self.begin()
        self._is_hurried = True
        if self._wait is not None and not self._wait.expired():
            self._wait.reschedule(asyncio.get_running_loop().time())

    def reopen_elsewhere(self) -> None:
        """Accepts requests again if this event loop is not the one in which the end began. In that case, a test client
        has ended the app in an earlier event loop, and no server is ending in this one."""
        if self.has_begun and self._loop is not asyncio.get_running_loop():
            self.reopen()

    def reopen(self) -> None:
        """Accepts requests again, in an app that is started again."""
        self.has_begun = self._is_hurried = False
        self._ending = self._until = None

    @asynccontextmanager
    async def _waiting(self, seconds: float) -> AsyncIterator[None]:
        """Limits the block to this many seconds. `hurry` ends it early. Raises `TimeoutError` in both cases."""
        try:
            async with asyncio.timeout(0.0 if self._is_hurried else seconds) as self._wait:
                yield
        finally:
            self._wait = None

    async def _end(self) -> None:
        for opened in list(self._open):
            if opened.is_idle():
                opened.end(by_server=True)
        with suppress(TimeoutError):
            async with self._waiting(self._grace):
                await self._all_gone()
        for opened in list(self._open):
            opened.end(by_server=True)

    async def _all_gone(self) -> None:
        self._gone = asyncio.Event()
        while self._open:  # a request that has ended may have been followed by its answer
            self._gone.clear()
            await self._gone.wait()

    def _remove(self, opened: OpenRequest) -> None:
        self._open.discard(opened)
        if not self._open and self._gone is not None:
            self._gone.set()
