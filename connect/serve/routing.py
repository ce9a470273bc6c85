"""Endpoints as routes, whose every answer is ours: wrong methods, errors, and the end of the server. Never what a
request asks for, or what is done.

What a request passes before its body is read, in this order; each step may refuse it:

1. its host, and the origin of its page (`app`); in a FastAPI app the route's dependencies
2. the method, and whether the server is shutting down (`shutdown`)
3. the user (`users.Users.authenticate`), but for pages
4. the checks of all endpoints with this method and path: in plain AG-UI whether there is such an agent
5. what its headers say of the body: type and length (`body`); a place among the bodies that are read (`bodies`)

Then the endpoint says which operation it is, and `Service.perform` does it.

A path is taken with and without a slash at its end: a redirect would lose the body, or the credentials.

Frameworks match paths that are decoded, and the id of a thread may have slashes in it. So what a path is about is read
from the path as it was written: `/threads/a/messages` are the messages of `a`, `/threads/a%2Fmessages` is a thread.
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
"""What answers a request."""

_BELOW: Final = re.compile(r"(?P<thread>.*\{thread:path\})/(?P<name>\w+)")
"""The path of what is below a thread."""


def routes(service: Service, endpoints: Iterable[Endpoint], pages: Mapping[str, Handler]) -> list[Route]:
    """The routes of endpoints, in their order. Those of the same method and path are asked one after the other whose
    request it is. `pages`: by path, what answers GET without authentication; they come first."""
    by_path: dict[str, dict[str, list[Endpoint]]] = {path: {} for path in pages}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {}).setdefault(endpoint.method, []).append(endpoint)
    routers: dict[str, MethodRouter] = {}
    for path, by_method in by_path.items():
        handlers: dict[str, Handler] = {method: _handler(service, each) for method, each in by_method.items()}
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
    """The routes of one path that this answers."""
    paths = [path] if path.endswith(":path}") else sorted({path.rstrip("/") or "/", path.rstrip("/") + "/"})
    return [Route(each, router) for each in paths]


def _handler(service: Service, endpoints: Sequence[Endpoint]) -> Handler:
    """Answers the requests for endpoints of the same method and path."""

    async def answer(request: Request) -> Response:
        params = dict(request.path_params)
        if "thread" in params:
            params["thread"] = _thread_of(request)
        call = Call(service.names, service.limits, params, request.query_params, request.headers)
        for endpoint in endpoints:
            if endpoint.check is not None:
                endpoint.check(call)
        call = replace(call, body=await _body(request, service.bodies))
        for endpoint in endpoints:
            if (operation := await parsed(endpoint.parse, call)) is not None:
                break
        else:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        result = await service.perform(operation, Caller(request))
        if not isinstance(result, Stream):
            return _response(endpoint.reply(result))
        wire = endpoint.wire(call, result)
        return EventStream(result, wire, service.closing, service.heartbeat, service.limits.send_timeout)

    answer.__doc__ = endpoints[0].summary
    return answer


async def _body(request: Request, bodies: Bodies) -> Any:
    """What the request's JSON says; None without a body."""
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
    """The thread's id, which may have slashes in it; one that ends the path as it was written is none of it."""
    thread = str(request.path_params["thread"])
    return thread.removesuffix("/") if _written(request).endswith(b"/") else thread


def _written(request: Request) -> bytes:
    """The path as it was written; empty where the server does not give it."""
    raw: bytes = request.scope.get("raw_path") or b""
    return raw.partition(b"?")[0]


class MethodRouter:
    """Answers the requests for one path: an ASGI app, and by `answer` an endpoint."""

    def __init__(self, service: Service, by_method: dict[str, Handler], *, is_open: Collection[str] = ()) -> None:
        self._service = service
        self._by_method = by_method
        if "GET" in by_method:
            self._by_method = {**by_method, "HEAD": by_method["GET"]}
        self._allow = {"Allow": ", ".join([*self._by_method, "OPTIONS"])}
        self.is_open = frozenset(is_open) | ({"HEAD"} if "GET" in is_open else set())
        """The methods that it answers without authentication."""
        self.methods = tuple(self._by_method)
        """The methods that it answers, but OPTIONS."""

    def summary(self, method: str) -> str:
        """The first line of the docstring of what answers a method."""
        return (self._by_method[method].__doc__ or "").strip().partition("\n")[0].rstrip(".")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        response = await self.answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """The response to a request. Its reader is bounded. Raises what an exception handler of the app answers."""
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
    """Answers the requests for a path below a thread, which ends in `name`; where the slash before it is a part of the
    thread's id, `thread` answers."""

    def __init__(
        self, service: Service, by_method: dict[str, Handler], name: str, thread: Callable[[], MethodRouter]
    ) -> None:
        super().__init__(service, by_method)
        self._name = name
        self._thread = thread

    async def answer(self, request: Request) -> Response:
        """As `MethodRouter.answer`."""
        written = _written(request).removesuffix(b"/").rpartition(b"/")[2]
        if not written or unquote_to_bytes(written) == self._name.encode():
            return await super().answer(request)
        end = f"/{self._name}/" if request.scope["path"].endswith("/") else f"/{self._name}"
        params = request.path_params
        request.scope["path_params"] = {**params, "thread": params["thread"] + end}
        return await self._thread().answer(request)
