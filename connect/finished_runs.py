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
from typing import Final

import orjson
from langgraph.constants import START

from ..translator import Finished, Options, Translator
from ..translator import events as agui
from .errors import RunNotFoundError
from .events.encoded import Batches, EncodedEvent, Event
from .run_outcome import UNFINISHED
from .thread_info import Checkpoint, FinishedStatus, RunInfo

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
            status: FinishedStatus = "unknown" if checkpoint.next else "finished"
            runs[run_id] = RunInfo(run_id=run_id, status=status, started_at=at, ended_at=at)
    return list(runs.values())


async def checkpoints_of(run_id: str, checkpoints: AsyncGenerator[Checkpoint, None]) -> list[Checkpoint]:
    """Returns the checkpoints that a run made, the oldest first, if they are among the newest `MOST` of its thread.
    `checkpoints`: those of the thread, the newest first."""
    made, read = list[Checkpoint](), 0
    async with aclosing(checkpoints):
        async for checkpoint in checkpoints:
            read += 1
            if checkpoint.run_id == run_id:
                made.append(checkpoint)
            elif made or read == MOST:
                break
    return made[::-1]


def events_of(thread_id: str, run_id: str, checkpoints: Sequence[Checkpoint], options: Options) -> list[Event]:
    """Returns the events of a run that its checkpoints show, each with its `timestamp`. `checkpoints`: the oldest
    first. Raises `RunNotFoundError` if there are none."""
    if not checkpoints:
        raise RunNotFoundError("the thread has no run with this id, or nothing is left of it")
    translator = Translator(thread_id, run_id, options)
    events = _at(checkpoints[0], translator.start())
    before: Checkpoint | None = None
    for checkpoint in checkpoints:
        steps = sorted({*before.next} - {START}) if before is not None else []
        if before is not None:
            events += _at(before, map(agui.step_started, steps))
        events += _at(checkpoint, translator.apply_checkpoint(checkpoint.values))
        events += _at(checkpoint, map(agui.step_finished, steps))
        before = checkpoint
    ending = UNFINISHED if checkpoints[-1].next else Finished(state=checkpoints[-1].values)
    return events + _at(checkpoints[-1], translator.finish(ending))


async def batches_of(lines: Sequence[bytes]) -> Batches:
    """Yields events that are kept as lines of JSON."""
    for start in range(0, len(lines), _AT_ONCE):
        yield [_encoded(line) for line in lines[start : start + _AT_ONCE]]


def _encoded(line: bytes) -> EncodedEvent:
    return EncodedEvent(orjson.loads(line), frame=b"data: %b\n\n" % line)


def _at(checkpoint: Checkpoint, events: Iterable[Event]) -> list[Event]:
    at = _time_of(checkpoint)
    return [*events] if at is None else [{**event, "timestamp": round(at.timestamp() * 1_000)} for event in events]


def _time_of(checkpoint: Checkpoint) -> datetime | None:
    """Returns when a checkpoint was made."""
    try:
        return None if checkpoint.created_at is None else datetime.fromisoformat(checkpoint.created_at)
    except ValueError:  # a checkpointer may write anything
        return None
