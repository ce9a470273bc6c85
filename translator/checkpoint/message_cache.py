"""Caches the AG-UI form of the stored messages (`MessageCache`), so that only new and changed messages are converted.

This module emits no events, and does not know which messages the client has.

Rules:

1. Each read examines every message, because a node may edit a message in place. The next values contain such an edit,
   but the checkpoint may not contain it until the next write to the channel, because a checkpointer only has to store
   channels that have a new version
   (https://github.com/langchain-ai/langgraph/blob/main/libs/checkpoint/langgraph/checkpoint/base/__init__.py).
2. A message has changed if the JSON of its fields has changed. The cache stores only a hash of that JSON.
3. A message is identified by its id, or by its position if it has no id. Usually the earlier messages are unchanged,
   and only the messages after them have to be examined further. If an earlier message has changed, unchanged messages
   are recognised at any position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from orjson import dumps

from ..convert.ordinary import ordinary
from ..convert.to_agui import to_agui
from ..jsonable.to_json import json_bytes_unlogged, to_json_each
from ..losses import Losses
from ..options import Options
from ..parts.message import fields_of, kind_of
from ..wire.events import Event

_NAMES: Final = ("type", "content", "id", "name", "additional_kwargs", "response_metadata")
_CALLS: Final = ("tool_calls", "invalid_tool_calls")
_OF_RESULT: Final = ("tool_call_id", "status")
_FIELDS: Final[Mapping[Any, Callable[[Mapping[str, Any]], Any]]] = {
    "human": itemgetter(*_NAMES),
    "system": itemgetter(*_NAMES),
    "ai": itemgetter(*_NAMES, *_CALLS),
    "tool": itemgetter(*_NAMES, *_OF_RESULT),
}
"""For each common message type, a function that returns the fields whose changes matter."""


class MessageCache:
    """The messages of a conversation as they were when they were last read."""

    def __init__(self, options: Options, losses: Losses) -> None:
        self._options = options
        self._losses = losses
        self.known = False
        """Whether any messages have been read."""
        self.messages: list[Event] = []
        """All messages in AG-UI form."""
        self.keys: list[Any] = []
        """The id of each message, or its position if it has no id."""
        self.past: set[Any] = set()
        """The keys of the messages that were present in an earlier read but not in the latest one."""
        self.unreadable: set[str] = set()
        """The ids of messages that cannot be read."""
        self._digests: list[int] = []
        """For each message, a hash that changes when the message changes."""
        self._wires: list[tuple[Event, ...]] = []
        """For each message, the AG-UI messages that it becomes."""

    def read(self, messages: Sequence[Any]) -> None:
        """Reads the current messages. They replace the messages of the previous read."""
        self.known = True
        all_fields = [*map(fields_of, messages)]
        digests, is_json = _digests(all_fields)
        head = len(self.keys)
        if digests[:head] != self._digests:  # the digests include the ids, so equal digests mean equal keys
            head = 0
        keys = [_key(fields, at) for at, fields in enumerate(all_fields[head:], head)]
        cached: dict[tuple[Any, int], tuple[Event, ...]] = {}
        if head < len(self.keys):
            rest = zip(self.keys[head:], self._digests[head:], strict=True)
            cached = dict(zip(rest, self._wires[head:], strict=True))
        new_wires: list[tuple[Event, ...]] = []
        others: list[int] = []
        """The positions, in `new_wires`, of new or changed messages that the fast path (`ordinary`) cannot convert."""
        for at, key_and_digest in enumerate(zip(keys, digests[head:], strict=True)):
            wires = cached.get(key_and_digest)
            if wires is None:
                wire = ordinary(all_fields[head + at], self._options) if is_json else None
                wires = () if wire is None else (wire,)
                if wire is None:
                    others.append(at)
            new_wires.append(wires)
        converted = to_json_each([self._converted(messages[head + at], head + at) for at in others]) if others else []
        for at, agui_messages in zip(others, converted, strict=True):
            new_wires[at] = tuple(agui_messages)
        if self.unreadable:
            self.unreadable.intersection_update(self.keys[:head] + keys)
        self.past.update(self.keys[head:])
        if self.past:
            self.past.difference_update(keys)
        same = self.messages if head == len(self.keys) else _flat(self._wires[:head])
        self.messages = same + _flat(new_wires)
        self.keys[head:], self._wires[head:], self._digests = keys, new_wires, digests

    def _converted(self, message: Any, position: int) -> list[Event]:
        try:
            converted = to_agui(message, position, self._options, self._losses)
            if not converted and not kind_of(fields_of(message)):
                raise TypeError(f"{type(message).__name__} is not a message")
        except Exception as error:
            key = _key(fields_of(message), position)
            self._losses.message(key, error)
            if type(key) is str:
                self.unreadable.add(key)
            return []
        return converted


def _flat(wires: Sequence[tuple[Event, ...]]) -> list[Event]:
    return [message for messages in wires for message in messages]


def keys_of(messages: Sequence[Any]) -> list[Any]:
    """Returns the id of each message, or its position if it has no id, as in `MessageCache.keys`."""
    return [_key(fields_of(message), position) for position, message in enumerate(messages)]


def _key(fields: Mapping[str, Any], position: int) -> Any:
    message_id = fields.get("id") if type(fields) is dict else _field(fields, "id")
    if type(message_id) is str:
        return message_id or position
    return position if message_id is None else json_bytes_unlogged(message_id)


def _digests(all_fields: Sequence[Mapping[str, Any]]) -> tuple[list[int], bool]:
    """Returns a list of hashes and a flag. The hash of a message changes when the message changes. The flag is True if
    the fields of all messages can be written as JSON without conversion."""
    try:
        return [hash(dumps(_FIELDS[fields["type"]](fields))) for fields in all_fields], True
    except Exception:  # a message of a rare type, or a value that JSON cannot express
        names = (*_NAMES, *_CALLS, *_OF_RESULT, "role")
        rows = ([_field(fields, name) for name in names] for fields in all_fields)
        return [hash(json_bytes_unlogged(values)) for values in rows], False


def _field(fields: Mapping[str, Any], name: str) -> Any:
    try:
        return fields.get(name)
    except Exception:  # a user's own mapping class may raise an exception
        return None
