"""The signals that stop a server, SIGTERM and SIGINT: `end_at_signals` begins the end of an app when one comes. What
ends, and how, is in `shutdown`.

A server waits for its open streams before it ends an app's lifespan, so the lifespan's end comes too late for them. The
app therefore adds a handler in front of the one that the server has set: it begins the end of the streams, and calls
the server's. uvicorn sets its handlers in the process that serves, before it starts the lifespan, also with `--reload`
and `--workers` and as gunicorn's worker. Handlers of `loop.add_signal_handler` are called by the event loop as before.

A signal that is ignored, or has no handler and so ends the process at once, stays as it is. Python can set handlers in
the main thread only, so an app that is served in another thread does not notice signals.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

from .shutdown import Closing

_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)  # SIGBREAK: Ctrl-Break on Windows


@contextmanager
def end_at_signals(closing: Closing) -> Iterator[None]:
    """In the block a signal begins the end of `closing`, and the same signal again hurries it. To be entered in the
    event loop that serves the app."""
    handlers = []
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        present = {number: signal.getsignal(number) for number in _SIGNALS}
        handlers = [_Handler(number, before, closing, loop) for number, before in present.items() if callable(before)]
    for handler in handlers:
        signal.signal(handler.number, handler)
    try:
        yield
    finally:
        for handler in handlers:
            handler.remove()


class _Handler:
    """Handles one signal of one app, and then calls the handler that was there `before`."""

    def __init__(
        self,
        number: int,
        before: Callable[[int, FrameType | None], Any],
        closing: Closing,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.number = number
        self._before = before
        self._closing = closing
        self._loop = loop
        self._is_active = True
        self._has_come = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._is_active:
            # All processes of a terminal get a Ctrl-C, and the supervisors of `--reload` and `--workers` answer it
            # with a SIGTERM: only the same signal is a second one.
            action = self._closing.hurry if self._has_come else self._closing.begin
            self._has_come = True
            with suppress(RuntimeError):  # the loop was closed, and the lifespan never ended
                self._loop.call_soon_threadsafe(action)
        self._before(number, frame)

    def remove(self) -> None:
        """Restores the handler that was there. If another handler was set since, that one calls this one, which stays
        and only passes signals on."""
        self._is_active = False
        present: object = signal.getsignal(self.number)
        if present is self:
            signal.signal(self.number, self._before)
