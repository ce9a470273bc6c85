"""Reads the runs of a thread of a server: those that the server lists, and what its checkpoints show of each. A server
keeps no events of finished runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ...translator import Options
from ..errors import RunNotFoundError, ThreadNotFoundError
from ..events.encoded import Batches, one_batch
from ..finished_runs import checkpoints_of, events_of
from ..thread_info import MOST, FinishedStatus, RunInfo
from .look import client_run_id
from .outcome import ACTIVE

if TYPE_CHECKING:
    from .source import PlatformSource

_STATUSES: Final[Mapping[str, FinishedStatus]] = {"success": "finished", "error": "failed", "timeout": "failed"}
"""The status `interrupted` is that of a cancelled run, and of one that waits at a breakpoint on Aegra."""


async def runs_of(source: PlatformSource, thread_id: str, limit: int) -> list[RunInfo]:
    """Returns the runs of a thread, the newest first, at most `limit`. Raises `ThreadNotFoundError`."""
    runs = await source.thread_at(thread_id).all_runs(limit)
    if runs is None:
        raise ThreadNotFoundError
    return [_info(run) for run in runs]


async def recorded_run(source: PlatformSource, thread_id: str, run_id: str, options: Options) -> Batches:
    """Returns the events of a finished run that its checkpoints show. Raises `RunNotFoundError`."""
    thread = source.thread_at(thread_id)
    runs = await thread.all_runs(MOST) or []
    run = next((run for run in runs if run_id in (client_run_id(run), str(run["run_id"]))), None)
    if run is None:
        raise RunNotFoundError("the thread has no run with this id")
    made = await checkpoints_of(str(run["run_id"]), thread.history())
    return one_batch(events_of(thread_id, _info(run), made, options))


def _info(run: Mapping[str, Any]) -> RunInfo:
    is_active = run.get("status") in ACTIVE
    return RunInfo(
        run_id=client_run_id(run),
        status="running" if is_active else _STATUSES.get(str(run.get("status")), "unknown"),
        started_at=datetime.fromisoformat(str(run["created_at"])),
        ended_at=None if is_active else datetime.fromisoformat(str(run["updated_at"])),
    )
