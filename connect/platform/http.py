"""One connection to a platform's event stream, which is read until it ends or breaks: `event_stream`. `error_of_answer`
decides which error an answer of a platform is. Nothing here depends on what an event means, and nothing is retried.

The SDK's own streams are not used, because they reconnect without notice, and lose or repeat events when they do. Its
client is used: a connection has the address, the headers and the transport of the client's `httpx` client. `httpx-sse`
parses the stream.

Rules:

1. An event is complete when its blank line has arrived. If the connection breaks before, the event is dropped.
2. A failure after which the next attempt may succeed is a `ConnectionLost`: no connection, a lost one, no byte within
   the read timeout (a platform sends a heartbeat every 5 seconds), the statuses 408, 429 and 5xx, and a body that is
   neither an event stream nor JSON. Any other error that the server answers with is a `PlatformError`, which is final.
   The end of a stream proves nothing about the run.
3. Headers carry credentials, so a redirect is followed only to the same scheme, host and port, or from http to https
   on the same host.
4. A `PlatformError` repeats the server's `detail`, `message` or `error`, shortened. It never repeats headers or a URL.
   The answer of a server that fails (408, 429, 5xx) goes to the log only, because it is written for the operators of
   the server.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import httpx
import orjson
from httpx_sse import EventSource
from langgraph_sdk.client import LangGraphClient

from ..errors import ConnectionLost, PlatformError

READ_TIMEOUT: Final = 30.0
"""Seconds without a byte after which a connection counts as lost: six heartbeats of a platform."""

_HOPS = 5
_MAX_BODY = 65_536
"""Bytes of an error's body that are read, at most."""
_BODY_WITHIN = 5.0
"""Seconds within which the body of an error is read."""
_MAX_MESSAGE = 300
"""Characters of an error's message, at most."""
_TRACEBACK = "Traceback (most recent call last)"
_RETRIED = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_PORTS = {"http": 80, "https": 443}

_log = logging.getLogger(__name__)


class Received(NamedTuple):
    """One event as the server sent it."""

    event: str
    data: Any
    """The value of its JSON; None for an event without data."""
    id: str | None
    """The last id that the connection has sent; None before the first one."""


@asynccontextmanager
async def event_stream(
    client: LangGraphClient,
    path: str,
    *,
    params: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    last_event_id: str | None = None,
    read_timeout: float = READ_TIMEOUT,
) -> AsyncIterator[AsyncIterator[Received]]:
    """Connects to an event stream, waits for its headers, and returns an iterator of its events. Closes the connection
    at once when the context is left.

    - `path`: the path below the client's address, with its parts quoted for a URL.
    - `body`: what is posted, as JSON; None sends a GET request.
    - `last_event_id`: the value of the header `Last-Event-ID`; None sends no such header.
    - `read_timeout`: seconds without a byte, or even a heartbeat, after which the connection is lost.

    The iterator ends when the server ends the stream. Entering the context and iterating raise `ConnectionLost` and
    `PlatformError`.
    """
    response = await _response(client.http.client, path, params, body, last_event_id, read_timeout)
    try:
        await _check(response)
        async with aclosing(_events(response, read_timeout)) as events:
            yield events
    finally:
        with suppress(httpx.RequestError):  # the connection is not needed any more, so it does not matter how it closes
            await response.aclose()


async def _response(
    http: httpx.AsyncClient,
    path: str,
    params: Mapping[str, Any] | None,
    body: Mapping[str, Any] | None,
    last_event_id: str | None,
    read_timeout: float,
) -> httpx.Response:
    headers = {b"Accept": b"text/event-stream", b"Cache-Control": b"no-store"}
    if last_event_id is not None:
        headers[b"Last-Event-ID"] = last_event_id.encode()  # ids are UTF-8, but httpx encodes texts as ASCII
    own = http.timeout
    timeout = httpx.Timeout(connect=own.connect, read=read_timeout, write=own.write, pool=own.pool)
    method = "GET" if body is None else "POST"
    request = http.build_request(method, path, params=params, json=body, headers=headers, timeout=timeout)
    try:
        for _ in range(_HOPS):
            response = await http.send(request, stream=True, follow_redirects=False)
            if response.next_request is None:
                return response
            await response.aclose()
            _check_redirect(request.url, response.next_request.url, response.status_code)
            request = response.next_request
    except httpx.RequestError as error:
        raise ConnectionLost(reason_of(error, read_timeout)) from error
    raise ConnectionLost(f"the server redirected {_HOPS} times")


def _check_redirect(here: httpx.URL, there: httpx.URL, status: int) -> None:
    if _origin(here) == _origin(there):
        return
    if _origin(here) == ("http", there.host, 80) and _origin(there) == ("https", here.host, 443):
        return
    raise PlatformError(status, f"the server redirects to {there.host}, another origin, which gets no credentials")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)


async def _check(response: httpx.Response) -> None:
    """Raises `ConnectionLost` or `PlatformError` for an answer that is not an event stream."""
    if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        raise error_of_answer(response.request, response.status_code, await _body(response))
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "text/event-stream":
        raise ConnectionLost(f"expected an event stream, got {kind[:_MAX_MESSAGE] or 'nothing'} from the server")


async def _body(response: httpx.Response) -> bytes:
    """Returns the beginning of an error's body, as far as it arrives soon."""
    body = bytearray()
    with suppress(httpx.RequestError, TimeoutError):
        async with asyncio.timeout(_BODY_WITHIN), aclosing(response.aiter_bytes()) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                body += chunk
                if len(body) > _MAX_BODY:
                    break
    return bytes(body)


async def _events(response: httpx.Response, read_timeout: float) -> AsyncGenerator[Received, None]:
    response.encoding = "utf-8"  # event streams are UTF-8, whatever the headers say
    try:
        async with aclosing(EventSource(response).aiter_sse()) as events:
            async for event in events:
                # after an id was sent, each blank line (as after a heartbeat) is an event without a name and data
                if event.data or event.event != "message":
                    yield Received(event.event, _parse(event.data), event.id or None)
    except httpx.RequestError as error:
        raise ConnectionLost(reason_of(error, read_timeout), is_timeout=isinstance(error, httpx.ReadTimeout)) from error


def _parse(data: str) -> Any:
    """Returns the value of the JSON. Python's own parser reads what some servers send and orjson refuses: NaN and half
    surrogates."""
    if not data:
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ConnectionLost("the data of an event are not JSON") from error


def error_of_answer(request: httpx.Request, status: int, body: bytes) -> ConnectionLost | PlatformError:
    """Returns the error for an answer with this status. `request`: for the log."""
    message = _message(body)
    if (
        status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        _log.warning("HTTP %d of the platform to %s %s: %s", status, request.method, request.url.path, message or "-")
        return ConnectionLost(f"HTTP {status}", status=status)
    return PlatformError(status, message or f"The platform answered HTTP {status}.")


def _message(body: bytes) -> str:
    """Returns the message in an error's body. It is empty if the body is not JSON, as the page of a proxy is, or if the
    message is a traceback."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    while isinstance(content, dict | list):
        if isinstance(content, dict):
            content = next((content[key] for key in ("detail", "message", "msg", "error") if content.get(key)), None)
        else:
            content = next(iter(content), None)
    if not isinstance(content, str) or _TRACEBACK in content:
        return ""
    return " ".join(content.split())[:_MAX_MESSAGE]


def reason_of(error: httpx.RequestError, read_timeout: float | None = None) -> str:
    """Describes what happened, without words that quote what was sent."""
    if read_timeout is not None and isinstance(error, httpx.ReadTimeout):
        return f"nothing came for {read_timeout:g} seconds"
    words = "" if isinstance(error, httpx.LocalProtocolError) else str(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
