"""One live run's events, to any number of readers: `EventLog`. Never where they come from, or what they mean.

How it works, and its rules:

1. There is one view, the run's, which is always where the run is, and one ring: the events that were told last, bounded
   by number and by bytes. A reader is a place in the ring and what it has open; it keeps nothing else.
2. A reader is caught up to the view, and reads on from the ring's end. What is ready when it comes is one batch.
3. A reader whose place has fallen out of the ring is told, in place of what it missed, what brings it to the view
   (`ClientView.catch_up`), and goes on from the ring's end. So no reader holds up the run or another reader.
4. An event costs one `EncodedEvent` and the waking of those who wait, however many read. With no readers it costs
   nothing, for the view has it already.
5. When the run is over, each reader reads what is left of the ring, and its stream ends. One that comes later is told
   the view, which has the end in it.
6. A reader that goes away, however it does (closed, cancelled, collected), is no longer counted. The last to go takes
   the ring with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from ...translator import ClientView, OpenItems
from ..encoded import Batch, EncodedEvent, to_batch
from ..readers import Reader

Event = dict[str, Any]

MOST = 2_000
"""Events that are kept for readers that are behind."""
MOST_BYTES = 4_000_000
"""Bytes of events that are kept for them; a single event may be larger."""
BATCH = 256
"""Events a reader is handed at once."""
BATCH_BYTES = 256_000
"""Bytes of events that it is handed at once; a single event may be larger. It keeps them until it has taken them all:
that is what is kept for each reader that does not read, besides the ring."""


class EventLog:
    """The events of one run, for any number of readers in one event loop.

    `view`: the run's, which whoever publishes has applied the events to. `deserted`: called when the last reader has
    gone away before the end.
    """

    def __init__(
        self,
        view: ClientView,
        deserted: Callable[[], None] | None = None,
        *,
        most: int = MOST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._view = view
        self._deserted = deserted
        self._most = most
        self._most_bytes = most_bytes
        self._ring: Batch = []
        self._first = 0
        self._news = asyncio.Event()
        self.readers = 0
        """How many read."""
        self.kept = 0
        """About how many bytes of events the ring keeps."""
        self.is_over = False
        """Whether all has been told."""

    def publish(self, events: list[Event]) -> None:
        """Tells events, which are in the view already."""
        if not self.readers:
            self._first += len(events)
            return
        if events:
            told = to_batch(events)
            self.kept += _size(told)
            self._ring += told
            self._shorten()
            self._wake()

    def close(self) -> None:
        """Says that all has been told: readers read to the end, and their streams end."""
        self.is_over = True
        self._wake()

    def begin_anew(self) -> None:
        """Makes every reader go on from the view: events that are in it could not be published."""
        self._first, self._ring, self.kept = self._end + 1, [], 0
        self._wake()

    async def told(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """What `reader` is told from now on, to the run's end; then its view is the run's."""
        self.readers += 1
        try:
            place = _Place(self._end, reader.view.open)
            batch = place.passed(to_batch(reader.catch_up(self._view)))
            while batch or not self.is_over:
                if batch:
                    yield batch
                else:
                    await self._news.wait()
                batch = self._next(place)
            reader.view = self._view.copy()
        finally:
            self._leave()

    @property
    def _end(self) -> int:
        return self._first + len(self._ring)

    def _next(self, place: _Place) -> Batch:
        if place.at < self._first:
            place.at = self._end
            return place.passed(to_batch(self._view.catch_up(place.opened)))
        start = place.at - self._first
        batch = self._ring[start : start + BATCH]
        if self.kept > BATCH_BYTES:  # it may be too large; mostly it can't be
            batch = _lightest(batch)
        place.at += len(batch)
        return place.passed(batch)

    def _wake(self) -> None:
        """Wakes all who wait now; whoever waits later, waits for the next."""
        self._news.set()
        self._news.clear()

    def _shorten(self) -> None:
        """Drops the older half until the rest is within bounds: on average that costs nothing per event."""
        while len(self._ring) > 1 and (len(self._ring) > self._most or self.kept > self._most_bytes):
            self._drop(len(self._ring) // 2)

    def _drop(self, count: int) -> None:
        self.kept -= _size(self._ring[:count])
        self._first += count
        del self._ring[:count]

    def _leave(self) -> None:
        self.readers -= 1
        if self.readers:
            return
        self._drop(len(self._ring))
        if self._deserted is not None and not self.is_over:
            self._deserted()


class _Place:
    """Where one reader is, and what it has open there."""

    __slots__ = ("at", "opened")

    def __init__(self, at: int, opened: OpenItems) -> None:
        self.at = at
        self.opened = opened

    def passed(self, batch: Batch) -> Batch:
        """The batch, which the reader is handed now."""
        apply = self.opened.apply
        for told in batch:
            apply(told.event)
        return batch


def _lightest(batch: Batch) -> Batch:
    """As much of the beginning of a batch as a reader is handed at once."""
    bytes_left = BATCH_BYTES
    for place, told in enumerate(batch):
        bytes_left -= told.size
        if bytes_left < 0:
            return batch[: place or 1]
    return batch


def _size(batch: list[EncodedEvent]) -> int:
    return sum(told.size for told in batch)
