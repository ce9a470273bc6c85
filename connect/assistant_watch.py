"""Following an assistant of a platform over all its threads: for runs that have a thread of their own each, as a
stateless cron's. Finds the threads; what is told of one is `platform`'s.

No server streams this, so it is asked in intervals which threads changed. A stream tells one run at a time: threads
that are busy at once are told one after the other. Threads that were idle before the watch began are not told. One that
is gone before it was seen (a stateless cron's is deleted when its run ends) can't be.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from uuid import UUID

from .patience import Policy
from .platform import PlatformTelling
from .sources import Platform
from .thread import answer
from .told import Batches

_THREADS = 100
"""Threads that are looked through each time, those first that changed last."""
_REMEMBERED = 1000


async def assistant_watched(
    platform: Platform,
    assistant_id: str,
    telling_of: Callable[[str], PlatformTelling],
    *,
    policy: Policy,
    poll: float,
) -> Batches:
    """Every run of the assistant that begins from now on, or is going on, with its thread's id.

    `assistant_id`: its id, or the name of its graph. Raises `PlatformError` and `Cut` as the server's answers do.
    """
    known: OrderedDict[str, tuple[Any, PlatformTelling | None]] = OrderedDict()
    is_first = True
    while True:
        for thread in reversed(await _threads(platform, assistant_id, policy)):
            thread_id, changed = str(thread["thread_id"]), thread.get("updated_at")
            before, telling = known.pop(thread_id, (None, None))
            is_news = thread.get("status") == "busy" or (changed != before and not is_first)
            if is_news:
                telling = telling or telling_of(thread_id)
                async for batch in telling.told_now():
                    yield batch
            known[thread_id] = changed, telling
            if len(known) > _REMEMBERED:
                known.popitem(last=False)
        is_first = False
        await asyncio.sleep(poll)


async def _threads(platform: Platform, assistant_id: str, policy: Policy) -> list[Any]:
    """The assistant's threads, those first that changed last."""
    which = {"assistant_id" if _is_id(assistant_id) else "graph_id": assistant_id}
    threads = platform.client.threads
    return await answer(
        lambda: threads.search(
            metadata=which,
            limit=_THREADS,
            sort_by="updated_at",
            sort_order="desc",
            select=["thread_id", "status", "updated_at"],
        ),
        policy,
    )


def _is_id(assistant_id: str) -> bool:
    try:
        UUID(assistant_id)
    except ValueError:
        return False
    return True
