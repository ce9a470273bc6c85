"""Defines the values for `Translator.finish()` that describe how a run ended. They have no behaviour.

A stream does not always show how its run ended. A platform, for example, closes the stream in the same way whether the
run has finished, was interrupted or was cancelled. The caller may know more, because it has caught an exception or has
asked the platform. In that case, it passes one of these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Finished:
    """The run completed, or stopped at interrupts or at a breakpoint.

    `interrupts`: LangGraph `Interrupt` objects or their JSON, in addition to the interrupts in the stream. The JSON may
    contain `tool_call_id`, which is the id of the tool call whose tool raised the interrupt.
    `state`: the thread's values after the run, as a mapping from channel names to values. Pass it if you know newer
    values than the stream contains.
    `result`: the run's result. None means that the result is the `structured_response` in the run's state, if there is
    one.
    `at_breakpoint`: whether the run stopped at a static breakpoint, for which LangGraph raises no interrupt. It is
    ignored if there are interrupts.
    `waiting_messages`: the result of `Translator.waiting_messages`. It contains the messages that the run had emitted
    when it stopped, and that no checkpoint contains, and shows their place among the other messages. Pass it if the
    client did not receive these messages in this stream. The interrupts may name tool calls in these messages.
    """

    interrupts: Sequence[Any] = ()
    state: Mapping[str, Any] | None = None
    result: Any = None
    at_breakpoint: bool = False
    waiting_messages: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The run raised an exception. `error`: the exception, a platform's `{"error": class name, "message": text}`, or a
    string."""

    error: Any


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was stopped on request."""

    code: ClassVar[str] = "cancelled"
    """The `code` in the `RUN_ERROR` for clients that do not know the outcome `cancelled`."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection to the source of the stream was lost, so it is unknown how the run ended. `reason`: a string, or
    the exception that was raised."""

    reason: Any
    code: ClassVar[str] = "lost"
    """The `code` in the `RUN_ERROR`."""


Ending = Finished | Failed | Cancelled | Lost


def as_ending(ending: Ending | BaseException | None) -> Ending | None:
    """Returns the ending that a caller has passed. An exception is wrapped in `Failed`. Raises `TypeError` for
    anything other than an ending, an exception or None."""
    if isinstance(ending, BaseException):
        return Failed(ending)
    if ending is None or isinstance(ending, Ending):
        return ending
    raise TypeError(f"expected Finished, Failed, Cancelled, Lost, an exception or None, got {type(ending).__name__}")
