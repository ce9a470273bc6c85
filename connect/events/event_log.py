"""The events of one live run, for any number of readers: `EventLog`. `local.run` and `local.store` publish them.

Rules:

1. The log has one view, that of the run, which is always up to date, and one ring: the last events, limited by number
   and by bytes. A reader is a position in the ring and its open items, and keeps nothing else.
2. A reader that joins is caught up to the view with one batch, and continues at the ring's end. A reader that names the
   offset after which it continues gets the events themselves, as long as the ring has them.
3. A reader whose position has fallen out of the ring gets, in place of the events that it missed, those that bring it
   to the view (`ClientView.catch_up`), and continues at the ring's end. So no reader delays the run or another reader.
4. An event costs one `EncodedEvent`, however many readers there are, and the waking of those that wait. Without readers
   it costs nothing, because the view has it already.
5. When the log is closed, each reader reads the rest of the ring, and then its stream ends. Later readers get the view,
   which contains the end of the run.
6. A reader that leaves, in whatever way (closed, cancelled, collected), is no longer counted. The last one to leave
   empties the ring. A store that publishes the events to other processes reads the log too, and is not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from ...translator import ClientView, OpenItems
from .. import metrics
from .encoded import Batch, EncodedEvent, Event, to_batch
from .readers import Offset, Reader

MOST = 2_000
"""How many events are kept for readers that are behind."""
MOST_BYTES = 4_000_000
"""How many bytes of events are kept for them; a single event may be larger."""
BATCH = 256
"""How many events a reader gets at once."""
BATCH_BYTES = 256_000
"""How many bytes of events a reader gets at once; a single event may be larger. A reader that has stopped reading keeps
this much in memory, in addition to the ring."""


class EventLog:
    """The events of one run, for any number of readers in one event loop.

    `view`: the view of the run, to which events are applied before they are published. `on_last_reader_left`: called
    when the last reader leaves before the end.
    """

    def __init__(
        self,
        view: ClientView,
        on_last_reader_left: Callable[[], None] | None = None,
        *,
        most: int = MOST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._view = view
        self.on_last_reader_left = on_last_reader_left
        """Called when the last reader leaves before the end."""
        self._most = most
        self._most_bytes = most_bytes
        self._ring: Batch = []
        self._first = 0
        self._waiting: list[asyncio.Future[None]] = []
        """The futures of the readers that have all events and wait for more."""
        self.run = 0
        """The number of the run, as in `Offset`."""
        self.readers = 0
        """How many readers are counted."""
        self._attached = 0
        """How many readers there are, including those that are not counted."""
        self.kept = 0
        """About how many bytes of events are in the ring."""
        self.is_closed = False
        """Whether no more events will come."""
        self._own_end: int | None = None
        """How many events the run itself has emitted, if the log ends with other events (`close_with`)."""
        self._is_timed = metrics.is_on()

    def publish(self, events: list[Event]) -> None:
        """Publishes events that are in the view already."""
        if not self._attached:
            self._first += len(events)
            return
        if events:
            batch = [EncodedEvent(event, self.run, at) for at, event in enumerate(events, self.end + 1)]
            if self._is_timed:
                batch[0].emitted_at = metrics.clock()
            self.publish_encoded(batch)

    def publish_encoded(self, batch: Batch) -> None:
        """Publishes events that were encoded elsewhere, with the run and the numbers of this log."""
        if not self._attached:
            self._first += len(batch)
        elif batch:
            self.kept += _size(batch)
            self._ring += batch
            if len(self._ring) > self._most or self.kept > self._most_bytes:
                self._shorten()
            self._wake()

    def close(self) -> None:
        """Closes the log: readers read the rest of the ring, and then their streams end."""
        self.is_closed = True
        self._wake()

    def close_with(self, events: list[Event]) -> None:
        """Closes the log with last events, which are in the view already, and which the run itself has not emitted. The
        run may continue without them, so no reader can continue after one of them."""
        self._own_end = self.end
        if self._attached:
            batch = to_batch(events)
            self.kept += _size(batch)
            self._ring += batch
        else:
            self._first += len(events)
        self.close()

    def begin_anew(self) -> None:
        """Makes every reader continue at the view, after events were applied to it and could not be published."""
        self._first, self._ring, self.kept = self.end + 1, [], 0
        self._wake()

    async def read(self, reader: Reader, *, is_counted: bool = True) -> AsyncGenerator[Batch, None]:
        """Yields the events for `reader` from now on, to the run's end, and then gives it the view of the run. If its
        offset is one of this run, it has all events before that. `is_counted`: False for a store that publishes the
        events."""
        self._attached += 1
        self.readers += is_counted
        try:
            position, batch = self._join(reader)
            while batch or not self.is_closed:
                if batch:
                    is_own = self._own_end is None or position.at <= self._own_end
                    reader.offset = Offset(self.run, position.at) if is_own else None
                    yield batch
                else:
                    await self._wait_for_events()
                batch = self._next(position)
            reader.view = self._view.copy()
        finally:
            self._leave(is_counted)

    def restart(self, view: ClientView, end: int, run: int) -> None:
        """Makes every reader continue at another view of the run, to which `end` events have led. `run`: the number of
        the run from now on."""
        self._view, self._first, self._ring, self.kept, self.run = view, end, [], 0, run
        self._wake()

    @property
    def view(self) -> ClientView:
        """The view of the run."""
        return self._view

    @property
    def end(self) -> int:
        """How many events have been published."""
        return self._first + len(self._ring)

    def _join(self, reader: Reader) -> tuple[_Position, Batch]:
        """Returns the position at which a new reader continues, and its first batch."""
        after = reader.offset
        if after is not None and after.run == self.run and self._first <= after.event <= self.end:
            return _Position(self.run, self.end, self._view.open.copy()), self._ring[after.event - self._first :]
        position = _Position(self.run, self.end, reader.view.open)
        return position, position.take(self._caught_up(reader.catch_up(self._view)))

    def _next(self, position: _Position) -> Batch:
        if position.at < self._first or position.run != self.run:
            position.run, position.at = self.run, self.end
            return position.take(self._caught_up(self._view.catch_up(position.open)))
        start = position.at - self._first
        batch = self._ring[start : start + BATCH]
        if self.kept > BATCH_BYTES:  # otherwise no batch can be too large
            batch = _limit_bytes(batch)
        position.at += len(batch)
        return position.take(batch)

    def _caught_up(self, events: list[Event]) -> Batch:
        """Returns the events that bring a reader to the view, as a batch. It can continue only after the last of
        them."""
        batch = to_batch(events)
        if batch and self._own_end is None:
            batch[-1].run, batch[-1].at = self.run, self.end
        return batch

    async def _wait_for_events(self) -> None:
        """Waits for the next events, or the end. (With an `asyncio.Event`, each wait would cost twice as much.)"""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        except BaseException:
            if waiting in self._waiting:  # otherwise it was woken at the same moment
                self._waiting.remove(waiting)
            raise

    def _wake(self) -> None:
        """Wakes the readers that wait now."""
        woken, self._waiting = self._waiting, []
        for waiting in woken:
            if not waiting.done():
                waiting.set_result(None)

    def _shorten(self) -> None:
        """Drops the older half until the rest is within the limits. Spread over all events, this costs almost
        nothing."""
        while len(self._ring) > 1 and (len(self._ring) > self._most or self.kept > self._most_bytes):
            self._drop(len(self._ring) // 2)

    def _drop(self, count: int) -> None:
        self.kept -= _size(self._ring[:count])
        self._first += count
        del self._ring[:count]

    def _leave(self, is_counted: bool) -> None:
        self._attached -= 1
        self.readers -= is_counted
        if not self._attached:
            self._first, self._ring, self.kept = self.end, [], 0
        if is_counted and not self.readers and self.on_last_reader_left is not None and not self.is_closed:
            self.on_last_reader_left()


class _Position:
    """The position of one reader, as in `Offset`, and its open items there."""

    __slots__ = ("at", "open", "run")

    def __init__(self, run: int, at: int, open_items: OpenItems) -> None:
        self.run = run
        self.at = at
        self.open = open_items

    def take(self, batch: Batch) -> Batch:
        """Returns the batch, after its events were applied to the open items."""
        apply = self.open.apply
        for encoded in batch:
            apply(encoded.event)
        return batch


def _limit_bytes(batch: Batch) -> Batch:
    """Returns as much of the beginning of a batch as a reader gets at once."""
    bytes_left = BATCH_BYTES
    for count, encoded in enumerate(batch):
        bytes_left -= encoded.size
        if bytes_left < 0:
            return batch[: count or 1]
    return batch


def _size(batch: list[EncodedEvent]) -> int:
    return sum(encoded.size for encoded in batch)
