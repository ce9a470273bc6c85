"""Filters a stream down to the starts and ends of runs, for pages that connect on their own when a run begins."""

from __future__ import annotations

from typing import Final

from ...events.encoded import Batch
from ...events.streams import Wire

RUNS: Final = "runs"
"""The value of `?events=` that requests only these events."""

_BOUNDARIES: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})


class OnlyBoundaries:
    """Wraps another wire, and leaves out all events except the starts and ends of runs."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.media_type, self.heartbeat = wire.media_type, wire.heartbeat

    def encode(self, batch: Batch) -> bytes:
        """Returns the bytes of a batch."""
        return self._wire.encode([encoded for encoded in batch if encoded.event["type"] in _BOUNDARIES])
