"""Since when this process has been in contact with Redis, without a pause: kept in Redis, by `Contact`.

After a pause, owners may not have renewed their leases yet. So the process counts no run as lost, and claims no thread
of one, until it has been in contact for half a lease again (`scripts`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from ....errors import StoreUnavailableError
from .database import Database

_BEATS: Final = 12
"""In a lease."""


class Contact:
    """The contact of a process; `begin` it before anything is asked that depends on it."""

    def __init__(self, database: Database) -> None:
        self.now = b""
        """As Redis had it last."""
        self._database = database
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Makes contact, once. Raises `StoreUnavailableError`."""
        if self._task is None:
            self.now = await self._database.keep_contact(is_first=True)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep(), name="contact with redis")

    async def aclose(self) -> None:
        """Ends it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._database.lease / _BEATS)
            with suppress(StoreUnavailableError):
                self.now = await self._database.keep_contact(is_first=False)
