"""The route of a WebSocket in a FastAPI app. Its handshake passes the same dependencies as the app's requests.

FastAPI calls the dependencies of its own WebSocket routes with a `WebSocket`. A dependency that takes a `Request`, as
each of FastAPI's security schemes does, can't be called with that. But the handshake of a WebSocket is an HTTP request,
so here an `APIRoute` answers it as one, with the dependencies of the route, of its router, of `include_router` and of
the app. The socket is opened only after that. A refusal by a dependency is answered as for any other request.
"""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .streams.app_handlers import HANDSHAKE


class SocketRoute(APIRoute):
    """A route for WebSockets only, whose endpoint returns an `AcceptedHandshake`."""

    @classmethod
    def based_on(cls, route_class: type[APIRoute]) -> type[APIRoute]:
        """Returns this class, combined with a router's own route class, which may override how requests are handled."""
        return cls if issubclass(cls, route_class) else type(cls.__name__, (cls, route_class), {})

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Returns whether a handshake is for this path. Other requests never match."""
        return super().matches(_as_get(scope)) if scope["type"] == "websocket" else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a handshake as an HTTP request."""
        can_respond = "websocket.http.response" in (scope.get("extensions") or {})

        async def deny(message: Message) -> None:
            if can_respond:
                await send({**message, "type": f"websocket.{message['type']}"})
            elif message["type"] == "http.response.start":
                await send({"type": "websocket.close"})  # a server without the extension then answers 403

        await super().handle({**_as_get(scope), HANDSHAKE: (receive, send)}, _no_body, deny)


class AcceptedHandshake(Response):
    """The answer to a handshake that has passed all dependencies: `serve` opens the socket and serves it. The socket's
    scope contains what dependencies have stored in the scope of the request."""

    def __init__(self, request: Request, serve: ASGIApp) -> None:
        super().__init__()
        self._request = request
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the socket to its end."""
        request_scope = self._request.scope
        await self._serve({**request_scope, "type": "websocket"}, *request_scope[HANDSHAKE])


def _as_get(scope: Scope) -> Scope:
    return {**scope, "type": "http", "method": "GET"}


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
