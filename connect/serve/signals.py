"""A call at each signal that ends the process, before the signal's own handler: `SignalHook`. Never what is done then.

A server waits for the open streams before it ends an app's lifespan, so by then it is too late to end them. The handler
that was there is called afterwards, and changed in nothing. A signal without a handler is left alone, and so are
threads other than the main one, where no signal can be handled.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM)


class SignalHook:
    """Calls `on_signal` at each signal that ends the process, from `listen` to `stop`.

    `on_signal` is called in a signal handler: it may do no more than schedule work.
    """

    def __init__(self, on_signal: Callable[[], None]) -> None:
        self._call = on_signal
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._listens = False

    def listen(self) -> None:
        """Puts itself before the handlers that there are now."""
        self._listens = True
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self._on_signal:
                self._before[number] = handler
                signal.signal(number, self._on_signal)

    def stop(self) -> None:
        """Puts back the handlers that were there, unless another has replaced this one: then it stays, without
        effect."""
        self._listens = False
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in list(self._before.items()):
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)
                del self._before[number]

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._listens:
            self._call()
        self._before[number](number, frame)
