"""An iterator read one step ahead, so that silence can be noticed: `TimedIterator`. Never what its items are.

A timeout around a generator's step would cancel what it does there, and end it. Here the step goes on in a task, which
is the `TimedIterator`'s: at most one, and none after `aclose()`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from enum import Enum
from typing import Any, Final, Generic, TypeVar, final

_Item = TypeVar("_Item")


@final
class Silence(Enum):
    """What comes when nothing does."""

    SILENCE = "silence"


SILENCE: Final = Silence.SILENCE


class TimedIterator(Generic[_Item]):
    """An iterator's items, each within a time or not yet. One at a time may ask for them."""

    def __init__(self, source: AsyncIterator[_Item]) -> None:
        self._source = source
        self._step: asyncio.Task[_Item] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """Whoever waits for the step."""
        self._until = 0.0
        """When it will have waited long enough."""
        self._timer: asyncio.TimerHandle | None = None
        """One for many steps: setting it anew for each would cost more than the step."""

    async def next(self, timeout: float | None = None) -> _Item | Silence:  # noqa: ASYNC109 - it ends no work
        """The next item; `SILENCE` if it does not come within `timeout` seconds, and then it is still the next.

        Raises `StopAsyncIteration` at the end, and what the source raises. Cancelling it without a timeout cancels the
        source's step, unless one is under way from before; with one, that step goes on until `aclose()`.
        """
        if self._step is None:
            if timeout is None:
                return await anext(self._source)
            self._step = asyncio.create_task(self._stepped())
        step = self._step
        if not step.done():
            await self._waited(timeout)
            if not step.done():
                return SILENCE
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
