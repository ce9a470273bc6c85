"""What a protocol is made of: `Endpoint`, which has a pure `parse` and makes a `Wire` for each reader; `Call`, which it
reads; `Reply`, which it answers. No I/O.

A protocol is a folder with a function `endpoints(agents)`, and one line in `routes.PROTOCOLS`. What it does not do:
know who asks, enforce limits, look at threads. `Service.perform` does that, once for all protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

from ..events.streams import JsonLines, Sse, Wire
from ..inputs.off_loop import off_loop, size_of
from .agents import AgentNames
from .errors import Refusal
from .limits import Limits
from .operations import Deleted, Operation, Result, Stopped
from .streams.transmission import Stream

_LINES: Final = ("application/x-ndjson", "application/jsonl")
"""What a client accepts that wants lines of JSON."""


_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class Call:
    """A request, as far as a protocol reads it. `path`, `query`: the parameters of the path and of the query.
    `headers`: by names in any case. `body`: the value of the JSON that was sent; None without a body."""

    agents: AgentNames
    limits: Limits
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is not a stream. `content`: a value that becomes JSON; bytes, which have a `media_type`; None:
    there is nothing to say."""

    content: Any
    status: int = HTTPStatus.OK
    media_type: str | None = None


def stop_reply(result: Stopped) -> Reply:
    """Whether a run was stopped: 202 while its graph still runs."""
    if result.result == "stopping":
        return Reply({"stopped": False, "stopping": True}, HTTPStatus.ACCEPTED)
    return Reply({"stopped": result.result is not None})


def plain_reply(result: Result) -> Reply:
    """The reply to a `Stop` and to a `DeleteThread`."""
    match result:
        case Stopped():
            return stop_reply(result)
        case Deleted():
            return Reply(None, HTTPStatus.NO_CONTENT)
    raise TypeError(f"expected a result that this protocol answers, got {type(result).__name__}")


def wants_lines(headers: Mapping[str, str]) -> bool:
    """Whether a client wants lines of JSON in place of server-sent events."""
    accepted = headers.get("accept", "")
    return any(each in accepted for each in _LINES) and "text/event-stream" not in accepted


def sse_or_lines(call: Call, stream: Stream) -> Wire:
    """Server-sent events without ids, or lines of JSON, as the client accepts them."""
    return JsonLines(stream.version) if wants_lines(call.headers) else Sse(stream.version)


async def parsed(parse: Callable[[Call], _Parsed], call: Call) -> _Parsed:
    """What `parse` makes of a call; in a thread if the call is large."""
    return await off_loop(parse, size_of(call.body), call)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    `parse`: the operation that a request asks for; None: the request is for another endpoint of the same method and
    path. Raises `Refusal` for a request that is invalid; it is pure, and may be called in a thread. `path`: as
    Starlette writes paths; `{thread:path}` is a thread's id. `summary`: what it does, in a line. `check`: raises
    `Refusal` for what is known to be wrong before the body is read. It is not known by then which endpoint of a method
    and path a request is for, so the checks of all of them are made. `wire`: makes bytes of a stream, for its reader.
    `reply`: answers any other result.
    """

    method: str
    path: str
    summary: str
    parse: Callable[[Call], Operation | None]
    check: Callable[[Call], object] | None = None
    wire: Callable[[Call, Stream], Wire] = sse_or_lines
    reply: Callable[[Result], Reply] = plain_reply


Protocol = Callable[[AgentNames], Iterable[Endpoint]]


def invalid(message: str) -> Refusal:
    """The refusal of an invalid request."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
