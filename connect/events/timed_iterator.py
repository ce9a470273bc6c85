"""Waits for the next item of an iterator for a limited time: `TimedIterator`. Knows nothing of the items.

A timeout around a generator's step would cancel the step, and so end the generator. Here the step continues in a task,
which belongs to the `TimedIterator`. There is at most one such task, and none after `aclose()`.
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
    """Gives the items of an iterator, and waits for each for a limited time. Only one task at a time may call
    `next`."""

    def __init__(self, source: AsyncIterator[_Item]) -> None:
        self._source = source
        self._step: asyncio.Task[_Item] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """The future that `next` awaits until the step is done, or its time is over."""
        self._until = 0.0
        """When the time of `next` is over, by the clock of the event loop."""
        self._timer: asyncio.TimerHandle | None = None
        """One timer for many steps, because setting one for each step would cost more than the step."""

    async def next(self, timeout: float | None = None) -> _Item | TimedOut:  # noqa: ASYNC109 - it ends no work
        """Returns the next item, or `TIMED_OUT` if none comes within `timeout` seconds; the next call then waits for
        the same item.

        Raises `StopAsyncIteration` at the end, and what the source raises. If the call is cancelled, the source's step
        is cancelled only without a timeout, and only if this call began the step; otherwise the step continues until
        `aclose()`.
        """
        if self._step is None:
            if timeout is None:
                return await anext(self._source)
            self._step = asyncio.create_task(self._take_step())
        step = self._step
        if not step.done():
            await self._wait(timeout)
            if not step.done():
                return TIMED_OUT
        self._step = None
        return step.result()

    async def _take_step(self) -> _Item:
        try:
            return await anext(self._source)
        finally:
            self._wake()

    async def _wait(self, timeout: float | None) -> None:  # noqa: ASYNC109
        """Waits until the step is done, or the time is over."""
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
        self._timer = loop.call_at(self._until, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiter is None or self._until == math.inf:
            return
        if loop.time() < self._until:  # the timer was set for an earlier step
            self._set_timer(loop)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def aclose(self) -> None:
        """Cancels the step that is under way, and closes the source. Waits for the end of both, however often it is
        cancelled meanwhile (some servers repeat that), and raises `CancelledError` only then."""
        step, self._step = self._step, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            if step is not None:
                step.cancel()
                await _wait_until_done(step)
        finally:
            if (aclose := getattr(self._source, "aclose", None)) is not None:
                closing = asyncio.create_task(_call(aclose))
                await _wait_until_done(closing)
                closing.result()


async def _call(aclose: Any) -> None:
    await aclose()


async def _wait_until_done(task: asyncio.Task[Any]) -> None:
    """Waits until a task is done, whatever its result. If it is cancelled meanwhile, raises `CancelledError` then."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.cancelled():
        task.exception()  # read, so that asyncio does not log it as never retrieved
    if cancelled is not None:
        raise cancelled
