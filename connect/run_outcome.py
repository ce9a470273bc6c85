"""How the last run of a thread ended, and what the thread has after it: `RunOutcome`. No I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..translator import Ending, Failed, Finished, Lost
from .thread_info import ThreadStatus

_EXCEPTION = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


PastErrors = Literal["error", "custom"]
"""How a run is emitted that failed or was cancelled before the reader came: as it ended (`error`), or as a run that
finished, with the failure in the custom event `past_error` (`custom`): for pages that raise every `RUN_ERROR`, this one
on each load."""

PAST_ERROR = "past_error"

CancelResult = Literal["stopped", "stopping"]
"""Whether a run has stopped, or its graph has not yet."""


UNFINISHED = Failed(
    {
        "error": "unfinished",
        "message": "The thread's last run did not come to its end, or continues in another process.",
    }
)
"""The end of a run of which only that is known."""


class Subgraph(NamedTuple):
    """A subgraph that waits for an answer: its values are not in its thread's yet."""

    ns: tuple[str, ...]
    values: Any
    interrupts: tuple[Any, ...]
    """What waits there; nothing at a static breakpoint."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The last run of a thread: its id, the values of the thread after it, and how it ended."""

    run_id: str
    values: Any
    ending: Ending
    stopped: bool = False
    """Whether it stopped at a static breakpoint."""
    is_undone: bool = False
    """Whether it was rolled back: the values are those of the thread before it."""
    checkpoint_id: str | None = None
    """The checkpoint of the values, where only that identifies the run."""
    is_input: bool = False
    """Whether that is the checkpoint of a run's input: no node of the run has finished yet."""
    waiting: Sequence[Subgraph] = ()
    """The subgraphs that wait for an answer, outer ones first."""
    waiting_messages: Sequence[dict[str, Any]] = ()
    """What the run said and no checkpoint has, if it waits for an answer, as a client's messages. The run store of
    local graphs knows it; a platform does not."""
    number: int = 0
    """Its number among the runs of its thread, as in `Offset.run`; 0 if that is not known."""

    @property
    def status(self) -> ThreadStatus:
        """The status of the thread whose last run this is."""
        if isinstance(self.ending, Failed | Lost):
            return "failed"
        return "waiting" if self.stopped or (isinstance(self.ending, Finished) and self.ending.interrupts) else "idle"


def written_as(checkpoint_id: str) -> str:
    """The run id for a checkpoint that no known run wrote."""
    return f"checkpoint-{checkpoint_id}"


def was_written(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a checkpoint with this metadata was written by `update_state`, not by a run."""
    return (metadata or {}).get("source") in ("update", "fork")


def stored_error(error: Any) -> Any:
    """A task's error as checkpoints keep it, which is what `repr` gives, taken apart; anything else as it is."""
    if not isinstance(error, str):
        return error
    match = _EXCEPTION.fullmatch(error)
    if match is None:
        return error
    name, given = match.groups()
    try:
        message = ast.literal_eval(given) if given else ""
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        message = given
    return {"error": name, "message": str(message)}
