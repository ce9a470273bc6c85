"""One thread over a WebSocket: `GET /{agent}/ws?thread=ID`. A client that can read no event streams, or wants one
connection for a whole chat, runs, connects, watches and stops here.

What a client sends, each a JSON object:

    {"do": "run", "input": {...}}        a RunAgentInput; an answer to an interrupt too. The run's events follow
    {"do": "connect", "input"?: {...}}   the thread, and what runs on it, to its end; `input`: what the client has
    {"do": "watch"}                      the thread, and every run of it from then on
    {"do": "stop", "runId"?: ...}        stops a run, or the active one

What it gets, each a JSON object: events, which have a `type`; and replies, which have `do` and `status`:

    {"do": "run", "status": 200}                                  the stream has ended
    {"do": "stop", "status": 200, "stopped": true}
    {"do": "run", "status": 409, "error": "conflict", "message": ...}

Rules:

1. Each object is carried out as the HTTP request that it stands for, with the headers of the handshake: with the same
   authentication, limits, refusals and log lines.
2. A socket has one stream. A new one takes the place of the one before, as if the reader of that one had left.
3. Objects are carried out in order, each when the one before is answered. A run, a connection or a watch only has to
   begin. While as many as `_MOST_WAITING` wait, no more are read, which slows down the client.
4. A client that reads nothing for `send_timeout` seconds, though something waits for it, is dropped.
5. A page of another origin may open a socket only if the app's `origins` name it: browsers let any page try.
6. An open socket counts as a reader, in addition to its stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import WebSocketRoute
from starlette.types import Message, Receive
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ..access import identity_of
from ..errors import log_context
from ..events.streams import JsonLines
from .agent_routes import AgentRoutes
from .errors import Refusal, refused, shutting_down
from .limits import Limits
from .requests.body import INVALID_JSON, loaded
from .requests.hosts import as_request, deny
from .requests.users import user_of
from .routing import MethodRouter
from .service import Service
from .streams.connection import Connection, Stalls
from .streams.shutdown import Closing, StreamInterrupted

_RESTARTS: Final = 1012
"""The code with which a socket is closed when the server ends."""
_MOST_WAITING: Final = 16
"""Objects of a client that may wait to be carried out. While there are so many, no more are read."""
_CLOSE_WITHIN: Final = 1.0
"""Seconds in which a client has to take the end of its socket."""
_OF_THE_BODY: Final = (b"accept", b"content-length", b"content-type", b"last-event-id", b"transfer-encoding")
"""Headers that say what a request's body is, or its answer."""
_NOTHING: Final = {"runId": "connect", "messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}}
"""The input of a client that connects without one."""

_log = logging.getLogger(__name__)


class WebSockets:
    """The sockets of one app. `origins`: those of the pages that may open one, beside the app's own."""

    def __init__(self, service: Service, origins: Sequence[str]) -> None:
        self._service = service
        self._origins = frozenset(origins)
        self._routers = AgentRoutes(service).by_verb()

    def routes(self) -> list[WebSocketRoute]:
        """The route of all agents."""
        return [WebSocketRoute("/{agent}/ws", self._serve)]

    async def _serve(self, websocket: WebSocket) -> None:
        service, request = self._service, as_request(websocket.scope)
        with ExitStack() as taken:
            try:
                self._check_origin(websocket)
                if service.closing.has_begun:
                    raise shutting_down()
                await service.users.authenticate(request)
                service.agent(websocket.path_params["agent"])
                thread_id = websocket.query_params.get("thread")
                if not thread_id:
                    raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", "Expected ?thread= and its id.")
                taken.enter_context(service.capacity.reader(identity_of(user_of(request))))
            except Exception as error:
                await deny(websocket, refused(error, request))
                return
            await _Socket(websocket, self._routers, thread_id, service.limits).serve(service.closing)

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

    def __init__(
        self, websocket: WebSocket, routers: Mapping[str, MethodRouter], thread_id: str, limits: Limits
    ) -> None:
        self._websocket = websocket
        self._routers = routers
        self._thread_id = thread_id
        self._limits = limits
        self._send_timeout = limits.send_timeout
        self._connection = Connection(getattr(websocket, "_receive", None))
        self._commands: asyncio.Queue[str | None] = asyncio.Queue(_MOST_WAITING)
        """What waits to be carried out; None: the client has left."""
        self._has_left = False
        self._stream: _Answer | None = None
        self._sending = asyncio.Lock()

    async def serve(self, closing: Closing) -> None:
        """Carries out what the client sends, until it leaves or the server ends."""
        stalls = Stalls(self._connection, self._send_timeout, self._drop)
        try:
            async with closing.opened(lambda: self._stream is None or self._stream.is_over.is_set()):
                await self._websocket.accept()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._carry_out_all(tasks))
                    while (message := await self._websocket.receive())["type"] != "websocket.disconnect":
                        await self._commands.put(message.get("text") or "")
                    self._has_left = True
                    if self._stream is not None:
                        self._stream.has_left.set()
                    await self._commands.put(None)
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
        label = log_context(self._websocket.path_params["agent"], self._thread_id)
        _log.warning("A socket did not take what it was sent within %g seconds (%s).", self._send_timeout, label)
        self._connection.drop()

    async def _carry_out_all(self, tasks: asyncio.TaskGroup) -> None:
        """Carries out one object after the other."""
        while (text := await self._commands.get()) is not None:
            await self._take(text, tasks)
            await asyncio.sleep(0)  # lets others run: there may be thousands that never wait

    async def _take(self, text: str, tasks: asyncio.TaskGroup) -> None:
        """Carries out one object. What streams is sent meanwhile."""
        try:
            command = loaded(text, self._limits)
            verb = command["do"]
            router = self._routers[verb]
        except (Refusal, KeyError, TypeError) as error:
            if isinstance(error, Refusal) and error.code != INVALID_JSON:
                await self._reply(None, error.status, {"error": error.code, "message": error.message})
                return
            expected = f'Expected {{"do": ...}}, with one of {", ".join(self._routers)}.'
            await self._reply(None, HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "invalid_input", "message": expected})
            return
        try:
            body = self._body_of(verb, command)
        except orjson.JSONEncodeError:
            message = "The input is nested too deeply."
            await self._reply(verb, HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "invalid_input", "message": message})
            return
        answer = _Answer(self._send)
        if self._has_left:
            answer.has_left.set()
        if verb == "stop":
            await self._carry_out(verb, body, router, answer)
            return
        if self._stream is not None:
            self._stream.has_left.set()
            await self._stream.is_over.wait()
        self._stream = answer
        tasks.create_task(self._carry_out(verb, body, router, answer))

    def _body_of(self, verb: str, command: dict[str, Any]) -> bytes:
        """The body of the request that a command stands for. Raises `JSONEncodeError` for an object that is nested so
        deeply that orjson reads it but does not write it."""
        given = command.get("input")
        body = {**(given if isinstance(given, dict) else {}), "threadId": self._thread_id}
        if verb == "stop":
            body["runId"] = command.get("runId")
        elif verb == "connect" and given is None:
            body = {**_NOTHING, **body}
        return orjson.dumps(body)

    async def _carry_out(self, verb: str, body: bytes, router: MethodRouter, answer: _Answer) -> None:
        """Answers a command as the request that it stands for."""
        request = _request(self._websocket, router.methods[0], self._thread_id, body, answer.receive)
        try:
            response = await router.answer(request)
            await response(request.scope, request.receive, answer.send)
        finally:
            answer.is_over.set()
        task = asyncio.current_task()
        is_cancelled = task is not None and task.cancelling() > 0  # the server ends
        if not (is_cancelled or answer.has_left.is_set()):
            await self._reply(verb, answer.status, orjson.loads(answer.body) if answer.body else {})

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


class _Answer:
    """What is answered to one command: the lines of a stream are sent on, any other body is kept."""

    def __init__(self, send_line: Callable[[bytes], Awaitable[None]]) -> None:
        self._send_line = send_line
        self._is_stream = False
        self._line: list[bytes] = []
        """The pieces of a line that is not whole yet."""
        self.status = 0
        self.body = b""
        """The JSON of an answer that is no stream."""
        self.has_left = asyncio.Event()
        """Set when the client reads no more of it."""
        self.is_over = asyncio.Event()

    async def receive(self) -> Message:
        """What a request receives after its body."""
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Sends a message of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._is_stream = JsonLines.media_type == Headers(raw=list(message["headers"])).get("content-type")
        elif self._is_stream:
            *ends, rest = message["body"].split(b"\n")
            for end in ends:
                if line := b"".join((*self._line, end)):
                    await self._send_line(line)
                self._line.clear()
            self._line.append(rest)
        else:
            self.body += message["body"]


def _request(
    websocket: WebSocket,
    method: str,
    thread_id: str,
    body: bytes,
    receive: Receive,
) -> Request:
    """The HTTP request that a command stands for, with the headers of the handshake."""
    agent = websocket.path_params["agent"]
    headers = [(name, value) for name, value in websocket.headers.raw if name not in _OF_THE_BODY]
    headers += [(b"accept", JsonLines.media_type.encode()), (b"content-type", b"application/json")]
    scope = {
        **websocket.scope,
        "type": "http",
        "method": method,
        "headers": headers,
        "raw_path": b"",
        "query_string": urlencode({"agent": agent}).encode(),
        "path_params": {"agent": agent, "thread": thread_id},
        "state": dict(websocket.scope.get("state") or {}),
    }
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return Request(scope, received)
