"""Following an assistant of a platform over all its threads: for runs that have a thread of their own each, as a
stateless cron's. Finds the threads; the events of one are `connect`'s.

No server streams this, so the threads that changed are searched in intervals. A stream emits one run at a time: threads
that are busy at once are emitted one after the other. Threads that were idle before the watch began are not emitted.
One that is gone before it was seen (a stateless cron's is deleted when its run ends) can't be.
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
"""Threads that are looked through each time, those first that changed last."""
_REMEMBERED = 1000


@relaying
async def watch_assistant(
    platform: PlatformSource,
    assistant_id: str,
    follower_of: Callable[[str, datetime], ThreadFollower],
    *,
    poll: float,
) -> Relayed:
    """Every run of the assistant that begins from now on, or is active, with its thread's id.

    `assistant_id`: its id, or the name of its graph. `follower_of`: a follower of a thread, for runs made
    since a time. Raises `PlatformError` and `ConnectionLost`.
    """
    threads = await platform.search_threads(which_assistant(assistant_id), _THREADS)
    begun = max((_changed(thread) for thread in threads), default=datetime.min.replace(tzinfo=UTC))
    seen: Recent[str, _Seen] = Recent(_REMEMBERED)
    for thread in reversed(threads):
        seen[str(thread["thread_id"])] = _Seen(_changed(thread))
    while True:
        for thread in reversed(threads):
            thread_id, changed = str(thread["thread_id"]), _changed(thread)
            seen[thread_id] = before = seen.get(thread_id) or _Seen(begun)
            if thread.get("status") == "busy" or changed > before.changed:
                before.follower = before.follower or follower_of(thread_id, before.changed)
                yield before.follower.batches(joins=is_due)
                if before.follower.is_lost:
                    return
            before.changed = changed
        await asyncio.sleep(poll)
        threads = await platform.search_threads(which_assistant(assistant_id), _THREADS)


class _Seen:
    """A thread as it was seen last."""

    def __init__(self, changed: datetime) -> None:
        self.changed = changed
        """When it had changed. By the server's clock, as are all times here."""
        self.follower: ThreadFollower | None = None


def _changed(thread: Any) -> datetime:
    return datetime.fromisoformat(str(thread["updated_at"]))
