"""Error responses: `Refusal`, and the body that every error response has.

    {"error": code, "message": what was expected}

Other modules decide when a request is refused. No message quotes what a client sent, because responses are logged and
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
"""The `Retry-After` of a request that was refused for lack of capacity, in seconds."""
_LONGEST = 60
"""The longest `Retry-After` for a thread that is ahead of the clock, in seconds. The clock may be corrected sooner."""
CLOSE = {"Connection": "close"}
"""The header of an answer to a request whose body was not read. The connection is not used for further requests."""
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
"""The header that makes browsers respect the declared type of an answer, so that markup in an error message is never
displayed as a page."""

_STATUSES = {
    CONFLICT: HTTPStatus.CONFLICT,
    "not_found": HTTPStatus.NOT_FOUND,
    "not_supported": HTTPStatus.NOT_IMPLEMENTED,
}
"""The statuses of request errors, by code. All others are 422."""
_PASSED_ON = (401, 403, 404, 409, 422)
"""The statuses of a platform that are passed on unchanged. 400 becomes 422, and all others become 502."""
_BUSY = "Another run is active on the thread, or has just ended. Retry later."
_UNREACHABLE = "The platform could not be reached."
_UNREADABLE = "The thread could not be read. Retry later."
_NOT_MADE = "The agent's graph could not be made, and the server's log has the reason. Retry later."
_INVALID = (
    "The platform refused the run as invalid; the server's log has its reason. "
    "LangGraph's own server takes only UUIDs as thread ids."
)
_UNEXPECTED = "Internal error. The server's log has the reason."

_LABEL = "langgraph_agui.label"
"""The key in a request's scope for its agent, thread and run, as log lines name them."""

_log = logging.getLogger(__name__)


class Refusal(RequestError):  # noqa: N818 - the server is not at fault
    """An error response: an answer with a status of 400 or more."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


def too_much(code: str, message: str) -> Refusal:
    """Returns the refusal of a request that may succeed later (429)."""
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, code, message, {"Retry-After": str(RETRY_AFTER)})


def full(code: str, message: str) -> Refusal:
    """Returns the refusal of a request for which the server has no capacity now (503). It closes the connection, in
    case there are too many of them."""
    headers = {"Retry-After": str(RETRY_AFTER), **CLOSE}
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, code, message, headers)


def shutting_down() -> Refusal:
    """Returns the refusal of a request that arrives while the server shuts down."""
    return _unavailable(SHUTDOWN, "The server is shutting down. Retry later.")


def refused(error: Exception, request: Request) -> Response:
    """Logs an error, and returns the response to the request that raised it. The text of an unexpected error is not
    sent."""
    return response_to(logged_refusal(error, request))


def response_to(refusal: Refusal) -> Response:
    """Returns a refusal as a response."""
    return json_response({"error": refusal.code, "message": refusal.message}, refusal.status, refusal.headers)


def logged_refusal(error: Exception, request: Request) -> Refusal:
    """Logs an error, and returns the refusal of the request that raised it: 500 for an unexpected error."""
    log_refusal(error, request)
    return refusal_of(error) or Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL, _UNEXPECTED)


def log_refusal(error: Exception, request: Request) -> None:
    """Logs the error that a request raised: a `Refusal` at the level INFO, all others as `log_failure` does."""
    label = request_label(request)
    if isinstance(error, Refusal | HTTPException) and (refusal := refusal_of(error)):
        _log.info("Refused with HTTP %d: %s (%s).", refusal.status, refusal.message, label)
    else:
        log_failure(error, label)


def request_label(request: Request) -> str:
    """Returns a request as log lines name it: its method, its path, and its agent, thread and run as far as they are
    known."""
    label = request.scope.get(_LABEL) or log_context(*map(request.path_params.get, ("agent", "thread")))
    return f"{request.method} {request.url.path!r}, {label}" if label else f"{request.method} {request.url.path!r}"


def label_request(request: Request, agent: str, thread_id: str | None = None, run_id: str | None = None) -> None:
    """Stores the agent, thread and run of a request, for `log_refusal`."""
    request.scope[_LABEL] = log_context(agent, thread_id, run_id)


def json_response(
    content: Mapping[str, Any], status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a JSON response that is not cached, and that browsers do not take for another type."""
    headers = {"Cache-Control": "no-store", **NO_SNIFFING, **(headers or {})}
    return Response(orjson.dumps(content), status, headers, "application/json")


def refusal_of(error: Exception) -> Refusal | None:
    """Returns the refusal of a request that raised this error, or None for an unexpected error."""
    match error:
        case Refusal():
            return error
        case HTTPException():
            return Refusal(error.status_code, _code(error.status_code), str(error.detail), error.headers)
        case QueueFullError():
            return too_much(error.code, str(error))
        case RunConflictError():  # the text of the error names the other run
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
            return _unavailable(error.code, str(error), min(max(math.ceil(error.seconds), RETRY_AFTER), _LONGEST))
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
    """Returns the code for a status without one: the name of the status in HTTP."""
    try:
        return HTTPStatus(status).name.lower()
    except ValueError:
        return "refused"
