"""How the last run of a thread ended, and the values of the thread after it: `RunOutcome`. No I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from ..translator import Ending, Failed, Finished, Lost
from .page_calls import questions
from .thread_info import ThreadStatus

_EXCEPTION = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


PastErrors = Literal["error", "custom"]
"""How a run that failed or was cancelled before the reader came is emitted: as it ended (`error`), or as a run that
finished, with the failure in the custom event `past_error` (`custom`). The latter is for pages that raise every
`RUN_ERROR`, and so would raise this one on each load."""

PAST_ERROR = "past_error"

CancelResult = Literal["stopped", "stopping"]
"""Whether the graph of a run has stopped, or is still stopping."""


UNFINISHED = Failed({"error": "unfinished"})
"""The ending of a run of which nothing else is known. The translator has the message for this code."""


CANCELLED: Final = {"error": "CancelledError", "message": ""}
"""What `stored_error` returns for a task that was cancelled."""


class Subgraph(NamedTuple):
    """A subgraph that waits for an answer. The values of the thread do not contain its values yet."""

    ns: tuple[str, ...]
    values: Any
    interrupts: tuple[Any, ...]
    """The interrupts that it waits at; empty at a static breakpoint."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The last run of a thread: its id, the values of the thread after it, and how it ended."""

    run_id: str
    values: Any
    ending: Ending
    stopped: bool = False
    """Whether it stopped at a static breakpoint."""
    is_undone: bool = False
    """Whether it was rolled back, so that the values are those of the thread before the run."""
    checkpoint_id: str | None = None
    """The checkpoint of the values, if only this identifies the run."""
    is_input: bool = False
    """Whether that is the checkpoint of a run's input, after which no node has finished yet."""
    waiting: Sequence[Subgraph] = ()
    """The subgraphs that wait for an answer, outer ones first."""
    waiting_messages: Sequence[dict[str, Any]] = ()
    """The messages of a run that waits for an answer that are in no checkpoint yet, as a client has them. Only the run
    store of local graphs knows them."""
    number: int = 0
    """Its number among the runs of its thread, as in `Offset.run`; 0 if it is not known."""

    @property
    def status(self) -> ThreadStatus:
        """The status of the thread whose last run this is."""
        if isinstance(self.ending, Failed | Lost):
            return "failed"
        return "waiting" if self.stopped or questions(self.interrupts) else "idle"

    @property
    def interrupts(self) -> Sequence[Any]:
        """The interrupts at which it waits, for a person or for the page."""
        return self.ending.interrupts if isinstance(self.ending, Finished) else ()


def written_as(checkpoint_id: str) -> str:
    """Returns the run id for a checkpoint that was not written by a known run."""
    return f"checkpoint-{checkpoint_id}"


def was_written(metadata: Mapping[str, Any] | None) -> bool:
    """Returns whether a checkpoint with these metadata was written by `update_state`, not by a run."""
    return (metadata or {}).get("source") in ("update", "fork")


def stored_error(error: Any) -> Any:
    """Returns the class name and the message of a task's error, which a checkpoint keeps as the `repr` of the
    exception. Returns any other value unchanged."""
    if not isinstance(error, str):
        return error
    match = _EXCEPTION.fullmatch(error)
    if match is None:
        return error
    name, arguments = match.groups()
    try:
        message = ast.literal_eval(arguments) if arguments else ""
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        message = arguments
    return {"error": name, "message": str(message)}
