"""`LogReader` reads the logs of the runs that a process follows.

Up to `_MOST_BLOCKED` logs are read by one `XREAD` that blocks; another stream in it, `wake`, lets the process interrupt
the command. Such a command names all of its streams each time. So with more logs, the reader waits for Pub/Sub messages
instead, which name each log that has a new entry, and reads these logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from ..records import Entry
from ..run_database import Log
from . import scripts
from .commands import Commands
from .keys import Keys, entry_of, wake_key
from .subscriber import Subscriber

_MOST_BLOCKED: Final = 200
"""Logs that one command waits for, at most. Redis and the client take some 0.1 ms for a command with so many."""
_WAKE: Final = 60_000
"""Milliseconds for which the stream `wake` is kept."""


class LogReader:
    """The reader of one process. `idle`: seconds for which `read` waits, at most."""

    def __init__(self, commands: Commands, subscriber: Subscriber, process: str, idle: float) -> None:
        self._commands = commands
        self._subscriber = subscriber
        self._wake = wake_key(process)
        self._woken = b"0-0"
        """The id of the last entry of `wake` that was read."""
        self._idle = min(idle, commands.longest_block)
        self._is_blocked = False
        self._takers: dict[Log, Callable[[bytes | None], None]] = {}
        """The takers of Pub/Sub messages, one for each log."""
        self._named: set[Log] = set()
        """The logs that messages have named since the last read."""
        self._news = asyncio.Event()

    async def read(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        """See `RunDatabase.read`."""
        if len(logs) <= _MOST_BLOCKED:
            await self._subscribe_only({})
            return await self._blocked(logs)
        return await self._notified(logs)

    async def interrupt(self) -> None:
        """See `RunDatabase.interrupt_read`."""
        self._news.set()
        if self._is_blocked:
            await self._commands.run(scripts.WAKE, (self._wake,), (_WAKE,))

    async def _blocked(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        streams = {**_streams(logs, logs), self._wake: self._woken}
        self._is_blocked = True
        try:
            answer = await self._commands.ask(
                lambda: self._commands.client.xread(streams, block=round(self._idle * 1_000)), more=self._idle
            )
        except BaseException:
            self._woken = b"0-0"
            raise
        finally:
            self._is_blocked = False
        return self._logged(answer, logs)

    async def _notified(self, logs: Mapping[Log, int]) -> dict[Log, list[Entry]]:
        await self._subscribe_only(logs)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._idle):
                await self._news.wait()
        self._news.clear()
        named = [log for log in self._named if log in logs]
        self._named.clear()
        if not named:
            return {}
        try:
            answer = await self._commands.ask(lambda: self._commands.client.xread(_streams(logs, named)))
        except BaseException:
            self._named.update(named)
            raise
        return self._logged(answer, named)

    async def _subscribe_only(self, logs: Mapping[Log, int]) -> None:
        for log in self._takers.keys() - logs.keys():
            await self._subscriber.unsubscribe(Keys(log.thread).appended, self._takers.pop(log))
        for log in logs.keys() - self._takers.keys():
            self._takers[log] = self._taker(log)
            await self._subscriber.subscribe(Keys(log.thread).appended, self._takers[log])

    def _taker(self, log: Log) -> Callable[[bytes | None], None]:
        def take(fence: bytes | None) -> None:
            if fence is None or int(fence) == log.fence:
                self._named.add(log)
                self._news.set()

        return take

    def _logged(self, answer: Any, logs: Iterable[Log]) -> dict[Log, list[Entry]]:
        by_name = {_name(log).encode(): log for log in logs}
        logged: dict[Log, list[Entry]] = {}
        for name, stream in answer.items() if isinstance(answer, dict) else answer:
            entries = stream[0] if isinstance(answer, dict) else stream  # as redis-py gives it by RESP3
            if name in by_name:
                logged[by_name[name]] = [entry_of(entry_id, fields) for entry_id, fields in entries]
            elif entries:
                self._woken = entries[-1][0]
        return logged


def _streams(positions: Mapping[Log, int], logs: Iterable[Log]) -> dict[str, Any]:
    return {_name(log): f"{log.fence}-{positions[log]}" for log in logs}


@lru_cache(maxsize=4_096)
def _name(log: Log) -> str:
    return Keys(log.thread).log(log.fence)
