"""The inputs of a thread of this process, one after the other: `Turn` of one thread, `Turns` of all.

During its turn an input reads the thread, plans and starts its run: two that did so at once would plan for the same
state, and only one could start. While a thread is deleted, runs that start without a turn wait too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from .active_run import ThreadKey


class Turn:
    """The turn on one thread, which inputs take in the order in which they came."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._inputs = 0
        self._is_open = asyncio.Event()
        self._is_open.set()

    @property
    def is_taken(self) -> bool:
        """Whether an input has the turn, or waits for it."""
        return self._inputs > 0

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None, None]:
        """Waits for the turn, and has it within the block. Cancelling the wait gives up the place in the order."""
        self._inputs += 1
        try:
            async with self._lock:
                yield
        finally:
            self._inputs -= 1

    @asynccontextmanager
    async def closed(self) -> AsyncGenerator[None, None]:
        """As `taken`, and no run starts within the block."""
        async with self.taken():
            self._is_open.clear()
            try:
                yield
            finally:
                self._is_open.set()

    async def opened(self) -> None:
        """Waits until the thread is not closed."""
        while not self._is_open.is_set():
            await self._is_open.wait()


class Turns:
    """The turns of one event loop; each exists as long as it is used."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[ThreadKey, Turn] = WeakValueDictionary()

    def of(self, thread: ThreadKey) -> Turn:
        """The turn on a thread."""
        return self._turns.setdefault(thread, Turn())
