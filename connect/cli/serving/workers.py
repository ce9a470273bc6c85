"""`serve --workers N`: as many server processes, which share the socket, and their runs by a file or a Redis.

This process imports nothing of the project: it has the socket, starts the processes, and starts another one in place of
one that died. The first has to serve before the others start. So what can't be served is said once, and one process
makes the tables.
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
from .serve import ServeSettings, listening, platform_url, project, set_logging, token_to_print

Work = Callable[[ServeSettings, socket, Callable[[], None]], None]
"""Serves on a socket, and calls the function when it does. It is called in a process of its own, so it must be
picklable."""

_LOOK_EVERY: Final = 0.5
"""Seconds after which a signal is noticed, at the latest."""

_log = logging.getLogger(__name__)


def serve_by_workers(settings: ServeSettings, work: Work) -> int:
    """Serves until a signal comes; the exit code. Raises `Misuse` and `Failure` for what can't be served."""
    if platform_url(settings) is not None:
        raise Misuse("--workers is for graphs of your own")
    if settings.redis is None and settings.sqlite is None:
        raise Misuse(
            f"--workers {settings.workers}: the processes have to share their threads and runs: add --sqlite FILE, or "
            "--postgres URL with --redis URL"
        )
    project(settings)
    if settings.token is not None:
        token_to_print(settings)
    set_logging(settings)
    with listening(settings.host, settings.port) as bound:
        return _Workers(settings, bound, work).run()


class _Workers:
    def __init__(self, settings: ServeSettings, bound: socket, work: Work) -> None:
        self._settings, self._bound, self._work = settings, bound, work
        self._context = get_context("spawn")
        self._serves: dict[BaseProcess, Event] = {}
        """The processes, each with the event that says that it serves."""
        self._is_stopping = False

    def run(self) -> int:
        before = {each: signal.signal(each, self._stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            return self._run()
        finally:
            for process in self._serves:
                process.terminate()  # it ends its streams and runs, as it does without this process
            for process in self._serves:
                process.join()
            for each, handler in before.items():
                signal.signal(each, handler)

    def _run(self) -> int:
        first = self._start(is_first=True)
        while not self._is_stopping:
            if self._serves[first].is_set() and len(self._serves) == 1:
                for _ in range(self._settings.workers - 1):
                    self._start(is_first=False)
            wait([process.sentinel for process in self._serves], timeout=_LOOK_EVERY)
            for process in self._ended():
                serves = self._serves.pop(process)
                if not serves.is_set():  # another one would fail in the same way
                    return process.exitcode or 1
                _log.error("The server process %s has ended (exit code %s): another starts.", *_named(process))
                replacement = self._start(is_first=False)
                first = replacement if process is first else first
        return 0

    def _ended(self) -> list[BaseProcess]:
        """The processes that ended by themselves."""
        return [] if self._is_stopping else [process for process in self._serves if not process.is_alive()]

    def _start(self, *, is_first: bool) -> BaseProcess:
        serves = self._context.Event()
        settings = replace(self._settings, is_quiet=not is_first)
        process = self._context.Process(target=self._work, args=(settings, self._bound, serves.set))
        process.start()
        self._serves[process] = serves
        return process

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._is_stopping = True


def _named(process: BaseProcess) -> tuple[int | None, int | None]:
    return process.pid, process.exitcode
