"""Events in frames that the client reads, messages snapshots included: `framed`.

Here: which text of which message moves out of a messages snapshot that is too large. Never here: all other events, and
how large a frame may be (`wire.frame_limit`).

Rules:
- Every message stays in the snapshot, in its place and with its tool calls: one that is not in it would be dropped.
- The longest texts and arguments are left empty, and streamed into the messages after it. This rests on the client's
  reducer: a START for an id it has appends, to a message of any role and to a tool call.
- A message with open items stays as it is: more of it follows, and the verifier refuses a second START.
- What has no such events (content in parts, activities, metadata, encrypted values) is truncated, if the snapshot is
  too large without all the rest. Should even so many messages as there are not fit, the last ones are emitted after the
  snapshot, as far as events can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from orjson import dumps

from ..convert.to_events import as_events
from ..wire import events
from ..wire.events import Event
from ..wire.frame_limit import MAX_EVENT, bounded, truncated

__all__ = ["framed"]

_WORTH_MOVING = 256  # bytes of a text below which the three events that bring it are more
_LEAST = 512  # bytes a message has in a snapshot, if there are too many for all to be in it


def framed(event: Event, growing: Collection[str] = (), size: int | None = None) -> list[Event]:
    """`[event]`, or the events in its place if its frame would be too large for the client.

    `event` is a wire dict of plain values. It is not changed, and the result may share parts with it. `growing` names
    the messages with open items, whose text and tool calls must be in a messages snapshot itself; `size` is the length
    of the event's JSON, if it is known.
    """
    if event["type"] != "MESSAGES_SNAPSHOT":
        return bounded(event)
    surplus = (len(dumps(event)) if size is None else size) - MAX_EVENT
    if surplus <= 0:
        return [event]
    snapshot, *rest = _split(event, surplus, frozenset(growing))
    return [snapshot, *(part for each in rest for part in bounded(each))]


class _Text(NamedTuple):
    """A text that events can bring: of a message, or of one of its tool calls."""

    size: int
    position: int
    call: int | None


def _split(event: Event, surplus: int, growing: frozenset[str]) -> list[Event]:
    """The snapshot without as many texts as have `surplus` bytes, and the events that bring these, of any size."""
    messages = list(event["messages"])
    moved: list[_Text] = []
    for found in sorted(_texts(messages, growing), key=lambda one: (-one.size, one.position, one.call or 0)):
        if surplus <= 0:
            break
        moved.append(found)
        surplus -= found.size - 2  # the quotes stay
    rest: list[Event] = []
    for found in sorted(moved, key=lambda one: (one.position, -1 if one.call is None else one.call)):
        message = messages[found.position]
        rest += _text_events(message, found.call)
        messages[found.position] = _emptied(message, found.call)
    if surplus > 0:
        room = MAX_EVENT - len(dumps({**event, "messages": []}))
        messages, later = _fitting(messages, room, growing)
        messages = truncated(messages, room)
        rest += [each for message in later for each in as_events(message, message.get("subagentRunId")) or ()]
    return [{**event, "messages": messages}, *rest]


def _fitting(messages: list[Event], room: int, growing: frozenset[str]) -> tuple[list[Event], list[Event]]:
    """The messages that find room in a snapshot, each in part at least, and those that are emitted after it."""
    staying = [message for message in messages if message["id"] in growing]
    others = [message for message in messages if message["id"] not in growing]
    room -= sum(_least(message) for message in staying)
    count = 0
    while count < len(others) and room >= _least(others[count]):
        room -= _least(others[count])
        count += 1
    return (messages, []) if count == len(others) else (others[:count] + staying, others[count:])


def _least(message: Event) -> int:
    return min(len(dumps(message)) + 1, _LEAST)


def _texts(messages: list[Event], growing: frozenset[str]) -> list[_Text]:
    uses = Counter(message["id"] for message in messages)
    calls = Counter(call["id"] for message in messages for call in message.get("toolCalls", ()))
    found = []
    for position, message in enumerate(messages):
        if message["id"] in growing or uses[message["id"]] > 1:  # a second one of an id cannot be reached
            continue
        content = message.get("content")
        if isinstance(content, str) and message["role"] != "activity":
            found.append(_Text(len(dumps(content)), position, None))
        for at, call in enumerate(message.get("toolCalls", ())):
            if calls[call["id"]] == 1 and call["id"] not in growing:
                found.append(_Text(len(dumps(call["function"]["arguments"])), position, at))
    return [text for text in found if text.size >= _WORTH_MOVING]


def _text_events(message: Event, call: int | None) -> list[Event]:
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
