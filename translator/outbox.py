"""Where every event goes on its way out: it is applied to the view and waits to be taken. No rule of when to tell
what."""

from __future__ import annotations

from collections.abc import Iterable

from .client.frame_limit import bounded
from .client.view import ClientView
from .wire.events import Event


class Outbox:
    """Collects the events of one call into the translator and keeps the view abreast of them."""

    __slots__ = ("_apply", "_events", "view")

    def __init__(self, view: ClientView) -> None:
        self.view = view
        self._apply = view.apply
        self._events: list[Event] = []

    def tell(self, event: Event) -> None:
        """Tells one event, in several where it is too large for a frame."""
        for piece in bounded(event):
            self._events.append(piece)
            self._apply(piece)

    def tell_all(self, events: Iterable[Event]) -> None:
        """Tells events in order, each before the next is made."""
        for event in events:
            self.tell(event)

    def take(self) -> list[Event]:
        """The events told since the last call."""
        events, self._events = self._events, []
        return events
