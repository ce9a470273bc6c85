"""Implements `serve --workers N`: runs N server processes that share the socket, and share their runs by a file or
Redis.

This process imports nothing of the project. It holds the socket, starts the server processes, and replaces a process
that has died. The others start only once the first one serves, so that an error at the start is reported once, and only
one process creates the database tables.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from socket import socket
from types import FrameType
from typing import Final

from ..errors import Misuse
from .serve import ServeSettings, listen, platform_url, project, set_logging, token_to_print

Work = Callable[[ServeSettings, socket, Callable[[], None]], None]
"""Serves on a socket, and calls the function once it does. It runs in a process of its own, so it must be picklable."""

_LOOK_EVERY: Final = 0.5
"""How many seconds a signal may remain unnoticed."""

_log = logging.getLogger(__name__)


def serve_by_workers(settings: ServeSettings, work: Work) -> int:
    """Serves until a signal arrives, and returns the exit code. Raises `Misuse` and `Failure` for what can't be
    served."""
    if platform_url(settings) is not None:
        raise Misuse("--workers is only for your own graphs")
    if settings.metrics is not None:
        raise Misuse("--metrics is for one process; start several with a port each, instead of --workers")
    if settings.redis is None and settings.sqlite is None:
        raise Misuse(
            f"--workers {settings.workers}: the processes must share their threads and runs: add --sqlite FILE, or "
            "--postgres URL with --redis URL"
        )
    project(settings)
    if settings.token is not None:
        token_to_print(settings)
    set_logging(settings)
    with listen(settings.host, settings.port) as bound:
        return _Workers(settings, bound, work).run()


class _Workers:
    def __init__(self, settings: ServeSettings, bound: socket, work: Work) -> None:
        self._settings, self._bound, self._work = settings, bound, work
        self._context = get_context("spawn")
        self._serves: dict[BaseProcess, Event] = {}
        """The processes, each with an event that is set once the process serves."""
        self._is_stopping = False

    def run(self) -> int:
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, self._stop) for number in signals}
        try:
            return self._run()
        finally:
            for process in self._serves:
                process.terminate()  # it then ends its streams and runs, as a server without workers does
            for process in self._serves:
                process.join()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _run(self) -> int:
        first = self._start(is_first=True)
        while not self._is_stopping:
            if self._serves[first].is_set() and len(self._serves) == 1:
                for _ in range(self._settings.workers - 1):
                    self._start(is_first=False)
            wait([process.sentinel for process in self._serves], timeout=_LOOK_EVERY)
            for process in self._dead_processes():
                serves = self._serves.pop(process)
                if not serves.is_set() and not self._was_killed_beside_others(process):
                    return process.exitcode or 1  # another process would fail in the same way
                _log.error(
                    "The server process %s has ended (exit code %s). Another one is started.",
                    process.pid,
                    process.exitcode,
                )
                replacement = self._start(is_first=False)
                first = replacement if process is first else first
        return 0

    def _dead_processes(self) -> list[BaseProcess]:
        """Returns the processes that have ended although they were not stopped."""
        return [] if self._is_stopping else [process for process in self._serves if not process.is_alive()]

    def _was_killed_beside_others(self, process: BaseProcess) -> bool:
        """Whether a signal has ended the process while others serve. Then nothing says that another one would fail."""
        return (process.exitcode or 0) < 0 and any(serves.is_set() for serves in self._serves.values())

    def _start(self, *, is_first: bool) -> BaseProcess:
        serves = self._context.Event()
        settings = replace(self._settings, is_quiet=not is_first)
        process = self._context.Process(target=self._work, args=(settings, self._bound, serves.set))
        process.start()
        self._serves[process] = serves
        return process

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._is_stopping = True
