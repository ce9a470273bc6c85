"""The host names that an app answers: `Hosts`. Never who may do what with it (`users`).

A page of any origin can make its own host name resolve to the user's machine (DNS rebinding). For the browser a server
there has the page's origin then: it sends no preflight request, and lets the page read all responses. Only the `Host`
header differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import Refusal, refused


class Hosts:
    """An app that answers requests for a host of one of these names, on any port, and refuses all others."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or host_of(Headers(scope=scope)) in self._names:
            await self._app(scope, receive, send)
            return
        message = f"Unknown Host header. Allowed: {', '.join(sorted(self._names))}."
        error = Refusal(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        await refused(error, Request(scope))(scope, receive, send)


def host_of(headers: Headers) -> str | None:
    """The name in the `Host` header; None if there is none."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return None
