"""What an ending means: the failure of items that are still open, the run's result, the terminal event of a run that
did not finish, and the number of losses in the terminal event. Pure functions.

`Procedures.end` closes what is open; `Translator.finish` emits the terminal event.

Rules:

1. If a run is cancelled, or its source is lost, its open subagents have failed.
2. The result of a run is the ending's result, or else the `structured_response` of the last values.
3. A run that failed also leaves the activity `run_error` (the option `error_activity`). The client keeps the activity
   in the conversation, while nothing of `RUN_ERROR` remains there. A run that was cancelled does not leave it, and
   neither does a run whose source was lost, because that run may well continue.
4. The terminal event's metadata counts what the client did not get in the run (`losses`): `{"lost": n}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..endings import Cancelled, Ending, Failed, Finished, Lost
from ..jsonable.to_json import to_json
from ..options import ErrorDetail, Options
from ..parts.channels import channels
from ..wire import events, ids
from ..wire.events import Event
from ..wire.older_clients import CANCELLED_MESSAGE
from .error_detail import NEUTRAL, Failure, failure

ERROR: Final = "run_error"
"""The type of the activity that shows why a run failed."""
LOST: Final = "The connection to the run was lost, and the run may continue."
"""What the client is told about an ending `Lost`. The reason follows if the error detail allows it."""


def failure_of(ending: Ending, detail: ErrorDetail) -> Failure | None:
    """The failure of everything that is still open when a run ends; None if the run finished."""
    if isinstance(ending, Finished):
        return None
    if isinstance(ending, Cancelled):
        return Failure(CANCELLED_MESSAGE, Cancelled.code)
    if isinstance(ending, Failed):
        return failure(ending.error, detail)
    why = failure(ending.reason, detail)
    message = LOST if why.message == NEUTRAL else f"{LOST.removesuffix('.')}: {why.message}"
    return why._replace(message=message, code=Lost.code)


def result_of(ending: Finished, values: Any) -> Any:
    """The run's result as JSON. `values`: the last values of the root graph."""
    if ending.result is not None:
        return to_json(ending.result)
    return to_json((channels(values) or {}).get("structured_response"))


def failed(ending: Ending, why: Failure | None, thread_id: str, run_id: str, usage: Sequence[Event]) -> Event:
    """The terminal event of a run that did not finish."""
    if why is None or isinstance(ending, Cancelled):
        return events.run_finished(thread_id, run_id, {"type": "cancelled"}, None, usage)
    return events.run_error(why.message, why.code, usage, why.metadata)


def error_activity(ending: Ending, why: Failure | None, run_id: str, options: Options) -> list[Event]:
    """The activity that a failed run leaves (rule 3); empty after any other ending."""
    if why is None or not (options.error_activity and isinstance(ending, Failed)):
        return []
    content = {"runId": run_id, "message": why.message}
    if why.code is not None:
        content["code"] = why.code
    return [events.activity_snapshot(ids.error_id(run_id), ERROR, content)]


def counted(terminal: Event, lost: int) -> Event:
    """A terminal event with the number of losses in its metadata."""
    return {**terminal, "metadata": {**terminal.get("metadata", {}), "lost": lost}} if lost else terminal
