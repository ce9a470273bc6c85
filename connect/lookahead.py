"""An iterator read one step ahead, so that silence can be noticed: `Lookahead`. Never what its items are.

A timeout around a generator's step would cancel what it does there, and end it. Here the step goes on in a task, which
is the `Lookahead`'s: at most one, and none after `aclose()`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from enum import Enum
from typing import Any, Final, Generic, TypeVar, final

_Item = TypeVar("_Item")


@final
class Silence(Enum):
    """What comes when nothing does."""

    SILENCE = "silence"


SILENCE: Final = Silence.SILENCE


class Lookahead(Generic[_Item]):
    """An iterator's items, each within a time or not yet. One at a time may ask for them."""

    def __init__(self, source: AsyncIterator[_Item]) -> None:
        self._source = source
        self._step: asyncio.Task[_Item] | None = None

    async def next(self, timeout: float | None = None) -> _Item | Silence:  # noqa: ASYNC109 - it ends no work
        """The next item; `SILENCE` if it does not come within `timeout` seconds, and then it is still the next.

        Raises `StopAsyncIteration` at the end, and what the source raises. Cancelling it without a timeout cancels the
        source's step, unless one is under way from before; with one, that step goes on until `aclose()`.
        """
        if self._step is None:
            if timeout is None:
                return await anext(self._source)
            self._step = asyncio.create_task(_next(self._source))
        done, _ = await asyncio.wait((self._step,), timeout=timeout)
        if not done:
            return SILENCE
        step, self._step = self._step, None
        return step.result()

    async def aclose(self) -> None:
        """Cancels the step that is under way and closes the source. It takes both to their end, however often it is
        cancelled meanwhile (as some servers do without end), and is cancelled then."""
        step, self._step = self._step, None
        try:
            if step is not None:
                step.cancel()
                await _over(step)
        finally:
            if (aclose := getattr(self._source, "aclose", None)) is not None:
                closing = asyncio.create_task(_closed(aclose))
                await _over(closing)
                closing.result()


async def _next(source: AsyncIterator[_Item]) -> _Item:
    return await anext(source)


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
