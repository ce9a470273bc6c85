"""Finds the events that bring a late joiner, a slow reader or a reconnected reader up to date.

This module decides the order of the events, and makes the events for the state. `missing_messages.py` finds the missing
messages, and `open_items.py` makes the events that open and close items. The server decides when a reader joins, and
when a slow reader's backlog is discarded.

Rules:

- Contents that the reader already has are not emitted. Contents that the view does not know cannot be emitted.
- A snapshot does not open items. So each open item is opened again with the same id, after its message has been brought
  up to date. Later deltas are then appended to the existing message.
- If an earlier snapshot has dropped the message of an open item, the item is opened before the catch-up snapshot. The
  client adds the message when the item is opened, and drops it again when it receives the catch-up snapshot.
- Custom events, raw events and steps that have finished are never repeated, because no later event depends on them.
- The state is emitted as a delta if the delta is smaller than a snapshot.
"""

from __future__ import annotations

from typing import Any

from ..jsonable.json_diff import diff
from ..jsonable.same_json import same_json
from ..wire import events
from ..wire.events import Event
from ..wire.frame_limit import framed
from .contents import ClientContents
from .message_store import MessageStore
from .missing_messages import missing_messages
from .open_items import LOST, NOT_SEEN, OpenItems, is_stored, reopened, without_fields


def catch_up(view: ClientContents, known: ClientContents) -> list[Event]:
    """Returns the events that bring a reader up to date with `view`. `known` contains everything that the reader is
    known to have. See `ClientView.catch_up`."""
    thread_id, run_id = view.thread_id, view.run_id
    if thread_id is None or run_id is None:
        return []
    if known.knows_messages and not view.knows_messages:
        view = _on_top_of(known, view)
    reader, now = known.open, view.open
    emitted: list[Event] = []
    if reader.run_id != run_id:
        if reader.run_id is not None:
            emitted += [*reader.closings(), events.run_error(NOT_SEEN, LOST)]
        emitted.append(events.run_started(thread_id, run_id, view.version, view.parent_run_id, view.trace_id))
        reader = OpenItems(run_id)
    missing, snapshots = missing_messages(view, known, reader, now)
    for event in missing:
        reader.apply(event)
    emitted += [*missing, *reader.closings(now)]
    opening = now.missing(reader)
    dropped = [event for event in opening if view.knows_messages and not is_stored(view.store, event)]
    emitted += [without_fields(event, "parentMessageId") for event in dropped]
    emitted += _state(view, known)
    emitted += snapshots
    emitted += now.subagent_events(reader)
    emitted += [event for key, event in now.steps.items() if key not in reader.steps]
    emitted += [event for key, event in now.spans.items() if key not in reader.spans]
    emitted += [reopened(view.store, event) for event in opening if event not in dropped]
    if view.terminal is not None:
        emitted.append(view.terminal)
    return emitted


def _on_top_of(known: ClientContents, view: ClientContents) -> ClientContents:
    """Copies the view and adds the messages of `known`. If both contain a message with the same id, the view's copy is
    used."""
    messages = known.messages
    ids = {message["id"] for message in messages}
    merged = [view.message(message["id"]) or message for message in messages]
    merged += [message for message in view.messages if message["id"] not in ids]
    twin = view.copy()
    twin.store = MessageStore(merged, is_legacy=view.store.is_legacy)
    twin.knows_messages = True
    return twin


def _state(view: ClientContents, known: ClientContents) -> list[Event]:
    """Returns the state events, or an empty list if the reader's state is already up to date."""
    if not view.knows_state:
        return []
    is_visible = known.knows_state and same_json(known.state, view.state)
    if is_visible and same_json(known.base, view.base):
        return []
    operations = _operations(known.base, view.base) if known.knows_state else None
    if operations and operations[0]["path"]:
        return framed(events.state_delta(operations))
    if view.base is view.state:
        return framed(events.state_snapshot(view.state))
    # if a state is falsy, 0.0.59 applies deltas to it but keeps displaying the previous state
    before = [] if is_visible else framed(events.state_snapshot(view.state))
    return [*before, events.state_snapshot(view.base)]


def _operations(before: Any, after: Any) -> list[Event] | None:
    try:
        return diff(before, after)
    except (TypeError, ValueError, RecursionError):  # the client state that a caller passes may not be JSON
        return None
