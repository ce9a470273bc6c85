"""Makes streams out of other streams: `relaying`.

A decorated generator yields batches, and also whole streams, in place of a loop over their batches:

    @relaying
    async def both(first: Batches, second: Batches) -> Relayed:
        yield first
        yield second

A yielded stream is read to its end, and then the generator continues. Its exceptions are raised in the generator, at
the `yield`. When the reader closes the outer stream, or an exception ends it, the yielded stream is closed before the
generator.

So a batch takes one step from the generator that made it to its reader, however deep the streams are nested. With
loops, it would take a step for each stream.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec

from .encoded import Batch, Batches

Relayed = AsyncGenerator[Batch | Batches, None]
"""The type of a generator that is decorated."""

_Arguments = ParamSpec("_Arguments")


def relaying(make: Callable[_Arguments, Relayed]) -> Callable[_Arguments, Batches]:
    """Decorates a function that makes such a generator. The new function returns a stream of batches."""

    @wraps(make)
    def make_stream(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Batches:
        return _Relay(make(*args, **kwargs))

    return make_stream


class _Relay(AsyncGenerator[Batch, None]):
    """The batches of a generator, and those of the streams that it yields. Only one task at a time may read it."""

    def __init__(self, generator: Relayed) -> None:
        self._open: list[Relayed | Batches] = [generator]
        """The generator, the stream that it has yielded, the stream that this one has yielded, and so on. The last one
        is read."""

    def __anext__(self) -> Coroutine[Any, Any, Batch]:
        return self._next(None)

    def asend(self, value: None) -> Coroutine[Any, Any, Batch]:
        """Returns the next batch."""
        return self._next(None)

    def athrow(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Coroutine[Any, Any, Batch]:
        """Raises an exception in the innermost stream, and returns the next batch."""
        return self._next(typ if isinstance(typ, BaseException) else typ())

    async def aclose(self) -> None:
        """Closes the streams, the innermost one first. Raises the first exception, after all have been closed."""
        failure: BaseException | None = None
        while self._open:
            try:
                await self._open.pop().aclose()
            except BaseException as error:
                failure = failure or error
        if failure is not None:
            raise failure

    async def _next(self, error: BaseException | None) -> Batch:
        """Returns the next batch. If there is an `error`, raises it in the innermost stream first."""
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
