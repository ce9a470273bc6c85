"""A platform as the user of a request sees it: a client of the same connections, with some of the request's headers.
Which they are is the owner's choice.

It has the owner's client's address, headers, timeouts and transport; not its cookies, which users must not share, nor
the parameters that it puts into every URL."""

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
"""Headers that are about the one connection or body that they came with."""


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of headers, as they are compared; raises `ValueError` for those that can't be sent on, or are none."""
    if isinstance(names, str):
        raise ValueError(f"headers: expected names of headers, got the text {names!r}")
    lowered = tuple(name.lower() for name in names)
    for name in lowered:
        if not name or not _NAME_CHARACTERS.issuperset(name):
            raise ValueError(f"headers: {name!r} is no name of a header")
        if name in _OURS:
            raise ValueError(f"headers: {name!r} is about the connection it came by, and can't be sent on")
    return lowered


def forwarded(given: LangGraphClient, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> LangGraphClient:
    """The client with those of a request's headers that are named. The client's own of these names are not sent, also
    where the request has none: a user without credentials must not be taken for the server.

    It is a copy of the client, with the same connections. What it has of its own is set: answers put cookies into the
    client that has sent the request, and users must not share them. It opens nothing, so there is nothing to close.
    """
    http: httpx.AsyncClient = given.http.client
    named = {name.encode("latin-1") for name in names}
    own = [(name, value) for name, value in http.headers.raw if name.lower() not in named]
    sent = [(name, value) for name, value in headers if name.lower() in named]
    client = copy(http)
    client.headers = httpx.Headers([*own, *sent])
    client.cookies = httpx.Cookies()
    client.params = httpx.QueryParams()
    client.follow_redirects = False
    if b"authorization" in named:
        client.auth = httpx.Auth()  # adds nothing, not even what the server's URL says
    return LangGraphClient(client)
