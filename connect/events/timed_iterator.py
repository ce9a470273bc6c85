"""An iterator whose next item is awaited for a limited time: `TimedIterator`. Never what its items are.

A timeout around a generator's step would cancel the step, and so end the generator. Here the step continues in a task,
which belongs to the `TimedIterator`: at most one, and none after `aclose()`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from enum import Enum
from typing import Any, Final, Generic, TypeVar, final

_Item = TypeVar("_Item")


@final
class TimedOut(Enum):
    """The type of `TIMED_OUT`: no item came in time."""

    TIMED_OUT = "timed out"


TIMED_OUT: Final = TimedOut.TIMED_OUT


class TimedIterator(Generic[_Item]):
    """The items of an iterator, each awaited for a limited time. Only one task at a time may call `next`."""

    def __init__(self, source: AsyncIterator[_Item]) -> None:
        self._source = source
        self._step: asyncio.Task[_Item] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """What `next` waits on, while it waits for the step."""
        self._until = 0.0
        """When its time is over."""
        self._timer: asyncio.TimerHandle | None = None
        """One for many steps: setting it anew for each would cost more than the step."""

    async def next(self, timeout: float | None = None) -> _Item | TimedOut:  # noqa: ASYNC109 - it ends no work
        """The next item; `TIMED_OUT` if it does not come within `timeout` seconds, and then it is still the next.

        Raises `StopAsyncIteration` at the end, and what the source raises. Cancelling it without a timeout cancels the
        source's step, unless one is under way from before; with one, that step continues until `aclose()`.
        """
        if self._step is None:
            if timeout is None:
                return await anext(self._source)
            self._step = asyncio.create_task(self._stepped())
        step = self._step
        if not step.done():
            await self._waited(timeout)
            if not step.done():
                return TIMED_OUT
        self._step = None
        return step.result()

    async def _stepped(self) -> _Item:
        try:
            return await anext(self._source)
        finally:
            self._wake()

    async def _waited(self, timeout: float | None) -> None:  # noqa: ASYNC109
        """Returns when the step is over, or the time is."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        self._until = math.inf if timeout is None else loop.time() + timeout
        if self._until < (math.inf if self._timer is None else self._timer.when()):
            self._set_timer(loop)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(self._until, self._timed, loop)

    def _timed(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiter is None or self._until == math.inf:
            return
        if loop.time() < self._until:  # it was set for an earlier step
            self._set_timer(loop)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def aclose(self) -> None:
        """Cancels the step that is under way and closes the source. It takes both to their end, however often it is
        cancelled meanwhile (as some servers do without end), and is cancelled then."""
        step, self._step = self._step, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            if step is not None:
                step.cancel()
                await _over(step)
        finally:
            if (aclose := getattr(self._source, "aclose", None)) is not None:
                closing = asyncio.create_task(_closed(aclose))
                await _over(closing)
                closing.result()


async def _closed(aclose: Any) -> None:
    await aclose()


async def _over(task: asyncio.Task[Any]) -> None:
    """Waits until a task is over, whatever becomes of it."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.cancelled():
        task.exception()  # it is read, so that it is not reported as never read
    if cancelled is not None:
        raise cancelled
