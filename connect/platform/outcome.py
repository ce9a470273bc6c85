"""Decides how a platform's run ended, by the server's answers about the run and its thread. Pure.

A platform's stream ends in the same way after success, an interrupt, a cancellation and a rollback. The answers differ
(measured on `langgraph dev` and Aegra):

| status of the run | the thread's state has | the run ended |
|---|---|---|
| error, timeout | | with an error: the thread's `error`, or a task's |
| any other | `interrupts` | at these interrupts |
| interrupted | no interrupts | cancelled; or at a breakpoint, if its thread waits and has no error (Aegra) |
| success | `next`, but no interrupts | at a breakpoint |
| success | no `next` | with success |
| the run is gone (rolled back) | the same as before the run | cancelled |

A state that was written after the run (`update_state`) does not show its failure any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """Returns how a run ended.

    `run`: None if there is no run, or it is gone. `state`, `thread`: the thread's newest state, and the thread itself.
    `run_id`: the id of the outcome. If a later run made the state, only the status of this run counts.
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
    """Returns the ending that a run's status shows; None for success, and for a pause that the server calls
    `interrupted`."""
    status = run.get("status")
    error = thread.get("error") or _task_error(state)
    if status in _FAILED:
        return Failed(error or {"error": str(status), "message": f"The run ended with the status {status!r}."})
    paused = thread.get("status") == "interrupted" and bool(state.get("next"))
    if status == "interrupted" and (error or not paused):
        return Cancelled()
    return None


def paused(run: Mapping[str, Any], state: Mapping[str, Any], thread: Mapping[str, Any]) -> RunOutcome | None:
    """Returns the outcome of a thread's newest run if it made no state and its thread still waits at interrupts; None
    otherwise. An answer to one of several interrupts makes no state, but is in the values of the state that waits.

    After a run that has succeeded, the status of the thread is not looked at, because `langgraph dev` calls a thread
    `idle` if its interrupts are in subgraphs."""
    is_waiting = thread.get("status") == "interrupted" or run.get("status") == "success"
    waiting = interrupts_of(state) if is_waiting and not thread.get("error") else []
    if not waiting or run.get("status") in _FAILED:
        return None
    values = state.get("values") or {}
    ending = Finished(with_calls(waiting, state), values)
    return RunOutcome(str(run["run_id"]), values, ending, waiting=subgraphs(state))


def is_of(state: Mapping[str, Any], run_id: str) -> bool:
    """Returns whether this run made the thread's newest state. Also True if the state does not say who made it."""
    maker = (state.get("metadata") or {}).get("run_id")
    return maker is None or maker == run_id


def interrupts_of(state: Mapping[str, Any]) -> list[Any]:
    """Returns the pending interrupts in a thread's state."""
    interrupts = list(state.get("interrupts") or ())
    if interrupts:
        return interrupts
    return [interrupt for task in state.get("tasks") or () for interrupt in task.get("interrupts") or ()]


def subgraphs(state: Mapping[str, Any], before: str | None = None) -> list[Subgraph]:
    """Returns the subgraphs that wait, if the state was requested with those of its subgraphs. `before`: the id of a
    run that may be active. Subgraphs in which it runs, or has run, are left out, so that those remain that were waiting
    before it."""
    return [subgraph for subgraph, inner in unfinished_subgraphs(state) if before is None or not is_of(inner, before)]


def unfinished_subgraphs(state: Mapping[str, Any]) -> Iterator[tuple[Subgraph, Mapping[str, Any]]]:
    """Yields the subgraphs that have begun and not ended, outer ones first, each with its state."""
    for task in state.get("tasks") or ():
        inner = task.get("state")
        if isinstance(inner, Mapping) and inner.get("next") and not task.get("error"):
            ns = str((inner.get("checkpoint") or {}).get("checkpoint_ns") or "")
            yield Subgraph(tuple(ns.split("|")), inner.get("values"), tuple(interrupts_of(inner))), inner
            yield from unfinished_subgraphs(inner)


def _task_error(state: Mapping[str, Any]) -> Any:
    errors = [stored_error(task["error"]) for task in state.get("tasks") or () if task.get("error")]
    return errors[0] if errors else None
