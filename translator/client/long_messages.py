"""A messages snapshot too large for one frame: its longest texts left empty, and the events that stream them in.

Lives here: which text of which message moves out of the snapshot. Never here: how long a frame may be. It rests on the
client's reducer: a start for an id it holds appends, to a message of any role and to a tool call; so every message
stays in the snapshot (one that is not in it would be dropped), in its place, with its calls.

What has no such events (content in parts, activities, metadata, encrypted values) and the text of what is open are cut
only if the snapshot is too large without all the rest. Should even so many messages as there are not fit, those at the
end are told after it, as far as events can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from orjson import dumps

from ..convert.to_events import as_events
from ..wire import events
from ..wire.events import Event
from .truncate import shortened

_WORTH_MOVING = 256  # bytes of a text below which the three events that bring it are more
_LEAST = 512  # bytes a message has in a snapshot, if there are too many for all to be in it


class _Text(NamedTuple):
    """A text that events can bring: of a message, or of one of its calls."""

    size: int
    position: int
    call: int | None


def snapshot_in_pieces(event: Event, room: int, first: Collection[str] = ()) -> list[Event]:
    """The snapshot in at most `room` bytes, and the events that bring what was left out of it, which may be too large.

    `first` names the messages whose text and calls stay.
    """
    messages = list(event["messages"])
    surplus = len(dumps(event)) - room
    moved: list[_Text] = []
    for found in sorted(_texts(messages, frozenset(first)), key=lambda one: (-one.size, one.position, one.call or 0)):
        if surplus <= 0:
            break
        moved.append(found)
        surplus -= found.size - 2  # the quotes stay
    told: list[Event] = []
    for found in sorted(moved, key=lambda one: (one.position, -1 if one.call is None else one.call)):
        message = messages[found.position]
        told += _brought(message, found.call)
        messages[found.position] = _emptied(message, found.call)
    if surplus > 0:
        room -= len(dumps({**event, "messages": []}))
        messages, later = _divided(messages, room, frozenset(first))
        messages = shortened(messages, room)
        told += [each for message in later for each in as_events(message, message.get("subagentRunId")) or ()]
    return [{**event, "messages": messages}, *told]


def _divided(messages: list[Event], room: int, kept: frozenset[str]) -> tuple[list[Event], list[Event]]:
    """The messages that find room in a snapshot, each in part at least, and those to be told one by one after it."""
    staying = [message for message in messages if message["id"] in kept]
    others = [message for message in messages if message["id"] not in kept]
    room -= sum(_least(message) for message in staying)
    count = 0
    while count < len(others) and room >= _least(others[count]):
        room -= _least(others[count])
        count += 1
    return (messages, []) if count == len(others) else (others[:count] + staying, others[count:])


def _least(message: Event) -> int:
    return min(len(dumps(message)) + 1, _LEAST)


def _texts(messages: list[Event], kept: frozenset[str]) -> list[_Text]:
    uses = Counter(message["id"] for message in messages)
    calls = Counter(call["id"] for message in messages for call in message.get("toolCalls", ()))
    found = []
    for position, message in enumerate(messages):
        if message["id"] in kept or uses[message["id"]] > 1:  # a second one of an id cannot be reached
            continue
        content = message.get("content")
        if isinstance(content, str) and message["role"] != "activity":
            found.append(_Text(len(dumps(content)), position, None))
        for at, call in enumerate(message.get("toolCalls", ())):
            if calls[call["id"]] == 1 and call["id"] not in kept:
                found.append(_Text(len(dumps(call["function"]["arguments"])), position, at))
    return [text for text in found if text.size >= _WORTH_MOVING]


def _brought(message: Event, call: int | None) -> list[Event]:
    owner = message.get("subagentRunId")
    message_id = message["id"]
    if call is not None:
        wire = message["toolCalls"][call]
        return [
            events.tool_start(wire["id"], wire["function"]["name"], message_id, owner),
            events.tool_args(wire["id"], wire["function"]["arguments"], owner),
            events.tool_end(wire["id"], owner),
        ]
    if message["role"] == "reasoning":
        return [
            *events.reasoning_start(message_id, owner),
            events.reasoning_content(message_id, message["content"], owner),
            *events.reasoning_end(message_id, None, owner),
        ]
    role = message["role"] if message["role"] != "tool" else "assistant"  # of a message that is there, it stays
    return [
        events.text_start(message_id, role, None, owner),
        events.text_content(message_id, message["content"], owner),
        events.text_end(message_id, None, owner),
    ]


def _emptied(message: Event, call: int | None) -> Event:
    if call is None:
        return {**message, "content": ""}
    calls = list(message["toolCalls"])
    calls[call] = {**calls[call], "function": {**calls[call]["function"], "arguments": ""}}
    return {**message, "toolCalls": calls}
