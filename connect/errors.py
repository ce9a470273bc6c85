"""Defines the errors around a run, with their codes; makes `RUN_ERROR` events and log lines from them; and checks ids.
No I/O.

The `RUN_ERROR` of a run that failed is made by the run's translator, and that of a run whose process is lost by
`local.store.followed_run`. Every other one is made here: the code that detects the error raises an exception, and the
code that reads a stream for a reader turns it into an event (`open_thread`).

| code | what happened |
|---|---|
| `invalid_thread_id`, `invalid_run_id` | an id of the caller is invalid |
| `invalid_input` | a client's input can't be run |
| `not_found` | the thread does not exist or may not be used; the run does not exist; or the platform answered 404 |
| `unreadable_thread` | the thread's checkpointer raised an exception |
| `graph_not_made` | to read a thread, a graph was needed, and the function that makes it raised an exception |
| `conflict` | the thread has an active run; or the platform answered 409 |
| `not_supported` | the graph or the server can't do what was requested |
| `queue_full` | the thread already has as many queued inputs as `Limits.queue` allows |
| `unauthorized`, `forbidden`, `not_found`, `invalid` | the platform answered 401, 403, 404, or 400 or 422 |
| `platform_error` | the platform answered with any other error |
| `lost` | the platform could not be reached, or not again |
| `timeout` | a run of this process exceeded its timeout |
| `store_unavailable` | the server of the shared run store does not answer |
| `other_process` | another process serves the threads of the agent, and the processes share no run store |
| `clock_skew` | the thread has a checkpoint from the future, which would hide what a run writes |
| `shutdown` | the server ends while an input is queued or a run is read |
| `internal_error` | an unexpected exception |
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final

from ..translator import Lost, Options, error_event

Event = dict[str, Any]

_DEFAULT: Final = Options()

INTERNAL: Final = "internal_error"
CONFLICT: Final = "conflict"
SHUTDOWN: Final = "shutdown"
TIMEOUT: Final = "timeout"

_log = logging.getLogger(__name__)

_CODES: Final = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    422: "invalid",
}
"""Error codes by the HTTP status of a platform's response."""
_LONGEST = 512
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters and lone surrogates, which storage, headers or logs do not accept."""
_UNFIT_IN_URL = re.compile(r"[/\\?#%]|\A\.+\Z")
"""Characters and ids that would change the path of a URL."""


class AguiError(Exception):
    """The base class of the errors in this package. `code` is one of those in the table above."""

    code = INTERNAL


class RequestError(AguiError):
    """The caller's request can't be carried out. The message says why, and quotes no content."""


class ConnectionLost(AguiError):  # noqa: N818 - nothing has failed yet: it is tried again
    """A connection to a platform could not be made, was lost, or delivered unreadable data.

    `reason` says which of these. `is_timeout`: whether it was connected, but nothing arrived within the read timeout.
    `status`: the HTTP status with which the platform has answered; None if it has not.
    """

    code = Lost.code

    def __init__(self, reason: str, *, is_timeout: bool = False, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_timeout = is_timeout
        self.status = status


Report = Callable[[str | None], None]
"""Takes why the connection to a server is lost and tried again; or None when the server has answered again."""


class PlatformError(AguiError):
    """A platform has refused a request, and would refuse it again.

    `status` is the HTTP status, and `message` the platform's own text. `code` depends on the status: `unauthorized`,
    `forbidden`, `not_found`, `conflict`, `invalid`, or `platform_error` for any other.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = _CODES.get(status, "platform_error")


class RunConflictError(RequestError, RuntimeError):
    """A run could not start because the thread has an active one. The message names both."""

    code = CONFLICT


class QueueFullError(RunConflictError):
    """The thread already has as many queued inputs as `Limits.queue` allows."""

    code = "queue_full"


class InvalidInputError(RequestError, ValueError):
    """A client's input can't be run. The message says what was expected and what was sent, and quotes no content."""

    code = "invalid_input"


class LoggedError(AguiError, RuntimeError):
    """An error that was logged where it was raised. `cause` is the exception that clients are told about."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class UnreadableError(LoggedError):
    """A checkpointer raised `cause`."""

    code = "unreadable_thread"


class NotRunError(LoggedError):
    """A queued input was not run, because of `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.code = code_of(cause)


class ServerEndsError(RequestError):
    """The server ends while something is read or waits. The message says what happens to the run."""

    code = SHUTDOWN


class GraphNotMadeError(LoggedError):
    """A graph was needed to read a thread, and the function that makes it raised `cause`. (If the graph is needed for a
    run, the exception is the error of the run.)"""

    code = "graph_not_made"


class StoreUnavailableError(AguiError, RuntimeError):
    """The server of the run store does not answer, so it is not known whether the thread has a run. The store logs
    it."""

    code = "store_unavailable"

    def __init__(self) -> None:
        super().__init__("The run store does not answer. Retry later.")


class RunsClosedError(AguiError, RuntimeError):
    """A run was started after its `Runs` were closed."""

    code = SHUTDOWN

    def __init__(self) -> None:
        super().__init__("These runs are closed: nothing can be started after aclose().")


class OtherProcessError(AguiError, RuntimeError):
    """Another process serves the threads of this agent, and the processes share no run store. So nothing is run or
    stopped here."""

    code = "other_process"

    def __init__(self) -> None:
        super().__init__(
            "Another process serves the threads of this agent. Serve them with a single process (uvicorn --workers 1), "
            "or give the processes a run store to share: agui_app(store=RedisRunStore(...))."
        )


class ClockSkewError(AguiError, RuntimeError):
    """The thread's newest checkpoint is from the future, by the clock of this process. What a run writes would count as
    older, and would be hidden, so nothing was run. `seconds` is how far the checkpoint is ahead. Logged where it is
    raised."""

    code = "clock_skew"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The thread's newest checkpoint is {seconds:.1f} seconds ahead of the server's clock. Retry later."
        )
        self.seconds = seconds


class ThreadNotFoundError(RequestError, LookupError):
    """The thread does not exist, or belongs to another agent or user, for which callers get the same error."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such thread for this agent.")


class NotSupportedError(RequestError, RuntimeError):
    """The request needs something that the graph or the server lacks. The message says what."""

    code = "not_supported"


class RunNotFoundError(RequestError, LookupError):
    """The run to stop does not exist. The message names the thread, and the run if the caller named one."""

    code = "not_found"


class InvalidIdError(RequestError, ValueError):
    """An invalid id. The message says why it is invalid, without quoting it."""


class InvalidThreadIdError(InvalidIdError):
    """An invalid thread id."""

    code = "invalid_thread_id"


class InvalidRunIdError(InvalidIdError):
    """An invalid run id."""

    code = "invalid_run_id"


def failed(error: BaseException, options: Options = _DEFAULT) -> Event:
    """Returns the `RUN_ERROR` for an error, which always has the error's code. The rest depends on
    `options.error_detail`. An error about the caller's own input also has its message if that is "code", because the
    message quotes no content."""
    cause = error
    while isinstance(cause, LoggedError):
        cause = cause.cause
    detail = "message" if isinstance(cause, RequestError) and options.error_detail == "code" else options.error_detail
    return error_event(cause, detail, code=code_of(error))


def unexpected() -> Event:
    """Returns the `RUN_ERROR` for an unexpected exception, without details."""
    return error_event(None, "none", code=INTERNAL)


def brief(error: Any, options: Options = _DEFAULT) -> dict[str, Any]:
    """Returns a run's error in the form of a platform, which does not keep objects alive as an exception does. It has
    as much of the error as `options.error_detail` says."""
    event = error_event(error, options.error_detail)
    return {"error": event.get("code"), "message": event["message"]}


def code_of(error: BaseException) -> str:
    """Returns the code of an error, as in the table above."""
    return error.code if isinstance(error, AguiError) else INTERNAL


def log_failure(error: BaseException, label: str) -> None:
    """Logs an error that its caller receives as an event or a response. `label` is as returned by `log_context`.

    A platform's errors and lost connections are logged as warnings, a caller's own mistakes as INFO, and an unexpected
    exception as an error with its traceback. Exceptions of a checkpointer, a run store or a function that makes a
    graph, and a `ClockSkewError`, are logged where they are raised, and not again."""
    match error:
        case LoggedError() | StoreUnavailableError() | ClockSkewError():
            pass
        case PlatformError():
            _log.warning("The platform answered with HTTP %d: %r (%s).", error.status, error.message, label)
        case ConnectionLost():
            _log.warning("The platform could not be reached: %s (%s).", error.reason, label)
        case OtherProcessError():
            _log.error("Refused: %s (%s).", error, label)
        case RequestError():
            _log.info("Refused: %s (%s).", error, label)
        case _:
            _log.error("Unexpected exception (%s).", label, exc_info=error)


def log_context(agent: object, thread_id: str | None, run_id: str | None = None) -> str:
    """Returns the names of an agent (given as its name or its graph), a thread and a run, as log lines contain them."""
    names = {"agent": getattr(agent, "name", agent), "thread": thread_id, "run": run_id}
    return ", ".join(f"{kind} {repr(name)[:_LONGEST]}" for kind, name in names.items() if name is not None)


def checked_thread_id(value: Any, *, in_url: bool = True) -> str:
    """Returns `value` if it can be the id of a thread. Raises `InvalidThreadIdError` otherwise.

    `in_url` says whether the id must fit into the path of a URL, as for a platform. A local thread may be called `a/b`.
    """
    if (reason := id_error("thread id", value, in_url)) is not None:
        raise InvalidThreadIdError(reason)
    return str(value)


def checked_run_id(value: Any, *, in_url: bool = True) -> str:
    """Returns `value` if it can be the id of a run. Raises `InvalidRunIdError` otherwise. See `checked_thread_id`."""
    if (reason := id_error("run id", value, in_url)) is not None:
        raise InvalidRunIdError(reason)
    return str(value)


def id_error(kind: str, value: Any, in_url: bool) -> str | None:
    """Returns why `value` can't be an id, in a sentence that calls it `kind`, or None if it can. See
    `checked_thread_id`."""
    if value is None or value == "":
        return f"There is no {kind}."
    if not isinstance(value, str):
        return f"The {kind} must be a string, not {type(value).__name__}."
    if len(value) > _LONGEST:
        return f"The {kind} is longer than {_LONGEST} characters."
    if value.isspace() or _UNFIT.search(value):
        return f"The {kind} has characters that are not allowed in an id."
    if in_url and _UNFIT_IN_URL.search(value):
        return f"The {kind} has characters that are not allowed in a URL's path."
    return None
