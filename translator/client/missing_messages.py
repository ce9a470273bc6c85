"""The messages of a view that a reader lacks, as the events that bring it to hold the view's.

Here: whether events say it, and the snapshots where they do not. Never here: state, and what opens and closes.

Rules:
- New messages, and text and arguments that have grown at their end, are told by events, if these leave the reader with
  exactly the view's messages in their order, and are few or no more bytes than a snapshot. It is tried on a copy.
- Anything else is told by a snapshot. A client keeps its own order for ids it holds: where that would end wrong, a
  snapshot of what stands right so far comes first.
- The verifier lets nobody go on with another's message. It takes owners from the snapshot, so there a message belongs
  to whoever has opened it (or a call in it); and no event tells a message under another's name.
- What no snapshot makes a client drop is not told about again and again.
- A view that does not know the client's messages has those that streamed in it, from their first event on. They are
  emitted as events: whole, or as far as the reader misses them; what is open stays open. No snapshot is emitted: it
  would drop the client's other messages.
- Such a view assumes that a reader of unknown messages has none of them, if the reader is on a new stream. If it is in
  the run, only its open items are known: items opened since are emitted from their beginning, and what it missed of
  the open ones cannot be repaired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from ..convert.compare import by_id, common_length, with_json_arguments
from ..convert.to_events import as_events, continuation
from ..wire import events
from .frame_limit import bounded
from .open_items import OpenItems, is_stored, owners, without_open
from .snapshots import telling_of_activities

if TYPE_CHECKING:
    from .view import ClientView

__all__ = ["by_events", "by_snapshots", "same"]

Event = dict[str, Any]

_FEW = 16  # events that no snapshot is worth, however small: it makes a client draw everything anew


def by_events(view: ClientView, held: ClientView, reader: OpenItems, now: OpenItems) -> list[Event] | None:
    """The events that bring a reader's messages to the view's; `[]` if it lacks nothing, None if it takes a snapshot.

    `reader`, `now`: what the reader and the view have open. What ends in between is closed, what goes on stays open.
    Never None where the view does not know the messages.
    """
    if not view.knows_messages:
        return _streamed(view, held, reader, now)
    if not held.knows_messages or not all(is_stored(view._held, event) for event in now.missing(reader)):
        return None
    wanted = view.messages
    try:
        told = _told(wanted, view, held, reader, now)
        if told is None:
            return None
        after = _after(held, told).messages
    except (AttributeError, KeyError, TypeError, ValueError):  # what a caller says a client holds may be no messages
        return None
    if _are_same(after, wanted):
        return told if len(told) <= _FEW or _size(told) <= _size(_snapshot(view, now)) else None
    # what is left may be what the reader cannot be made to drop
    return [] if not told and _are_same(_after(held, by_snapshots(view, held, now)).messages, held.messages) else None


def by_snapshots(view: ClientView, held: ClientView, now: OpenItems) -> list[Event]:
    """The snapshot of the view's messages, and what must come before it for the reader to hold them in their order."""
    if not view.knows_messages:
        return []
    snapshot = _snapshot(view, now)
    growing = {message_id for message_id, _ in owners(view._held, now)}
    told = bounded(snapshot, growing)
    if not held.knows_messages:
        return told
    wanted = by_id(snapshot["messages"])
    if _standing(held, told, wanted) == list(wanted):
        return told
    standing = common_length([message_id for message_id in held.order if message_id in wanted], list(wanted))
    head = events.messages_snapshot(snapshot["messages"][:standing])
    twice = [*bounded(telling_of_activities(head, view.version, known=view.knows_activities), growing), *told]
    # reasoning and activities may keep their places whatever is told
    placed = {item: wire for item, wire in wanted.items() if wire["role"] not in ("reasoning", "activity")}
    once_right = _standing(held, told, placed) == list(placed)
    return told if once_right and _standing(held, twice, wanted) != list(wanted) else twice


def _standing(held: ClientView, told: list[Event], wanted: Mapping[str, Event]) -> list[str]:
    """The wanted messages in the order in which a reader has them that has been told this."""
    return [message_id for message_id in _after(held, told).order if message_id in wanted]


def same(mine: Any, its: Any) -> bool:
    """Whether two values are the same JSON, in whatever order their keys are."""
    if mine is its:
        return True
    try:
        return bool(mine == its) and _sorted(mine) == _sorted(its)
    except (TypeError, ValueError, RecursionError):  # what a caller says a client holds need not be JSON
        return False


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _are_same(mine: list[Event], its: list[Event]) -> bool:
    return len(mine) == len(its) and all(map(_is_same, mine, its))


def _is_same(mine: Event, its: Event) -> bool:
    """Whether two messages are the same, arguments of calls as JSON."""
    if same(mine, its):
        return True
    try:
        return bool(its.get("toolCalls")) and same(with_json_arguments(mine), with_json_arguments(its))
    except (AttributeError, KeyError, TypeError, ValueError):  # what a caller says a client holds may be no messages
        return False


def _size(told: Any) -> int:
    return len(orjson.dumps(told))


def _after(held: ClientView, told: Iterable[Event]) -> ClientView:
    """What a reader holds that has been told this."""
    after = held.copy()
    for event in told:
        after.apply(event)
    return after


def _told(
    wanted: list[Event], view: ClientView, held: ClientView, reader: OpenItems, now: OpenItems
) -> list[Event] | None:
    """Events for every message that the reader does not hold as it is, whole or as far as it lacks it."""
    told: list[Event] = []
    opened = {**dict(owners(held._held, reader)), **dict(owners(view._held, now))}
    for message in wanted:
        known = held.message(message["id"])
        if known is not None and same(known, message):
            continue
        owner = message.get("subagentRunId")
        if opened.get(message["id"], owner) != owner:
            return None
        telling = as_events(message, owner) if known is None else continuation(known, message, owner)
        if telling is None:
            return None
        told += telling
    return [piece for event in without_open(told, reader, now) for piece in bounded(event)]


def _streamed(view: ClientView, held: ClientView, reader: OpenItems, now: OpenItems) -> list[Event]:
    """The messages of a view that knows only what streamed in it, for a reader whose other messages are unknown too."""
    only_open_is_known = reader.run_id == held.open.run_id == view.run_id != held.run_id
    begun = {event.get("toolCallId") or event["messageId"] for event in now.missing(reader)}
    told: list[Event] = []
    for message in view.messages:
        known, wanted = held.message(message["id"]), _begun(message, begun) if only_open_is_known else message
        if wanted is None or (known is not None and same(known, wanted)):
            continue
        owner = message.get("subagentRunId")
        try:
            told += (as_events(wanted, owner) if known is None else continuation(known, wanted, owner)) or []
        except (AttributeError, KeyError, TypeError, ValueError):  # what a caller says a client holds may be no message
            continue
    return [piece for event in without_open(told, reader, now) for piece in bounded(event)]


def _begun(message: Event, begun: Collection[str]) -> Event | None:
    """As much of a message as is known to have begun with these items; None if nothing is."""
    if message["id"] in begun:
        return message
    calls = [call for call in message.get("toolCalls", ()) if call["id"] in begun]
    return {"id": message["id"], "role": message["role"], "toolCalls": calls} if calls else None


def _snapshot(view: ClientView, now: OpenItems) -> Event:
    messages = view.messages
    for message_id, owner in owners(view._held, now):
        position = view.position(message_id)
        if owner is not None and position is not None and messages[position].get("subagentRunId") != owner:
            messages[position] = {**messages[position], "subagentRunId": owner}
    # A patch can leave an activity with no object for content; no client would read a snapshot with that in it.
    messages = [each for each in messages if each["role"] != "activity" or isinstance(each.get("content"), dict)]
    return telling_of_activities(events.messages_snapshot(messages), view.version, known=view.knows_activities)
