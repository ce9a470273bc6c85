"""Events no larger than the client reads: one that is too large becomes several that leave the client with the same.

Here: which events can be large, how each kind is split, and what is left of a value that cannot be. Never here: a
messages snapshot, whose split depends on the client's reducer (`client.long_snapshots`); bytes on a wire (`sse`).

Rules:
- `@ag-ui/client` 1.0.0 refuses an SSE frame that has grown to 10 MiB in its buffer.
- A state too large for one frame is a snapshot of what fits, and deltas that add the rest, each applicable in turn.
- A long delta is several deltas.
- What no other event can add to (a tool result, a custom value, a run's result, an error, one string longer than a
  frame) is truncated, with a mark that has the size of what is gone. Nothing else is lost.
- A truncated value keeps its kind (a text, a list, an object), since an event's field has a type. Small members of a
  list or an object stay whole and the largest are truncated, each to an equal share of what is left; of too many
  members the first ones stay.
- The common case costs a look at the type and a len().
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orjson import dumps

from ..jsonable.json_diff import escape
from .events import Event

__all__ = ["MAX_EVENT", "MAX_FRAME", "bounded", "truncated"]

MAX_FRAME = 8_000_000
"""Bytes of the largest frame: clearly below the client's limit, since its buffer may have more than one frame."""
MAX_EVENT = MAX_FRAME - 16
"""Bytes of the largest event, without `data: ` and the blank line."""

_FIELDS = 4096  # ids, names and paths beside a value in one event
_LONGEST_ESCAPE = 6  # bytes JSON needs for one character at most: \u0000
_DELTAS = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"})


def bounded(event: Event) -> list[Event]:
    """`[event]`, or the events in its place if its frame would be larger than `MAX_FRAME`.

    `event` is a wire dict of plain values, and no MESSAGES_SNAPSHOT. It is not changed, and the result may share parts
    with it.
    """
    kind = event["type"]
    if kind in _DELTAS:
        if len(event["delta"]) * _LONGEST_ESCAPE < MAX_FRAME - _FIELDS and "metadata" not in event:
            return [event]
    elif kind not in _SPLITS and "metadata" not in event:
        return [event]
    if len(dumps(event)) <= MAX_EVENT:
        return [event]
    return _SPLITS.get(kind, _truncated_event)(event)


# --- the kinds of events ----------------------------------------------------------------------------------------------


def _truncated_event(event: Event) -> list[Event]:
    return [truncated(event, MAX_EVENT)]


def _delta(event: Event) -> list[Event]:
    rest, delta = {**event, "delta": ""}, event["delta"]
    room = MAX_EVENT - len(dumps(rest))
    if room < _FIELDS:
        return _truncated_event(event)
    step = room // _LONGEST_ESCAPE
    parts = [delta[start : start + step] for start in range(0, len(delta), step)]
    rest.pop("metadata", None)  # it merges into the message, and once is enough
    return [{**event, "delta": parts[0]}, *({**rest, "delta": part} for part in parts[1:])]


def _state_snapshot(event: Event) -> list[Event]:
    value, additions = _split(event["snapshot"], "", _room({**event, "snapshot": None}))
    return [{**event, "snapshot": value}, *_packed({"type": "STATE_DELTA", **_owner(event)}, "delta", additions)]


def _state_delta(event: Event) -> list[Event]:
    return _packed(event, "delta", _small(event["delta"]))


def _activity_snapshot(event: Event) -> list[Event]:
    if event.get("replace") is False:  # the client may have another one, which deltas would then change
        return _truncated_event(event)
    value, additions = _split(event["content"], "", _room({**event, "content": None}))
    delta = {"type": "ACTIVITY_DELTA", "messageId": event["messageId"], "activityType": event["activityType"]}
    return [{**event, "content": value}, *_packed({**delta, **_owner(event)}, "patch", additions)]


def _activity_delta(event: Event) -> list[Event]:
    return _packed(event, "patch", _small(event["patch"]))


def _owner(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


def _room(rest: Event) -> int:
    return max(MAX_EVENT - len(dumps(rest)), _FIELDS)


# --- state: a value that fits, and operations that add the rest -------------------------------------------------------


def _packed(event: Event, field: str, operations: list[Event]) -> list[Event]:
    """The operations, in order, in as few events as have room for them."""
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
    """The operations, each small enough for a frame: an `add` or `replace` that is not is followed by further ones."""
    small: list[Event] = []
    for operation in operations:
        if operation["op"] in ("add", "replace"):
            path = operation["path"]
            value, additions = _split(operation["value"], path, MAX_FRAME - _FIELDS - len(path) * _LONGEST_ESCAPE)
            small += [{**operation, "value": value}, *additions]
        else:
            small.append(operation)
    return small


def _split(value: Any, path: str, room: int) -> tuple[Any, list[Event]]:
    """What of a value fits in `room`, and the operations that then add the rest of it at `path`."""
    kind = type(value)
    if (kind is not dict and kind is not list) or len(dumps(value)) <= room:
        return truncated(value, room), []
    return _split_object(value, path, room) if kind is dict else _split_list(value, path, room)


def _split_object(value: dict[str, Any], path: str, room: int) -> tuple[Any, list[Event]]:
    fitting: dict[str, Any] = {}
    additions: list[Event] = []
    left = room - 2
    for key in sorted(value, key=lambda key: not _is_pathless(path, key)):  # what cannot be added later goes first
        is_pathless = _is_pathless(path, key)
        inner = truncated(value[key], left - _FIELDS) if is_pathless else value[key]
        size = len(dumps(inner)) + len(dumps(key)) + 2
        if size > left and not is_pathless:
            additions += _small([{"op": "add", "path": f"{path}/{escape(key)}", "value": inner}])
            continue
        fitting[key] = inner
        left -= size
    return fitting, additions


def _split_list(value: list[Any], path: str, room: int) -> tuple[Any, list[Event]]:
    count, left = 0, room - 2
    for element in value:
        left -= len(dumps(element)) + 1
        if left < 0:
            break
        count += 1
    rest = [{"op": "add", "path": f"{path}/{at}", "value": value[at]} for at in range(count, len(value))]
    return value[:count], _small(rest)


def _is_pathless(path: str, key: str) -> bool:
    return key == "__proto__" or (key == "prototype" and path.endswith("/constructor"))


_SPLITS: dict[str, Callable[[Event], list[Event]]] = {
    **dict.fromkeys(_DELTAS, _delta),
    "STATE_SNAPSHOT": _state_snapshot,
    "STATE_DELTA": _state_delta,
    "ACTIVITY_SNAPSHOT": _activity_snapshot,
    "ACTIVITY_DELTA": _activity_delta,
    **dict.fromkeys(
        (
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
        _truncated_event,
    ),
}


# --- truncation -------------------------------------------------------------------------------------------------------

_MARK = 64  # bytes that a mark may take
_LEAST = 128  # bytes below which a member is not worth keeping in part


def truncated(value: Any, room: int) -> Any:
    """`value`, a plain value, if its JSON takes at most `room` bytes; otherwise as much of it as does, marked.

    `room` is at least some hundred bytes. The value is not changed; the result may share parts with it.
    """
    if type(value) not in (str, list, dict) or len(dumps(value)) <= room:
        return value
    if type(value) is str:
        return _text(value, room)
    return _list(value, room) if type(value) is list else _object(value, room)


def _text(value: str, room: int) -> str:
    kept = value[: max(room - _MARK, 0)]
    while kept and len(dumps(kept)) > room - _MARK:
        kept = kept[: min(len(kept) - 1, len(kept) * (room - _MARK) // len(dumps(kept)))]
    return f"{kept}... <truncated: {len(value) - len(kept)} characters>"


def _list(value: list[Any], room: int) -> list[Any]:
    sizes = [len(dumps(element)) + 1 for element in value]
    shares = _shares(sizes, room - _MARK)
    elements = [truncated(element, share) for element, share in zip(value, shares, strict=False)]
    gone = len(value) - len(shares)
    return [*elements, f"<truncated: {gone} elements>"] if gone else elements


def _object(value: dict[str, Any], room: int) -> dict[str, Any]:
    names = [len(dumps(name)) + 2 for name in value]
    sizes = [taken + len(dumps(inner)) for taken, inner in zip(names, value.values(), strict=True)]
    shares = _shares(sizes, room - _MARK, names)
    members = zip(value.items(), names, shares, strict=False)
    result = {name: truncated(inner, share - taken) for (name, inner), taken, share in members}
    gone = len(value) - len(shares)
    if gone:
        result["<truncated>"] = f"{gone} keys"
    return result


def _shares(sizes: list[int], room: int, fixed: list[int] | None = None) -> list[int]:
    """What each member may take, as far as there is room: its size, or an equal share of what smaller ones leave."""
    least = [min(size, _LEAST + (fixed[at] if fixed else 0)) for at, size in enumerate(sizes)]
    count = taken = 0
    while count < len(sizes) and taken + least[count] <= room:
        taken += least[count]
        count += 1
    shares = least[:count]
    spare = room - taken
    wanting = sorted((at for at in range(count) if sizes[at] > least[at]), key=lambda at: sizes[at] - least[at])
    for done, at in enumerate(wanting):
        more = min(sizes[at] - least[at], spare // (len(wanting) - done))
        shares[at] += more
        spare -= more
    return shares
