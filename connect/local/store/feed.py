"""`Feed`: what happens on one thread, for one reader that follows it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from .active_run import ActiveRun

_MOST = 16
"""Runs that are kept for a reader that is behind. The view of the next run includes what older runs left."""


class Feed:
    """An async iterator over the runs that start on a thread from now on. It yields None after a change of the thread's
    checkpoints. Runs come before changes, and several changes become one. Made by `RunStore.started`.

    It ends when the store is closed. It need not be closed itself, because the store has only weak references to it.
    `look_every`: seconds after which `next_run` asks again, even if nothing has woken it.
    """

    def __init__(self, look_every: float | None = None) -> None:
        self._look_every = look_every
        self._runs: deque[ActiveRun] = deque(maxlen=_MOST)
        self._has_changed = False
        self._news = asyncio.Event()
        self._is_closed = False

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> ActiveRun | None:
        while not (self._runs or self._has_changed):
            if self._is_closed:
                raise StopAsyncIteration
            await self._wait()
        if self._runs:
            return self._runs.popleft()
        self._has_changed = False
        return None

    async def next_run(self, is_expected: Callable[[], Awaitable[bool]]) -> ActiveRun | None:
        """Returns the next run that starts; None as soon as no run is expected, and when the store is closed."""
        while not self._runs:
            self._news.clear()  # before anything is asked
            if self._is_closed or not (await is_expected() or self._runs):
                return None
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_every):
                    await self._news.wait()
        return self._runs.popleft()

    def start(self, run: ActiveRun) -> None:
        """Adds a run that has started."""
        self._runs.append(run)
        self._news.set()

    def change(self) -> None:
        """Notes that the thread's checkpoints have changed, or could not be read."""
        self._has_changed = True
        self._news.set()

    def wake(self) -> None:
        """Makes `next_run` ask again whether a run is expected: an input may have left the line."""
        self._news.set()

    def close(self) -> None:
        """Ends the feed."""
        self._is_closed = True
        self._news.set()

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()
