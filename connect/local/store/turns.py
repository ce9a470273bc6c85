"""The inputs of a thread, one after the other: the interface `Turn`, and of those of one process `MemoryTurn` (of one
thread) and `MemoryTurns` (of all).

During its turn an input reads the thread, plans and starts its run: two that did so at once would plan for the same
state, and only one could start. While a thread is deleted it is closed: runs that start without a turn wait too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from weakref import WeakValueDictionary

from .active_run import ThreadKey


class Turn(Protocol):
    """The turn on one thread, which inputs take in the order in which they came."""

    async def is_taken(self) -> bool:
        """Whether an input has the turn, or waits for it."""

    def taken(self) -> AbstractAsyncContextManager[bool]:
        """Waits for the turn, and has it within the block; whether others had it before. Cancelling the wait gives up
        the place in the order."""

    def closed(self) -> AbstractAsyncContextManager[bool]:
        """As `taken`, and no run is claimed within the block."""


class MemoryTurn:
    """The turn of the inputs of this process; see `Turn`."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._inputs = 0
        self._is_open = asyncio.Event()
        self._is_open.set()

    async def is_taken(self) -> bool:
        """See `Turn`."""
        return self._inputs > 0

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[bool, None]:
        """See `Turn`."""
        has_waited = self._inputs > 0
        self._inputs += 1
        try:
            async with self._lock:
                yield has_waited
        finally:
            self._inputs -= 1

    @asynccontextmanager
    async def closed(self) -> AsyncGenerator[bool, None]:
        """See `Turn`."""
        async with self.taken() as has_waited:
            self._is_open.clear()
            try:
                yield has_waited
            finally:
                self._is_open.set()

    async def opened(self) -> None:
        """Waits until the thread is not closed."""
        while not self._is_open.is_set():
            await self._is_open.wait()


class MemoryTurns:
    """The turns of one event loop; each exists as long as it is used."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[ThreadKey, MemoryTurn] = WeakValueDictionary()

    def of(self, thread: ThreadKey) -> MemoryTurn:
        """The turn on a thread."""
        return self._turns.setdefault(thread, MemoryTurn())
