"""Keeps events below the largest size that the client can read. `framed` splits or truncates larger events.

`@ag-ui/client` 1.0.0 refuses an SSE frame once the client's buffer has grown to 10 MiB.

Rules:

- Text, arguments and reasoning are split into several deltas, and a patch is split into several patches. Splitting
  loses no content.
- A state is split into a snapshot with the channels that fit into a frame, and patches that add the other channels one
  by one. If a channel, or a value in a patch operation, is larger than a frame, it is truncated.
- Any other event is truncated. A messages snapshot keeps all messages, with the message ids and the tool call ids. If
  the ids alone are too large for a frame, the snapshot only keeps the last messages. A truncated message gets the
  metadata fields `truncated` and `size`, as a truncated tool result does.
- A truncated value keeps its JSON type, and gets a mark with its original size. The longest members are truncated
  first, and the others stay unchanged. If a value consists of many small members, only the first of them are kept, as
  many as fit into the frame.
- If a value is nested too deeply for orjson to write it, the deepest parts are replaced by `<too deep>`.
- For most events, only the type and the length of the text are checked, so the check is fast.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps

from ..jsonable.json_diff import escape
from ..jsonable.to_json import freeze
from .events import Event

MAX_FRAME = 8_000_000
"""The maximum frame size in bytes. It is well below the client's limit, because the client's buffer may contain several
frames."""

_MAX_EVENT = MAX_FRAME - 16  # leaves space for `data: ` and the blank line
_MAX_PATCH = _MAX_EVENT - 4_096  # leaves space for the ids in an event
MAX_VALUE = _MAX_PATCH - 4_096
"""The maximum size of a value in a patch operation, in bytes."""
_SHORT_PATH = 1_024  # a path of up to this many bytes fits into a frame together with the largest value
_MAX_TEXT = MAX_VALUE // 6  # in characters: JSON needs at most six bytes for each, as in \u0000
_MARK = 64  # the maximum size of a mark, in bytes
_SHORT = 2 * _MARK  # truncating a member of up to this many bytes saves too little
_SHORT_OBJECT = (
    1_024  # the same limit for objects in lists: a content part needs all its fields, and each field may get a mark
)

_TEXTS = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"})
_PATCHES = {"STATE_DELTA": "delta", "ACTIVITY_DELTA": "patch"}
_MARKERS = frozenset(
    {
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "REASONING_START",
        "REASONING_END",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "STEP_STARTED",
        "STEP_FINISHED",
    }
)
"""The types of events that contain only ids and names, unless they contain metadata."""
_CONTENTS = ("content", "error", "encryptedValue", "metadata")


def framed(event: Event, size: int | None = None) -> list[Event]:
    """Returns `[event]`, or the events that replace `event` if its frame would be larger than `MAX_FRAME`.

    `event`: a wire dict that contains plain JSON values. This dict is not changed, and the result may share parts with
    it.
    `size`: the length of the event's JSON in bytes. If it is None, the length is measured.
    """
    kind = event["type"]
    if kind in _TEXTS:
        text = event["delta"]
        if len(text) <= _MAX_TEXT:
            return [event]
        return [{**event, "delta": text[start : start + _MAX_TEXT]} for start in range(0, len(text), _MAX_TEXT)]
    if kind in _MARKERS and "metadata" not in event:
        return [event]
    if size is None:
        try:
            size = len(dumps(event))
        except TypeError:  # a caller may pass messages or a state that is nested too deeply for orjson
            data, event = freeze(event)
            size = len(data)
    if size <= _MAX_EVENT:
        return [event]
    if kind in _PATCHES:
        return _patches(event, _PATCHES[kind])
    if kind == "STATE_SNAPSHOT" and isinstance(event["snapshot"], dict):
        return _state_events(event["snapshot"])
    if kind == "MESSAGES_SNAPSHOT":
        return [_messages_snapshot(event)]
    return [truncated(event, _MAX_EVENT)]


def truncated(value: Any, room: int) -> Any:
    """Returns a plain JSON value, truncated and marked if its JSON is longer than `room` bytes.

    `room` must be at least a few hundred bytes. The value is not changed, and the result may share parts with it.
    """
    size = len(dumps(value))
    if size <= room or not isinstance(value, (str, list, dict)):
        return value
    mark = f"<truncated: {size:,} bytes>"
    if isinstance(value, str):
        text = value[:room]
        while text and len(dumps(text)) + len(mark) > room:
            text = text[: len(text) * 3 // 4]
        return text + mark
    members: dict[Any, Any] = dict(value if isinstance(value, dict) else enumerate(value))
    short = _SHORT_OBJECT if isinstance(value, list) and isinstance(value[0], dict) else _SHORT
    surplus = _truncate_longest(members, size - room + _MARK, short)
    while surplus > 0 and members:
        name, member = members.popitem()
        surplus -= len(dumps(member)) + (len(dumps(name)) + 2 if isinstance(value, dict) else 1)
    if isinstance(value, dict):
        return members if len(members) == len(value) else {**members, "<truncated>": mark}
    if len(members) == len(value):
        return [*members.values()]
    return [*members.values(), {"type": "text", "text": mark} if isinstance(value[0], dict) else mark]  # a content part


def _truncate_longest(members: dict[Any, Any], surplus: int, short: int = _SHORT) -> int:
    """Truncates the longest members in place, each to no less than `short` bytes, until `surplus` bytes have been
    removed. Returns the number of bytes that still have to be removed."""
    sizes = {name: len(dumps(member)) for name, member in members.items()}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if surplus <= 0 or sizes[name] <= short:
            break
        members[name] = truncated(members[name], max(sizes[name] - surplus - _MARK, short))
        surplus -= sizes[name] - len(dumps(members[name])) - _MARK
    return surplus


def _patches(event: Event, field: str) -> list[Event]:
    packs: list[list[Event]] = []
    room = 0
    for operation in event[field]:
        if "value" in operation:
            path = len(dumps(operation["path"]))
            value = truncated(operation["value"], MAX_VALUE - max(path - _SHORT_PATH, 0))
            operation = {**operation, "value": value}
        size = len(dumps(operation)) + 1
        if size > room:
            packs.append([])
            room = _MAX_PATCH
        packs[-1].append(operation)
        room -= size
    return [{**event, field: pack} for pack in packs]


def _state_events(state: dict[str, Any]) -> list[Event]:
    fitting: dict[str, Any] = {}
    additions: list[Event] = []
    room = _MAX_PATCH
    for name, value in state.items():
        size = len(dumps({name: value}))
        if size <= room:
            fitting[name] = value
            room -= size
        else:
            additions.append({"op": "add", "path": f"/{escape(name)}", "value": value})
    return [
        {"type": "STATE_SNAPSHOT", "snapshot": fitting},
        *_patches({"type": "STATE_DELTA", "delta": additions}, "delta"),
    ]


def _messages_snapshot(event: Event) -> Event:
    messages: list[Event] = event["messages"]
    values: dict[Any, Any] = {}
    for at, message in enumerate(messages):
        values |= {(at, name): message[name] for name in _CONTENTS if name in message}
        calls = message.get("toolCalls", ())
        values |= {(at, number): call["function"]["arguments"] for number, call in enumerate(calls)}
    if _truncate_longest(values, len(dumps(event)) - _MAX_EVENT) > 0:  # the ids alone are too large
        return framed({**event, "messages": messages[len(messages) // 4 + 1 :]})[0]
    return {**event, "messages": [_with_values(message, at, values) for at, message in enumerate(messages)]}


def _with_values(message: Event, at: int, values: dict[Any, Any]) -> Event:
    fields = {name: values[at, name] for name in _CONTENTS if name in message}
    if "toolCalls" in message:
        fields["toolCalls"] = [
            {**call, "function": {**call["function"], "arguments": values[at, number]}}
            for number, call in enumerate(message["toolCalls"])
        ]
    if all(message[name] == value for name, value in fields.items()):
        return message
    mark = {"truncated": True, "size": len(dumps(message))}
    return {**message, **fields, "metadata": {**fields.get("metadata", {}), **mark}}
