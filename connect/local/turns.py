"""The inputs of a thread of this process, one after the other: `Line`; and the lines of all threads: `Lines`. From its
turn on an input reads the thread, plans and starts: two that did so at once would plan for one and the same thread, and
only one could start. Never what they do (`local_run`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Line:
    """A line in which each waits for its turn, in the order in which they came."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._length = 0

    @property
    def is_empty(self) -> bool:
        """Whether nobody stands in it."""
        return self._length == 0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """Comes when all who came before have gone. Cancelling the waiting leaves the line."""
        self._length += 1
        try:
            async with self._lock:
                yield
        finally:
            self._length -= 1


class Lines:
    """The lines of one event loop, by checkpointer and thread id, as `Runs`; each is there as long as it is used."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[tuple[Hashable, str], Line] = WeakValueDictionary()

    def of(self, place: Hashable, thread_id: str) -> Line:
        """The line of a thread."""
        return self._lines.setdefault((place, thread_id), Line())
