"""What an ending means: the failure of what is open, the run's result, the losses in the terminal event. Pure.

`Procedures.end` closes what is open, and gives the terminal event.

Rules:

1. A run that is cancelled, or whose source is lost, has failed for its open subagents.
2. The result is the ending's, or else the `structured_response` of the last values.
3. What the client did not get in the run (`losses`) is counted in the terminal event's metadata: `{"lost": n}`.
"""

from __future__ import annotations

from typing import Any

from ..endings import Cancelled, Ending, Failed, Finished, Lost
from ..jsonable.to_json import to_json
from ..options import ErrorDetail
from ..parts.channels import channels
from ..wire.events import Event
from ..wire.older_clients import CANCELLED_MESSAGE
from .error_detail import Failure, failure


def failure_of(ending: Ending, detail: ErrorDetail) -> Failure | None:
    """The failure that an ending means for what is still open; None if the run finished."""
    if isinstance(ending, Finished):
        return None
    if isinstance(ending, Cancelled):
        return Failure(CANCELLED_MESSAGE, Cancelled.code)
    if isinstance(ending, Failed):
        return failure(ending.error, detail)
    return failure(ending.reason, detail)._replace(code=Lost.code)


def result_of(ending: Finished, values: Any) -> Any:
    """The run's result as JSON; `values`: the last of the root."""
    if ending.result is not None:
        return to_json(ending.result)
    return to_json((channels(values) or {}).get("structured_response"))


def counted(terminal: Event, lost: int) -> Event:
    """A terminal event with the number of losses in its metadata."""
    return {**terminal, "metadata": {**terminal.get("metadata", {}), "lost": lost}} if lost else terminal
