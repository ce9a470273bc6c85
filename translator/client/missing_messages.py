"""The messages of a view that a reader is missing, as events or as snapshots: `missing_messages`.

State, and what opens and closes, are not known here.

Rules:
- The messages at the beginning that both have, in the same order, are skipped. Only what follows is looked at, so the
  work is one pass over both conversations, and otherwise in proportion to what is missing.
- New messages, and text and arguments that have grown at their end, are emitted as events, on two conditions: the
  reader then has exactly the view's messages in their order (this is tried out), and the messages are few, or the
  events cost less than a snapshot. An event costs more than its bytes: the client copies its messages, and the page is
  drawn again.
- Everything else is emitted as a snapshot. A client keeps its own order for the ids that it has. Where the order would
  end wrong, a snapshot of the messages that are in order comes first.
- The client's verifier rejects events for a message that another subagent has opened, and it takes the owners of
  messages from the snapshot. So in a snapshot a message with an open item, or with an open tool call, belongs to the
  owner of that item, and no event brings a message under another owner.
- A message that no snapshot can make the client drop does not cause a snapshot each time.
- A view that does not know the client's messages has those that streamed in it, from their first event on. They are
  emitted as events, whole or as far as the reader is missing them, and open items stay open. No snapshot is emitted: it
  would drop the client's other messages.
- Such a view assumes that a reader on a new stream has none of the messages, if they are not known. If the reader is in
  the run, only its open items are known: items that were opened since are emitted from their beginning, and what the
  reader missed of the others cannot be repaired.
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
from .snapshots import ordered_snapshots, staying, with_activity_types

_FEW = 16  # so many messages are never worth a snapshot, which makes a client draw the whole page again
_MESSAGE = 1_000  # the events of a message cost so many bytes more than its JSON
_AT_ONCE = 32  # messages compared by one call: C compares them faster than Python makes a call for each
_NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId")
_ODD = (AttributeError, KeyError, TypeError, ValueError)  # a caller may describe a client's messages with anything


def missing_messages(
    view: ClientContents, known: ClientContents, reader: OpenItems, now: OpenItems
) -> tuple[list[Event], list[Event]]:
    """What brings the messages of a reader to those of the view: a list of message events, or a list of snapshots; the
    other list is empty. The events close what has ended, and leave open what is open in the view.

    `known`: what the reader is known to have. `reader`, `now`: what the reader and the view have open.
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
    size = sides.size  # of the snapshot of all messages: the other one is smaller
    return [], [frame for snapshot in sides.snapshots for frame in framed(snapshot, size)]


@dataclass
class _Sides:
    """A view and its reader. The snapshots of the view and their size are computed when they are first needed."""

    view: ClientContents
    known: ClientContents
    reader: OpenItems
    now: OpenItems

    @cached_property
    def wanted(self) -> list[Event]:
        return self.view.messages

    @cached_property
    def snapshots(self) -> list[Event]:
        """The snapshots that bring the reader to the view. The last one has all messages."""
        view = self.view

        def make(messages: list[Event]) -> Event:
            return with_activity_types(events.messages_snapshot(messages), view.version, known=view.knows_activities)

        messages = list(self.wanted)
        for message_id, owner in owners(view.store, self.now):
            if owner is not None and view.has(message_id):
                position = view.store.entries[message_id].position
                messages[position] = {**messages[position], "subagentRunId": owner}
        # A patch can leave an activity with a content that is not an object, and no client reads a snapshot with that.
        messages = [each for each in messages if each["role"] != "activity" or isinstance(each.get("content"), dict)]
        return list(ordered_snapshots(self.known.order if self.known.knows_messages else [], messages, make))

    @cached_property
    def size(self) -> int:
        try:
            return len(dumps(self.snapshots[-1]))
        except TypeError:  # nested too deeply to be written, as a caller may describe a client's messages
            self.snapshots = [freeze(snapshot).json for snapshot in self.snapshots]
            return len(dumps(self.snapshots[-1]))


# --- by events --------------------------------------------------------------------------------------------------------


def _by_events(sides: _Sides) -> list[Event] | None:
    """The events that bring the reader's messages to those of the view; None if only a snapshot can."""
    messages, wanted = sides.known.messages, sides.wanted
    start = _in_common(messages, wanted)
    present, missing = messages[start:], wanted[start:]
    ids = iter([message["id"] for message in missing])
    if any(message["id"] not in ids for message in present):  # events cannot remove or reorder
        return [] if _stays_beside(sides, present, missing) else None
    if len(missing) > _FEW and len(dumps(missing)) + _MESSAGE * len(missing) > sides.size:
        return None
    emitted = _whole_or_grown(sides, missing)
    return emitted if emitted is not None and _leads_to(wanted, sides.known.store, messages, start, emitted) else None


def _in_common(messages: list[Event], wanted: list[Event]) -> int:
    """How many messages at the beginning of two conversations are the same."""
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
    """Whether the reader has the view's messages and others, none of which a snapshot would make it drop."""
    ids = {message["id"] for message in missing}
    others = [message for message in present if message["id"] not in ids]
    return (
        bool(others)
        and all(map(staying(sides.snapshots[-1], is_legacy=sides.known.store.is_legacy), others))
        and _are_same([message for message in present if message["id"] in ids], missing)
    )


def _whole_or_grown(sides: _Sides, wanted: Iterable[Event]) -> list[Event] | None:
    """Events for each message that the reader is missing, whole or the rest of it; None if events cannot bring it."""
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
    """Whether a client with these messages has the wanted ones after these events.

    The first `start` messages of both are the same. So the events are tried out only on the messages behind these, and
    on those that the events name.
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
    """The messages of a view that knows only what streamed in it, for a reader whose other messages are unknown as
    well."""
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
    """The part of a message that began with these items; None if none of it did."""
    if message["id"] in begun:
        return message
    calls = [call for call in message.get("toolCalls", ()) if call["id"] in begun]
    return {"id": message["id"], "role": message["role"], "toolCalls": calls} if calls else None


# --- comparing --------------------------------------------------------------------------------------------------------


def _are_same(messages: list[Event], wanted: list[Event]) -> bool:
    return len(messages) == len(wanted) and all(map(_is_same, messages, wanted))


def _is_same(message: Event, wanted: Event) -> bool:
    """Whether two messages are the same. The arguments of tool calls are compared as JSON."""
    if same_json(message, wanted):
        return True
    try:
        return bool(wanted.get("toolCalls")) and same_json(with_json_arguments(message), with_json_arguments(wanted))
    except _ODD:
        return False
