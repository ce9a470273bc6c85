"""The starts and ends of runs alone: what a page has to know that connects by itself when a run begins."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from ...events.encoded import Batches

RUNS: Final = "runs"
"""The value of `?events=` that asks for them."""

_BOUNDARIES: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})


async def boundaries(batches: Batches) -> Batches:
    """The batches without the events in between, and without those that are empty then."""
    async with aclosing(batches):
        async for batch in batches:
            if kept := [each for each in batch if each.event["type"] in _BOUNDARIES]:
                yield kept
