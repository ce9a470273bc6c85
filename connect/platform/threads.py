"""The threads of a server, as the server's own search lists them: `PlatformThreads`.

Rules:

1. With an assistant, only its threads are listed. The server notes in a thread's metadata which assistant, or graph,
   has run on it last.
2. The cursor of a page is its last thread, with the thread's place in the server's list and the time of its last
   change. Threads move in that list while it is read. Threads that are newer than the cursor are skipped. If threads
   before the cursor are gone, the list is read again from further up. So a thread that does not change is on one page.
3. The server's statuses are not ours: a cancelled run leaves `interrupted`. So a thread that is `interrupted` and names
   no interrupt is looked at. Threads are searched in pages until enough have the status, at most `_SCANNED` for one
   answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from ..access import owner_of
from ..errors import PlatformError, RunConflictError, checked_thread_id
from ..page_calls import questions
from ..thread_info import (
    LIMIT,
    MOST,
    Checkpoint,
    RunInfo,
    ThreadInfo,
    ThreadPage,
    ThreadStatus,
    checked_limit,
    existing_thread,
    first_checkpoints,
    matches,
    opening_of,
)
from .finished_runs import runs_of
from .look import JsonObject
from .source import PlatformSource, which_assistant
from .thread import NOT_FOUND

_SCANNED: Final = 500
_LAST: Final = 1_000_000_000
"""The largest offset of a cursor. No list is so long, and servers answer larger offsets with errors."""
_NEWEST: Final = datetime.max.replace(tzinfo=UTC)
_SERVERS: Final = {"running": "busy", "waiting": "interrupted", "failed": "error"}
"""By our status: the status that all such threads have on the server."""
_NAME_ON_AEGRA: Final = "thread_name"
"""The key of a thread's metadata in which Aegra keeps the beginning of its first user message. It does not return the
values of threads."""
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
        text: str | None = None,
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
                cursor = _Cursor(place, _changed_at(thread), str(thread["thread_id"]))
                own = thread.get("metadata") or {}
                if not (access.allows(own) and required.items() <= own.items()):
                    continue
                info = await self._info(thread)
                if status in (None, info.status) and matches(info, text):
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
        await existing_thread(self, thread_id)
        await self._source.contact(thread_id).retried(lambda: self._client.update(thread_id, metadata=metadata))
        return await existing_thread(self, thread_id)

    async def delete(self, thread_id: str) -> None:
        """See `thread_info.Threads`."""
        if (await existing_thread(self, thread_id)).status == "running":
            raise RunConflictError(f"thread {thread_id!r} has an active run: delete the thread when the run has ended")

        async def delete() -> bool:
            await self._client.delete(thread_id)
            return True

        await self._source.contact(thread_id).retried(delete)

    async def runs(self, thread_id: str, *, limit: int = LIMIT) -> Sequence[RunInfo]:
        """See `thread_info.Threads`."""
        return await runs_of(self._source, checked_thread_id(thread_id), checked_limit(limit))

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """See `thread_info.Threads`."""
        checked_limit(limit)
        if await self.get(thread_id) is None:
            return []
        return await first_checkpoints(self._source.thread_at(thread_id).history(limit, before), limit)

    async def _info(self, thread: JsonObject) -> ThreadInfo:
        metadata = thread.get("metadata") or {}
        status: ThreadStatus = _STATUSES.get(thread["status"], "idle")
        if thread["status"] == "interrupted":
            asked = [interrupt for of_task in (thread.get("interrupts") or {}).values() for interrupt in of_task]
            look = None if asked else await self._source.thread_at(str(thread["thread_id"])).look()
            status = look.outcome.status if look is not None else "waiting" if questions(asked) else "idle"
        return ThreadInfo(
            thread_id=str(thread["thread_id"]),
            created_at=datetime.fromisoformat(str(thread["created_at"])),
            updated_at=_changed_at(thread),
            status=status,
            metadata=metadata,
            agent=owner_of(metadata) or metadata.get("graph_id"),
            opening=_opening(thread),
        )


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The thread of the server's list with which a page ended; or the beginning of the list.

    - `offset`: the number of threads in the list up to this one, including it.
    - `changed`: when the thread had last changed.
    """

    offset: int = 0
    changed: datetime = _NEWEST
    thread_id: str = ""

    def __str__(self) -> str:
        return f"{self.offset}_{self.changed.isoformat()}_{self.thread_id}"

    @classmethod
    def parse(cls, after: str | None) -> _Cursor:
        """Reads what `str` has written; None is the beginning of the list. Raises `ValueError` for any other text."""
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

    def has_passed(self, thread: JsonObject) -> bool:
        """Returns whether a thread is on the pages up to here, because it is this one or is newer."""
        return str(thread["thread_id"]) == self.thread_id or _changed_at(thread) > self.changed


def _opening(thread: JsonObject) -> str | None:
    """Returns the opening of a thread that was searched for, or that was read with its values, or of Aegra's."""
    if (extracted := thread.get("extracted")) is not None:
        return opening_of(extracted.get("first_message"))
    if isinstance(values := thread.get("values"), dict):
        return opening_of(values.get("messages"))
    named = (thread.get("metadata") or {}).get(_NAME_ON_AEGRA)
    return opening_of([("user", named)]) if named else None


def _changed_at(thread: JsonObject) -> datetime:
    """Returns when the server last changed a thread."""
    return datetime.fromisoformat(str(thread["updated_at"]))
