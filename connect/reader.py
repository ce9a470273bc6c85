"""What one reader of a thread holds, and how it is brought to where something else is. No I/O.

A reader begins with what it came with, or unknown. Either it is brought up to another view and goes on with that
(`join`), or a translator tells it things directly, through the reader's own view (`view`).
"""

from __future__ import annotations

from typing import Any

from ..translator import ClientView, Options

Event = dict[str, Any]


class Reader:
    """One reader, on a new stream. `view`: what it is known to hold, None for unknown; it is never changed."""

    def __init__(self, options: Options, view: ClientView | None = None) -> None:
        self.view = ClientView(version=options.protocol_version) if view is None else _begun(view)
        """What the reader holds now, and has open. Whoever tells it something, tells this too."""

    def join(self, view: ClientView) -> list[Event]:
        """The events that bring the reader to `view`, which is the reader's own from here on: it goes on with it."""
        events = view.catch_up(self.view)
        self.view = view
        return events


def _begun(view: ClientView) -> ClientView:
    """What the client holds, and nothing of the stream it came by: on a new one no run has begun."""
    return ClientView(
        view.messages if view.knows_messages else None, view.base if view.knows_state else None, view.version
    )
