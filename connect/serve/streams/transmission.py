"""Sends one stream to one reader: `transmit` sends a `Stream` to a `Sink`. The only events that it adds are those that
end an unfinished run, such as the `RUN_ERROR` when the server ends.

- A stream is sent in the request's own task. When the reader leaves or the server ends, the task is interrupted at
  whatever it waits for, and the batches are closed at once.
- Nothing is buffered: a batch is encoded after the sink has taken the previous one. So a slow reader delays only its
  own stream.
- If the server ends in the middle of a run, open items are closed, and a `RUN_ERROR` with the code `shutdown` ends the
  stream. A run of this process ends with the server, and a run of a platform continues. Between runs nothing is sent.
- A reader that does not take a message in time is dropped, and no longer counts as a reader. Its run continues.
- A server may cancel the request at any time, before `grace` is over or without `Closing.begin`. The stream then ends
  in the same way, but with another message.
- A reader that does not read when the server ends receives no last event. Its connection is dropped, because the server
  would wait for it.
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
from ... import metrics
from ...errors import ServerEndsError, failed, log_context, unexpected
from ...events.encoded import Batch, Batches, to_batch
from ...events.streams import Wire
from .sender import NotReadError, ServerConnection
from .shutdown import Closing, OpenRequest, StreamInterrupted

_log = logging.getLogger(__name__)

_ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})
_CANCELLED = "The server has ended this stream. Connect to the thread again."
_LAST_EVENT_WITHIN = 1.0
"""Seconds within which a reader has to take the last event."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Stream:
    """A thread's events for one reader.

    `version`: the protocol version of the client. `taken`: the reserved capacity, which is released when the stream is
    over. `farewell`: the message of the `RUN_ERROR` when the server ends. `stays`: whether the stream contains one run
    after another, so that it can end between two of them. `has_offsets`: whether a client can continue after an event
    that has an offset. `agent`, `thread_id`: for the log. `server`: the connection to the server that the events come
    from; None for a graph of this process.
    """

    batches: Batches
    version: str | None
    taken: AbstractContextManager[Any]
    farewell: str
    agent: str
    thread_id: str
    stays: bool = False
    has_offsets: bool = True
    server: ServerConnection | None = None


class Sink(Protocol):
    """Sends the bytes of one stream to its reader."""

    is_sending: bool
    """Whether the last message has not been taken yet, so that nothing more can be sent."""
    is_over: bool
    """Whether the end of the stream was sent."""
    failure: Exception | None
    """Why nothing more can be sent, if no call raises this error."""

    async def begin(self) -> None:
        """Sends the beginning, before all events."""

    async def send(self, body: bytes) -> None:
        """Sends the bytes of a batch. Returns when they have been taken."""

    async def end(self) -> None:
        """Sends the end, after all events."""

    async def left(self) -> None:
        """Returns when the reader has left."""

    async def drop(self) -> None:
        """Drops the connection of a reader that does not read, if that is possible."""

    def watched(self, at_failure: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Watches the reader within the block. `at_failure` is called when `failure` is set, and ends the block."""

    def show_server(self, server: ServerConnection) -> None:
        """Tells the reader whether the server from which the stream comes is lost, if the reader can be told."""


async def transmit(stream: Stream, wire: Wire, sink: Sink, closing: Closing, *, has_body: bool = True) -> None:
    """Sends a stream, encoded by `wire`, until the stream or the server ends or the reader leaves. `has_body` says
    whether the events are sent: they are not in the answer to a HEAD request."""
    batches = _TrackedBatches(stream.batches)
    with stream.taken:
        async with aclosing(batches):
            await _Transmission(stream, batches, wire, sink, closing).run(has_body=has_body)


class _TrackedBatches:
    """Passes on batches unchanged, and tracks which items they leave open for the reader.

    Closing this also closes the generator of the batches, even if nothing was read from it. A generator that was never
    entered would do nothing when it is closed, so it is entered first, with a timeout of 0 seconds.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._in_run = OpenItems()
        self.is_begun = False
        """Whether a batch was read."""
        self.last = ""
        """The type of the last event, or an empty text."""

    @property
    def run_id(self) -> str | None:
        """The id of the run whose events are being sent, or None between runs."""
        return self._in_run.run_id

    @property
    def is_between(self) -> bool:
        """Whether the reader is between two runs."""
        return self._in_run.run_id is None

    async def next(self) -> Batch:
        """Returns the next batch. Raises `StopAsyncIteration` at the end."""
        self.is_begun = True
        batch = await anext(self._batches)
        for encoded in batch:
            self._in_run.apply(encoded.event)
            self.last = encoded.event["type"]
        return batch

    def end_events(self, message: str) -> Batch:
        """Returns the events that end an unfinished run."""
        return to_batch([*self._in_run.closings(), failed(ServerEndsError(message))])

    async def aclose(self) -> None:
        """Closes the generator of the batches."""
        if not self.is_begun:
            with suppress(StopAsyncIteration, TimeoutError):
                async with asyncio.timeout(0):
                    await self.next()
        if (aclose := getattr(self._batches, "aclose", None)) is not None:
            await aclose()


class _Transmission:
    """Sends one stream."""

    def __init__(self, stream: Stream, batches: _TrackedBatches, wire: Wire, sink: Sink, closing: Closing) -> None:
        self._stream, self._batches = stream, batches
        self._wire, self._sink, self._closing = wire, sink, closing

    async def run(self, *, has_body: bool) -> None:
        """Sends the stream until it ends or is interrupted."""
        sink = self._sink
        try:
            opening = self._closing.opened(self._is_idle, is_answer=True)
            async with opening as opened, _leaving(sink, opened), sink.watched(partial(opened.end, by_server=False)):
                await sink.begin()
                if has_body:
                    if self._stream.server is not None:
                        sink.show_server(self._stream.server)
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
            if not self._closing.has_begun:  # otherwise the server would log its own cancellation as an error
                raise

    def _label(self) -> str:
        return log_context(self._stream.agent, self._stream.thread_id, self._batches.run_id)

    def _is_idle(self) -> bool:
        return self._stream.stays and self._batches.is_between and not self._sink.is_sending

    async def _send_all(self) -> None:
        is_timed, has_caught_up = metrics.is_on(), False
        while True:
            is_last, emitted_at = False, None
            before = self._batches.last
            try:
                batch = await self._batches.next()
                if is_timed and has_caught_up and batch:
                    emitted_at = getattr(batch[0], "emitted_at", None)
                has_caught_up = True
                body = self._wire.encode(batch)
            except StopAsyncIteration:
                return
            except Exception:
                _log.exception("A stream was ended by an unexpected exception (%s).", self._label())
                if before in _ENDS:
                    return
                body, is_last = self._last_bytes(to_batch([unexpected()])), True
            if body:
                await self._sink.send(body)
            if emitted_at is not None:
                metrics.event_sent(emitted_at)
            if is_last or (self._closing.has_begun and self._is_idle()):
                return

    def _last_bytes(self, batch: Batch) -> bytes:
        """Returns the bytes of a stream's last events. If the wire raises an exception, logs it and returns no bytes.
        The response then ends without these events, and the client notices that its stream is incomplete."""
        try:
            return self._wire.encode(batch)
        except Exception:
            _log.exception("The last events of a stream could not be encoded (%s).", self._label())
            return b""

    async def _end_early(self, message: str) -> None:
        """Sends the last events, or drops the connection if the reader does not take them."""
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
async def _leaving(sink: Sink, opened: OpenRequest) -> AsyncIterator[None]:
    """Ends an open stream when its client leaves during the block."""

    async def left() -> None:
        await sink.left()
        opened.end(by_server=False)

    task = asyncio.create_task(left())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
