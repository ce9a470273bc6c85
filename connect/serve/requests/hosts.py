"""The host names that an app answers: `Hosts`. Never who may do what with it (`users`).

A page of any origin can make its own host name resolve to the user's machine (DNS rebinding). For the browser a server
there has the page's origin then: it sends no preflight request, and lets the page read all responses. Only the `Host`
header differs.
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
    "A page's own host is let in with --origin https://its.host (langgraph-agui serve) or hosts=[...] (agui_app). "
    "A proxy has to send the host of the page and not a name of its own: in nginx, proxy_set_header Host $host."
)


class Hosts:
    """An app that answers requests for a host of one of these names, on any port, and refuses all others."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan" or host_of(Headers(scope=scope)) in self._names:
            await self._app(scope, receive, send)
            return
        message = f"Expected the Host header of a host that is answered: {', '.join(sorted(self._names))}. {_REMEDY}"
        error = Refusal(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        response = refused(error, as_request(scope))
        if scope["type"] == "websocket":
            await deny(WebSocket(scope, receive, send), response)
        else:
            await response(scope, receive, send)


def as_request(scope: Scope) -> Request:
    """A request, or the handshake of a WebSocket as one."""
    return Request({"method": "GET", **scope, "type": "http"})


async def deny(websocket: WebSocket, response: Response) -> None:
    """Answers the handshake of a WebSocket with an HTTP response, where the server can; else it is 403."""
    if "websocket.http.response" in (websocket.scope.get("extensions") or {}):
        await websocket.send_denial_response(response)
    else:
        await websocket.close()


def host_of(headers: Headers) -> str | None:
    """The name in the `Host` header; None if there is none."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return None
