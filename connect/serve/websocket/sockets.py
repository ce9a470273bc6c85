"""Serves a thread over a WebSocket: `GET /{agent}/ws?thread=ID`. It is for clients that can't read event streams, or
want to use one connection for a whole chat. They can run, connect, watch and stop; `commands` defines what they send.

The client receives JSON objects: events, which have a `type`, replies, which have `do` and `status`, and `connection`:

    {"do": "run", "status": 200}                                  the stream has ended
    {"do": "stop", "status": 200, "stopped": true}
    {"do": "run", "status": 409, "error": "conflict", "message": ...}
    {"connection": "lost"}                                        the LangGraph server that has the thread is lost
    {"connection": "back"}

Rules:

1. Each command is an operation of the service, like a request over HTTP, by a user with the headers of the handshake.
   It has the same authentication, limits, refusals and log lines.
2. A socket has one stream. A new stream replaces the one before, as if its reader had disconnected.
3. Commands are carried out in order, each after the one before is answered. A run, a connection or a watch only has to
   start. While `_MOST_WAITING` commands wait, no more are read, which slows down the client.
4. A client that reads nothing for `send_timeout` seconds while something waits to be sent is disconnected.
5. A page of another origin may open a socket only if the app's `origins` contain it, because browsers let any page try.
6. An open socket counts as a reader, in addition to its stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
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
from ..streams.sender import ServerConnection
from ..streams.shutdown import StreamInterrupted, refusal_to
from ..streams.transmission import Stream, transmit
from .commands import Command, command_of, operation_of

_RESTARTS: Final = 1012
"""The close code when the server ends: "Service Restart"
(https://www.iana.org/assignments/websocket/websocket.xhtml)."""
_MOST_WAITING: Final = 16
"""How many commands of a client may wait to be carried out."""
_LOST: Final = orjson.dumps({"connection": "lost"})
_BACK: Final = orjson.dumps({"connection": "back"})
_CLOSE_WITHIN: Final = 1.0
"""How many seconds a client may take to read the end of its socket."""

_log = logging.getLogger(__name__)


class WebSockets:
    """The sockets of one app. `origins` are those of the pages that may open one, in addition to the app's own."""

    def __init__(self, service: Service, origins: Sequence[str]) -> None:
        self._service = service
        self._origins = frozenset(origins)

    def routes(self) -> list[WebSocketRoute]:
        """Returns the route for all agents."""
        return [WebSocketRoute("/{agent}/ws", self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Opens a socket, and serves it to its end. This is an ASGI app and not a function that takes a `WebSocket`,
        because `Connection` needs the server's own `receive`."""
        websocket = WebSocket(scope, receive, send)
        service, request = self._service, as_request(scope)
        with ExitStack() as places:
            try:
                self._check_origin(websocket)
                service.check_lifespan()
                if service.closing.has_begun:
                    raise shutting_down()
                await service.users.authenticate(request)
                service.names.checked(websocket.path_params["agent"])
                thread_id = websocket.query_params.get("thread")
                if not thread_id:
                    raise Refusal(
                        HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", "Expected ?thread= with the id of a thread."
                    )
                places.enter_context(service.capacity.reader(Caller(request).identity))
            except Exception as error:
                refusal_for = answered_here if HANDSHAKE in websocket.scope else refusal_to
                await deny(websocket, response_to(refusal_for(error, request, service.closing)))
                return
            await _Socket(websocket, service, thread_id, Connection(receive)).serve()

    def _check_origin(self, websocket: WebSocket) -> None:
        """Raises `Refusal` for a page whose origin is neither the app's own nor allowed."""
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
        """Commands that wait to be carried out, as texts; None after the client has disconnected."""
        self._has_left = False
        self._stream: _Reader | None = None
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Carries out what the client sends, until the client disconnects or the server ends."""
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
            if not closing.has_begun:  # otherwise the server would log its own cancellation as an error
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
        _log.warning("A socket did not read what it was sent within %g seconds (%s).", self._send_timeout, label)
        self._connection.drop()

    async def _carry_out_all(self, tasks: asyncio.TaskGroup) -> None:
        """Carries out the commands one after the other. Streams are sent at the same time."""
        while (text := await self._texts.get()) is not None:
            try:
                command = command_of(text, self._agent, self._thread_id, self._service.limits)
            except Refusal as refusal:
                await self._refuse(None, refusal)
            else:
                await self._take(command, tasks)
            await asyncio.sleep(0)  # lets other tasks run, since thousands of commands may never wait

    async def _take(self, command: Command, tasks: asyncio.TaskGroup) -> None:
        reader = _Reader(self._send, tasks)
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
        """Carries out a command and answers it."""
        content: dict[str, Any] = {}
        status: int = HTTPStatus.OK
        try:
            result = await self._perform(command)
            if isinstance(result, Stream):
                await transmit(result, JsonLines(result.version), reader, self._service.closing)
            elif not isinstance(result, Refusal):
                reply = plain_reply(result)
                content, status = reply.content, reply.status
        finally:
            reader.is_done.set()
        task = asyncio.current_task()
        if reader.has_left.is_set() or (task is not None and task.cancelling()):  # the latter when the server ends
            return
        if isinstance(result, Refusal):
            await self._refuse(command.verb, result)
        else:
            await self._reply(command.verb, status, content)

    async def _perform(self, command: Command) -> Result | Refusal:
        """Returns the result of a command, carried out for the user of the handshake."""
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

    async def _reply(self, verb: str | None, status: int, content: dict[str, Any]) -> None:
        await self._send(orjson.dumps({"do": verb, "status": status, **content}))

    async def _send(self, line: bytes) -> None:
        """Sends one object, unless the client has disconnected. If the state of the connection is not known, the client
        may take `send_timeout` seconds for each object."""
        async with self._sending:
            if self._websocket.application_state is WebSocketState.CONNECTED:
                with suppress(WebSocketDisconnect):
                    async with asyncio.timeout(None if self._connection.is_known else self._send_timeout):
                        await self._websocket.send_text(line.decode())


class _Reader:
    """Reads the answer to one command: it is the sink of the command's stream, whose lines are sent one by one."""

    def __init__(self, send_line: Callable[[bytes], Coroutine[Any, Any, None]], tasks: asyncio.TaskGroup) -> None:
        self._send_line = send_line
        self._tasks = tasks
        self.has_left = asyncio.Event()
        """Set when the client no longer reads the answer."""
        self.is_done = asyncio.Event()
        """Set when the command has been carried out."""
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
        """See `Sink`. The socket itself drops the connection."""

    @asynccontextmanager
    async def watched(self, at_failure: Callable[[], None]) -> AsyncIterator[None]:
        """See `Sink`. The socket itself watches the connection."""
        yield

    def show_server(self, server: ServerConnection) -> None:
        """See `Sink`. Sends `connection` after each change, while the answer is read."""

        def tell() -> None:
            if not (self.is_done.is_set() or self.has_left.is_set()):
                self._tasks.create_task(self._send_line(_LOST if server.is_lost else _BACK))

        server.listen(tell)
