"""Decides how much of an error the client gets, according to the option `error_detail`. The functions never raise an
exception, whatever the error is.

A platform's error is `{"error": class name, "message": text}`. An error in a local graph is the exception itself.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ..content.read_blocks import text_of
from ..jsonable.to_json import to_text
from ..options import ErrorDetail
from ..parts.message import fields_of
from ..wire.events import Event, run_error

NEUTRAL: Final = "The run failed."
_OURS: Final[Mapping[str, str]] = {
    "unfinished": "The run did not come to its end: its server stopped, or it continues in another process."
}
"""Messages of errors that are not exceptions of a graph, by code. They say nothing about the server's code or data, so
a client gets them wherever it gets the code."""
SUBAGENT_NEUTRAL: Final = "The subagent failed."


class Failure(NamedTuple):
    """The part of an error that the client gets."""

    message: str
    code: str | None = None
    metadata: dict[str, Any] | None = None


def failure(error: Any, detail: ErrorDetail) -> Failure:
    """Returns the failure for an error. `detail` decides whether the failure contains only a neutral text, or also the
    error's class, message and traceback."""
    code = None if detail == "none" else _code(error)
    neutral = _OURS.get(code or "", NEUTRAL)
    if detail in ("none", "code"):
        return Failure(neutral, code)
    message = _text(lambda: str(error.get("message", "") if type(error) is dict else error)) or neutral
    if detail == "full" and issubclass(type(error), BaseException):
        return Failure(message, code, {"stack": _text(lambda: "".join(traceback.format_exception(error)))})
    return Failure(message, code)


def failure_of_result(message: Any, detail: ErrorDetail) -> Failure | None:
    """Returns the failure of a subagent whose tool call has this result; None if the result's status is not `error`."""
    fields = fields_of(message)
    if fields.get("status") != "error":
        return None
    reason = to_text(text_of(fields)) if detail in ("message", "full") else ""
    return Failure(reason or SUBAGENT_NEUTRAL)


def error_event(error: Any, detail: ErrorDetail = "message", *, code: str | None = None) -> Event:
    """Returns a `RUN_ERROR` event for an error in a run, or in the code around the run.

    `error`: an exception, a platform's `{"error": class name, "message": text}`, or a string. `detail`: how much of the
    error is revealed, as in `Options.error_detail`. `code`: replaces the error's own code. Never raises an exception.
    """
    described = failure(error, detail)
    return run_error(described.message, code or described.code, metadata=described.metadata)


def _code(error: Any) -> str | None:
    if issubclass(type(error), BaseException):
        return type(error).__name__
    name = error.get("error") if type(error) is dict else None
    return to_text(name) if isinstance(name, str) and name else None


def _text(read: Callable[[], str]) -> str:
    try:
        return to_text(read())
    except Exception:  # an error is reported even if reading its message raises an exception
        return ""
