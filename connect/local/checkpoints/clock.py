"""`wait_for_clock` checks that the clock of this process allows it to write a thread, before a run is claimed or a
state is updated.

LangGraph orders the checkpoints of a thread by their ids, which are UUIDs of version 6: they begin with the time at
which they were made (https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-6). If the clock of a process was set
back, or is behind that of the process that wrote the thread before, its new checkpoints count as older. LangGraph then
reads the previous state, and a run that ended well is lost. So:

1. Before anything is written, a new id must exceed the newest id of the thread. The id of the checkpoint that a fork
   starts from is not enough, because it is older.
2. Subgraphs have checkpoints of their own, in other namespaces. A run ends with a checkpoint of the thread itself, but
   if a run did not end, a subgraph may have the newest checkpoint.
3. A new id of this process exceeds all ids that it made before, because `uuid6` remembers the last one. So one check is
   enough for a run, and a clock that is set back during the run does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from ...errors import ClockSkewError

_LONGEST_WAIT: Final = 2.0
"""Seconds for which a clock that is behind is waited for."""
_TICKS: Final = 10_000_000
"""Ticks of an id's time in a second."""
_VERSION: Final = 6

_log = logging.getLogger(__name__)


async def newest_id(saver: BaseCheckpointSaver[Any], thread_id: str) -> str:
    """Returns the id of the newest checkpoint of a thread and its subgraphs; empty if there is none. Raises what the
    checkpointer raises."""
    if isinstance(saver, InMemorySaver):  # it lists namespace by namespace, and a lookup would create the thread
        spaces = saver.storage[thread_id].values() if thread_id in saver.storage else ()
        return max((checkpoint_id for space in spaces for checkpoint_id in space), default="")
    newest = [checkpoint async for checkpoint in saver.alist({"configurable": {"thread_id": thread_id}}, limit=1)]
    return newest[0].checkpoint["id"] if newest else ""


async def wait_for_clock(newest: str, label: str) -> None:
    """Waits until the ids of new checkpoints exceed this one. Logs and raises `ClockSkewError` if that would take
    longer than two seconds. `label`: the agent, the thread and the run, for the log."""
    now = asyncio.get_running_loop().time
    until = now() + _LONGEST_WAIT
    while (ahead := _seconds_ahead(newest)) > 0:
        if ahead > until - now():
            _log.error(
                "The thread's newest checkpoint is %s seconds ahead of this process's clock. What is written now "
                "would be hidden behind it, so nothing is run: synchronize the clocks of all machines (%s).",
                round(ahead, 3),
                label,
            )
            raise ClockSkewError(ahead)
        await asyncio.sleep(ahead)


def _seconds_ahead(checkpoint_id: str) -> float:
    """Returns by how many seconds an id is ahead of a new id; 0 or less if the new id exceeds it, or if the id has no
    time."""
    ticks = _ticks(checkpoint_id)
    return 0.0 if ticks is None else (ticks + 1 - _now()) / _TICKS


def _now() -> int:
    """Returns the time of a new id, in ticks of 100 nanoseconds."""
    ticks = _ticks(str(uuid6()))
    assert ticks is not None
    return ticks


def _ticks(checkpoint_id: str) -> int | None:
    """Returns the time in an id, in ticks of 100 nanoseconds; None for an id that LangGraph did not make."""
    try:
        made = UUID(checkpoint_id)
    except ValueError:
        return None
    if made.version != _VERSION:
        return None
    return (made.int >> 80) << 12 | (made.int >> 64) & 0xFFF
