"""The end of a server: `Closing`, which ends all that is open in time. Never which events a stream ends with.

    open --begin(), aclose()--> closing: nothing new is let in; streams between two runs end at once
         --grace seconds, or nothing is open any more--> closed: what is still open is interrupted
         --drained()--> runs that other processes can read end, for up to `drain` seconds
         --stopped()--> runs are stopped, and the store is closed

A server waits for its streams before it lets an app end. So streams end first, and their readers connect to another
process. The end begins at a signal (`signals`), or else at the end of the app's lifespan.

The end takes `grace` and `drain` seconds at most, and `STOP` more for runs that do not stop, and for a store that does
not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from starlette.requests import Request

from ..errors import Refusal, logged_refusal, shutting_down

STOP: Final = 2.0
"""Seconds that runs have to stop when `grace` and `drain` are over, and then again the store to close."""


class StreamInterrupted(Exception):  # noqa: N818 - nothing went wrong
    """What was open was ended from outside. `by_server`: because the server ends; otherwise its client has left."""

    def __init__(self, *, by_server: bool) -> None:
        super().__init__()
        self.by_server = by_server


def refusal_to(error: BaseException, request: Request, closing: Closing) -> Refusal:
    """The refusal of a request that raised this, which is logged; also of one that the end of the server has ended.
    Raises a cancellation that has another reason: at its end a server would log its own as an error."""
    if isinstance(error, StreamInterrupted) or (isinstance(error, asyncio.CancelledError) and closing.has_begun):
        error = shutting_down()
    if not isinstance(error, Exception):
        raise error
    return logged_refusal(error, request)


class Opened:
    """One request, or one stream, while it is open. `end` ends it at whatever it waits for."""

    def __init__(self, timeout: asyncio.Timeout, is_idle: Callable[[], bool]) -> None:
        self._timeout = timeout
        self.is_idle = is_idle
        """Whether it could end now, and nothing would be missed."""
        self.ended: StreamInterrupted | None = None

    def end(self, *, by_server: bool) -> None:
        """Ends it; once."""
        if self.ended is None:
            self.ended = StreamInterrupted(by_server=by_server)
            self._timeout.reschedule(asyncio.get_running_loop().time())


class Closing:
    """What is open of one app. `grace`: seconds that are left to it at the end. `drain`: seconds that are left to runs
    then. `app.state.closing` is the app's."""

    def __init__(self, grace: float, drain: float = 0.0) -> None:
        self._grace = grace
        self._drain = drain
        self._until: float | None = None
        """When `grace` and `drain` are over, by the event loop's clock. None: the end has not begun."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which the end began last."""
        self._is_hurried = False
        self._wait: asyncio.Timeout | None = None
        """The end of the present wait, for streams or for runs."""
        self._open: set[Opened] = set()
        self._ending: asyncio.Task[None] | None = None
        self._gone: asyncio.Event | None = None
        self.at_begin: Callable[[], None] = lambda: None
        """Called once, when the server begins to stop."""
        self.has_begun = False
        """Whether the end has begun: nothing new is let in."""

    @asynccontextmanager
    async def opened(
        self, is_idle: Callable[[], bool] = lambda: False, *, is_answer: bool = False
    ) -> AsyncIterator[Opened]:
        """Whatever happens in the block may be ended. Raises `StreamInterrupted` when it was, `Refusal` if the end has
        begun.

        `is_answer`: it is what a request is answered with that was let in before; so it is let in too.
        """
        if self.has_begun and not is_answer:
            raise shutting_down()
        opened: Opened | None = None
        try:
            async with asyncio.timeout(None) as timeout:
                opened = Opened(timeout, is_idle)
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
        """Begins the end, which is over after `grace` seconds at most. To be called in the event loop."""
        if self.has_begun:
            return
        self.has_begun = True
        loop = self._loop = asyncio.get_running_loop()
        self._until = loop.time() + self._grace + self._drain
        self.at_begin()
        self._ending = loop.create_task(self._end(), name="the end of what is open")

    async def aclose(self) -> None:
        """Begins the end, and returns when nothing is open any more, or what was has been interrupted."""
        self.begin()
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def drained(self, runs: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Waits until these are over: each waits for runs to end. Up to `drain` seconds, and no longer than `hurry`."""
        with suppress(TimeoutError):
            async with self._waiting(self._drain):
                await asyncio.gather(*runs)

    async def stopped(self, stop: Coroutine[Any, Any, None]) -> bool:
        """Awaits `stop`, which stops runs or closes the store, for what is left of `grace` and `drain`, but at least
        for `STOP` seconds. Returns whether it ended in time."""
        loop = asyncio.get_running_loop()
        left = 0.0 if self._until is None or self._is_hurried else self._until - loop.time()
        try:
            async with asyncio.timeout(max(left, STOP)):
                await stop
        except TimeoutError:
            return False
        return True

    def hurry(self) -> None:
        """Begins the end, and ends its waits for streams and for runs at once. To be called in the event loop."""
        self.begin()
        self._is_hurried = True
        if self._wait is not None and not self._wait.expired():
            self._wait.reschedule(asyncio.get_running_loop().time())

    def reopen_elsewhere(self) -> None:
        """Takes requests again in another event loop than the one in which the end began. No server ends there: a test
        client has ended one before."""
        if self.has_begun and self._loop is not asyncio.get_running_loop():
            self.reopen()

    def reopen(self) -> None:
        """Takes requests again, for an app that is started again."""
        self.has_begun = self._is_hurried = False
        self._ending = self._until = None

    @asynccontextmanager
    async def _waiting(self, seconds: float) -> AsyncIterator[None]:
        """A wait of so many seconds at most, which `hurry` ends. Raises `TimeoutError`."""
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
        while self._open:  # a request that has gone may have come back as its answer
            self._gone.clear()
            await self._gone.wait()

    def _remove(self, opened: Opened) -> None:
        self._open.discard(opened)
        if not self._open and self._gone is not None:
            self._gone.set()
