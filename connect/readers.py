"""What one reader of a thread holds, and how it is brought to where something else is. No I/O.

A reader begins with what it came with, or unknown. Either it is brought up to another view and goes on with that
(`join`), or a translator tells it things directly, through the reader's own view (`view`).

With `first_state="snapshot"` the first state event that it gets of a run is a snapshot, wherever it joins the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..translator import ClientView, Options, same_json

Event = dict[str, Any]


class Reader:
    """One reader, on a new stream. `view`: what it is known to hold, None for unknown; it is never changed."""

    def __init__(self, options: Options, view: ClientView | None = None) -> None:
        self.view = ClientView(version=options.protocol_version) if view is None else _begun(view)
        """What the reader holds now, and has open. Whoever tells it something, tells this too."""
        self._options = options

    def catch_up(self, view: ClientView) -> list[Event]:
        """The events that bring the reader to `view`, and leave its own view as it is."""
        return catch_up_events(view, self.view, self._options)

    def join(self, view: ClientView) -> list[Event]:
        """The events that bring the reader to `view`, which is the reader's own from here on: it goes on with it."""
        events = self.catch_up(view)
        self.view = view
        return events


def catch_up_events(view: ClientView, held: ClientView, options: Options) -> list[Event]:
    """`view.catch_up(held)`, with a state snapshot where otherwise the reader's first state event of the run would be a
    delta, now or later.

    A reader that has the same state needs none if the run is over, or has emitted no snapshot yet: its first is one.
    """
    has_snapshot = held.live and held.run_id == view.run_id and held.run_has_snapshot
    if options.first_state == "delta" or not held.knows_state or has_snapshot:
        return view.catch_up(held)
    is_last = view.terminal is not None or not view.run_has_snapshot
    if is_last and same_json(held.base, view.base):
        return view.catch_up(held)
    unknown = held.copy()
    unknown.knows_state = False
    return view.catch_up(unknown)


def direct_options(options: Options) -> Options:
    """The options of a reader that gets this stream itself, with no server in between that folds a run's state."""
    return replace(options, first_state="delta")


def _begun(view: ClientView) -> ClientView:
    """What the client holds, and nothing of the stream it came by: on a new one no run has begun."""
    return ClientView(
        view.messages if view.knows_messages else None, view.base if view.knows_state else None, view.version
    )
