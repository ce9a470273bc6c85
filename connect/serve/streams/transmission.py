"""One stream on its way to one reader: `Stream`, what is sent, and `transmit`, which sends it to a `Sink`. Of its
events it makes one: the `RUN_ERROR` of a server that ends.

- It is sent in the request's own task. When its reader leaves, or the server ends, the task is interrupted wherever it
  waits, and all that it reads from is closed at once.
- It keeps nothing: bytes are made when the sink has taken those before. So a slow reader delays its own stream only.
- Where the server ends in the middle of a run, what is open is closed, and `RUN_ERROR` with the code `shutdown` ends
  the stream. A run of this process ends with the server; a platform's continues. After a run's end nothing is sent.
- A reader that does not take what it is sent in time is dropped, and its place is free; its run continues.
- A server may cancel the request at some time, before `grace` is over or without `Closing.begin`: the stream ends in
  the same way, with another message.
- A reader that does not read when the server ends gets no last event: its connection is dropped, or the server would
  wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ....translator import OpenItems
from ...errors import ServerEndsError, failed, log_context, unexpected
from ...events.encoded import Batch, Batches, to_batch
from ...events.streams import Wire
from .sender import NotReadError
from .shutdown import Closing, Opened, StreamInterrupted

_log = logging.getLogger(__name__)

_ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})
_CANCELLED = "The server has ended this stream. Connect to the thread again."
_LAST_EVENT_WITHIN = 1.0
"""Seconds in which a reader has to take the last event."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Stream:
    """A thread's events for one reader.

    `version`: the protocol version of its client. `taken`: the capacity, which is free when the stream is over.
    `farewell`: the message of the `RUN_ERROR` when the server ends. `stays`: whether one run follows another, so that
    the stream can end between two of them. `has_offsets`: whether a client can continue after an event that has one.
    `agent`, `thread_id`: for the log.
    """

    batches: Batches
    version: str | None
    taken: AbstractContextManager[Any]
    farewell: str
    agent: str
    thread_id: str
    stays: bool = False
    has_offsets: bool = True


class Sink(Protocol):
    """Takes the bytes of one stream to its reader."""

    is_sending: bool
    """Whether the reader has not taken what was sent last, so that nothing more can be sent."""
    is_over: bool
    """Whether the end was sent."""
    failure: Exception | None
    """Why nothing more can be sent, where no call raises it."""

    async def begin(self) -> None:
        """Sends what comes before the events."""

    async def send(self, body: bytes) -> None:
        """Sends the bytes of a batch; returns when they are taken."""

    async def end(self) -> None:
        """Sends what comes after the events."""

    async def left(self) -> None:
        """Returns when the reader has left."""

    async def drop(self) -> None:
        """Drops the connection of a reader that does not read, where that is possible."""

    def watched(self, at_failure: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Watches the reader within the block. `at_failure`: called when there is a `failure`; it ends the block."""


async def transmit(stream: Stream, wire: Wire, sink: Sink, closing: Closing, *, has_body: bool = True) -> None:
    """Sends a stream as `wire` makes bytes of it, until the stream or the server ends or the reader leaves. `has_body`:
    whether the reader wants its events."""
    batches = _TrackedBatches(stream.batches)
    with stream.taken:
        async with aclosing(batches):
            await _Transmission(stream, batches, wire, sink, closing).run(has_body=has_body)


class _TrackedBatches:
    """Batches as they are, and what their reader has open.

    Closing it closes what it reads from, even if it was never read: a generator that was never entered does nothing
    when it is closed, so it is entered then, and given no time.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._in_run = OpenItems()
        self.is_begun = False
        """Whether a batch was read."""
        self.last = ""
        """The type of the last event."""

    @property
    def run_id(self) -> str | None:
        """The run whose events are being sent."""
        return self._in_run.run_id

    @property
    def is_between(self) -> bool:
        """Whether the reader is in no run."""
        return self._in_run.run_id is None

    async def next(self) -> Batch:
        """The next batch; raises `StopAsyncIteration` at the end."""
        self.is_begun = True
        batch = await anext(self._batches)
        for each in batch:
            self._in_run.apply(each.event)
            self.last = each.event["type"]
        return batch

    def end_events(self, message: str) -> Batch:
        """The events that end a run before its end."""
        return to_batch([*self._in_run.closings(), failed(ServerEndsError(message))])

    async def aclose(self) -> None:
        """Closes what is read."""
        if not self.is_begun:
            with suppress(StopAsyncIteration, TimeoutError):
                async with asyncio.timeout(0):
                    await self.next()
        if (aclose := getattr(self._batches, "aclose", None)) is not None:
            await aclose()


class _Transmission:
    """One stream while it is sent."""

    def __init__(self, stream: Stream, batches: _TrackedBatches, wire: Wire, sink: Sink, closing: Closing) -> None:
        self._stream, self._batches = stream, batches
        self._wire, self._sink, self._closing = wire, sink, closing

    async def run(self, *, has_body: bool) -> None:
        """Sends it, to whatever end."""
        sink = self._sink
        try:
            opening = self._closing.opened(self._is_idle, is_answer=True)
            async with opening as opened, _leaving(sink, opened), sink.watched(partial(opened.end, by_server=False)):
                await sink.begin()
                if has_body:
                    await self._send_all()
                await sink.end()
        except StreamInterrupted as ended:
            if isinstance(sink.failure, NotReadError):
                _log.warning(
                    "A reader did not read what it was sent within %g seconds, and its stream is ended (%s).",
                    sink.failure.seconds,
                    self._label(),
                )
                await sink.drop()
            elif sink.failure is not None:
                raise sink.failure from None
            elif ended.by_server:
                await self._end_early(self._stream.farewell)
        except asyncio.CancelledError:
            await self._end_early(_CANCELLED)
            if not self._closing.has_begun:  # else the server would log its own cancellation as an error
                raise

    def _label(self) -> str:
        return log_context(self._stream.agent, self._stream.thread_id, self._batches.run_id)

    def _is_idle(self) -> bool:
        return self._stream.stays and self._batches.is_between and not self._sink.is_sending

    async def _send_all(self) -> None:
        while True:
            is_last = False
            before = self._batches.last
            try:
                body = self._wire.encode(await self._batches.next())
            except StopAsyncIteration:
                return
            except Exception:
                _log.exception("A stream was ended by an unexpected exception (%s).", self._label())
                if before in _ENDS:
                    return
                body, is_last = self._last_bytes(to_batch([unexpected()])), True
            if body:
                await self._sink.send(body)
            if is_last or (self._closing.has_begun and self._is_idle()):
                return

    def _last_bytes(self, batch: Batch) -> bytes:
        """The bytes of a stream's last events; none if the wire raises, which is logged. The response then ends without
        these events, and the client finds that its stream is not complete."""
        try:
            return self._wire.encode(batch)
        except Exception:
            _log.exception("The last events of a stream could not be encoded (%s).", self._label())
            return b""

    async def _end_early(self, message: str) -> None:
        """Sends the last event, and drops the connection of a reader that does not take it."""
        batches, sink = self._batches, self._sink
        if sink.is_over:
            return
        try:
            async with asyncio.timeout(0 if sink.is_sending else _LAST_EVENT_WITHIN):
                if not batches.is_between or not (self._stream.stays or batches.last):
                    await sink.send(self._last_bytes(batches.end_events(message)))
                await sink.end()
        except TimeoutError:
            await sink.drop()


@asynccontextmanager
async def _leaving(sink: Sink, opened: Opened) -> AsyncIterator[None]:
    """Ends what is open when its client leaves."""

    async def left() -> None:
        await sink.left()
        opened.end(by_server=False)

    task = asyncio.create_task(left())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
