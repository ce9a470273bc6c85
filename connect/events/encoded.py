"""One event on its way to its readers: translated once and encoded once, however many readers there are. Never decides
which events are sent, or when.

Inside this package a stream is an iterator of batches: lists of `EncodedEvent` that were ready at the same moment.
A frame is made for the first reader, and kept. Each reader gets a model of its own, which it may change.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, cast

from ag_ui.core import Event as Model

from ...translator import encode, for_client_version, to_model

Event = dict[str, Any]

_ESTIMATE = 160
"""About how many bytes an event with a fragment of text has besides that text."""


class EncodedEvent:
    """An event as a wire dict, which must not be changed, and the forms in which its readers get it."""

    __slots__ = ("_frame", "_old", "at", "emitted_at", "event", "run")

    emitted_at: float
    """When it was emitted, by `metrics.clock`. Set only for the first event of a batch, and only if it is recorded."""

    def __init__(self, event: Event, run: int = 0, at: int = 0, frame: bytes | None = None) -> None:
        """`frame`: its SSE frame, if the event was received as one."""
        self.event = event
        self.run = run
        """The number of its run, as in `Offset`; 0 if no reader can continue after it."""
        self.at = at
        """How many events the run has up to this one, including it."""
        self._frame = frame
        self._old: EncodedEvent | None = None

    def frame(self, version: str | None) -> bytes:
        """Returns the SSE frame for a client of this protocol version (None: the client declares no version); b"" if
        that client must not get the event."""
        own = self._for(version)
        if own._frame is None:
            own._frame = encode(own.event) if own.event else b""
        return own._frame

    def model(self, version: str | None) -> Model | None:
        """Returns a new `ag_ui.core` model for a client of this protocol version; None if that client must not get the
        event."""
        event = self._for(version).event
        return cast(Model, to_model(event)) if event else None

    @property
    def size(self) -> int:
        """About how many bytes the event takes: an estimate for a fragment of text, otherwise the size of its frame."""
        delta = self.event.get("delta")
        return len(delta) + _ESTIMATE if isinstance(delta, str) else len(self.frame("1.0"))

    def _for(self, version: str | None) -> EncodedEvent:
        if version is not None:
            return self
        if self._old is None:
            event = for_client_version(self.event, version)
            self._old = self if event is self.event else EncodedEvent(event or {})
        return self._old


Batch = list[EncodedEvent]
Batches = AsyncGenerator[Batch, None]


def to_batch(events: Iterable[Event]) -> Batch:
    """Returns events that are ready together as one batch."""
    return [EncodedEvent(event) for event in events]


async def one_batch(events: Iterable[Event]) -> Batches:
    """Returns a stream of one batch with these events."""
    yield to_batch(events)
