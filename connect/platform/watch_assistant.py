"""Follows an assistant of a platform over all its threads. This is for runs that have a thread each, such as those of a
stateless cron. This module finds the threads; `connect` makes the events of each.

Servers do not stream the runs of an assistant, so its changed threads are searched for in intervals. A stream emits one
run at a time: if several threads are busy, they are emitted one after the other. Threads that were idle before the
watch began are not emitted. A thread that is deleted between two searches, such as that of a stateless cron when its
run ends, can't be emitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ..events.relay import Relayed, relaying
from ..recent import Recent
from .connect import ThreadFollower, is_due
from .source import PlatformSource, which_assistant

_THREADS = 100
"""How many threads are searched each time, those that changed last first."""
_REMEMBERED = 1000


@relaying
async def watch_assistant(
    platform: PlatformSource,
    assistant_id: str,
    follower_of: Callable[[str, datetime], ThreadFollower],
    *,
    poll: float,
) -> Relayed:
    """Yields the events of every run of the assistant that is active or begins from now on, with the id of its thread.

    `assistant_id`: its id, or the name of its graph. `follower_of`: returns a follower of a thread, for runs that were
    created since a time. Raises `PlatformError`, and
    `ConnectionLost` if the server is away at the beginning.
    """
    threads = await platform.search_threads(which_assistant(assistant_id), _THREADS)
    begun = max((_changed_at(thread) for thread in threads), default=datetime.min.replace(tzinfo=UTC))
    seen: Recent[str, _Seen] = Recent(_REMEMBERED)
    for thread in reversed(threads):
        seen[str(thread["thread_id"])] = _Seen(_changed_at(thread))
    while True:
        for thread in reversed(threads):
            thread_id, changed = str(thread["thread_id"]), _changed_at(thread)
            seen[thread_id] = before = seen.get(thread_id) or _Seen(begun)
            if thread.get("status") == "busy" or changed > before.changed:
                before.follower = before.follower or follower_of(thread_id, before.changed)
                yield before.follower.batches(joins=is_due)
            before.changed = changed
        await asyncio.sleep(poll)
        threads = await platform.search_threads(which_assistant(assistant_id), _THREADS)


class _Seen:
    """A thread as it was when it was last seen."""

    def __init__(self, changed: datetime) -> None:
        self.changed = changed
        """When the thread had last changed, by the server's clock, as all times here are."""
        self.follower: ThreadFollower | None = None


def _changed_at(thread: Any) -> datetime:
    return datetime.fromisoformat(str(thread["updated_at"]))
