"""Routes whose every answer is ours: wrong methods, errors, and the end of the server. Never what a route does.

What a request passes before its body is read, in this order; each step may refuse it:

1. its host, and the origin of its page (`app`); in a FastAPI app the route's dependencies
2. the method, and whether the server is shutting down (`shutdown`)
3. the user (`users.Users.authenticate`), but for `/health` and `/ready`
4. plain AG-UI: whether there is such an agent (`agent_routes`)
5. what its headers say of the body: type and length (`body`); a place among the bodies that are read (`bodies`)

A path is taken with and without a slash at its end: a redirect would lose the body, or the credentials.

Frameworks match paths that are decoded, and the id of a thread may have slashes in it. So what a path is about is read
from the path as it was written: `/threads/a/messages` are the messages of `a`, `/threads/a%2Fmessages` is a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .errors import Refusal, refused, shutting_down
from .service import Service
from .streams.answer import Answer
from .streams.shutdown import StreamInterrupted
from .streams.stream import EventStream

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(
    service: Service,
    path: str,
    *,
    is_open: Collection[str] = (),
    thread: MethodRouter | None = None,
    **by_method: Endpoint,
) -> list[Route]:
    """The routes of one path; `by_method`: what answers a method. `is_open`: the methods without authentication.
    `thread`: of a path below a thread, what answers the thread's own path."""
    if thread is None:
        endpoint = MethodRouter(service, by_method, is_open=is_open)
    else:
        endpoint = _BelowThread(service, by_method, path.rpartition("/")[2], thread)
    return routes_to(endpoint, path)


def routes_to(endpoint: MethodRouter, path: str) -> list[Route]:
    """The routes of one path that this answers."""
    paths = [path] if path.endswith(":path}") else sorted({path.rstrip("/") or "/", path.rstrip("/") + "/"})
    return [Route(each, endpoint) for each in paths]


def thread_of(request: Request) -> str:
    """The thread's id, which may have slashes in it; one that ends the path as it was written is none of it."""
    thread = str(request.path_params["thread"])
    return thread.removesuffix("/") if _written(request).endswith(b"/") else thread


def _written(request: Request) -> bytes:
    """The path as it was written; empty where the server does not give it."""
    raw: bytes = request.scope.get("raw_path") or b""
    return raw.partition(b"?")[0]


class MethodRouter:
    """Answers the requests for one path: an ASGI app, and by `answer` an endpoint."""

    def __init__(self, service: Service, by_method: dict[str, Endpoint], *, is_open: Collection[str] = ()) -> None:
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
        """The response to a request, also to one that raises. Its reader is bounded."""
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
            if request.method not in self._by_method:
                message = f"{request.method} is not allowed here. Allowed: {self._allow['Allow']}."
                raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", message, self._allow)
            async with self._service.closing.opened():
                if request.method not in self.is_open:
                    await self._service.users.authenticate(request)
                return await self._by_method[request.method](request)
        except StreamInterrupted:
            return refused(shutting_down(), request)
        except asyncio.CancelledError:
            if not self._service.closing.has_begun:  # else a server that ends would log its own cancellation
                raise
            return refused(shutting_down(), request)
        except ClientDisconnect:
            return Response(None, HTTPStatus.BAD_REQUEST)  # no client is left to read it
        except Exception as error:
            return refused(error, request)


class _BelowThread(MethodRouter):
    """Answers the requests for a path below a thread, which ends in `name`; where the slash before it is a part of the
    thread's id, `thread` answers."""

    def __init__(self, service: Service, by_method: dict[str, Endpoint], name: str, thread: MethodRouter) -> None:
        super().__init__(service, by_method)
        self._name = name
        self._thread = thread

    async def answer(self, request: Request) -> Response:
        """The response to a request, also to one that raises."""
        written = _written(request).removesuffix(b"/").rpartition(b"/")[2]
        if not written or unquote_to_bytes(written) == self._name.encode():
            return await super().answer(request)
        end = f"/{self._name}/" if request.scope["path"].endswith("/") else f"/{self._name}"
        params = request.path_params
        request.scope["path_params"] = {**params, "thread": params["thread"] + end}
        return await self._thread.answer(request)
