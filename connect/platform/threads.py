"""The threads of a server, as its own search lists them: `PlatformThreads`.

Rules:

1. With an assistant, its threads alone: the server notes in a thread's metadata by which assistant (or graph) it was
   run last.
2. A page's cursor is its last thread, where that was in the server's list and when it had changed. Threads move in that
   list while it is read: those that are newer than the cursor are passed over, and where threads before it are gone, it
   is searched for further up. So a thread that stays as it is, is on one page.
3. The server's statuses are not ours (a cancelled run leaves `interrupted`), so a thread that is `interrupted` and
   names no interrupt is looked at, and threads are searched in pages until enough have the status, at most
   `_SCANNED` for one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from ..access import owner_of
from ..errors import PlatformError, RunConflictError, checked_thread_id
from ..thread_info import (
    LIMIT,
    MOST,
    Checkpoint,
    ThreadInfo,
    ThreadPage,
    ThreadStatus,
    checked_limit,
    first_checkpoints,
    known,
    opening_of,
)
from .calls import retried
from .look import Answered
from .source import PlatformSource, which_assistant
from .thread import NOT_FOUND

_SCANNED: Final = 500
_LAST: Final = 1_000_000_000
"""The largest offset of a cursor. No list is so long, and servers answer larger offsets with errors."""
_NEWEST: Final = datetime.max.replace(tzinfo=UTC)
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
        access, required = self._source.access, metadata or {}
        which = {**required, **access.equal, **which_assistant(self._source.assistant_id)}
        listed: list[ThreadInfo] = []
        cursor = _Cursor.parse(after)
        scanned = back = 0
        checked_limit(limit)
        while scanned < _SCANNED:
            offset = max(0, cursor.offset - 1 - back)
            page = await self._source.search_threads(which, MOST, offset, _SERVERS.get(status or ""))
            if offset and not (page and cursor.has_passed(page[0])):
                back = MOST + 2 * back
                continue
            back = 0
            for place, thread in enumerate(page, offset + 1):
                if cursor.has_passed(thread):
                    cursor = replace(cursor, offset=place)
                    continue
                if len(listed) == limit:
                    return ThreadPage(listed, str(cursor))
                cursor = _Cursor(place, _changed(thread), str(thread["thread_id"]))
                own = thread.get("metadata") or {}
                if not (access.allows(own) and required.items() <= own.items()):
                    continue
                info = await self._info(thread)
                if status in (None, info.status):
                    listed.append(info)
            if len(page) < MOST:
                return ThreadPage(listed)
            scanned += len(page)
        return ThreadPage(listed, str(cursor))

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
        await known(self, thread_id)
        await retried(lambda: self._client.update(thread_id, metadata=metadata), self._source.policy)
        return await known(self, thread_id)

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`."""
        if (await known(self, thread_id)).status == "running":
            raise RunConflictError(f"thread {thread_id!r} has an active run: delete the thread when the run has ended")

        async def deleted() -> bool:
            await self._client.delete(thread_id)
            return True

        await retried(deleted, self._source.policy)

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`."""
        checked_limit(limit)
        if await self.get(thread_id) is None:
            return []
        return await first_checkpoints(self._source.thread_at(thread_id).history(limit, before), limit)

    async def _info(self, thread: Answered) -> ThreadInfo:
        metadata = thread.get("metadata") or {}
        status: ThreadStatus = _STATUSES.get(thread["status"], "idle")
        if thread["status"] == "interrupted":
            look = None if thread.get("interrupts") else await self._source.thread_at(str(thread["thread_id"])).look()
            status = "waiting" if look is None else look.outcome.status
        return ThreadInfo(
            thread_id=str(thread["thread_id"]),
            created_at=datetime.fromisoformat(str(thread["created_at"])),
            updated_at=_changed(thread),
            status=status,
            metadata=metadata,
            agent=owner_of(metadata) or metadata.get("graph_id"),
            opening=_opening(thread),
        )


@dataclass(frozen=True, slots=True)
class _Cursor:
    """A thread of the server's list, as a page ends there; before the first one, the list's beginning.

    - `offset`: how many threads the list had up to this one, and with it.
    - `changed`: when it had changed.
    """

    offset: int = 0
    changed: datetime = _NEWEST
    thread_id: str = ""

    def __str__(self) -> str:
        return f"{self.offset}_{self.changed.isoformat()}_{self.thread_id}"

    @classmethod
    def parse(cls, after: str | None) -> _Cursor:
        """What `str` has written, None for the beginning; raises `ValueError` for any other text."""
        if after is None:
            return cls()
        try:
            offset, changed, thread_id = after.split("_", 2)
            cursor = cls(int(offset), datetime.fromisoformat(changed), thread_id)
            if not 0 <= cursor.offset <= _LAST or cursor.changed.tzinfo is None:
                raise ValueError
        except ValueError:
            raise ValueError(f"after: expected the `next` of a page, got {after[:64]!r}") from None
        return cursor

    def has_passed(self, thread: Answered) -> bool:
        """Whether a thread is on the pages up to here: it is this one, or was newer."""
        return str(thread["thread_id"]) == self.thread_id or _changed(thread) > self.changed


def _opening(thread: Answered) -> str | None:
    """The opening of a thread that was searched for, or read with its values."""
    if (extracted := thread.get("extracted")) is not None:
        return opening_of(extracted.get("first_message"))
    values = thread.get("values")
    return opening_of(values.get("messages")) if isinstance(values, dict) else None


def _changed(thread: Answered) -> datetime:
    """When the server changed a thread last."""
    return datetime.fromisoformat(str(thread["updated_at"]))
