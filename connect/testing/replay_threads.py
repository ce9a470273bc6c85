"""Lists the threads of a replay: `ReplayThreads`. How a recording is replayed is decided in `replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..access import owner_of
from ..errors import NotSupportedError, checked_thread_id
from ..local.backend import Local
from ..local.threads import LocalThreads
from ..thread_info import (
    LIMIT,
    Checkpoint,
    RunInfo,
    ThreadInfo,
    ThreadPage,
    ThreadStatus,
    checked_limit,
    existing_thread,
    matches,
    opening_of,
)


class ReplayThreads(LocalThreads):
    """Lists the thread of a recording, even before its run has started. Threads that pages start are not listed.

    `replay` has the thread, `thread_id` is its id, and `served_at` the time since when it is served.
    """

    def __init__(self, replay: Local, thread_id: str, served_at: datetime) -> None:
        super().__init__(replay)
        self._replay, self._thread_id, self._served_at = replay, thread_id, served_at

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        text: str | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """See `thread_info.Threads`. There is one page."""
        checked_limit(limit)
        if after is not None:
            raise ValueError("after: expected None, because there is only one page")
        info = await self._info(self._thread_id, metadata)
        is_listed = info is not None and status in (None, info.status) and matches(info, text)
        return ThreadPage([info] if info is not None and is_listed else [])

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """See `thread_info.Threads`."""
        return await self._info(checked_thread_id(thread_id, in_url=False))

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`. Raises `NotSupportedError`."""
        await existing_thread(self, thread_id)
        raise NotSupportedError("The thread of a recording can't be deleted.")

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`. A recording has no checkpoints."""
        checked_limit(limit)
        return []

    async def runs(self, thread_id: str, *, limit: int = LIMIT) -> Sequence[RunInfo]:
        """See `thread_info.Threads`. No run of a recording is kept."""
        checked_limit(limit)
        return []

    async def _info(self, thread_id: str, filters: Mapping[str, Any] | None = None) -> ThreadInfo | None:
        state = await self._replay.thread(thread_id) if thread_id == self._thread_id else None
        metadata = self._replay.stamp
        if state is None or (filters is not None and not filters.items() <= metadata.items()):
            return None
        return ThreadInfo(
            thread_id=thread_id,
            updated_at=self._served_at,
            created_at=self._served_at,
            status=state.status,
            metadata=metadata,
            agent=owner_of(metadata),
            opening=opening_of([message for message in state.view.messages or () if message["role"] == "user"]),
        )
