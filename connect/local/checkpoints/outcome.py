"""`outcome_of` finds out how the last run of a local thread ended, by the newest checkpoint and the run store. Pure.

A checkpoint does not say how its run ended. The first row that applies decides:

| what is known | it ended |
|---|---|
| the run store has its end, and it failed | in its error |
| interrupts are pending, of tasks that did not fail | at these interrupts |
| the run store has its end | as the store says: cancelled, at a breakpoint, or well |
| the checkpoint was written by `update_state` | well: nothing ran |
| a task's error is stored | in that error; or cancelled, if the task was |
| no node is next | well |
| the graph was compiled to stop where the checkpoint is, or its run was asked to | at a breakpoint |
| none of these | unknown: it was killed, or another process runs it. `RUN_ERROR`, code `unfinished` |

If a run failed, or was cancelled, before it wrote a checkpoint, the newest checkpoint is the one that it began with,
which has another run's id. So the end in the store counts if the checkpoint belongs to that run, or is older than the
run. If a thread has no checkpoint, only the store knows how its last run ended (`outcome_without_checkpoint`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from langgraph.types import PregelTask, StateSnapshot

from ....translator import Cancelled, Ending, Failed, Finished
from ...asking_tools import with_calls
from ...run_outcome import CANCELLED, UNFINISHED, RunOutcome, Subgraph, stored_error, was_written, written_as
from ..store.active_run import LastRun


def outcome_of(state: StateSnapshot, stored: LastRun | None, *, stops: bool) -> RunOutcome:
    """Returns how the thread's last run ended.

    - `state`: the newest state, which has a checkpoint.
    - `stored`: how the last run ended, as the run store has kept it.
    - `stops`: whether the run was to stop where the state is.
    """
    last = stored if stored is not None and _is_newest(stored, state) else None
    run_id = _run_id(state) if last is None else last.run_id
    ending, stopped = _ending(state, last, stops)
    if isinstance(ending, Finished):
        asked = with_calls(pending(state), _as_json(state), {} if last is None else last.asking_calls)
        ending = Finished(asked, state.values)
    is_input = _metadata(state).get("source") == "input"
    return RunOutcome(
        run_id,
        state.values,
        ending,
        stopped,
        checkpoint_id=_checkpoint_id(state),
        is_input=is_input,
        waiting=subgraphs(state) if isinstance(ending, Finished) else (),
        waiting_messages=last.waiting_messages if last is not None and (stopped or pending(state)) else (),
    )


def outcome_without_checkpoint(stored: LastRun | None) -> RunOutcome | None:
    """Returns how the last run of a thread without a checkpoint ended: it failed, or was cancelled, before it wrote
    one. Returns None if the thread is unknown, or was deleted."""
    if stored is None or isinstance(stored.ending, Finished):
        return None
    return RunOutcome(stored.run_id, {}, stored.ending)


def needs_stops(state: StateSnapshot, stored: LastRun | None) -> bool:
    """Returns whether the result of `outcome_of` depends on `stops`, since finding that out may take a read."""
    return outcome_of(state, stored, stops=True) != outcome_of(state, stored, stops=False)


def _ending(state: StateSnapshot, last: LastRun | None, stops: bool) -> tuple[Ending, bool]:
    """Returns the ending, and whether the run stopped at a static breakpoint."""
    if last is not None and isinstance(last.ending, Failed):
        return last.ending, False
    if pending(state):
        return Finished(), False
    if last is not None:
        # langgraph 1.0 does not show a task's second question as pending: then it is only known that the task waits
        return last.ending, last.is_at_breakpoint or last.is_interrupted
    if was_written(state.metadata):
        return Finished(), False
    failed = _ending_of_errors(state)
    if failed is not None:
        return failed, False
    if not state.next:
        return Finished(), False
    return (Finished(), True) if stops else (UNFINISHED, False)


def pending(state: StateSnapshot) -> list[Any]:
    """Returns the interrupts that wait for an answer. LangGraph 1.0 also lists the interrupts of tasks that are done;
    there, a task that was answered and has not finished has an empty result. The interrupts of a task that failed have
    been answered."""
    waiting = [task for task in state.tasks if task.result is None or (type(task.result) is dict and not task.result)]
    return [interrupt for task in waiting if not _failures([task]) for interrupt in task.interrupts]


def _as_json(state: StateSnapshot) -> Mapping[str, Any]:
    """Returns the state in the form in which a platform returns it, as far as `with_calls` reads it."""
    tasks = [task._asdict() for task in state.tasks]
    for task in tasks:
        task["state"] = _as_json(task["state"]) if isinstance(task["state"], StateSnapshot) else None
    return {"values": state.values, "tasks": tasks}


def subgraphs(state: StateSnapshot, *, failed: bool = False) -> list[Subgraph]:
    """Returns the subgraphs that wait, if the state was read with the states of its subgraphs. `failed`: whether those
    that raised, or were cancelled, count too."""
    waiting: list[Subgraph] = []
    for task in state.tasks:
        inner = task.state
        if isinstance(inner, StateSnapshot) and inner.next and (failed or task.error is None):
            ns = str(inner.config["configurable"].get("checkpoint_ns") or "")
            waiting.append(Subgraph(tuple(ns.split("|")), inner.values, tuple(pending(inner))))
            waiting += subgraphs(inner, failed=failed)
    return waiting


def _ending_of_errors(state: StateSnapshot) -> Ending | None:
    """Returns the ending that the stored errors of tasks say. They are stored as their `repr`."""
    failures = _failures(state.tasks)
    if failures:
        return Failed(failures[0])
    return Cancelled() if any(task.error is not None for task in state.tasks) else None


def _failures(tasks: Iterable[PregelTask]) -> list[Any]:
    """Returns the errors of tasks that were not cancelled."""
    errors = [stored_error(task.error) for task in tasks if task.error is not None]
    return [error for error in errors if error != CANCELLED]


def _is_newest(stored: LastRun, state: StateSnapshot) -> bool:
    """Returns whether no run came after the stored one, as far as the checkpoint shows."""
    if _metadata(state).get("run_id") == stored.run_id:
        return True
    try:
        made = datetime.fromisoformat(str(state.created_at))
    except ValueError:
        return False
    return (made if made.tzinfo is not None else made.replace(tzinfo=UTC)) <= stored.started_at


def _run_id(state: StateSnapshot) -> str:
    """Returns the id of the run that made the checkpoint, or one that is derived from the checkpoint's id."""
    run_id = _metadata(state).get("run_id")
    return str(run_id) if run_id else written_as(_checkpoint_id(state))


def _checkpoint_id(state: StateSnapshot) -> str:
    return str(state.config["configurable"].get("checkpoint_id"))


def _metadata(state: StateSnapshot) -> Mapping[str, Any]:
    return state.metadata or {}
