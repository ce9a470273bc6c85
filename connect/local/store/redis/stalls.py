"""How often this process was stalled (`Stalls`): it was frozen, or its event loop was blocked. Leases may be over."""

from __future__ import annotations

import asyncio


class Stalls:
    """Counts the stalls while it is started. `beat`: seconds between two beats of a timer; a beat that is late by more
    than that is a stall."""

    def __init__(self, beat: float) -> None:
        self._beat = beat
        self._count = 0
        self._last = 0.0
        """When the last beat was."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts the timer, if it is not started."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._next(self._loop)

    def stop(self) -> None:
        """Stops the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop = self._timer = None

    @property
    def count(self) -> int:
        """How many there were. What has run since the process continued finds its stall here, before the late beat."""
        if self._loop is not None and (now := self._loop.time()) > self._last + 2 * self._beat:
            self._count += 1
            self._last = now
        return self._count

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = loop.time()
        self._timer = loop.call_later(self._beat, self._beaten, loop)

    def _beaten(self, loop: asyncio.AbstractEventLoop) -> None:
        _ = self.count
        self._next(loop)
