"""Where a cancelled task is interrupted: `cancelled_at_waits`. Not what it awaits, or why it is cancelled.

`httpcore` 1.0, which `httpx` and the SDK use, loses a connection of its pool for good when a request is cancelled while
it takes a free lock; with all of them lost, every request fails. There a request gives way for one turn of the event
loop, and waits for nothing. So a cancellation is delayed until something is awaited that has not come yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import wraps
from types import coroutine
from typing import Any, Final, Generic, ParamSpec, TypeVar

_Item = TypeVar("_Item")
_Given = ParamSpec("_Given")

_MOST_TURNS: Final = 100
"""Turns for which a cancellation is delayed; then what never waits is cancelled all the same."""


@coroutine
def cancelled_at_waits(awaitable: Awaitable[_Item]) -> Generator[Any, None, _Item]:
    """Awaits an awaitable. A cancellation interrupts it where it waits; if it ends before that, its result is dropped,
    and so is its error."""
    steps = awaitable.__await__()
    delayed: asyncio.CancelledError | None = None
    raised: BaseException | None = None
    turns = 0
    while True:
        try:
            awaited = steps.send(None) if raised is None else steps.throw(raised)
        except StopIteration as end:
            if delayed is None:
                return end.value  # type: ignore[no-any-return]
            raise delayed from None
        except BaseException as error:
            if delayed is None:
                raise
            raise delayed from error
        raised = None
        if delayed is not None:
            turns += 1
            if turns > _MOST_TURNS:
                raised, delayed = delayed, None
                continue
            if not _has_come(awaited) and awaited.cancel():
                delayed = None
        try:
            yield awaited
        except GeneratorExit:
            steps.close()
            raise
        except asyncio.CancelledError as error:
            if _has_come(awaited):
                delayed = error
            else:
                raised = error
        except BaseException as error:
            raised = error


def _has_come(awaited: Any) -> bool:
    """Whether what a task awaits lets it go on in the next turn: it only gives way, or has its result."""
    return awaited is None or (awaited.done() and not awaited.cancelled())


class CancelledAtWaits(Generic[_Item]):
    """The items of an async generator, each awaited by `cancelled_at_waits`."""

    def __init__(self, source: AsyncGenerator[_Item, None]) -> None:
        self._source = source

    def __aiter__(self) -> CancelledAtWaits[_Item]:
        return self

    def __anext__(self) -> Awaitable[_Item]:
        return cancelled_at_waits(anext(self._source))

    async def aclose(self) -> None:
        """Closes the generator."""
        await cancelled_at_waits(self._source.aclose())


def items_cancelled_at_waits(
    function: Callable[_Given, AsyncGenerator[_Item, None]],
) -> Callable[_Given, CancelledAtWaits[_Item]]:
    """Decorates a function that makes an async generator."""

    @wraps(function)
    def made(*args: _Given.args, **kwargs: _Given.kwargs) -> CancelledAtWaits[_Item]:
        return CancelledAtWaits(function(*args, **kwargs))

    return made
