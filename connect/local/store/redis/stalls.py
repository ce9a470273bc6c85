"""How often this process was stalled, by `Stalls`: it was frozen, or its event loop was blocked. After a stall its
leases may have expired."""

from __future__ import annotations

import asyncio


class Stalls:
    """Counts the stalls while it is started. `beat`: seconds between two beats of a timer; a beat that is late by more
    than that is a stall."""

    def __init__(self, beat: float) -> None:
        self._beat = beat
        self._count = 0
        self._last = 0.0
        """When the last beat or stall was."""
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
        """The stalls so far. The newest one counts as soon as the process continues, before the late beat."""
        self._look()
        return self._count

    def _look(self) -> None:
        if self._loop is not None and (now := self._loop.time()) > self._last + 2 * self._beat:
            self._count += 1
            self._last = now

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = loop.time()
        self._timer = loop.call_later(self._beat, self._beaten, loop)

    def _beaten(self, loop: asyncio.AbstractEventLoop) -> None:
        self._look()
        self._next(loop)
