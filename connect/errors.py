"""What goes wrong around a run, as `RUN_ERROR` and its code, and as a line of the log; and invalid ids. No I/O.

Every `RUN_ERROR` that is no run's own end is made here: what goes wrong raises, and who reads a stream to its reader
makes an event of it (`open_thread`).

| code | what happened |
|---|---|
| `invalid_thread_id`, `invalid_run_id` | the caller's id is invalid |
| `invalid_input` | a client's input can't be run |
| `not_found` | there is no such thread, or it may not be used; no such run; or the platform's 404 |
| `unreadable_thread` | the thread's checkpointer raised |
| `graph_not_made` | the function that makes the graph of a request raised, and a thread was to be read |
| `conflict` | a run is running on the thread; or the platform's 409 |
| `not_supported` | the graph or the server can't do what was requested |
| `queue_full` | as many inputs are queued on the thread as `Limits.queue` admits |
| `unauthorized`, `forbidden`, `not_found`, `invalid` | the platform's 401, 403, 404, 400 and 422 |
| `platform_error` | anything else it refused with |
| `lost` | the platform could not be reached, or not again |
| `timeout` | a run of this process exceeded its timeout |
| `store_unavailable` | the server that processes share their runs by does not answer |
| `other_process` | another process serves the threads of the agent, and they share no run store |
| `clock_skew` | the thread has a checkpoint from the future, behind which a run would be hidden |
| `shutdown` | an input that was queued, or a run that was read, ends with its server |
| `internal_error` | an unexpected exception |
"""

from __future__ import annotations

import logging
import re
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
"""By HTTP status of a platform's answer."""
_LONGEST = 512
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters and lone surrogates: no storage, header or log takes them."""
_UNFIT_IN_URL = re.compile(r"[/\\?#%]|\A\.+\Z")
"""What would change the path that an id is put into."""


class AguiError(Exception):
    """The base of the errors that are raised here. `code`: as in the table above."""

    code = INTERNAL


class RequestError(AguiError):
    """What the caller wants can't be done; the message says why, and quotes no content."""


class ConnectionLost(AguiError):  # noqa: N818 - nothing has failed yet: it is tried again
    """A connection to a platform could not be made, was lost, or brought what cannot be read.

    `reason`: which of these. `is_timeout`: it was connected, but nothing came within the read timeout.
    """

    code = Lost.code

    def __init__(self, reason: str, *, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_timeout = is_timeout


class PlatformError(AguiError):
    """A platform refused a request, and would again.

    `status`: the HTTP status. `message`: the platform's own text. `code`: that of the status: `unauthorized`,
    `forbidden`, `not_found`, `conflict`, `invalid`, or `platform_error` for all else.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = _CODES.get(status, "platform_error")


class RunConflictError(RequestError, RuntimeError):
    """A run could not start, because the thread has an active one; the message names both."""

    code = CONFLICT


class QueueFullError(RunConflictError):
    """As many inputs are queued on a thread as `Limits.queue` admits."""

    code = "queue_full"


class InvalidInputError(RequestError, ValueError):
    """A client's input that can't be run; the message names what was expected and what came, and quotes no content."""

    code = "invalid_input"


class LoggedError(AguiError, RuntimeError):
    """An error that was logged where it was raised. `cause`: what clients are shown of it."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class UnreadableError(LoggedError):
    """A checkpointer raised: `cause`."""

    code = "unreadable_thread"


class NotRunError(LoggedError):
    """A queued input was not run: `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.code = code_of(cause)


class ServerEndsError(RequestError):
    """The server ends, and with it what is read here; the message says what becomes of the run."""

    code = SHUTDOWN


class GraphNotMadeError(LoggedError):
    """The function that makes the graph of a request raised `cause` where a thread was to be read. (For a run, that is
    the run's error.)"""

    code = "graph_not_made"


class StoreUnavailableError(AguiError, RuntimeError):
    """The run store's server does not answer: it is not known whether the thread has a run. Logged by the store."""

    code = "store_unavailable"

    def __init__(self) -> None:
        super().__init__("The run store does not answer. Retry later.")


class RunsClosedError(AguiError, RuntimeError):
    """A run was started in a `Runs` that is closed."""

    code = SHUTDOWN

    def __init__(self) -> None:
        super().__init__("These runs are closed: nothing is started in them after aclose().")


class OtherProcessError(AguiError, RuntimeError):
    """Another process serves the threads of this agent, and no run store is shared: nothing is run or stopped here."""

    code = "other_process"

    def __init__(self) -> None:
        super().__init__(
            "Another process serves the threads of this agent. Serve them by one process (uvicorn --workers 1), or "
            "give the processes a run store that they share: agui_app(store=RedisRunStore(...))."
        )


class ClockSkewError(AguiError, RuntimeError):
    """The thread's newest checkpoint is from the future, by the clock of this process: what a run wrote would count as
    older, and be hidden. Nothing has run. Logged where it is raised. `seconds`: how far the checkpoint is ahead."""

    code = "clock_skew"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The thread's newest checkpoint is {seconds:.1f} seconds ahead of the server's clock. Retry later."
        )
        self.seconds = seconds


class ThreadNotFoundError(RequestError, LookupError):
    """There is no such thread, or it belongs to another agent or user: for this one it does not exist."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such thread for this agent.")


class NotSupportedError(RequestError, RuntimeError):
    """What was requested needs something that the graph or the server does not have; the message says what."""

    code = "not_supported"


class RunNotFoundError(RequestError, LookupError):
    """There is no such run to stop; the message names the thread, and the run if one was named."""

    code = "not_found"


class InvalidIdError(RequestError, ValueError):
    """An invalid id; the message says why, without the id."""


class InvalidThreadIdError(InvalidIdError):
    """An invalid thread id."""

    code = "invalid_thread_id"


class InvalidRunIdError(InvalidIdError):
    """An invalid run id."""

    code = "invalid_run_id"


def failed(error: BaseException, options: Options = _DEFAULT) -> Event:
    """The `RUN_ERROR` for an error, always with its code; the rest is up to `options.error_detail`. An error about the
    caller's own input has its message from `code` on: it quotes no content."""
    cause = error
    while isinstance(cause, LoggedError):
        cause = cause.cause
    detail = "message" if isinstance(cause, RequestError) and options.error_detail == "code" else options.error_detail
    return error_event(cause, detail, code=code_of(error))


def unexpected() -> Event:
    """The `RUN_ERROR` for what should not happen, without details."""
    return error_event(None, "none", code=INTERNAL)


def brief(error: Any) -> dict[str, Any]:
    """A run's error without what an exception keeps alive, as a platform has it."""
    event = error_event(error)
    return {"error": event.get("code"), "message": event["message"]}


def code_of(error: BaseException) -> str:
    """The code of an error, as in the table above."""
    return error.code if isinstance(error, AguiError) else INTERNAL


def log_failure(error: BaseException, label: str) -> None:
    """Logs an error whose caller gets it as an event or as a response. `label`: as `log_context`.

    A platform's errors and lost connections are warnings; a caller's own mistakes are INFO; an unexpected exception is
    an error, with its traceback. What a checkpointer, a run store or a function that makes a graph raised is logged
    there, and not again; so is a clock that is behind."""
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
    """An agent (its name, or its graph), a thread and a run, as log lines name them."""
    known = {"agent": getattr(agent, "name", agent), "thread": thread_id, "run": run_id}
    return ", ".join(f"{what} {repr(name)[:_LONGEST]}" for what, name in known.items() if name is not None)


def checked_thread_id(value: Any, *, in_url: bool = True) -> str:
    """`value`, if it can be a thread's id; raises `InvalidThreadIdError`.

    `in_url`: whether it is to be part of a URL's path, as a platform's are; a local thread may be called `a/b`.
    """
    if (reason := id_error("thread id", value, in_url)) is not None:
        raise InvalidThreadIdError(reason)
    return str(value)


def checked_run_id(value: Any, *, in_url: bool = True) -> str:
    """`value`, if it can be a run's id; raises `InvalidRunIdError`. As `checked_thread_id`."""
    if (reason := id_error("run id", value, in_url)) is not None:
        raise InvalidRunIdError(reason)
    return str(value)


def id_error(what: str, value: Any, in_url: bool) -> str | None:
    """Why `value` can be no id, in a sentence that calls it `what`; None if it can be one. As `checked_thread_id`."""
    if value is None or value == "":
        return f"There is no {what}."
    if not isinstance(value, str):
        return f"The {what} is no string, but of type {type(value).__name__}."
    if len(value) > _LONGEST:
        return f"The {what} is longer than {_LONGEST} characters."
    if value.isspace() or _UNFIT.search(value):
        return f"The {what} has characters that can't be in one."
    if in_url and _UNFIT_IN_URL.search(value):
        return f"The {what} has characters that can't be in a URL's path."
    return None
