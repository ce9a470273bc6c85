"""The starts and ends of runs alone: what a page has to know that connects by itself when a run begins."""

from __future__ import annotations

from typing import Final

from ...events.encoded import Batch
from ...events.streams import Wire

RUNS: Final = "runs"
"""The value of `?events=` that asks for them."""

_BOUNDARIES: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})


class OnlyBoundaries:
    """Another wire, without the events in between."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.media_type, self.heartbeat = wire.media_type, wire.heartbeat

    def encode(self, batch: Batch) -> bytes:
        """The bytes of a batch."""
        return self._wire.encode([each for each in batch if each.event["type"] in _BOUNDARIES])
