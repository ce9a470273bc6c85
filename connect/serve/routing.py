"""Turns endpoints into routes, and answers all requests for them, even those with a wrong method, with errors, or
during the end of the server. What a request asks for is decided by its endpoint.

Before its body is read, a request passes these checks, in this order. Each of them may refuse it:

1. its host, and the origin of its page (`app`); in a FastAPI app the route's dependencies
2. its method, and whether the server is shutting down (`shutdown`)
3. its user (`users.Users.authenticate`), except for pages
4. the checks of all endpoints with this method and path: in plain AG-UI, whether the agent exists
5. the type and length of the body in its headers (`body`), and a place among the bodies that are being read (`bodies`)

Then an endpoint parses the request into an operation, and `Service.perform` performs it.

A path is accepted with and without a slash at its end, because a redirect would lose the body or the credentials.

Frameworks match decoded paths, and the id of a thread may contain slashes. So the path is read as it was sent, before
decoding: `/threads/a/messages` are the messages of the thread `a`, and `/threads/a%2Fmessages` is a thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote_to_bytes
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .errors import Refusal, json_response, response_to
from .protocol import Call, Endpoint, Reply, parsed
from .requests.bodies import Bodies
from .requests.body import read
from .requests.users import Caller
from .service import Service
from .streams.answer import Answer
from .streams.app_handlers import answered_here
from .streams.stream import HEADERS, EventStream
from .streams.transmission import Stream

Handler = Callable[[Request], Awaitable[Response]]
"""A function that answers a request."""

_BELOW: Final = re.compile(r"(?P<thread>.*\{thread:path\})/(?P<name>\w+)")
"""The path of a resource below a thread."""


def routes(service: Service, endpoints: Iterable[Endpoint], pages: Mapping[str, Handler]) -> list[Route]:
    """Returns the routes of endpoints, in their order. Endpoints with the same method and path are tried one after the
    other until one recognizes the request. `pages`: handlers that answer GET without authentication, by path. They come
    first."""
    by_path: dict[str, dict[str, list[Endpoint]]] = {path: {} for path in pages}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {}).setdefault(endpoint.method, []).append(endpoint)
    routers: dict[str, MethodRouter] = {}
    for path, by_method in by_path.items():
        handlers: dict[str, Handler] = {method: _handler(service, group) for method, group in by_method.items()}
        if path in pages:
            routers[path] = MethodRouter(service, {"GET": pages[path], **handlers}, is_open=("GET",))
        elif (below := _BELOW.fullmatch(path)) is not None:
            routers[path] = _BelowThread(
                service, handlers, below["name"], partial(routers.__getitem__, below["thread"])
            )
        else:
            routers[path] = MethodRouter(service, handlers)
    return [route for path, router in routers.items() for route in _routes_to(router, path)]


def _routes_to(router: MethodRouter, path: str) -> list[Route]:
    """Returns the routes of one path that this router answers."""
    paths = [path] if path.endswith(":path}") else sorted({path.rstrip("/") or "/", path.rstrip("/") + "/"})
    return [Route(route_path, router) for route_path in paths]


def _handler(service: Service, endpoints: Sequence[Endpoint]) -> Handler:
    """Returns the handler for endpoints with the same method and path."""

    async def answer(request: Request) -> Response:
        params = dict(request.path_params)
        if "thread" in params:
            params["thread"] = _thread_of(request)
        call = Call(service.names, service.limits, params, request.query_params, request.headers)
        for endpoint in endpoints:
            if endpoint.check is not None:
                endpoint.check(call)
        call = replace(call, body=await _body(request, service.bodies), request_id=str(uuid4()))
        for endpoint in endpoints:
            if (operation := await parsed(endpoint.parse, call)) is not None:
                break
        else:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        result = await service.perform(operation, Caller(request))
        if not isinstance(result, Stream):
            return _response(endpoint.reply(call, result))
        wire = endpoint.wire(call, result)
        limits = service.limits
        return EventStream(
            result, wire, service.closing, service.heartbeat, limits.send_timeout, headers=endpoint.headers
        )

    answer.__doc__ = endpoints[0].summary
    return answer


async def _body(request: Request, bodies: Bodies) -> Any:
    """Returns the JSON value of a request's body, or None without a body."""
    headers = request.headers
    is_empty = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
    if request.method in ("GET", "HEAD") or (is_empty and request.method == "DELETE"):
        return None
    return await read(request, bodies)


def _response(reply: Reply) -> Response:
    if reply.content is None:
        return Response(None, reply.status)
    if isinstance(reply.content, bytes):
        return Response(reply.content, reply.status, {"Content-Type": str(reply.media_type), **HEADERS})
    return json_response(reply.content, reply.status)


def _thread_of(request: Request) -> str:
    """Returns the thread's id, which may contain slashes. A slash that ends the path as it was sent is not part of
    it."""
    thread = str(request.path_params["thread"])
    return thread.removesuffix("/") if _raw_path(request).endswith(b"/") else thread


def _raw_path(request: Request) -> bytes:
    """Returns the path as it was sent, before decoding. Empty if the server does not pass it on."""
    raw: bytes = request.scope.get("raw_path") or b""
    return raw.partition(b"?")[0]


class MethodRouter:
    """Answers the requests for one path. It is an ASGI app, and `answer` is a handler."""

    def __init__(self, service: Service, by_method: dict[str, Handler], *, is_open: Collection[str] = ()) -> None:
        self._service = service
        self._by_method = by_method
        if "GET" in by_method:
            self._by_method = {**by_method, "HEAD": by_method["GET"]}
        self._allow = {"Allow": ", ".join([*self._by_method, "OPTIONS"])}
        self.is_open = frozenset(is_open) | ({"HEAD"} if "GET" in is_open else set())
        """The methods that are answered without authentication."""
        self.methods = tuple(self._by_method)
        """The methods that are answered, except OPTIONS."""

    def summary(self, method: str) -> str:
        """Returns the first line of the docstring of a method's handler."""
        return (self._by_method[method].__doc__ or "").strip().partition("\n")[0].rstrip(".")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        response = await self.answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """Returns the response to a request, whose reader is subject to the limits. Raises an exception if the app has
        an exception handler for it."""
        self._service.check_lifespan()
        response = await self._response(request)
        if isinstance(response, EventStream):
            return response
        service = self._service
        return Answer(response, request, service.capacity, service.closing, service.limits.send_timeout)

    async def _response(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(None, HTTPStatus.NO_CONTENT, self._allow)
        try:
            return await self._answer(request)
        except ClientDisconnect:
            return Response(None, HTTPStatus.BAD_REQUEST)  # no client is left to read it
        except (Exception, asyncio.CancelledError) as error:
            return response_to(answered_here(error, request, self._service.closing))

    async def _answer(self, request: Request) -> Response:
        if request.method not in self._by_method:
            message = f"{request.method} is not allowed here. Allowed: {self._allow['Allow']}."
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", message, self._allow)
        async with self._service.closing.opened():
            if request.method not in self.is_open:
                await self._service.users.authenticate(request)
            return await self._by_method[request.method](request)


class _BelowThread(MethodRouter):
    """Answers the requests for a path below a thread, which ends in `name`. If the slash before the name is part of the
    thread's id, the router that `thread` returns answers instead."""

    def __init__(
        self, service: Service, by_method: dict[str, Handler], name: str, thread: Callable[[], MethodRouter]
    ) -> None:
        super().__init__(service, by_method)
        self._name = name
        self._thread = thread

    async def answer(self, request: Request) -> Response:
        """See `MethodRouter.answer`."""
        last = _raw_path(request).removesuffix(b"/").rpartition(b"/")[2]
        if not last or unquote_to_bytes(last) == self._name.encode():
            return await super().answer(request)
        end = f"/{self._name}/" if request.scope["path"].endswith("/") else f"/{self._name}"
        params = request.path_params
        request.scope["path_params"] = {**params, "thread": params["thread"] + end}
        return await self._thread().answer(request)
