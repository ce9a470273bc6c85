"""How a run ends, as a value handed to `Translator.finish()`. Values only: nothing here decides anything.

A stream cannot always tell its own end: a platform closes a finished, an interrupted and a cancelled run's stream
alike. Whoever knows (an exception in hand, the platform asked) says so with one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Finished:
    """The run came to its end, or to interrupts.

    `interrupts`: LangGraph `Interrupt` objects or their JSON, in addition to those the stream showed.
    `state`: the thread's values after the run (channels to values), if they are known better than from the stream.
    `result`: what the run returned; None: the `structured_response` of its state, if there is one.
    """

    interrupts: Sequence[Any] = ()
    state: Mapping[str, Any] | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The run raised. `error`: the exception, or a platform's `{"error": class name, "message": text}`, or a text."""

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
