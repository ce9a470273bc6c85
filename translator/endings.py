"""How a run ends, as a value for `Translator.finish()`. These are values only: nothing here makes a decision.

A stream does not always show how its run ended: a platform closes the stream of a finished, an interrupted and a
cancelled run in the same way. A caller that knows more, because it has caught an exception or asked the platform,
passes one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Finished:
    """The run came to its end, or stopped at interrupts.

    `interrupts`: LangGraph `Interrupt` objects or their JSON, in addition to those of the stream.
    `state`: the thread's values after the run, by channel, if the caller knows them better than the stream does.
    `result`: what the run returned; None means the `structured_response` of its state, if it has one.
    `at_breakpoint`: whether the run stopped at a static breakpoint, which has no interrupt. It has no effect if there
    are interrupts.
    """

    interrupts: Sequence[Any] = ()
    state: Mapping[str, Any] | None = None
    result: Any = None
    at_breakpoint: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The run raised. `error`: the exception, a platform's `{"error": class name, "message": text}`, or a text."""

    error: Any


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was stopped on request."""

    code: ClassVar[str] = "cancelled"
    """The code of its `RUN_ERROR`, for clients that do not know the outcome `cancelled`."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The source vanished; what became of the run is unknown. `reason`: a text, or the exception that was raised."""

    reason: Any
    code: ClassVar[str] = "lost"
    """The code of its `RUN_ERROR`."""


Ending = Finished | Failed | Cancelled | Lost


def as_ending(ending: Ending | BaseException | None) -> Ending | None:
    """The ending that a caller means: an exception is the failure of the run. Raises `TypeError` for anything but an
    ending, an exception or None."""
    if isinstance(ending, BaseException):
        return Failed(ending)
    if ending is None or isinstance(ending, Ending):
        return ending
    raise TypeError(f"expected Finished, Failed, Cancelled, Lost, an exception or None, got {type(ending).__name__}")
