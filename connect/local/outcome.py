"""How the last run of a local thread ended, read off its newest checkpoint and what this process remembers. Pure.

A checkpoint does not say how its run ended. The first of these that is known decides:

| what is known | it ended |
|---|---|
| this process ran it, and it failed | in its error |
| interrupts are pending, of tasks that did not fail | at these interrupts |
| this process ran it, and it was cancelled, or stopped at a breakpoint | so |
| the checkpoint was written by `update_state` | well: nothing ran |
| a task's error is stored | in that error; as cancelled, if the task was |
| nothing is next | well |
| the graph was compiled to stop where it stands | at a breakpoint |
| none of these | unknown: it was killed, or another process runs it. `RUN_ERROR`, code `unfinished` |

A run that failed, or was cancelled, before it wrote a checkpoint left the one it began with, in which another run's id
stands. So what is remembered counts if the checkpoint is of that run, or older than it. If it left none at all, what is
remembered is all there is (`outcome_without_checkpoint`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from langgraph.types import PregelTask, StateSnapshot

from ...translator import Cancelled, Ending, Failed, Finished
from ..run_outcome import RunOutcome, Subgraph, stored_error, was_written, written_as
from .active_run import LastRun

UNFINISHED = Failed(
    {
        "error": "unfinished",
        "message": "The thread's last run did not come to its end, or continues in another process.",
    }
)
"""The end of a run of which only that is known."""


def ended(state: StateSnapshot, remembered: LastRun | None, *, stops: bool) -> RunOutcome:
    """How the thread's last run ended.

    `state`: the newest one, with a checkpoint. `remembered`: how the last run ended that this process ran there.
    `stops`: whether the graph was compiled to stop where it stands.
    """
    last = remembered if remembered is not None and _is_newest(remembered, state) else None
    run_id = _run_id(state) if last is None else last.run_id
    ending, stopped = _ending(state, last, stops)
    if isinstance(ending, Finished):
        ending = Finished(pending(state), state.values)
    is_input = _metadata(state).get("source") == "input"
    return RunOutcome(
        run_id,
        state.values,
        ending,
        stopped,
        checkpoint_id=_checkpoint_id(state),
        is_input=is_input,
        waiting=subgraphs(state) if isinstance(ending, Finished) else (),
    )


def outcome_without_checkpoint(remembered: LastRun | None) -> RunOutcome | None:
    """How the last run ended of a thread without a checkpoint: of one that failed, or was cancelled, before it wrote
    any. None for a thread that is unknown, or was deleted."""
    if remembered is None or isinstance(remembered.ending, Finished):
        return None
    return RunOutcome(remembered.run_id, {}, remembered.ending)


def needs_stops(state: StateSnapshot, remembered: LastRun | None) -> bool:
    """Whether `ended` depends on `stops`: that takes a question to find out."""
    return ended(state, remembered, stops=True) != ended(state, remembered, stops=False)


def _ending(state: StateSnapshot, last: LastRun | None, stops: bool) -> tuple[Ending, bool]:
    """The ending, and whether it is a static breakpoint's."""
    if last is not None and isinstance(last.ending, Failed):
        return last.ending, False
    if pending(state):
        return Finished(), False
    if last is not None:
        # langgraph 1.0 does not show a task's second question as pending: then all that is known is that it waits
        return last.ending, last.is_at_breakpoint or last.is_interrupted
    if was_written(state.metadata):
        return Finished(), False
    failed = _failed(state)
    if failed is not None:
        return failed, False
    if not state.next:
        return Finished(), False
    return (Finished(), True) if stops else (UNFINISHED, False)


def pending(state: StateSnapshot) -> list[Any]:
    """The interrupts that wait. langgraph 1.0 also lists those of tasks that have been answered and are done; there a
    task that has only been answered has an empty result. One that failed was answered too: it asks nothing more."""
    waiting = [task for task in state.tasks if task.result is None or (type(task.result) is dict and not task.result)]
    return [interrupt for task in waiting if not _failures([task]) for interrupt in task.interrupts]


def subgraphs(state: StateSnapshot) -> list[Subgraph]:
    """The subgraphs that wait, if the state was asked for with theirs."""
    found: list[Subgraph] = []
    for task in state.tasks:
        inner = task.state
        if isinstance(inner, StateSnapshot) and inner.next and task.error is None:
            ns = str(inner.config["configurable"].get("checkpoint_ns") or "")
            found += [Subgraph(tuple(ns.split("|")), inner.values, tuple(pending(inner))), *subgraphs(inner)]
    return found


def _failed(state: StateSnapshot) -> Ending | None:
    """What the tasks' stored errors say. They are stored as `repr` gives them."""
    failures = _failures(state.tasks)
    if failures:
        return Failed(failures[0])
    return Cancelled() if any(task.error is not None for task in state.tasks) else None


def _failures(tasks: Iterable[PregelTask]) -> list[Any]:
    """The errors of tasks that were not cancelled."""
    errors = [stored_error(task.error) for task in tasks if task.error is not None]
    return [error for error in errors if error != {"error": "CancelledError", "message": ""}]


def _is_newest(remembered: LastRun, state: StateSnapshot) -> bool:
    """Whether no other run than the remembered one came after it, as far as the checkpoint shows."""
    if _metadata(state).get("run_id") == remembered.run_id:
        return True
    try:
        made = datetime.fromisoformat(str(state.created_at))
    except ValueError:
        return False
    return (made if made.tzinfo is not None else made.replace(tzinfo=UTC)) <= remembered.started_at


def _run_id(state: StateSnapshot) -> str:
    """The id of the run that made the checkpoint, or one derived from the checkpoint, the same each time."""
    run_id = _metadata(state).get("run_id")
    return str(run_id) if run_id else written_as(_checkpoint_id(state))


def _checkpoint_id(state: StateSnapshot) -> str:
    return str(state.config["configurable"].get("checkpoint_id"))


def _metadata(state: StateSnapshot) -> Mapping[str, Any]:
    return state.metadata or {}
