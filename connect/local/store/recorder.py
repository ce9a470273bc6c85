"""`Recorder`: one task that reads a run of this process to its end, and gives its events to the run database to keep.

It reads the run as any reader does, but is not counted as one, so it neither delays the run nor keeps it alive. Events
are compressed as they come: in memory, a run takes about as much as it will in the database.

Not kept: a run that another process continues, since its events go on there, and that process keeps them.
"""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

from ....translator import PROTOCOL_VERSION, Options
from ...errors import StoreUnavailableError
from ...events.encoded import Batch
from ...events.readers import Reader
from ..encryption import seal
from .active_run import OwnedRun, ThreadKey
from .retention import KeptRun, Retention
from .run_database import Log, RunDatabase

_OPTIONS: Final = Options(protocol_version=PROTOCOL_VERSION, first_state="delta")
_CHUNK: Final = 64_000
"""Bytes of events that are gathered before they are compressed: a fraction of a millisecond's work."""
_LEVEL: Final = 1
"""The fastest compression, which makes events about ten times smaller."""
_DATA: Final = len(b"data: ")

_log = logging.getLogger(__name__)


class Recorder:
    """Records one run, from its claim on. `number`: the number of the run among those of its thread."""

    def __init__(
        self, database: RunDatabase, thread: ThreadKey, number: int, run: OwnedRun, retention: Retention
    ) -> None:
        self._database = database
        self.thread = thread
        self._number = number
        self.run = run
        self._retention = retention
        self._lines = bytearray()
        self._compressed = bytearray()
        self._compressor: zlib._Compress | None = zlib.compressobj(_LEVEL)
        """None if the events are too large to be kept."""
        self._events = 0
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(
            self._record(), name=f"recorder of {run.run_id}"
        )
        """Ends when the run is kept, or can't be."""

    async def _record(self) -> None:
        try:
            started_at = time.time()
            batches = self.run.published(Reader(_OPTIONS))
            async with aclosing(batches):
                async for batch in batches:
                    self._add(batch, time.time())
            if not self.run.is_handed_over:
                await self._keep(started_at, time.time())
        except StoreUnavailableError as error:
            _log.warning("The events of the run are not kept: %s (%s).", error, self.run.label)
        except Exception:
            _log.exception("The events of the run could not be kept (%s).", self.run.label)

    def _add(self, batch: Batch, at: float) -> None:
        self._events += len(batch)
        if self._compressor is None:
            return
        stamp = b',"timestamp":%d}\n' % (at * 1_000)
        for event in batch:
            line = event.frame(PROTOCOL_VERSION)[_DATA:-2]
            self._lines += line + b"\n" if "timestamp" in event.event else line[:-1] + stamp
        if len(self._lines) > _CHUNK:
            self._compress(self._compressor)

    def _compress(self, compressor: zlib._Compress) -> None:
        self._compressed += compressor.compress(self._lines)
        self._lines.clear()
        if len(self._compressed) > self._retention.run_bytes:
            self._compressor = None
            self._compressed.clear()

    async def _keep(self, started_at: float, ended_at: float) -> None:
        if self._compressor is not None:
            self._compress(self._compressor)
        if self._compressor is not None:
            self._compressed += self._compressor.flush()
        cipher, run = self.thread.cipher, self.run
        kept = KeptRun(
            number=self._number,
            run_id=run.run_id,
            metadata=run.metadata,
            started_at=datetime.fromtimestamp(started_at, UTC),
            ended_at=datetime.fromtimestamp(ended_at, UTC),
            status=run.outcome or "failed",
            events=self._events,
        )
        events = seal(bytes(self._compressed), cipher) if self._compressed else b""
        await self._database.keep(Log(self.thread, self._number), kept.to_json(cipher), events, self._retention)
