"""What a client is told that joins a stream late, or again: whatever it lacks of what a view holds.

Here: `catch_up`, which events, in which order, bring a reader of whom something or nothing is known to where a view is.
Never here: which of them open and close (`openings`), how messages are told (`lacking`), how an event becomes several
when it is too large (`frames`), and when to join or drop a backlog.

Rules:
- What the reader is known to hold is not told, what the view does not know cannot be.
- A stream opens nothing by snapshots: whatever is open is opened again, by the same id, after what holds the
  half-streamed message. The client appends to what it holds; so the tail goes on where that ends.
- What is open and held by nobody (a messages snapshot dropped it) is opened before a snapshot, which drops it again.
- The state comes as a delta where that is the smaller, the messages as `lacking` has it.
"""

from typing import TYPE_CHECKING, Any

from ..jsonable.json_diff import diff
from ..wire import events
from . import open_items
from .frame_limit import bounded
from .missing_messages import by_events, by_snapshots, same
from .open_items import OpenItems

if TYPE_CHECKING:
    from .view import ClientView

__all__ = ["catch_up"]

Event = dict[str, Any]


def catch_up(view: "ClientView", held: "ClientView") -> list[Event]:
    """What brings a reader that holds `held` to `view`; see `ClientView.catch_up`."""
    if view.thread_id is None or view.run_id is None:
        return []
    reader, now = held.open, view.open
    told: list[Event] = []
    if reader.run_id != view.run_id:
        if reader.run_id is not None:
            told += [*reader.closings(), events.run_error(open_items.NOT_SEEN, open_items.LOST)]
        told.append(events.run_started(view.thread_id, view.run_id, view.version, view.parent_run_id))
        reader = OpenItems(run_id=view.run_id)
    lacking = by_events(view, held, reader, now)
    reader = _open_after(reader, lacking or [])
    told += [*(lacking or []), *reader.closings(now)]
    opening = now.missing(reader)
    unheld = [event for event in opening if view.knows_messages and not open_items.is_stored(view._held, event)]
    if unheld:
        told += [open_items.without_fields(event, "parentMessageId") for event in unheld]
    told += _state(view, held)
    if lacking is None:
        told += by_snapshots(view, held, now)
    told += now.subagent_events(reader)
    told += [event for key, event in now.steps.items() if key not in reader.steps]
    told += [event for key, event in now.spans.items() if key not in reader.spans]
    told += [open_items.reopened(view._held, event) for event in opening if event not in unheld]
    if view.terminal is not None:
        told.append(view.terminal)
    return told


def _open_after(reader: OpenItems, told: list[Event]) -> OpenItems:
    """What the reader has open when it has been told this."""
    if not told:
        return reader
    opened = reader.copy()
    for event in told:
        opened.apply(event)
    return opened


def _state(view: "ClientView", held: "ClientView") -> list[Event]:
    """The state, as far as the reader lacks it."""
    if not view.knows_state:
        return []
    shown = held.knows_state and same(held.state, view.state)
    if shown and same(held.base, view.base):
        return []
    operations = _operations(held.base, view.base) if held.knows_state else None
    if operations and operations[0]["path"]:
        return bounded(events.state_delta(operations))
    if view.base is view.state:
        return bounded(events.state_snapshot(view.state))
    # an older client applies deltas to a falsy state, and shows the one before
    before = [] if shown else bounded(events.state_snapshot(view.state))
    return [*before, events.state_snapshot(view.base)]


def _operations(before: Any, after: Any) -> list[Event] | None:
    try:
        return diff(before, after)
    except (TypeError, ValueError, RecursionError):  # what a caller says a client holds need not be JSON
        return None
