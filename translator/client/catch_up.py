"""What brings a late joiner, a slow reader or a reconnected one up to date: `catch_up`.

The order of the events is here, and those of the state. Which messages are missing is in `missing_messages`, what opens
and closes an item in `open_items`. When a reader joins, or loses its backlog, is its server's to decide.

Rules:
- What the reader has already is left out. What the view does not know cannot be emitted.
- A snapshot opens no item. So each open item is opened again under its id, after the event that brings its message as
  far as it has come. The client appends to what it has, and later deltas continue there.
- An open item whose message a snapshot has dropped is opened before the snapshot, which drops the message again.
- The state is emitted as a delta if that is the smaller event.
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
    """The events that bring a reader to `view`. `known`: what the reader is known to have. See
    `ClientView.catch_up`."""
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
    """The view, and the messages of `known` added to it. Where both have a message, that of the view counts."""
    messages = known.messages
    ids = {message["id"] for message in messages}
    merged = [view.message(message["id"]) or message for message in messages]
    merged += [message for message in view.messages if message["id"] not in ids]
    twin = view.copy()
    twin.store = MessageStore(merged, is_legacy=view.store.is_legacy)
    twin.knows_messages = True
    return twin


def _state(view: ClientContents, known: ClientContents) -> list[Event]:
    """The events of the state, if the reader has another one."""
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
    # 0.0.59 applies deltas to a falsy state, and goes on showing the state before it
    before = [] if is_visible else framed(events.state_snapshot(view.state))
    return [*before, events.state_snapshot(view.base)]


def _operations(before: Any, after: Any) -> list[Event] | None:
    try:
        return diff(before, after)
    except (TypeError, ValueError, RecursionError):  # a caller may describe a client's state with what is not JSON
        return None
