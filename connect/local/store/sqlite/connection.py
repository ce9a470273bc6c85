"""`Connection`: the thread of this process that has the connection to the file. It does not know what a step means.

Rules:

1. Steps that wait at the same time are carried out in one transaction, so that many runs need only one commit.
2. The thread also checks whether another process has changed the file (`PRAGMA data_version`): every 2 ms while it
   finds changes for this process, and less and less often afterwards. A socket for each process would be faster by
   1.5 ms, but every other process would have to reach it.
3. No connection is carried over a fork, because SQLite would count the locks of the parent process as those of the
   child. So it is closed before the fork, and the next step opens it again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakSet

from ....errors import StoreUnavailableError
from ..renewals import clock
from .steps import Database
from .tables import files_of, opened

_SHORTEST, _LONGEST, _GROWTH = 0.002, 0.05, 1.3
"""The shortest and the longest pause between two looks at the file, in seconds, and the factor by which pauses grow."""
_BUSY: Final = 0.3
"""Seconds after a change was found, for which the pauses are the shortest."""
_FAILURES: Final = (sqlite3.Error, OSError)

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class _Step(NamedTuple):
    work: Callable[[Database], Any]
    writes: bool
    proves: bool
    answer: asyncio.Future[Any]


class Connection:
    """The connection of one event loop.

    - `path`: the file.
    - `timeout`: seconds that a step may take.
    - `look`: called in the thread after a change, with whether earlier changes may have been missed. Returns a function
      that is then called in the event loop, or None. Without `look`, the thread does not look for changes, and does not
      log failures.
    """

    def __init__(
        self, path: str, timeout: float, look: Callable[[Database, bool], Callable[[], None] | None] | None
    ) -> None:
        self._path = path
        self._timeout = timeout
        self._look = look
        self._steps: SimpleQueue[_Step | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._database: Database | None = None
        self._in_use = threading.Lock()
        """Held while the thread uses the connection."""
        self._files: list[tuple[int, int]] = []
        self._version = -1
        self._is_available = self._is_open = True
        self._has_lost = True
        """Whether earlier changes may have been missed."""
        _connections.add(self)

    def of_another_loop(self) -> Connection:
        """Returns a connection to the same file for another event loop."""
        return Connection(self._path, self._timeout, None)

    def start(self) -> None:
        """Starts the thread, unless it has started already."""
        if self._thread is None and self._is_open:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._work, name="runs of langgraph-agui", daemon=True)
            self._thread.start()

    async def run(self, step: Callable[..., _Answer], *args: Any, writes: bool = True, proves: bool = False) -> _Answer:
        """Carries out a step in the thread, and returns its result. `proves`: whether success proves that other steps
        would succeed too. Raises `StoreUnavailableError`."""
        self.start()
        if not self._is_open:
            raise StoreUnavailableError
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._steps.put(_Step(lambda database: step(database, *args), writes, proves, answer))
        try:
            async with asyncio.timeout(2 * self._timeout):  # a step waits for one transaction before it, at most
                return await answer
        except TimeoutError as error:
            raise StoreUnavailableError from error

    async def aclose(self) -> None:
        """Ends the thread, after it has carried out the steps that wait."""
        self._is_open = False
        if self._thread is not None:
            self._steps.put(None)
            await asyncio.to_thread(self._thread.join, 2 * self._timeout)

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        pause, busy_until = _SHORTEST, 0.0
        while self._loop is not None and not self._loop.is_closed():
            steps = self._next(None if self._look is None else pause)
            with self._in_use:
                self._carry_out([step for step in steps if step is not None and not step.answer.cancelled()])
                if self._has_found(bool(steps)):
                    busy_until = clock() + _BUSY
            pause = _SHORTEST if clock() < busy_until else min(pause * _GROWTH, _LONGEST)
            if None in steps:
                break
        with self._in_use:
            self.close()

    def _next(self, pause: float | None) -> list[_Step | None]:
        try:
            steps = [self._steps.get(timeout=pause)]
            while not self._steps.empty():
                steps.append(self._steps.get_nowait())
        except Empty:
            return []
        return steps

    def _carry_out(self, steps: Sequence[_Step]) -> None:
        if not steps:
            return
        try:
            answers = self._transaction(steps)
        except _FAILURES as error:
            self._fail(error)
            self._answer(steps, [StoreUnavailableError() for _ in steps])
        except Exception as error:
            if len(steps) == 1:
                self._answer(steps, [error])
            else:
                for step in steps:
                    self._carry_out([step])
        else:
            if not self._is_available and any(step.proves for step in steps):
                self._is_available = True
                _log.warning("The file %s answers again.", self._path)
            if self._has_lost:  # before the answers, so that every change after an answer is found
                self._has_found(has_steps=True)
            self._answer(steps, answers)

    def _transaction(self, steps: Sequence[_Step]) -> list[Any]:
        if self._database is not None and files_of(self._path) != self._files:
            self.close()  # the file was deleted, or another one has taken its place
        if self._database is None:
            self._database = opened(self._path, self._timeout)
            self._files, self._version, self._has_lost = files_of(self._path), -1, True
        self._database.execute("BEGIN IMMEDIATE" if any(step.writes for step in steps) else "BEGIN")
        try:
            answers = [step.work(self._database) for step in steps]
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise
        return answers

    def _has_found(self, has_steps: bool) -> bool:
        """Returns whether the file has a change that concerns this process, and passes the change on."""
        if self._look is None or self._database is None:
            return False
        try:
            (version,) = self._database.execute("PRAGMA data_version").fetchone()
            if version == self._version and not has_steps:
                return False
            tell = self._look(self._database, self._has_lost)
        except _FAILURES as error:
            self._fail(error)
            return False
        self._version, self._has_lost = version, False
        if tell is not None:
            self._call(tell)
        return tell is not None

    def _fail(self, error: Exception) -> None:
        self._has_lost = True
        if self._is_available and self._look is not None:
            text = "The file %s does not answer (%s: %s). Runs of this process continue."
            _log.warning(text, self._path, type(error).__name__, error)
        self._is_available = False
        if "locked" not in str(error):
            self.close()

    def _answer(self, steps: Sequence[_Step], answers: Sequence[Any]) -> None:
        def tell() -> None:
            for step, answer in zip(steps, answers, strict=True):
                if step.answer.done():
                    continue
                if isinstance(answer, Exception):
                    step.answer.set_exception(answer)
                else:
                    step.answer.set_result(answer)

        self._call(tell)

    def _call(self, tell: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(tell)

    def close(self) -> None:
        """Closes the connection to the file. The next step opens it again."""
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()


_connections: WeakSet[Connection] = WeakSet()
_held: list[Connection] = []


def _before_fork() -> None:
    for connection in list(_connections):
        connection._in_use.acquire()
        connection.close()
        _held.append(connection)


def _after_fork() -> None:
    while _held:
        _held.pop()._in_use.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
