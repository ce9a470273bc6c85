"""`Logs`: the logs of the runs that this process follows, all of which one task reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain, repeat
from typing import Final

from ...errors import StoreUnavailableError
from .background import PAUSES, Background
from .records import Entry
from .run_database import Log, RunDatabase

_TASK: Final = "reader of logs"

TakeEntries = Callable[[Sequence[Entry]], None]
"""Takes the new entries of a log. It must not raise."""


class Logs:
    """The logs that are followed, each with the callbacks that take its entries. `background`: owns the task."""

    def __init__(self, database: RunDatabase, background: Background) -> None:
        self._database = database
        self._background = background
        self._positions: dict[Log, int] = {}
        """The number of the last entry of each log that all its callbacks were given."""
        self._takers: dict[Log, dict[TakeEntries, int]] = {}
        """The callbacks of each log, each with the number of the last entry that it was given."""
        self._joined: set[tuple[Log, TakeEntries]] = set()
        """Those that have been added since the task called `read`, which may need earlier entries."""
        self._has_logs = asyncio.Event()
        self._is_changed = False
        """Whether the logs to read have changed since the task called `read`."""
        self._interrupting: asyncio.Task[None] | None = None

    def follow(self, log: Log, take: TakeEntries, after: int = 0) -> None:
        """Calls `take` with the entries of a log after entry number `after`, until `leave` is called."""
        takers = self._takers.setdefault(log, {})
        takers[take] = after
        self._joined.add((log, take))
        self._positions[log] = min(takers.values())
        self._has_logs.set()
        self._background.begin(_TASK, self._read)
        self._is_changed = True
        if self._interrupting is None or self._interrupting.done():
            self._interrupting = asyncio.get_running_loop().create_task(self._interrupt())

    def leave(self, log: Log, take: TakeEntries) -> None:
        """Stops calling `take`."""
        takers = self._takers.get(log, {})
        if takers.pop(take, None) is None:
            return
        if takers:
            self._positions[log] = min(takers.values())
            return
        del self._positions[log], self._takers[log]
        if not self._takers:
            self._has_logs.clear()

    async def aclose(self) -> None:
        """Cancels the interruption of a read. The background ends the task that reads."""
        if self._interrupting is not None:
            self._interrupting.cancel()
            await asyncio.wait([self._interrupting])

    async def _interrupt(self) -> None:
        with suppress(StoreUnavailableError):  # the task that reads gets the error too, and tries again
            while self._is_changed:
                self._is_changed = False
                await self._database.interrupt_read()

    async def _read(self) -> None:
        pauses = chain(PAUSES, repeat(PAUSES[-1]))
        while True:
            await self._has_logs.wait()
            self._is_changed = False
            self._joined.clear()
            try:
                logged = await self._database.read(self._positions)
            except StoreUnavailableError:
                self._background.works(_TASK)
                await asyncio.sleep(next(pauses))
                continue
            self._background.works(_TASK)
            pauses = chain(PAUSES, repeat(PAUSES[-1]))
            for log, entries in logged.items():
                if entries:
                    self._give(log, entries)

    def _give(self, log: Log, entries: Sequence[Entry]) -> None:
        takers = self._takers.get(log, {})
        for take, at in list(takers.items()):
            if (log, take) not in self._joined:
                takers[take] = max(at, entries[-1].number)
        if takers:
            self._positions[log] = min(takers.values())
        for take in list(takers):
            take(entries)
