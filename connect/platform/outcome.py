"""How a platform's run ended, read off what the server says of the run and its thread. Pure; never asks.

A platform's stream ends alike after success, an interrupt, a cancel and a rollback. They differ (measured on
`langgraph dev` and Aegra) in:

| the run | the thread's state | it ended |
|---|---|---|
| error, timeout | | in an error: the thread's `error`, or a task's |
| (whatever else) | `interrupts` | at these interrupts |
| interrupted | no interrupts | cancelled; or, if its thread waits and has no error, at a breakpoint (Aegra) |
| success | `next`, but no interrupts | at a breakpoint |
| success | nothing next | well |
| gone (rolled back) | as before the run | cancelled |

A state that was written after the run (`update_state`) shows no failure any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...translator import Cancelled, Ending, Failed, Finished
from ..asking_tools import with_calls
from ..run_outcome import RunOutcome, Subgraph, stored_error, was_written

ACTIVE = frozenset({"pending", "running"})
"""The statuses of a run that has not ended."""

_FAILED = frozenset({"error", "timeout"})


def run_outcome(
    run: Mapping[str, Any] | None, state: Mapping[str, Any], thread: Mapping[str, Any], *, run_id: str
) -> RunOutcome:
    """How a run ended.

    `run`: the run, None if there is none, or none any more. `state`, `thread`: the thread's newest state, and itself.
    `run_id`: the id of the outcome. Where the state is a later run's, it shows nothing of this one.
    """
    if run is not None and not is_of(state, run_id):
        return RunOutcome(run_id, None, _by_status(run, thread={}, state={}) or Finished())
    values = state.get("values") or {}
    interrupts = interrupts_of(state)
    written = was_written(state.get("metadata"))
    if run is not None and not written and not (interrupts and run.get("status") not in _FAILED):
        ending = _by_status(run, thread, state)
        if ending is not None:
            return RunOutcome(run_id, values, ending)
    stopped = bool(state.get("next")) and not interrupts and run is not None and not written
    ending = Finished(with_calls(interrupts, state), values)
    return RunOutcome(run_id, values, ending, stopped, waiting=subgraphs(state))


def _by_status(run: Mapping[str, Any], thread: Mapping[str, Any], state: Mapping[str, Any]) -> Ending | None:
    """The ending that a run's status shows; None for success, and for a pause on a server that calls it so."""
    status = run.get("status")
    error = thread.get("error") or _task_error(state)
    if status in _FAILED:
        return Failed(error or {"error": str(status), "message": f"The run ended with the status {status!r}."})
    paused = thread.get("status") == "interrupted" and bool(state.get("next"))
    if status == "interrupted" and (error or not paused):
        return Cancelled()
    return None


def paused(run: Mapping[str, Any], state: Mapping[str, Any], thread: Mapping[str, Any]) -> RunOutcome | None:
    """How a thread's newest run ended that made no state: at what its thread waits for still. An answer to one of
    several interrupts makes none. None if it ended otherwise."""
    waiting = interrupts_of(state) if thread.get("status") == "interrupted" and not thread.get("error") else []
    if not waiting or run.get("status") in _FAILED:
        return None
    return RunOutcome(str(run["run_id"]), None, Finished(with_calls(waiting, state)))


def is_of(state: Mapping[str, Any], run_id: str) -> bool:
    """Whether this run made the thread's newest state, or whether that is not known."""
    maker = (state.get("metadata") or {}).get("run_id")
    return maker is None or maker == run_id


def interrupts_of(state: Mapping[str, Any]) -> list[Any]:
    """What of a thread's state waits for an answer."""
    interrupts = list(state.get("interrupts") or ())
    if interrupts:
        return interrupts
    return [interrupt for task in state.get("tasks") or () for interrupt in task.get("interrupts") or ()]


def subgraphs(state: Mapping[str, Any]) -> list[Subgraph]:
    """The subgraphs that wait, if the state was asked for with theirs."""
    waiting: list[Subgraph] = []
    for task in state.get("tasks") or ():
        inner = task.get("state")
        if isinstance(inner, Mapping) and inner.get("next") and not task.get("error"):
            ns = str((inner.get("checkpoint") or {}).get("checkpoint_ns") or "")
            waiting.append(Subgraph(tuple(ns.split("|")), inner.get("values"), tuple(interrupts_of(inner))))
            waiting += subgraphs(inner)
    return waiting


def _task_error(state: Mapping[str, Any]) -> Any:
    errors = [stored_error(task["error"]) for task in state.get("tasks") or () if task.get("error")]
    return errors[0] if errors else None
