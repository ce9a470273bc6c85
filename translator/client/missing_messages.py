"""Finds the messages in a view that a reader is missing, and converts them to events or snapshots.

This module handles neither the state nor the events that open and close items.

Rules:

- Equal messages at the beginning of both conversations are skipped, and only the remaining messages are examined
  further. So the cost is one pass over both conversations, plus work that is proportional to the missing messages.
- New messages, and text and arguments that have become longer, are emitted as events if two conditions are met. First,
  the events must give the reader exactly the view's messages, in the view's order. This is tested by applying the
  events to a copy. Second, there must be few such messages, or the estimated cost of the events must be below that of a
  snapshot. The estimate is higher than the size of the events, because the client copies its messages and renders the
  page again for every event.
- Any other difference is emitted as a snapshot. A client keeps its own order for the ids that it already has. If that
  order would be wrong, two snapshots are emitted. The first one contains only the messages that are already in the
  right order, so the client drops all others. It then adds those from the second snapshot, in the right order.
- The client's verifier rejects events for a message that another agent opened, and it learns the owners from the latest
  snapshot (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts). So
  if a message has an open item, the snapshot names the item's owner as the owner of the message. If a message and its
  open item have different owners, events are never used to extend the message.
- If the client has an extra message that no snapshot can remove, no snapshot is emitted for that message. Such a
  snapshot would have no effect, and each catch-up would repeat it.
- A view that does not know all of the client's messages contains only the messages that it has seen streaming from
  their first event. These messages are emitted as events. A message is emitted in full, or from the point that the
  reader has reached, and open items stay open. No snapshot is emitted, because it would drop the client's other
  messages.
- Such a view assumes that a reader on a new stream has none of the view's messages, unless the reader's messages are
  known. For a reader that is already in the run, it is possible that only its open items are known. In that case,
  items that the reader does not have open are emitted from the beginning, and the missing parts of those that it has
  open cannot be restored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from orjson import dumps

from ..convert.compare import with_json_arguments
from ..convert.to_events import as_events, continuation
from ..jsonable.same_json import same_json
from ..jsonable.to_json import freeze
from ..wire import events
from ..wire.events import Event
from ..wire.frame_limit import framed
from .contents import ClientContents
from .message_store import MessageStore
from .open_items import OpenItems, is_stored, owners, without_open
from .reducer import REDUCES
from .snapshot_rules import ordered_snapshots, staying, with_activity_types

_FEW = 16  # up to this number of messages, events are used: a snapshot makes the client render the whole page
_MESSAGE = 1_000  # the estimated cost of a message's events in addition to the size of its JSON, in bytes
_AT_ONCE = 32  # messages that one call compares in C, which is faster than one call per message
_NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId")
_ODD = (AttributeError, KeyError, TypeError, ValueError)  # a caller may pass any values as the client's messages


def missing_messages(
    view: ClientContents, known: ClientContents, reader: OpenItems, now: OpenItems
) -> tuple[list[Event], list[Event]]:
    """Returns the events and the snapshots that give a reader the messages of the view. At least one of the two lists
    is empty. The events close the items that have ended, and leave open the items that are open in the view.

    `known` contains everything that the reader is known to have. `reader` and `now` are the open items of the
    reader and of the view, respectively.
    """
    sides = _Sides(view, known, reader, now)
    if not view.knows_messages:
        return _streamed(sides), []
    if known.knows_messages and all(is_stored(view.store, event) for event in now.missing(reader)):
        try:
            emitted = _by_events(sides)
        except _ODD:
            emitted = None
        if emitted is not None:
            return emitted, []
    size = sides.size  # the size of the snapshot with all messages; a first snapshot would be smaller
    return [], [frame for snapshot in sides.snapshots for frame in framed(snapshot, size)]


@dataclass
class _Sides:
    """A view and its reader. The snapshots and their size are computed on first use."""

    view: ClientContents
    known: ClientContents
    reader: OpenItems
    now: OpenItems

    @cached_property
    def wanted(self) -> list[Event]:
        return self.view.messages

    @cached_property
    def snapshots(self) -> list[Event]:
        """The snapshots that give the reader the view's messages. The last snapshot contains all messages."""
        view = self.view

        def make(messages: list[Event]) -> Event:
            return with_activity_types(events.messages_snapshot(messages), view.version, known=view.knows_activities)

        messages = list(self.wanted)
        for message_id, owner in owners(view.store, self.now):
            if owner is not None and view.has(message_id):
                position = view.store.entries[message_id].position
                messages[position] = {**messages[position], "subagentRunId": owner}
        # A patch can turn an activity's content into something other than an object. A client would refuse a snapshot
        # that contains such an activity.
        messages = [
            message for message in messages if message["role"] != "activity" or isinstance(message.get("content"), dict)
        ]
        return list(ordered_snapshots(self.known.order if self.known.knows_messages else [], messages, make))

    @cached_property
    def size(self) -> int:
        try:
            return len(dumps(self.snapshots[-1]))
        except TypeError:  # a caller may pass messages that are nested too deeply for orjson
            self.snapshots = [freeze(snapshot).json for snapshot in self.snapshots]
            return len(dumps(self.snapshots[-1]))


# --- by events --------------------------------------------------------------------------------------------------------


def _by_events(sides: _Sides) -> list[Event] | None:
    """Returns the events that give the reader the messages of the view, or None if a snapshot is needed."""
    messages, wanted = sides.known.messages, sides.wanted
    start = _in_common(messages, wanted)
    present, missing = messages[start:], wanted[start:]
    ids = iter([message["id"] for message in missing])
    if any(message["id"] not in ids for message in present):  # events cannot remove or reorder messages
        return [] if _stays_beside(sides, present, missing) else None
    if len(missing) > _FEW and len(dumps(missing)) + _MESSAGE * len(missing) > sides.size:
        return None
    emitted = _whole_or_grown(sides, missing)
    return emitted if emitted is not None and _leads_to(wanted, sides.known.store, messages, start, emitted) else None


def _in_common(messages: list[Event], wanted: list[Event]) -> int:
    """Counts the equal messages at the beginning of two conversations."""
    shorter = min(len(messages), len(wanted))
    for start in range(0, shorter, _AT_ONCE):
        mine, its = messages[start : start + _AT_ONCE], wanted[start : start + _AT_ONCE]
        if all(map(is_, mine, its)) or same_json(mine, its):
            continue
        for at, pair in enumerate(zip(mine, its, strict=False), start):
            if not _is_same(*pair):
                return at
    return shorter


def _stays_beside(sides: _Sides, present: list[Event], missing: list[Event]) -> bool:
    """Whether the reader has all messages of the view, and no other messages that a snapshot could remove."""
    ids = {message["id"] for message in missing}
    others = [message for message in present if message["id"] not in ids]
    return (
        bool(others)
        and all(map(staying(sides.snapshots[-1], is_legacy=sides.known.store.is_legacy), others))
        and _are_same([message for message in present if message["id"] in ids], missing)
    )


def _whole_or_grown(sides: _Sides, wanted: Iterable[Event]) -> list[Event] | None:
    """Returns the events for every message that the reader is missing completely or in part, or None if events cannot
    express one of these messages."""
    emitted: list[Event] = []
    opened = {**dict(owners(sides.known.store, sides.reader)), **dict(owners(sides.view.store, sides.now))}
    for message in wanted:
        mine = sides.known.message(message["id"])
        if mine is not None and same_json(mine, message):
            continue
        owner = message.get("subagentRunId")
        if opened.get(message["id"], owner) != owner:
            return None
        missing = as_events(message, owner) if mine is None else continuation(mine, message, owner)
        if missing is None:
            return None
        emitted += missing
    return [part for event in without_open(emitted, sides.reader, sides.now) for part in framed(event)]


def _leads_to(
    wanted: list[Event], store: MessageStore, messages: list[Event], start: int, emitted: list[Event]
) -> bool:
    """Whether a client that starts with `messages` has exactly the wanted messages after applying these events.

    The first `start` messages are the same in both lists. So, to save time, the events are applied only to a copy of
    the later messages, which is extended to include every message that an event names.
    """
    names = {event.get(name) for event in emitted for name in _NAMES}
    named = [store.entries[name] for name in names if name in store.entries]
    named += [store.calls[name][0] for name in names if name in store.calls]
    start = min([start, *(entry.position for entry in named)])
    tried = MessageStore(messages[start:], is_legacy=store.is_legacy)
    for event in emitted:
        REDUCES[event["type"]](tried, event)
    return _are_same(tried.read(), wanted[start:])


def _streamed(sides: _Sides) -> list[Event]:
    """Returns the message events of a view that knows only the messages that it has seen streaming. A message that
    events cannot express is left out."""
    view, known, reader = sides.view, sides.known, sides.reader
    only_open_is_known = reader.run_id == known.open.run_id == view.run_id != known.run_id
    begun = {event.get("toolCallId") or event["messageId"] for event in sides.now.missing(reader)}
    emitted: list[Event] = []
    for message in view.messages:
        mine, wanted = known.message(message["id"]), _begun(message, begun) if only_open_is_known else message
        if wanted is None or (mine is not None and same_json(mine, wanted)):
            continue
        owner = message.get("subagentRunId")
        try:
            emitted += (as_events(wanted, owner) if mine is None else continuation(mine, wanted, owner)) or []
        except _ODD:
            continue
    return [part for event in without_open(emitted, sides.reader, sides.now) for part in framed(event)]


def _begun(message: Event, begun: Collection[str]) -> Event | None:
    """Returns the part of a message that belongs to the items with these ids, or None if no part of it does."""
    if message["id"] in begun:
        return message
    calls = [call for call in message.get("toolCalls", ()) if call["id"] in begun]
    return {"id": message["id"], "role": message["role"], "toolCalls": calls} if calls else None


# --- comparing --------------------------------------------------------------------------------------------------------


def _are_same(messages: list[Event], wanted: list[Event]) -> bool:
    return len(messages) == len(wanted) and all(map(_is_same, messages, wanted))


def _is_same(message: Event, wanted: Event) -> bool:
    """Whether two messages are the same. Tool call arguments are compared as JSON."""
    if same_json(message, wanted):
        return True
    try:
        return bool(wanted.get("toolCalls")) and same_json(with_json_arguments(message), with_json_arguments(wanted))
    except _ODD:
        return False
