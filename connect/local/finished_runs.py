"""Reads the runs of a thread of this process: those that the run store keeps, and those that its checkpoints show.

Whoever may use a thread may read its runs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from ...translator import Options
from ..errors import ThreadNotFoundError, log_context
from ..events.encoded import Batches, one_batch
from ..finished_runs import LOOKED, OwnCheckpoints, batches_of, checkpoints_of, events_of, runs_in
from ..thread_info import Checkpoint, RunInfo, first_checkpoints
from .checkpointers import has_checkpointer, reading
from .checkpoints.history import history
from .store.retention import KeptRun, lines_of
from .thread import LocalThread

if TYPE_CHECKING:
    from .source import GraphSource


async def runs_of(source: GraphSource, thread_id: str, limit: int) -> list[RunInfo]:
    """Returns the runs of a thread, the newest first, at most `limit`. Raises `ThreadNotFoundError`."""
    await source.prepare(thread_id)
    runs: dict[str, RunInfo] = {}
    with reading(log_context(source.agent or source.graph, thread_id)):
        thread = LocalThread(source, thread_id)
        if await thread.may_be_used():
            if (active := await thread.active()) is not None:
                runs[active.run_id] = RunInfo(run_id=active.run_id, status=active.status)
            for kept in await thread.finished_runs():
                runs.setdefault(kept.run_id, _info(kept))
            if len(runs) < limit and has_checkpointer(source.graph):
                for made in runs_in(await first_checkpoints(await _history(thread), LOOKED)):
                    runs.setdefault(made.run_id, made)
    if not runs:
        raise ThreadNotFoundError
    return sorted(runs.values(), key=_age)[:limit]


async def recorded_run(source: GraphSource, thread_id: str, run_id: str, options: Options) -> Batches:
    """Returns the events of a finished run, each with its `timestamp`. Raises `RunNotFoundError`."""
    await source.prepare(thread_id, run_id)
    made, run = OwnCheckpoints(), RunInfo(run_id=run_id, status="unknown")
    with reading(log_context(source.agent or source.graph, thread_id, run_id)):
        thread = LocalThread(source, thread_id)
        if await thread.may_be_used():
            kept = next((kept for kept in await thread.finished_runs() if kept.run_id == run_id), None)
            run = run if kept is None else _info(kept)
            if kept is not None and (stored := await source.runs.store.finished_events(thread.key, kept.number)):
                return batches_of(await asyncio.to_thread(lines_of, stored, thread.key.cipher))
            if has_checkpointer(source.graph):
                made = await checkpoints_of(run_id, await _history(thread))
    return one_batch(events_of(thread_id, run, made, options))


async def _history(thread: LocalThread) -> AsyncGenerator[Checkpoint, None]:
    config = {"configurable": {"thread_id": thread.id, "checkpoint_ns": ""}}
    return history(await thread.graph(), config, thread.source.read_timeout)


def _info(kept: KeptRun) -> RunInfo:
    return RunInfo(
        run_id=kept.run_id,
        status=kept.status,
        started_at=kept.started_at,
        ended_at=kept.ended_at,
        events=kept.events,
        size=kept.size,
    )


def _age(run: RunInfo) -> float:
    """Returns a number that is smaller for a newer run. An active run is the newest."""
    return -math.inf if run.started_at is None else -run.started_at.timestamp()
