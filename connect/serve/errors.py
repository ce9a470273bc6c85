"""Error responses: `Refusal`, and the one body that every error response has.

    {"error": code, "message": what was expected}

When something is refused is decided elsewhere. No message quotes what a client sent, because responses are logged and
shown on screens. For the same reason, a platform's text about an invalid input is not passed on: it quotes the input.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import (
    CONFLICT,
    INTERNAL,
    SHUTDOWN,
    ClockSkewError,
    ConnectionLost,
    GraphNotMadeError,
    OtherProcessError,
    PlatformError,
    QueueFullError,
    RequestError,
    RunConflictError,
    RunsClosedError,
    StoreUnavailableError,
    UnreadableError,
    log_context,
    log_failure,
)

RETRY_AFTER = 2
"""The `Retry-After` of a request that was refused for want of capacity, in seconds."""
_LATEST = 60
"""The longest `Retry-After` of a thread that is ahead of the clock, in seconds: somebody may set the clock sooner."""
CLOSE = {"Connection": "close"}
"""The header of an answer to a request whose body was not read: nothing more is taken on its connection."""
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
"""The header that keeps a browser to an answer's declared type: an error message that quotes markup never becomes a
page."""

_STATUSES = {
    CONFLICT: HTTPStatus.CONFLICT,
    "not_found": HTTPStatus.NOT_FOUND,
    "not_supported": HTTPStatus.NOT_IMPLEMENTED,
}
"""By the code of what can't be done; all else is 422."""
_PASSED_ON = (401, 403, 404, 409, 422)
"""What a platform's refusal is answered with as it is; 400 is 422, and all else is 502."""
_BUSY = "Another run is active on the thread, or has just ended. Retry later."
_UNREACHABLE = "The platform could not be reached."
_UNREADABLE = "The thread could not be read. Retry later."
_NOT_MADE = "The agent's graph could not be made, and the server's log has the reason. Retry later."
_INVALID = (
    "The platform refused the run as invalid; the server's log has its reason. "
    "LangGraph's own server takes only UUIDs as thread ids."
)
_CAME_TO_NOTHING = "Internal error. The server's log has the reason."

_LABEL = "langgraph_agui.label"
"""Where a request's scope has its agent, thread and run, as log lines name them."""

_log = logging.getLogger(__name__)


class Refusal(RequestError):  # noqa: N818 - it is no error of ours
    """An answer of 400 or more in place of what was requested."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


def too_much(code: str, message: str) -> Refusal:
    """The refusal of what would be done at another time."""
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, code, message, {"Retry-After": str(RETRY_AFTER)})


def full(code: str, message: str) -> Refusal:
    """The refusal of what the server has no place for now (503). Its connection is closed: it may be one too many."""
    headers = {"Retry-After": str(RETRY_AFTER), **CLOSE}
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, code, message, headers)


def shutting_down() -> Refusal:
    """The refusal of what comes when the server is about to end."""
    return _unavailable(SHUTDOWN, "The server is shutting down. Retry later.")


def refused(error: Exception, request: Request) -> Response:
    """The response to a request that raised this, which is logged. The text of an unexpected error is not sent."""
    return response_to(logged_refusal(error, request))


def response_to(refusal: Refusal) -> Response:
    """The response that a refusal is."""
    return json_response({"error": refusal.code, "message": refusal.message}, refusal.status, refusal.headers)


def logged_refusal(error: Exception, request: Request) -> Refusal:
    """The refusal of a request that raised this, which is logged; 500 for an unexpected error."""
    log_refusal(error, request)
    return refusal_of(error) or Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL, _CAME_TO_NOTHING)


def log_refusal(error: Exception, request: Request) -> None:
    """Logs what a request raised, as `log_failure` does; a `Refusal` as INFO."""
    label = request_label(request)
    if isinstance(error, Refusal | HTTPException) and (refusal := refusal_of(error)):
        _log.info("Refused with HTTP %d: %s (%s).", refusal.status, refusal.message, label)
    else:
        log_failure(error, label)


def request_label(request: Request) -> str:
    """A request as log lines name it: its method, its path, and the agent, thread and run that are known."""
    known = request.scope.get(_LABEL) or log_context(*map(request.path_params.get, ("agent", "thread")))
    return f"{request.method} {request.url.path!r}, {known}" if known else f"{request.method} {request.url.path!r}"


def label_request(request: Request, agent: str, thread_id: str | None = None, run_id: str | None = None) -> None:
    """What a request is about, for `log_refusal`."""
    request.scope[_LABEL] = log_context(agent, thread_id, run_id)


def json_response(
    what: Mapping[str, Any], status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response that no cache keeps and no browser takes for another type."""
    headers = {"Cache-Control": "no-store", **NO_SNIFFING, **(headers or {})}
    return Response(orjson.dumps(what), status, headers, "application/json")


def refusal_of(error: Exception) -> Refusal | None:
    """The error response to a request that raised this; None for an unexpected error."""
    match error:
        case Refusal():
            return error
        case HTTPException():
            return Refusal(error.status_code, _code(error.status_code), str(error.detail), error.headers)
        case QueueFullError():
            return too_much(error.code, str(error))
        case RunConflictError():  # its own text names the other run
            return Refusal(HTTPStatus.CONFLICT, error.code, _BUSY)
        case RequestError():
            return Refusal(_STATUSES.get(error.code, HTTPStatus.UNPROCESSABLE_ENTITY), error.code, str(error))
        case UnreadableError():
            return _unavailable(error.code, _UNREADABLE)
        case GraphNotMadeError():
            return _unavailable(error.code, _NOT_MADE)
        case ConnectionLost():
            return _unavailable(error.code, _UNREACHABLE)
        case StoreUnavailableError() | OtherProcessError() | RunsClosedError():
            return _unavailable(error.code, str(error))
        case ClockSkewError():
            return _unavailable(error.code, str(error), min(max(math.ceil(error.seconds), RETRY_AFTER), _LATEST))
        case PlatformError():
            return _passed_on(error)
        case _:
            return None


def _unavailable(code: str, message: str, retry_after: int = RETRY_AFTER) -> Refusal:
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, code, message, {"Retry-After": str(retry_after)})


def _passed_on(error: PlatformError) -> Refusal:
    if error.code == "invalid":
        return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, error.code, _INVALID)
    return Refusal(error.status if error.status in _PASSED_ON else HTTPStatus.BAD_GATEWAY, error.code, error.message)


def _code(status: int) -> str:
    """The code of a bare status: its name in HTTP."""
    try:
        return HTTPStatus(status).name.lower()
    except ValueError:
        return "refused"
