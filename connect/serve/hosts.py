"""The names under which an app may be asked: `Hosts`. Never who may do what with it (`service`).

A page of any origin can let its own name lead to a server of its reader's machine (DNS rebinding). To the browser that
server is of the page's origin then: it asks for no leave, and shows the page all answers. Only the name that was asked
for gives it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from .errors import Refusal, refused


class Hosts:
    """An app that answers those who ask for a host of one of these names, on whatever port, and refuses the others."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or _name(Headers(scope=scope).get("host", "")) in self._names:
            await self._app(scope, receive, send)
            return
        message = f"Unknown Host header. Allowed: {', '.join(sorted(self._names))}."
        error = Refusal(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        await refused(error, Request(scope))(scope, receive, send)


def _name(host: str) -> str | None:
    """The name in a `Host` header; None if there is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
