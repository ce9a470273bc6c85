"""The threads of a server, as its own search lists them: `PlatformThreads`.

Rules:

1. With an assistant, its threads alone: the server notes in a thread's metadata by which assistant (or graph) it was
   run last.
2. A page's cursor is the server's offset. The server's statuses are not ours (a cancelled run leaves `interrupted`), so
   a thread that is `interrupted` and names no interrupt is looked at, and threads are searched in pages until enough
   have the wanted status, at most `_SCANNED` for one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

from ..access import owner_of
from ..errors import PlatformError, RunConflictError, ThreadNotFoundError, checked_thread_id
from ..thread_info import LIMIT, MOST, Checkpoint, ThreadInfo, ThreadPage, ThreadStatus, checked_limit
from .calls import retried
from .look import Answered
from .source import PlatformSource, which_assistant
from .thread import NOT_FOUND

_SCANNED: Final = 500
_SERVERS: Final = {"running": "busy", "waiting": "interrupted", "failed": "error"}
"""The server's status of all threads that have one of ours."""
_STATUSES: Final[Mapping[str, ThreadStatus]] = {"busy": "running", "error": "failed"}


class PlatformThreads:
    """See `thread_info.Threads`."""

    def __init__(self, source: PlatformSource) -> None:
        self._source = source
        self._client = source.client.threads

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """See `thread_info.Threads`."""
        access = self._source.access
        which = {**(metadata or {}), **access.equal, **which_assistant(self._source.assistant_id)}
        listed: list[ThreadInfo] = []
        start = offset = int(after or 0)
        checked_limit(limit)
        while offset - start < _SCANNED:
            page = await self._source.search_threads(which, MOST, offset, _SERVERS.get(status or ""))
            for thread in page:
                if len(listed) == limit:
                    return ThreadPage(listed, str(offset))
                offset += 1
                if not access.allows(thread.get("metadata") or {}):
                    continue
                info = await self._info(thread)
                if status in (None, info.status):
                    listed.append(info)
            if len(page) < MOST:
                return ThreadPage(listed)
        return ThreadPage(listed, str(offset))

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """See `thread_info.Threads`."""
        try:
            thread = await self._source.thread_at(checked_thread_id(thread_id)).metadata()
        except PlatformError as error:
            if error.status != NOT_FOUND:
                raise
            return None
        return await self._info(thread) if self._source.access.allows(thread.get("metadata") or {}) else None

    async def update(self, thread_id: str, metadata: Mapping[str, Any]) -> ThreadInfo:
        """See `thread_info.Threads`."""
        self._source.access.check_written(metadata)
        await self._known(thread_id)
        await retried(lambda: self._client.update(thread_id, metadata=metadata), self._source.policy)
        return await self._known(thread_id)

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`."""
        if (await self._known(thread_id)).status == "running":
            raise RunConflictError(f"thread {thread_id!r} has a run that is running")

        async def deleted() -> bool:
            await self._client.delete(thread_id)
            return True

        await retried(deleted, self._source.policy)

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`."""
        found: list[Checkpoint] = []
        if await self.get(thread_id) is not None:
            async with aclosing(self._source.thread_at(thread_id).history(checked_limit(limit), before)) as checkpoints:
                async for checkpoint in checkpoints:
                    found.append(checkpoint)
                    if len(found) == limit:
                        break
        return found

    async def _known(self, thread_id: str) -> ThreadInfo:
        info = await self.get(thread_id)
        if info is None:
            raise ThreadNotFoundError
        return info

    async def _info(self, thread: Answered) -> ThreadInfo:
        metadata = thread.get("metadata") or {}
        status: ThreadStatus = _STATUSES.get(thread["status"], "idle")
        if thread["status"] == "interrupted":
            look = None if thread.get("interrupts") else await self._source.thread_at(str(thread["thread_id"])).look()
            status = "waiting" if look is None else look.outcome.status
        return ThreadInfo(
            thread_id=str(thread["thread_id"]),
            created_at=datetime.fromisoformat(str(thread["created_at"])),
            updated_at=datetime.fromisoformat(str(thread["updated_at"])),
            status=status,
            metadata=metadata,
            agent=owner_of(metadata) or metadata.get("graph_id"),
        )
