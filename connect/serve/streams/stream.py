"""The response that is an event stream: `EventStream`. Of its events it makes one: the `RUN_ERROR` of a server that
ends.

- It is sent in the request's own task. When its reader leaves, or the server ends, the task is interrupted wherever it
  waits, and all that it reads from is closed at once.
- It keeps nothing: a frame is made when the server has taken the one before, and is handed over in pieces; uvicorn
  takes one when the kernel has taken the one before. So a slow reader delays its own stream only.
- Where the server ends in the middle of a run, what is open is closed, and `RUN_ERROR` with the code `shutdown` ends
  the stream. A run of this process ends with the server; a platform's continues. After a run's end nothing is sent.
- A reader that does not take what it is sent within `send_timeout` is dropped, and its place is free; its run
  continues.
- A server may cancel the request at some time, before `grace` is over or without `Closing.begin`: the stream ends in
  the same way, with another message.
- A reader that does not read when the server ends gets no last event: its connection is dropped, or the server would
  wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ....translator import OpenItems
from ....translator import events as agui
from ...errors import SHUTDOWN, log_context
from ...events.encoded import Batch, Batches, to_batch
from ...events.streams import JsonLines, Sse, SseWithIds, Wire, frames
from ..errors import NO_SNIFFING
from .connection import Connection
from .sender import NotReadError, Sender
from .shutdown import Closing, Opened, StreamInterrupted

HEADERS = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    **NO_SNIFFING,
}

LAST_EVENT_ID = "Last-Event-ID"
"""The header of a client that comes back: the last id that it got."""

_log = logging.getLogger(__name__)

_LINES = ("application/x-ndjson", "application/jsonl")
"""What a client accepts that wants lines of JSON."""
_CANCELLED = "The server has ended this stream. Connect to the thread again."
_LAST_EVENT_WITHIN = 1.0
"""Seconds in which a reader has to take the last event."""


class TrackedBatches:
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

    def __aiter__(self) -> TrackedBatches:
        return self

    async def __anext__(self) -> Batch:
        self.is_begun = True
        batch = await anext(self._batches)
        for each in batch:
            self._in_run.apply(each.event)
            self.last = each.event["type"]
        return batch

    def end_events(self, message: str) -> Batch:
        """The events that end a run before its end."""
        return to_batch([*self._in_run.closings(), agui.run_error(message, SHUTDOWN)])

    async def aclose(self) -> None:
        """Closes what is read."""
        if not self.is_begun:
            with suppress(StopAsyncIteration, TimeoutError):
                async with asyncio.timeout(0):
                    await anext(self)
        if (aclose := getattr(self._batches, "aclose", None)) is not None:
            await aclose()


class EventStream(Response):
    """Batches, sent to one reader as they come.

    `version`: the protocol version of its client. `stays`: whether one run follows another, so that the stream can end
    between two of them. `message`: that of the `RUN_ERROR` when the server ends. `taken`: the capacity, which is free
    when the stream is over. `send_timeout`: seconds in which the reader has to take what it is sent. `agent`,
    `thread_id`: for the log. `wire`: what its events look like.
    """

    _sender: Sender

    def __init__(
        self,
        batches: Batches,
        closing: Closing,
        *,
        version: str | None,
        heartbeat: float | None,
        message: str,
        taken: AbstractContextManager[Any],
        send_timeout: float,
        agent: str,
        thread_id: str,
        wire: Wire,
        stays: bool = False,
    ) -> None:
        super().__init__(None, headers={"Content-Type": wire.media_type, **HEADERS})
        del self.headers["content-length"]
        self._batches = TrackedBatches(batches)
        self._closing = closing
        self._version = version
        self._heartbeat = heartbeat
        self._message = message
        self._taken = taken
        self._send_timeout = send_timeout
        self._agent = agent
        self._thread_id = thread_id
        self._stays = stays
        self._wire = wire

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends all events, until the stream or the server ends or the reader leaves."""
        connection = Connection(receive)
        with self._taken:
            async with aclosing(self._batches):
                self._sender = sender = Sender(send, self._heartbeat, self._send_timeout, self._wire.heartbeat)
                try:
                    opening = self._closing.opened(self._is_idle, is_answer=True)
                    async with (
                        opening as opened,
                        _leaving(receive, opened),
                        sender.watched(partial(opened.end, by_server=False)),
                    ):
                        await self._stream(scope, sender)
                except StreamInterrupted as ended:
                    if isinstance(sender.failure, NotReadError):
                        _log.warning(
                            "A reader did not take what it was sent within %g seconds, and its stream is ended (%s).",
                            self._send_timeout,
                            self._label(),
                        )
                        await connection.dropped()
                    elif sender.failure is not None:
                        raise sender.failure from None
                    elif ended.by_server:
                        await self._end_early(sender, self._message, connection)
                except asyncio.CancelledError:
                    await self._end_early(sender, _CANCELLED, connection)
                    if not self._closing.has_begun:  # else the server would log its own cancellation as an error
                        raise

    def _label(self) -> str:
        return log_context(self._agent, self._thread_id, self._batches.run_id)

    def _is_idle(self) -> bool:
        return self._stays and self._batches.is_between and not self._sender.is_sending

    async def _stream(self, scope: Scope, sender: Sender) -> None:
        await sender.send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            async with aclosing(frames(self._batches, self._version, None, self._label, self._wire)) as chunks:
                async for chunk in chunks:
                    await sender.send_body(chunk)
                    if self._closing.has_begun and self._is_idle():
                        break
        await sender.send_body(b"", more=False)

    async def _end_early(self, sender: Sender, message: str, connection: Connection) -> None:
        """Sends the last event, and drops the connection of a reader that does not take it."""
        if sender.is_over:
            return
        try:
            async with asyncio.timeout(0 if sender.is_sending else _LAST_EVENT_WITHIN):
                if not self._batches.is_between or not (self._stays or self._batches.last):
                    events = self._batches.end_events(message)
                    await sender.send_body(b"".join(self._wire.frame(each, self._version) for each in events))
                await sender.send_body(b"", more=False)
        except TimeoutError:
            await connection.dropped()


def wire_of(request: Request, *, has_ids: bool) -> Wire:
    """What the events that answer a request look like: server-sent events, or lines of JSON by its `Accept`. `has_ids`:
    whether a client can continue after an event."""
    accepted = request.headers.get("accept", "")
    if any(each in accepted for each in _LINES) and "text/event-stream" not in accepted:
        return JsonLines()
    return SseWithIds(has_id=LAST_EVENT_ID in request.headers) if has_ids else Sse()


@asynccontextmanager
async def _leaving(receive: Receive, opened: Opened) -> AsyncIterator[None]:
    """Ends what is open when its client leaves."""

    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        opened.end(by_server=False)

    task = asyncio.create_task(left())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
