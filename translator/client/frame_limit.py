"""Events no larger than the client reads: one that is too large becomes several that leave the client with the same.

Lives here: which events can be large, and how each kind is told in pieces. Never here: bytes on a wire (`encoding`),
and what an event was made from. `@ag-ui/client` 1.0.0 refuses an SSE frame that has grown to 10 MiB in its buffer.

Rules:
- A state too large for one frame is a snapshot of what fits and deltas that add the rest, each applicable in turn.
- A messages snapshot keeps every message, in order; the longest texts in it are left empty and streamed into the
  messages after it (`long_messages`).
- A long delta is several deltas.
- What no other event can add to (a tool result, a custom value, a run's result, an error, one string longer than a
  frame) is cut, with a mark (`shortened`). Nothing else is lost.
- The common case costs a look at the type and a len().
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from orjson import dumps

from ..jsonable.json_diff import escape
from .long_messages import snapshot_in_pieces
from .truncate import shortened

Event = dict[str, Any]

MAX_FRAME = 8_000_000
"""Bytes of the largest frame sent: clearly below the client's limit, since its buffer may hold more than one frame."""

_AROUND = 16  # "data: ", the blank line
_FIELDS = 4096  # ids, names and paths beside a value in one event
_LONGEST_ESCAPE = 6  # bytes JSON needs for one character at most: \u0000
_DELTAS = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"})


def bounded(event: Event, first: Collection[str] = ()) -> list[Event]:
    """`[event]`, or the events in its place if its frame would be larger than `MAX_FRAME`.

    `event` is a wire dict of plain values; it is not changed, and the result may share parts with it. `first` names
    messages whose text must be in a messages snapshot itself, because more of it is to follow: what is open.
    """
    kind = event["type"]
    if kind in _DELTAS:
        if len(event["delta"]) * _LONGEST_ESCAPE < MAX_FRAME - _FIELDS and "metadata" not in event:
            return [event]
    elif kind not in _LARGE and "metadata" not in event:
        return [event]
    if len(dumps(event)) + _AROUND <= MAX_FRAME:
        return [event]
    if kind == "MESSAGES_SNAPSHOT":
        told = snapshot_in_pieces(event, MAX_FRAME - _AROUND, first)
        return [piece for each in told for piece in ([each] if each is told[0] else bounded(each))]
    return _LARGE.get(kind, _cut)(event)


def _cut(event: Event) -> list[Event]:
    return [shortened(event, MAX_FRAME - _AROUND)]


def _delta(event: Event) -> list[Event]:
    rest, delta = {**event, "delta": ""}, event["delta"]
    room = MAX_FRAME - _AROUND - len(dumps(rest))
    if room < _FIELDS:
        return _cut(event)
    step = room // _LONGEST_ESCAPE
    pieces = [delta[start : start + step] for start in range(0, len(delta), step)]
    rest.pop("metadata", None)  # it merges into the message, and once is enough
    return [{**event, "delta": pieces[0]}, *({**rest, "delta": piece} for piece in pieces[1:])]


def _state_snapshot(event: Event) -> list[Event]:
    value, fills = _told(event["snapshot"], "", _room({**event, "snapshot": None}))
    return [{**event, "snapshot": value}, *_packed({"type": "STATE_DELTA", **_tag(event)}, "delta", fills)]


def _state_delta(event: Event) -> list[Event]:
    return _packed(event, "delta", _small(event["delta"]))


def _activity_snapshot(event: Event) -> list[Event]:
    if event.get("replace") is False:  # the client may hold another one, which deltas would then change
        return _cut(event)
    value, fills = _told(event["content"], "", _room({**event, "content": None}))
    delta = {"type": "ACTIVITY_DELTA", "messageId": event["messageId"], "activityType": event["activityType"]}
    return [{**event, "content": value}, *_packed({**delta, **_tag(event)}, "patch", fills)]


def _activity_delta(event: Event) -> list[Event]:
    return _packed(event, "patch", _small(event["patch"]))


def _tag(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


def _room(rest: Event) -> int:
    return max(MAX_FRAME - _AROUND - len(dumps(rest)), _FIELDS)


def _packed(event: Event, field: str, operations: list[Event]) -> list[Event]:
    """The operations, in order, in as few events as hold them."""
    events: list[Event] = []
    room = left = _room({**event, field: []})
    pack: list[Event] = []
    for operation in operations:
        size = len(dumps(operation)) + 1
        if pack and size > left:
            events.append({**event, field: pack})
            pack, left = [], room
        pack.append(operation)
        left -= size
    return [*events, {**event, field: pack}] if pack else events


def _small(operations: list[Event]) -> list[Event]:
    """The operations, each small enough for a frame: an `add` or `replace` that is not is followed by what it lacks."""
    small: list[Event] = []
    for operation in operations:
        if operation["op"] in ("add", "replace"):
            path = operation["path"]
            value, fills = _told(operation["value"], path, MAX_FRAME - _FIELDS - len(path) * _LONGEST_ESCAPE)
            small += [{**operation, "value": value}, *fills]
        else:
            small.append(operation)
    return small


def _told(value: Any, path: str, room: int) -> tuple[Any, list[Event]]:
    """What of a value fits in `room`, and the operations that then add the rest of it at `path`."""
    kind = type(value)
    if (kind is not dict and kind is not list) or len(dumps(value)) <= room:
        return shortened(value, room), []
    return _told_object(value, path, room) if kind is dict else _told_list(value, path, room)


def _told_object(value: dict[str, Any], path: str, room: int) -> tuple[Any, list[Event]]:
    held: dict[str, Any] = {}
    fills: list[Event] = []
    left = room - 2
    for key in sorted(value, key=lambda key: not _pathless(path, key)):  # what cannot be added later goes first
        pathless = _pathless(path, key)
        inner = shortened(value[key], left - _FIELDS) if pathless else value[key]
        size = len(dumps(inner)) + len(dumps(key)) + 2
        if size > left and not pathless:
            fills += _small([{"op": "add", "path": f"{path}/{escape(key)}", "value": inner}])
            continue
        held[key] = inner
        left -= size
    return held, fills


def _told_list(value: list[Any], path: str, room: int) -> tuple[Any, list[Event]]:
    count, left = 0, room - 2
    for element in value:
        left -= len(dumps(element)) + 1
        if left < 0:
            break
        count += 1
    rest = [{"op": "add", "path": f"{path}/{at}", "value": value[at]} for at in range(count, len(value))]
    return value[:count], _small(rest)


def _pathless(path: str, key: str) -> bool:
    return key == "__proto__" or (key == "prototype" and path.endswith("/constructor"))


_LARGE: dict[str, Callable[[Event], list[Event]]] = {
    **dict.fromkeys(_DELTAS, _delta),
    "STATE_SNAPSHOT": _state_snapshot,
    "STATE_DELTA": _state_delta,
    "ACTIVITY_SNAPSHOT": _activity_snapshot,
    "ACTIVITY_DELTA": _activity_delta,
    **dict.fromkeys(
        (
            "MESSAGES_SNAPSHOT",
            "TOOL_CALL_RESULT",
            "REASONING_ENCRYPTED_VALUE",
            "CUSTOM",
            "RAW",
            "RUN_STARTED",
            "RUN_FINISHED",
            "RUN_ERROR",
            "SUBAGENT_STARTED",
            "SUBAGENT_FINISHED",
            "SUBAGENT_ERROR",
        ),
        _cut,
    ),
}
