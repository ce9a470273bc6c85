"""Makes the values that depend on the ending of a run: the failure of the items that are still open, the run's result,
and the terminal event of a run that did not finish. Also adds the number of losses to the terminal event. All functions
are pure.

`Procedures.on_end` closes the items that are open, and `Translator.finish` emits the terminal event.

Rules:

1. If a run is cancelled, or the connection to its source is lost, its open subagents count as failed.
2. A run's result is the result in the ending or, if the ending contains none, the `structured_response` in the last
   values.
3. A failed run leaves a `run_error` activity in the conversation (option `error_activity`), because the client keeps
   activities there, but does not keep a `RUN_ERROR`
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts). A cancelled
   run leaves no such activity. If the connection to a run was lost, there is no such activity either, because the run
   may still be going on.
4. If there were losses in the run (`losses.py`), the terminal event's metadata contains their number, as `{"lost": n}`.
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
"""The message that the client gets for the ending `Lost`. If the option `error_detail` allows it, the reason is
added."""


def failure_of(ending: Ending, detail: ErrorDetail) -> Failure | None:
    """Returns the failure of the items that are still open when a run ends; None if the run finished."""
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
    """Returns the run's result as JSON. `values`: the last values of the root graph."""
    if ending.result is not None:
        return to_json(ending.result)
    return to_json((channels(values) or {}).get("structured_response"))


def failed(ending: Ending, why: Failure | None, thread_id: str, run_id: str, usage: Sequence[Event]) -> Event:
    """Returns the terminal event for a run that did not finish."""
    if why is None or isinstance(ending, Cancelled):
        return events.run_finished(thread_id, run_id, {"type": "cancelled"}, None, usage)
    return events.run_error(why.message, why.code, usage, why.metadata)


def error_activity(ending: Ending, why: Failure | None, run_id: str, options: Options) -> list[Event]:
    """Returns the activity that a failed run leaves (rule 3), or an empty list after any other ending."""
    if why is None or not (options.error_activity and isinstance(ending, Failed)):
        return []
    content = {"runId": run_id, "message": why.message}
    if why.code is not None:
        content["code"] = why.code
    return [events.activity_snapshot(ids.error_id(run_id), ERROR, content)]


def counted(terminal: Event, lost: int) -> Event:
    """Returns the terminal event with the number of losses added to its metadata."""
    return {**terminal, "metadata": {**terminal.get("metadata", {}), "lost": lost}} if lost else terminal
