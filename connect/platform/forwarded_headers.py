"""Makes the client through which the user of a request reaches a platform: the owner's client, with those headers of
the request that the owner has chosen.

It has the address, headers, timeouts and transport of the owner's client. It has neither its cookies, which users must
not share, nor the parameters that it puts into every URL."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import httpx
from langgraph_sdk.client import LangGraphClient

_NAME_CHARACTERS = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_OURS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "last-event-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that describe the connection or the body that they came with."""


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Returns names of headers in lower case. Raises `ValueError` for an invalid name, and for a header that can't be
    forwarded."""
    if isinstance(names, str):
        raise ValueError(f"headers: expected names of headers, got the string {names!r}")
    lowered = tuple(name.lower() for name in names)
    for name in lowered:
        if not name or not _NAME_CHARACTERS.issuperset(name):
            raise ValueError(f"headers: {name!r} is not the name of a header")
        if name in _OURS:
            raise ValueError(f"headers: {name!r} describes the connection that it came by, and can't be forwarded")
    return lowered


def forwarded(owner: LangGraphClient, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> LangGraphClient:
    """Returns a copy of the owner's client, with the headers of a request that have these names. The client's own
    headers of these names are never sent, even if the request lacks them, because a user without credentials must not
    be taken for the server.

    The copy uses the same connections, and need not be closed. It has a cookie jar of its own, because answers put
    cookies into the client that sent the request.
    """
    http: httpx.AsyncClient = owner.http.client
    named = {name.encode("latin-1") for name in names}
    own = [(name, value) for name, value in http.headers.raw if name.lower() not in named]
    sent = [(name, value) for name, value in headers if name.lower() in named]
    client = copy(http)
    client.headers = httpx.Headers([*own, *sent])
    client.cookies = httpx.Cookies()
    client.params = httpx.QueryParams()
    client.follow_redirects = False
    if b"authorization" in named:
        client.auth = httpx.Auth()  # adds nothing, not even credentials in the server's URL
    return LangGraphClient(client)
