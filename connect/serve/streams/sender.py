"""Sends the messages of a response to one reader over HTTP: `Sender`. `transmission` decides which bytes are sent.

- If nothing was sent for `heartbeat` seconds, a comment is sent, so that proxies do not close the connection.
- When the server from which the events come is lost, the comment `connection lost` is sent, and in place of each
  heartbeat until it is back. Then the comment is `connection back`. No events are sent for that, because clients of
  AG-UI accept none between two runs. Lines of JSON have no comments: there, it is the object that WebSockets get.
- If a reader does not take a message within `timeout` seconds, that is a `failure`, and nothing more is sent.

Both use one timer for the whole stream. A timer or a task for each message would cost more than the message itself.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from starlette.types import Message, Receive, Send

from ...events.streams import JsonLines, Sse, Wire
from .connection import PIECE, Connection

_SERVER: Final = {
    Sse.media_type.partition(";")[0]: (b": connection lost\n\n", b": connection back\n\n"),
    JsonLines.media_type: (b'{"connection":"lost"}\n', b'{"connection":"back"}\n'),
}
"""By media type, what is sent when that server is lost, and when it is back."""


class NotReadError(Exception):
    """The reader did not read what it was sent within `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing was taken within {seconds:g} seconds")
        self.seconds = seconds


class ServerConnection:
    """The connection to the LangGraph server from which the events of a stream come. `is_lost`: whether it is lost, and
    tried again."""

    def __init__(self) -> None:
        self.is_lost = False
        self._tell: Callable[[], None] | None = None

    def report(self, reason: str | None) -> None:
        """Takes the reports of a platform; see `Report`."""
        self.is_lost = reason is not None
        if self._tell is not None:
            self._tell()

    def listen(self, tell: Callable[[], None]) -> None:
        """Calls `tell` after each change."""
        self._tell = tell


class Sender:
    """Sends a response to one reader, in a running event loop: the `Sink` of an HTTP request. `start`: the message that
    begins the response. `heartbeat`: seconds, or None for no comments. `wire`: has the bytes of a heartbeat."""

    _timer: asyncio.TimerHandle
    _at_failure: Callable[[], None]

    def __init__(
        self, receive: Receive, send: Send, start: Message, heartbeat: float | None, timeout: float, wire: Wire
    ) -> None:
        self._receive = receive
        self._send = send
        self._start = start
        self._connection = Connection(receive)
        self._heartbeat = math.inf if heartbeat is None else heartbeat
        self._timeout = timeout
        self._wire = wire
        self._bytes = wire.heartbeat
        """The next comment."""
        self._lost, self._back = _SERVER.get(wire.media_type.partition(";")[0], (wire.heartbeat, wire.heartbeat))
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        """When the last message was passed to the server, or was taken by it."""
        self._comment: asyncio.Task[None] | None = None
        """The task that sends a comment, if one is being sent."""
        self.is_sending = True
        """Whether no further message can be sent, because the server has not taken the last one or the response has not
        begun."""
        self.is_over = False
        """Whether the server has taken the last part of the body."""
        self.failure: Exception | None = None
        """Why nothing more can be sent, if no call of `send` raises this error."""

    async def begin(self) -> None:
        """Begins the response."""
        await self._send_message(self._start)

    async def send(self, body: bytes, *, more: bool = True) -> None:
        """Sends a part of the body, in pieces. `more` says whether other parts follow. Returns when the server has
        taken the part. Raises what the server raises."""
        last = max(0, len(body) - 1) // PIECE * PIECE
        for start in range(0, last, PIECE):
            await self._send_message(
                {"type": "http.response.body", "body": body[start : start + PIECE], "more_body": True}
            )
        await self._send_message({"type": "http.response.body", "body": body[last:], "more_body": more})
        self.is_over = not more

    async def end(self) -> None:
        """Ends the response."""
        await self.send(b"", more=False)

    async def left(self) -> None:
        """Returns when the reader has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def drop(self) -> None:
        """Drops the connection, if that is possible."""
        await self._connection.dropped()

    @asynccontextmanager
    async def watched(self, at_failure: Callable[[], None]) -> AsyncIterator[None]:
        """Sends comments and watches the reader within the block. `at_failure` is called when `failure` is set, and has
        to end the block."""
        self._at_failure = at_failure
        self._watch()
        try:
            yield
        finally:
            self._timer.cancel()
            if self._comment is not None:
                self._comment.cancel()
                await asyncio.wait((self._comment,))
                self._comment = None  # not reset by a task that was cancelled before it began

    def show_server(self, server: ServerConnection) -> None:
        """Tells the reader of the connection to the server from which the events come; see the rules of this
        module."""
        server.listen(partial(self._tell, server))

    def _tell(self, server: ServerConnection) -> None:
        self._bytes = self._lost if server.is_lost else self._back
        if not self.is_sending and self._comment is None:
            self._comment = self._loop.create_task(self._send_comment())

    def _watch(self) -> None:
        time = self._loop.time()
        due = self._since + (self._timeout if self.is_sending else self._heartbeat)
        if due <= time and self.is_sending:
            self._fail(NotReadError(self._timeout))
            return
        if due <= time and self._comment is None:
            self._comment = self._loop.create_task(self._send_comment())
            due = math.inf
        # at least once within both times, because a message may be sent at any moment
        self._timer = self._loop.call_at(min(due, time + self._heartbeat, time + self._timeout), self._watch)

    async def _send_comment(self) -> None:
        try:
            comment = self._bytes
            if comment is self._back:
                self._bytes = self._wire.heartbeat
            await self._put({"type": "http.response.body", "body": comment, "more_body": True})
        except Exception as error:
            self._fail(error)
        finally:
            self._comment = None

    async def _send_message(self, message: Message) -> None:
        if self._comment is not None:
            await self._comment
        await self._put(message)

    async def _put(self, message: Message) -> None:
        self.is_sending, self._since = True, self._loop.time()
        await self._send(message)
        self.is_sending, self._since = False, self._loop.time()

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self._at_failure()
