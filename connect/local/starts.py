"""The runs that start on one thread, one after the other: `Starts`. Never what they say."""

from __future__ import annotations

import asyncio
from collections import deque

from .run import Run

_MOST = 16
"""Runs that are kept for a watcher that is behind. Of older ones it sees what they left, in the next one's view."""


class Starts:
    """An async iterator over the runs that start from the moment it was made. Made by `Runs.starts`.

    It ends when the registry is closed. Nothing has to be closed: the registry forgets it when nobody has it.
    """

    def __init__(self) -> None:
        self._runs: deque[Run] = deque(maxlen=_MOST)
        self._news = asyncio.Event()
        self._is_over = False

    def __aiter__(self) -> Starts:
        return self

    async def __anext__(self) -> Run:
        while not self._runs:
            if self._is_over:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._runs.popleft()

    def started(self, run: Run) -> None:
        """Says that a run has started."""
        self._runs.append(run)
        self._news.set()

    def close(self) -> None:
        """Says that no more will."""
        self._is_over = True
        self._news.set()
