"""One event on its way to readers: translated once, encoded once, however many read it. Never which events, or when.

Inside this package a stream is an iterator of batches, lists of `EncodedEvent` that were ready at the same moment.
What a reader gets of each, a model or a frame, is made when the first one asks, and kept.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, cast

from ag_ui.core import Event as Model

from ..translator import encode, for_client_version, to_model

Event = dict[str, Any]

_ESTIMATE = 160
"""Bytes around the text of an event that carries a fragment of text."""


class EncodedEvent:
    """An event as a wire dict, and the forms it is handed out in."""

    __slots__ = ("_frame", "_model", "_old", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self._frame: bytes | None = None
        self._model: Model | None = None
        self._old: EncodedEvent | None = None

    def frame(self, version: str | None) -> bytes:
        """The SSE frame, for a client of this protocol version (None: it declares none); b"" if it must not get it."""
        own = self._for(version)
        if own._frame is None:
            own._frame = encode(own.event) if own.event else b""
        return own._frame

    def model(self, version: str | None) -> Model | None:
        """The `ag_ui.core` model, for a client of this protocol version; None if the client must not get it. Readers
        share it: it must not be changed."""
        own = self._for(version)
        if own._model is None and own.event:
            own._model = cast(Model, to_model(own.event))
        return own._model

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
