"""Since when this process has been in contact with the run database, without a pause: kept there, by `Contact`.

After a pause, owners may not have renewed their leases yet. So the process counts no run as lost, and claims no thread
of one, until it has been in contact for half a lease again (`run_database`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from ...errors import StoreUnavailableError
from .background import Background
from .run_database import RunDatabase

_TASK: Final = "contact with the run database"
_BEATS: Final = 12
"""In a lease."""
_LONGEST: Final = 1.0
"""Seconds between two beats at most."""


class Contact:
    """The contact of a process; `begin` it before anything is asked that depends on it."""

    def __init__(self, database: RunDatabase, background: Background) -> None:
        self.now: bytes | None = b""
        """As the database had it last."""
        self._database = database
        self._background = background
        self._has_begun = False

    async def begin(self) -> None:
        """Makes contact, once. Raises `StoreUnavailableError`."""
        if not self._has_begun:
            await self.keep(is_first=True)
            self._has_begun = True
            if self.now is not None:
                self._background.begin(_TASK, self._keep)

    async def keep(self, *, is_first: bool = False) -> None:
        """Tells the database that this process is in contact. Raises `StoreUnavailableError`."""
        self.now = await self._database.keep_contact(is_first=is_first)

    async def _keep(self) -> None:
        while True:
            with suppress(StoreUnavailableError):
                await self.keep()
            self._background.works(_TASK)
            await asyncio.sleep(min(self._database.lease / _BEATS, _LONGEST))
