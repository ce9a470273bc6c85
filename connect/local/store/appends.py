"""`Appends` sends the entries that the publishers of a process append at the same moment as one command.

While a command is on its way, it gathers the next entries. After a command with several entries has failed, it sends
each entry by itself until one succeeds: an entry that the database refuses must not stop the others.
"""

from __future__ import annotations

import asyncio
from typing import Final

from .run_database import Append, Appended, RunDatabase

_MOST: Final = 64
"""Entries of a command, at most."""


class Appends:
    """The entries of one process."""

    def __init__(self, database: RunDatabase) -> None:
        self._database = database
        self._waiting: list[tuple[Append, asyncio.Future[Appended]]] = []
        self._is_failing = False
        self._sending: asyncio.Task[None] | None = None

    async def append(self, entry: Append) -> Appended:
        """Sends an entry, and returns the answer. Raises what the database raises."""
        if self._is_failing:
            (answer,) = await self._database.append([entry])
            self._is_failing = False
            return answer
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Appended] = loop.create_future()
        self._waiting.append((entry, answered))
        if self._sending is None or self._sending.done():
            self._sending = loop.create_task(self._send())
        return await answered

    async def aclose(self) -> None:
        """Cancels the command that is on its way."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])

    async def _send(self) -> None:
        while self._waiting:
            batch = [
                (entry, future) for entry, future in self._waiting[:_MOST] if not future.done()
            ]  # its publisher waits
            del self._waiting[:_MOST]
            try:
                answers = await self._database.append([entry for entry, _ in batch]) if batch else ()
            except Exception as error:
                self._is_failing = len(batch) > 1
                for _, answered in batch:
                    if not answered.done():
                        answered.set_exception(error)
            else:
                for (_, answered), answer in zip(batch, answers, strict=True):
                    if not answered.done():
                        answered.set_result(answer)
