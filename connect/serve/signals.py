"""Being told of the signals that end a process, before whoever ends it is. Never what is done then.

A server waits for the open streams before it says anything to an app, so by then it is too late to end them. What was
to happen at a signal happens all the same, afterwards: by whose handler that is, nothing is changed. Signals nobody
handles are left alone, and so are threads other than the main one, where none can be handled.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM)


class Heard:
    """Calls `told` at each signal that ends the process, from the moment of `listen` to that of `stop`.

    `told` is called in the middle of whatever goes on: it may do no more than make a note of it.
    """

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._listens = False

    def listen(self) -> None:
        """Puts itself before the handlers that there are now."""
        self._listens = True
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self._hear:
                self._before[number] = handler
                signal.signal(number, self._hear)

    def stop(self) -> None:
        """Puts back what was there, unless somebody else has come before it: to them it stays, without a word."""
        self._listens = False
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in list(self._before.items()):
            if signal.getsignal(number) == self._hear:
                signal.signal(number, handler)
                del self._before[number]

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._listens:
            self._told()
        self._before[number](number, frame)
