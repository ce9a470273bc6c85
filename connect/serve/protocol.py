"""The parts of a protocol. An `Endpoint` has a pure `parse`, which reads a `Call`, and makes a `Wire` for each reader
or a `Reply`. No I/O.

A protocol is a folder with a function `endpoints(agents)`, and an entry in `routes.PROTOCOLS`. It does not determine
users, enforce limits or read threads. `Service.perform` does that for all protocols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

from ..events.streams import JsonLines, Sse, Wire
from ..inputs.off_loop import off_loop, size_of
from ..thread_info import LIMIT, MOST
from .agents import AgentNames
from .errors import Refusal
from .limits import Limits
from .operations import Deleted, Operation, Result, Stopped
from .streams.transmission import Stream

_LINES: Final = ("application/x-ndjson", "application/jsonl")
"""The media types in the `Accept` header of a client that wants lines of JSON."""

_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class Call:
    """The parts of a request that a protocol reads. `path`, `query`: the parameters of the path and of the query.
    `headers`: by name, ignoring case. `body`: the value of the JSON body, or None without a body. `request_id`: a new
    id, for a protocol whose clients do not name their runs."""

    agents: AgentNames
    limits: Limits
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is not a stream. `content`: a value that is sent as JSON, or bytes with a `media_type`, or None
    for an empty answer."""

    content: Any
    status: int = HTTPStatus.OK
    media_type: str | None = None


def plain_reply(result: Result) -> Reply:
    """Returns the reply to a `Stop` or a `DeleteThread`."""
    match result:
        case Stopped("stopping"):  # its graph is still running
            return Reply({"stopped": False, "stopping": True}, HTTPStatus.ACCEPTED)
        case Stopped():
            return Reply({"stopped": result.result is not None})
        case Deleted():
            return Reply(None, HTTPStatus.NO_CONTENT)
    raise TypeError(f"expected a result that this protocol answers, got {type(result).__name__}")


def wants_lines(headers: Mapping[str, str]) -> bool:
    """Whether a client wants lines of JSON instead of server-sent events."""
    accepted = headers.get("accept", "")
    return any(media_type in accepted for media_type in _LINES) and "text/event-stream" not in accepted


def sse_or_lines(call: Call, stream: Stream) -> Wire:
    """Returns the wire that the client accepts: server-sent events without ids, or lines of JSON."""
    return JsonLines(stream.version) if wants_lines(call.headers) else Sse(stream.version)


async def parsed(parse: Callable[[Call], _Parsed], call: Call) -> _Parsed:
    """Returns the result of `parse` for a call, which is parsed in a thread if it is large."""
    return await off_loop(parse, size_of(call.body), call)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    `parse`: returns the operation that a request asks for, or None if the request is for another endpoint of the same
    method and path. Raises `Refusal` for an invalid request. It is pure, and may be called in a thread. `path`: the
    path in Starlette's syntax. `{thread:path}` is a thread's id. `summary`: what the endpoint does, in a line. `check`:
    raises `Refusal` for errors that can be found before the body is read. At that time it is not known which endpoint
    of a method and path a request is for, so the checks of all of them are called. `wire`: makes the wire that encodes
    a stream for its reader. `headers`: those of a stream, in addition to those of every stream. `reply`: answers any
    other result.
    """

    method: str
    path: str
    summary: str
    parse: Callable[[Call], Operation | None]
    check: Callable[[Call], object] | None = None
    wire: Callable[[Call, Stream], Wire] = sse_or_lines
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: Callable[[Call, Result], Reply] = lambda call, result: plain_reply(result)


EndpointFactory = Callable[[AgentNames], Iterable[Endpoint]]
"""Makes the endpoints of a protocol."""


def limit_of(call: Call) -> int:
    """Returns how many entries of a list a request asks for. Raises `Refusal`."""
    limit = call.query.get("limit", str(LIMIT))
    if re.fullmatch(r"[0-9]{1,9}", limit) is None or not 1 <= int(limit) <= MOST:
        raise invalid(f"limit: expected a number from 1 to {MOST}.")
    return int(limit)


def invalid(message: str) -> Refusal:
    """Returns the refusal of an invalid request."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
