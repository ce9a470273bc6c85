"""Begins the end of an app at a signal that stops its server, SIGTERM or SIGINT: `end_at_signals`. What ends, and how,
is in `shutdown`.

A server waits for its open streams before it ends an app's lifespan, so the end of the lifespan is too late to end
them. Therefore the app puts a handler in front of the server's, which begins the end of the streams, and then calls the
server's handler. uvicorn sets its handlers in the process that serves, before it starts the lifespan, even with
`--reload`, with `--workers` and as gunicorn's worker. The event loop still calls handlers of `loop.add_signal_handler`.

If a signal is ignored, or has no handler and so ends the process at once, no handler is set for it. Python can set
handlers only in the main thread, so an app that is served in another thread does not notice signals.
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
    """Within the block, a signal begins the end of `closing`, and the same signal again hurries it. Has to be entered
    in the event loop that serves the app."""
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
    """Handles one signal for one app, and then calls the handler that was set `before`."""

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
            # A Ctrl-C reaches all processes of a terminal, and the supervisors of `--reload` and `--workers` then send
            # a SIGTERM too. So only the same signal counts as a second one.
            action = self._closing.hurry if self._has_come else self._closing.begin
            self._has_come = True
            with suppress(RuntimeError):  # the loop was closed before the lifespan ended
                self._loop.call_soon_threadsafe(action)
        self._before(number, frame)

    def remove(self) -> None:
        """Restores the previous handler. If another handler was set since, it may call this one, which then stays and
        only passes signals on."""
        self._is_active = False
        present: object = signal.getsignal(self.number)
        if present is self:
            signal.signal(self.number, self._before)
