"""One thread over a WebSocket: `GET /{agent}/ws?thread=ID`. A client that can read no event streams, or wants one
connection for a whole chat, runs, connects, watches and stops here; `commands` says what it sends.

What it gets, each a JSON object: events, which have a `type`; and replies, which have `do` and `status`:

    {"do": "run", "status": 200}                                  the stream has ended
    {"do": "stop", "status": 200, "stopped": true}
    {"do": "run", "status": 409, "error": "conflict", "message": ...}

Rules:

1. Each command is an operation of the service, as a request over HTTP is, by a user with the headers of the handshake:
   with the same authentication, limits, refusals and log lines.
2. A socket has one stream. A new one takes the place of the one before, as if the reader of that one had left.
3. Commands are carried out in order, each when the one before is answered. A run, a connection or a watch only has to
   begin. While as many as `_MOST_WAITING` wait, no more are read, which slows down the client.
4. A client that reads nothing for `send_timeout` seconds, though something waits for it, is dropped.
5. A page of another origin may open a socket only if the app's `origins` name it: browsers let any page try.
6. An open socket counts as a reader, in addition to its stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ...errors import log_context
from ...events.streams import JsonLines
from ...inputs.off_loop import off_loop, size_of
from ..errors import Refusal, response_to, shutting_down
from ..operations import Result
from ..protocol import plain_reply
from ..requests.hosts import as_request, deny
from ..requests.users import Caller
from ..service import Service
from ..streams.app_handlers import HANDSHAKE, answered_here
from ..streams.connection import Connection, Stalls
from ..streams.shutdown import StreamInterrupted, refusal_to
from ..streams.transmission import Stream, transmit
from .commands import Command, command_of, operation_of

_RESTARTS: Final = 1012
"""The code with which a socket is closed when the server ends."""
_MOST_WAITING: Final = 16
"""Commands of a client that may wait to be carried out. While there are so many, no more are read."""
_CLOSE_WITHIN: Final = 1.0
"""Seconds in which a client has to take the end of its socket."""

_log = logging.getLogger(__name__)


class WebSockets:
    """The sockets of one app. `origins`: those of the pages that may open one, beside the app's own."""

    def __init__(self, service: Service, origins: Sequence[str]) -> None:
        self._service = service
        self._origins = frozenset(origins)

    def routes(self) -> list[WebSocketRoute]:
        """The route of all agents."""
        return [WebSocketRoute("/{agent}/ws", self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Opens a socket, and serves it to its end. This is an ASGI app, and not a function of a `WebSocket`, since
        `Connection` looks at the server's own `receive`."""
        websocket = WebSocket(scope, receive, send)
        service, request = self._service, as_request(scope)
        with ExitStack() as taken:
            try:
                self._check_origin(websocket)
                service.check_lifespan()
                if service.closing.has_begun:
                    raise shutting_down()
                await service.users.authenticate(request)
                service.names.checked(websocket.path_params["agent"])
                thread_id = websocket.query_params.get("thread")
                if not thread_id:
                    raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", "Expected ?thread= and its id.")
                taken.enter_context(service.capacity.reader(Caller(request).identity))
            except Exception as error:
                refusal_for = answered_here if HANDSHAKE in websocket.scope else refusal_to
                await deny(websocket, response_to(refusal_for(error, request, service.closing)))
                return
            await _Socket(websocket, service, thread_id, Connection(receive)).serve()

    def _check_origin(self, websocket: WebSocket) -> None:
        """Raises `Refusal` for a page of an origin that is neither the app's own nor allowed."""
        origin = websocket.headers.get("origin")
        if origin is None or "*" in self._origins or origin in self._origins:
            return
        if origin.partition("://")[2] != websocket.headers.get("host"):
            message = "Pages of this origin may not open a WebSocket here."
            raise Refusal(HTTPStatus.FORBIDDEN, "unknown_origin", message)


class _Socket:
    """One open socket."""

    def __init__(self, websocket: WebSocket, service: Service, thread_id: str, connection: Connection) -> None:
        self._websocket = websocket
        self._service = service
        self._agent: str = websocket.path_params["agent"]
        self._thread_id = thread_id
        self._send_timeout = service.limits.send_timeout
        self._connection = connection
        self._texts: asyncio.Queue[str | None] = asyncio.Queue(_MOST_WAITING)
        """What waits to be carried out; None: the client has left."""
        self._has_left = False
        self._stream: _Reader | None = None
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Carries out what the client sends, until it leaves or the server ends."""
        closing = self._service.closing
        stalls = Stalls(self._connection, self._send_timeout, self._drop)
        try:
            async with closing.opened(lambda: self._stream is None or self._stream.is_done.is_set()):
                await self._websocket.accept()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._carry_out_all(tasks))
                    while (message := await self._websocket.receive())["type"] != "websocket.disconnect":
                        await self._texts.put(message.get("text") or "")
                    self._has_left = True
                    if self._stream is not None:
                        self._stream.has_left.set()
                    await self._texts.put(None)
        except StreamInterrupted:
            await self._close()
        except asyncio.CancelledError:
            if not closing.has_begun:  # else the server would log its own cancellation as an error
                raise
            await self._close()
        finally:
            stalls.close()
        await self._connection.drained(_CLOSE_WITHIN)

    async def _close(self) -> None:
        with suppress(TimeoutError, WebSocketDisconnect):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self._websocket.close(_RESTARTS)

    def _drop(self) -> None:
        label = log_context(self._agent, self._thread_id)
        _log.warning("A socket did not take what it was sent within %g seconds (%s).", self._send_timeout, label)
        self._connection.drop()

    async def _carry_out_all(self, tasks: asyncio.TaskGroup) -> None:
        """Carries out one command after the other. What streams is sent meanwhile."""
        while (text := await self._texts.get()) is not None:
            try:
                command = command_of(text, self._agent, self._thread_id, self._service.limits)
            except Refusal as refusal:
                await self._refuse(None, refusal)
            else:
                await self._take(command, tasks)
            await asyncio.sleep(0)  # lets others run: there may be thousands that never wait

    async def _take(self, command: Command, tasks: asyncio.TaskGroup) -> None:
        reader = _Reader(self._send)
        if self._has_left:
            reader.has_left.set()
        if not command.streams:
            await self._carry_out(command, reader)
            return
        if self._stream is not None:
            self._stream.has_left.set()
            await self._stream.is_done.wait()
        self._stream = reader
        tasks.create_task(self._carry_out(command, reader))

    async def _carry_out(self, command: Command, reader: _Reader) -> None:
        """Carries out a command, and answers it."""
        content: dict[str, Any] = {}
        status: int = HTTPStatus.OK
        try:
            result = await self._performed(command)
            if isinstance(result, Stream):
                await transmit(result, JsonLines(result.version), reader, self._service.closing)
            elif not isinstance(result, Refusal):
                reply = plain_reply(result)
                content, status = reply.content, reply.status
        finally:
            reader.is_done.set()
        task = asyncio.current_task()
        if reader.has_left.is_set() or (task is not None and task.cancelling()):  # the server ends
            return
        if isinstance(result, Refusal):
            await self._refuse(command.verb, result)
        else:
            await self._reply(command.verb, status, content)

    async def _performed(self, command: Command) -> Result | Refusal:
        """What a command gives, by the user of the handshake."""
        service, scope = self._service, self._websocket.scope
        request: Request = as_request({**scope, "state": dict(scope.get("state") or {})})
        try:
            async with service.closing.opened():
                await service.users.authenticate(request)
                operation = await off_loop(operation_of, size_of(command.content), command)
                return await service.perform(operation, Caller(request))
        except (Exception, asyncio.CancelledError) as error:
            return refusal_to(error, request, service.closing)

    async def _refuse(self, verb: str | None, refusal: Refusal) -> None:
        await self._reply(verb, refusal.status, {"error": refusal.code, "message": refusal.message})

    async def _reply(self, verb: str | None, status: int, what: dict[str, Any]) -> None:
        await self._send(orjson.dumps({"do": verb, "status": status, **what}))

    async def _send(self, line: bytes) -> None:
        """Sends one object, unless the client has left. If the connection can't be looked at, the client has
        `send_timeout` seconds for each object."""
        async with self._sending:
            if self._websocket.application_state is WebSocketState.CONNECTED:
                with suppress(WebSocketDisconnect):
                    async with asyncio.timeout(None if self._connection.is_known else self._send_timeout):
                        await self._websocket.send_text(line.decode())


class _Reader:
    """The reader of the answer to one command: the sink of its stream, whose lines are sent one by one."""

    def __init__(self, send_line: Callable[[bytes], Awaitable[None]]) -> None:
        self._send_line = send_line
        self.has_left = asyncio.Event()
        """Set when the client reads no more of it."""
        self.is_done = asyncio.Event()
        """Set when the command is carried out."""
        self.is_sending = self.is_over = False
        self.failure: Exception | None = None

    async def begin(self) -> None:
        """See `Sink`."""

    async def send(self, body: bytes) -> None:
        """See `Sink`."""
        self.is_sending = True
        for line in body.splitlines():
            await self._send_line(line)
        self.is_sending = False

    async def end(self) -> None:
        """See `Sink`."""
        self.is_over = True

    async def left(self) -> None:
        """See `Sink`."""
        await self.has_left.wait()

    async def drop(self) -> None:
        """See `Sink`. The socket drops its connection itself."""

    @asynccontextmanager
    async def watched(self, at_failure: Callable[[], None]) -> AsyncIterator[None]:
        """See `Sink`. The socket watches its connection itself."""
        yield
