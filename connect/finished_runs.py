"""The runs of a thread that have ended, and their events with the times at which they were emitted. No I/O.

A run store may keep the events themselves (`local.store.retention`). Where it does not, the checkpoints show what is
left of a run: its steps, and the messages and the state after each of them. So the events that are made of checkpoints
have whole messages instead of fragments, and no reasoning, no progress of tools and no custom events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson
from langgraph.constants import START

from ..translator import Cancelled, ClientView, Ending, Failed, Finished, Options, Translator
from ..translator import events as agui
from .errors import RunNotFoundError
from .events.encoded import Batches, EncodedEvent, Event
from .run_outcome import CANCELLED, UNFINISHED, stored_error
from .thread_info import Checkpoint, CheckpointTask, FinishedStatus, RunInfo

LOOKED: Final = 64
"""How many checkpoints are read to find runs that are not kept."""
MOST: Final = 1_000
"""How many checkpoints are read to find one run."""
_AT_ONCE: Final = 256
"""Events in one batch."""


def runs_in(checkpoints: Iterable[Checkpoint]) -> list[RunInfo]:
    """Returns the runs that made these checkpoints, in the same order. `checkpoints`: the newest first."""
    runs: dict[str, RunInfo] = {}
    for checkpoint in checkpoints:
        at = _time_of(checkpoint)
        if (run_id := checkpoint.run_id) is None:
            continue
        if run_id in runs:
            runs[run_id] = replace(runs[run_id], started_at=at)
        else:
            runs[run_id] = RunInfo(run_id=run_id, status=_status_after(checkpoint), started_at=at, ended_at=at)
    return list(runs.values())


class OwnCheckpoints(NamedTuple):
    """The checkpoints that a run made.

    - `checkpoints`: these, the oldest first. Empty if the run made none, or if they are gone.
    - `before`: the checkpoint from which the run began; None for the first run of a thread.
    """

    checkpoints: Sequence[Checkpoint] = ()
    before: Checkpoint | None = None


async def checkpoints_of(run_id: str, checkpoints: AsyncGenerator[Checkpoint, None]) -> OwnCheckpoints:
    """Returns the checkpoints that a run made, if they are among the newest `MOST` of its thread. `checkpoints`: those
    of the thread, the newest first. After the run's own, `LOOKED` are read to find the one from which it began, which
    is further back if the run forked there."""
    made, left = list[Checkpoint](), MOST
    async with aclosing(checkpoints):
        async for checkpoint in checkpoints:
            left -= 1
            if checkpoint.run_id == run_id:
                made.append(checkpoint)
                left = LOOKED if made[-1].parent_id is not None else 0
            elif made and checkpoint.id == made[-1].parent_id:
                return OwnCheckpoints(made[::-1], checkpoint)
            if left <= 0:
                break
    return OwnCheckpoints(made[::-1])


def events_of(thread_id: str, run: RunInfo, made: OwnCheckpoints, options: Options) -> list[Event]:
    """Returns the events of a run that its checkpoints show, each with its `timestamp`. Raises `RunNotFoundError` if
    it has none."""
    if not made.checkpoints:
        raise RunNotFoundError("the thread has no run with this id, or nothing is left of it")
    first, last = made.checkpoints[0], made.checkpoints[-1]
    translator = Translator(thread_id, run.run_id, options)
    began_at = run.started_at or _time_of(first)
    events = _at(began_at, translator.start())
    before, at = made.before, began_at
    if before is not None:
        events += _at(at, translator.apply_checkpoint(before.values))
    for checkpoint in made.checkpoints:
        steps = sorted({*before.next} - {START}) if before is not None else []
        events += _at(at, map(agui.step_started, steps))
        before, at = checkpoint, _time_of(checkpoint)
        events += _at(at, translator.apply_checkpoint(checkpoint.values))
        events += _at(at, map(agui.step_finished, steps))
    ended_at = run.ended_at or at
    steps = _unfinished_steps(last)
    events += _at(at, map(agui.step_started, steps))
    events += _at(ended_at, map(agui.step_finished, steps))
    return events + _at(ended_at, translator.finish(_ending(last, run.status)))


def state_at(thread_id: str, checkpoint: Checkpoint, options: Options) -> Any:
    """Returns the state at a checkpoint, as these options show it to a client."""
    values = {name: value for name, value in checkpoint.values.items() if name != options.messages_key}
    view, translator = ClientView(), Translator(thread_id, checkpoint.id, options)
    for event in (*translator.start(), *translator.apply_checkpoint(values)):
        view.apply(event)
    return view.state


def failure_after(checkpoint: Checkpoint) -> Any:
    """Returns the error that a node raised next after a checkpoint, as it is stored; None if none did."""
    return next((stored_error(task.error) for task in checkpoint.tasks if _has_failed(task)), None)


def _unfinished_steps(last: Checkpoint) -> list[str]:
    """Returns the nodes that ran after the last checkpoint of a run, and asked or failed. Clients take the last one for
    the one that failed."""
    return [task.node for task in sorted(last.tasks, key=_has_failed) if task.interrupts or task.error is not None]


def _ending(last: Checkpoint, status: FinishedStatus) -> Ending:
    """Returns how a run ended, by its last checkpoint. `status`: as far as it is known otherwise."""
    interrupts = [interrupt for task in last.tasks if task.error is None for interrupt in task.interrupts]
    if interrupts:
        return Finished(interrupts, last.values)
    if (failure := failure_after(last)) is not None:
        return Failed(failure)
    if status == "cancelled" or any(task.error is not None for task in last.tasks):
        return Cancelled()
    if last.next and status in ("interrupted", "finished"):
        return Finished(state=last.values, at_breakpoint=True)
    return UNFINISHED if last.next else Finished(state=last.values)


def _status_after(last: Checkpoint) -> FinishedStatus:
    """Returns how a run ended, as far as its last checkpoint shows."""
    if any(task.interrupts and task.error is None for task in last.tasks):
        return "interrupted"
    if failure_after(last) is not None:
        return "failed"
    return "unknown" if last.next else "finished"


def _has_failed(task: CheckpointTask) -> bool:
    """Returns whether a node raised an error. A node that was cancelled has one too, which does not count."""
    return task.error is not None and stored_error(task.error) != CANCELLED


async def batches_of(lines: Sequence[bytes]) -> Batches:
    """Yields events that are kept as lines of JSON."""
    for start in range(0, len(lines), _AT_ONCE):
        yield [_encoded(line) for line in lines[start : start + _AT_ONCE]]


def _encoded(line: bytes) -> EncodedEvent:
    return EncodedEvent(orjson.loads(line), frame=b"data: %b\n\n" % line)


def _at(at: datetime | None, events: Iterable[Event]) -> list[Event]:
    return [*events] if at is None else [{**event, "timestamp": round(at.timestamp() * 1_000)} for event in events]


def _time_of(checkpoint: Checkpoint) -> datetime | None:
    """Returns when a checkpoint was made."""
    try:
        return None if checkpoint.created_at is None else datetime.fromisoformat(checkpoint.created_at)
    except ValueError:  # a checkpointer may write anything
        return None
