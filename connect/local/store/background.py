"""`Background`: the background tasks of a store, which have to run for as long as the store is used.

If a task raises, the exception is logged, and the task begins again after a pause that grows. Until the task reports
that it works again, the store counts as unavailable, because a new run would wait for the task in vain. Tasks handle
expected failures themselves, such as a database that does not answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from typing import Final

PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds before the second try of something that has to succeed, before the third, and so on; the last pause is
repeated."""
_LONGEST: Final = 5.0
"""Seconds between two tries of a task that keeps raising, at most."""

_log = logging.getLogger(__name__)


class Background:
    """The tasks of one store, each with a name for the log."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failing: set[str] = set()

    @property
    def is_failing(self) -> bool:
        """Whether a task has raised an exception, and has not worked since."""
        return bool(self._failing)

    def begin(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Begins a task, if it has not begun yet. `work`: runs until it is cancelled."""
        if name not in self._tasks:
            self._tasks[name] = asyncio.get_running_loop().create_task(self._keep(name, work), name=name)

    def works(self, name: str) -> None:
        """Notes that a task works. The task itself calls this."""
        if name in self._failing:
            self._failing.discard(name)
            _log.warning("The task %r works again.", name)

    async def aclose(self) -> None:
        """Ends all tasks."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        pauses = chain(PAUSES, repeat(_LONGEST))
        while True:
            try:
                await work()
            except Exception:
                if name not in self._failing:
                    pauses = chain(PAUSES, repeat(_LONGEST))
                self._failing.add(name)
                _log.exception("The task %r failed, and begins again. No run starts until it works.", name)
            await asyncio.sleep(next(pauses))
