"""One event on its way to readers: translated once, encoded once, however many read it. Never which events, or when.

Inside this package a stream is an iterator of batches, lists of `EncodedEvent` that were ready at the same moment.
A frame is made for its first reader and kept. A model is made for each reader: it is the reader's own to change.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, cast

from ag_ui.core import Event as Model

from ...translator import encode, for_client_version, to_model

Event = dict[str, Any]

_ESTIMATE = 160
"""Bytes around the text of an event that carries a fragment of text."""


class EncodedEvent:
    """An event as a wire dict, which must not be changed, and the forms in which readers get it."""

    __slots__ = ("_frame", "_old", "at", "event", "run")

    def __init__(self, event: Event, run: int = 0, at: int = 0, frame: bytes | None = None) -> None:
        """`frame`: its SSE frame, where it came as one."""
        self.event = event
        self.run = run
        """The number of its run, as in `Offset`; 0 where no reader can continue after it."""
        self.at = at
        """How many events of the run there are up to it, itself included."""
        self._frame = frame
        self._old: EncodedEvent | None = None

    def frame(self, version: str | None) -> bytes:
        """The SSE frame, for a client of this protocol version (None: it declares none); b"" if it must not get it."""
        own = self._for(version)
        if own._frame is None:
            own._frame = encode(own.event) if own.event else b""
        return own._frame

    def model(self, version: str | None) -> Model | None:
        """A new `ag_ui.core` model, for a client of this protocol version; None if the client must not get it."""
        event = self._for(version).event
        return cast(Model, to_model(event)) if event else None

    @property
    def size(self) -> int:
        """About how many bytes this keeps alive: an estimate for a fragment of text, else the size of its frame."""
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
    """Events that are ready together."""
    return [EncodedEvent(event) for event in events]


async def one_batch(events: Iterable[Event]) -> Batches:
    """A stream of these events, which are ready together."""
    yield to_batch(events)
