"""Limits the host names that an app answers to: `Hosts`. What a user may do is decided in `users`.

A page of any origin can make its own host name resolve to the user's machine (DNS rebinding). The browser then takes a
server there for the page's own origin: it sends no preflight request, and lets the page read all responses. Only the
`Host` header shows the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from ..errors import Refusal, refused

_REMEDY: Final = (
    "To allow a page's own host, use --origin https://its.host (langgraph-agui serve) or hosts=[...] (agui_app). "
    "A proxy must pass on the host of the page, and not send a name of its own: in nginx, proxy_set_header Host $host."
)


class Hosts:
    """Wraps an app, answers requests whose `Host` header has one of these names and any port, and refuses all
    others."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers or refuses one request."""
        if scope["type"] == "lifespan" or host_of(Headers(scope=scope)) in self._names:
            await self._app(scope, receive, send)
            return
        message = f"Expected one of these names in the Host header: {', '.join(sorted(self._names))}. {_REMEDY}"
        error = Refusal(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        response = refused(error, as_request(scope))
        if scope["type"] == "websocket":
            await deny(WebSocket(scope, receive, send), response)
        else:
            await response(scope, receive, send)


def as_request(scope: Scope) -> Request:
    """Returns a request, or the handshake of a WebSocket in the form of a request."""
    return Request({"method": "GET", **scope, "type": "http"})


async def deny(websocket: WebSocket, response: Response) -> None:
    """Answers the handshake of a WebSocket with an HTTP response, if the server supports that, and otherwise with
    403."""
    if "websocket.http.response" in (websocket.scope.get("extensions") or {}):
        await websocket.send_denial_response(response)
    else:
        await websocket.close()


def host_of(headers: Headers) -> str | None:
    """Returns the name in the `Host` header, or None without one."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return None
