"""Streams that are made of other streams: `relaying`.

A generator that is decorated yields batches, and whole streams in place of a loop over their batches:

    @relaying
    async def both(first: Batches, second: Batches) -> Relayed:
        yield first
        yield second

A stream that was yielded is read to its end, and then the generator continues. What it raises is raised in the
generator where it was yielded. When the reader closes the stream, or an exception ends it, it is closed before the
generator is.

So a batch takes one step from the generator that made it to the reader, however many streams are around it: a loop over
the batches in each would be a step in each.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec

from .encoded import Batch, Batches

Relayed = AsyncGenerator[Batch | Batches, None]
"""What a decorated generator yields."""

_Given = ParamSpec("_Given")


def relaying(make: Callable[_Given, Relayed]) -> Callable[_Given, Batches]:
    """A function that makes such a generator, as one that makes a stream of batches."""

    @wraps(make)
    def made(*args: _Given.args, **given: _Given.kwargs) -> Batches:
        return _Relay(make(*args, **given))

    return made


class _Relay(AsyncGenerator[Batch, None]):
    """The batches of a generator, and those of the streams that it yields. Only one task at a time may read it."""

    def __init__(self, generator: Relayed) -> None:
        self._open: list[Relayed | Batches] = [generator]
        """The generator, the stream that it has yielded, what that one has yielded, and so on: the last is read."""

    def __anext__(self) -> Coroutine[Any, Any, Batch]:
        return self._next(None)

    def asend(self, value: None) -> Coroutine[Any, Any, Batch]:
        """The next batch."""
        return self._next(None)

    def athrow(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Coroutine[Any, Any, Batch]:
        """Raises an exception where the generator waits that is read."""
        return self._next(typ if isinstance(typ, BaseException) else typ())

    async def aclose(self) -> None:
        """Closes the streams, the one that is read first. Raises what the first of them raises that fails to close."""
        failure: BaseException | None = None
        while self._open:
            try:
                await self._open.pop().aclose()
            except BaseException as error:
                failure = failure or error
        if failure is not None:
            raise failure

    async def _next(self, error: BaseException | None) -> Batch:
        """The next batch, after `error` was raised in the stream that is read."""
        while self._open:
            stream: Any = self._open[-1]
            try:
                step = await (anext(stream) if error is None else stream.athrow(error))
            except StopAsyncIteration:
                self._open.pop()
                error = None
            except BaseException as raised:
                self._open.pop()
                error = raised
            else:
                if isinstance(step, list):
                    return step
                error = None
                self._open += step._open if isinstance(step, _Relay) else [step]
        if error is not None:
            raise error
        raise StopAsyncIteration
