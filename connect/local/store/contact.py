"""`Contact` keeps this process in contact with the run database, which notes since when it has been without a pause.

After a pause, owners may not have renewed their leases yet. So this process does not count a run as lost, and does not
claim its thread, until it has been in contact for half a lease again (rule 2 of `run_database`).
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
"""Calls of `keep_contact` in a lease, at least."""
_LONGEST: Final = 1.0
"""Seconds between two calls, at most."""


class Contact:
    """The contact of a process. `begin` must be called before any question whose answer depends on the contact."""

    def __init__(self, database: RunDatabase, background: Background) -> None:
        self.now: bytes | None = b""
        """The contact that the database returned last."""
        self._database = database
        self._background = background
        self._has_begun = False

    async def begin(self) -> None:
        """Makes contact, once, and keeps it from then on. Raises `StoreUnavailableError`."""
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
