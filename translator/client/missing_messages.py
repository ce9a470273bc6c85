"""The messages of a view that a reader misses, as events or as snapshots: `missing_messages`.

Here: how the messages of a reader become those of a view. Never here: state, and what opens and closes.

Rules:
- Messages that the reader has, in the view's order from the first one on, are passed over. Only what follows them is
  looked at further, so the work is one pass over both, and the rest in proportion to what is missing.
- New messages, and text and arguments that have grown at their end, come as events, if these leave the reader with
  exactly the view's messages in their order (that is tried out), and are few or cost less than a snapshot. Beside its
  bytes each event costs the client a copy of its messages and its user a page drawn anew.
- Anything else comes as a snapshot. A client keeps its own order for ids it has: where that would end wrong, a snapshot
  of the messages that are in order comes first.
- The client's verifier rejects events for a message that another subagent opened. It takes owners from the snapshot, so
  there a message with an open item (or with an open tool call) belongs to the owner of that; and no event brings a
  message under another owner.
- What no snapshot makes a client drop is not emitted again and again.
- A view that does not know the client's messages has those that streamed in it, from their first event on. They are
  emitted as events: whole, or as far as the reader misses them; what is open stays open. No snapshot is emitted: it
  would drop the client's other messages.
- Such a view assumes that a reader of unknown messages has none of them, if the reader is on a new stream. If it is in
  the run, only its open items are known: items opened since are emitted from their beginning, and what it missed of
  the open ones cannot be repaired.
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

_FEW = 16  # messages that no snapshot is worth, however small: it makes a client draw everything anew
_MESSAGE = 1_000  # bytes that the events of a message count beside its own
_AT_ONCE = 32  # messages compared by one call: C compares many faster than Python calls it for each
_NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId")
_ODD = (AttributeError, KeyError, TypeError, ValueError)  # what a caller says that a client has may be no messages


def missing_messages(
    view: ClientContents, known: ClientContents, reader: OpenItems, now: OpenItems
) -> tuple[list[Event], list[Event]]:
    """What brings the messages of a reader to those of the view: messages event by event, or snapshots. The events
    close what ends in between, and leave open what is open in the view.

    `known` is what the reader is known to have; `reader` and `now` are what it and the view have open.
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
    size = sides.size  # of all messages: a snapshot of some is no larger
    return [], [frame for snapshot in sides.snapshots for frame in framed(snapshot, size)]


@dataclass
class _Sides:
    """A view and its reader; the snapshots of the view and their size are made if they are asked for."""

    view: ClientContents
    known: ClientContents
    reader: OpenItems
    now: OpenItems

    @cached_property
    def wanted(self) -> list[Event]:
        return self.view.messages

    @cached_property
    def snapshots(self) -> list[Event]:
        """What brings the reader to the view by snapshots: the last one is of all messages."""
        view = self.view

        def make(messages: list[Event]) -> Event:
            return with_activity_types(events.messages_snapshot(messages), view.version, known=view.knows_activities)

        messages = list(self.wanted)
        for message_id, owner in owners(view.store, self.now):
            if owner is not None and view.has(message_id):
                position = view.store.entries[message_id].position
                messages[position] = {**messages[position], "subagentRunId": owner}
        # A patch can leave an activity with no object for content; no client would read a snapshot with that in it.
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
    """The events that bring the reader's messages to those of the view; None if it takes a snapshot."""
    messages, wanted = sides.known.messages, sides.wanted
    start = _in_common(messages, wanted)
    present, missing = messages[start:], wanted[start:]
    ids = iter([message["id"] for message in missing])
    if any(message["id"] not in ids for message in present):  # events remove nothing, and change no order
        return [] if _stays_beside(sides, present, missing) else None
    if len(missing) > _FEW and len(dumps(missing)) + _MESSAGE * len(missing) > sides.size:
        return None
    emitted = _whole_or_grown(sides, missing)
    return emitted if emitted is not None and _leads_to(wanted, sides.known.store, messages, start, emitted) else None


def _in_common(messages: list[Event], wanted: list[Event]) -> int:
    """How many messages two conversations begin with in common."""
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
    """Whether the reader's messages are those of the view and others, of which no snapshot makes it drop one."""
    ids = {message["id"] for message in missing}
    others = [message for message in present if message["id"] not in ids]
    return (
        bool(others)
        and all(map(staying(sides.snapshots[-1], is_legacy=sides.known.store.is_legacy), others))
        and _are_same([message for message in present if message["id"] in ids], missing)
    )


def _whole_or_grown(sides: _Sides, wanted: Iterable[Event]) -> list[Event] | None:
    """Events for each message that the reader misses, whole or as far as it misses it; None if events cannot."""
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

    The two have the first `start` messages in common. The events are tried on the messages behind these, and on those
    that the events name.
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
    """The messages of a view that knows only what streamed in it, for a reader whose other messages are unknown too."""
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
    """As much of a message as is known to have begun with these items; None if nothing is."""
    if message["id"] in begun:
        return message
    calls = [call for call in message.get("toolCalls", ()) if call["id"] in begun]
    return {"id": message["id"], "role": message["role"], "toolCalls": calls} if calls else None


# --- comparing --------------------------------------------------------------------------------------------------------


def _are_same(messages: list[Event], wanted: list[Event]) -> bool:
    return len(messages) == len(wanted) and all(map(_is_same, messages, wanted))


def _is_same(message: Event, wanted: Event) -> bool:
    """Whether two messages are the same, arguments of tool calls as JSON."""
    if same_json(message, wanted):
        return True
    try:
        return bool(wanted.get("toolCalls")) and same_json(with_json_arguments(message), with_json_arguments(wanted))
    except _ODD:
        return False
