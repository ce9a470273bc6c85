"""The stored messages as they were last seen: which of them have changed since, and what each is for the client.

Emits nothing, and does not know what the client has. Rules

1. Every message is looked at each time: nodes edit messages in place, and what is in one then is in the checkpoint when
   its channel is next written.
2. A message has changed if the JSON of its fields has. Of that JSON only a hash is kept.
3. A message is known by its id, or by its position if it has none. In the usual case, new messages behind unchanged
   ones, only the new ones are converted. Otherwise what is known and unchanged is found wherever it stands now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import orjson

from ..convert.ordinary import ordinary
from ..convert.to_agui import to_agui
from ..jsonable.to_json import json_bytes_unlogged, to_json_each
from ..losses import Losses
from ..options import Options
from ..parts.message import fields, kind_of
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
"""By type of an ordinary message: what reads the fields that count."""


class MessageCache:
    """The messages of a conversation, as last seen."""

    def __init__(self, options: Options, losses: Losses) -> None:
        self._options = options
        self._losses = losses
        self.known = False
        """Whether there has been any list of them."""
        self.keys: list[Any] = []
        """By message: its id, or its position if it has none."""
        self.past: set[Any] = set()
        """The keys of messages that were there and are not any more."""
        self.unreadable: set[str] = set()
        """The ids of the messages that cannot be read."""
        self._digests: list[int] = []
        """By message: what differs if it has changed."""
        self._wires: list[tuple[Event, ...]] = []
        """By message: what it is for the client."""

    @property
    def messages(self) -> list[Event]:
        """What all of them are for the client."""
        return [message for wires in self._wires for message in wires]

    def read(self, messages: Sequence[Any]) -> None:
        """Takes the messages as they are now."""
        self.known = True
        views = [*map(fields, messages)]
        digests, is_json = _digests(views)
        head = len(self.keys)
        if digests[:head] != self._digests:  # an id is a part of the digest
            head = 0
        keys = [_key(view, at) for at, view in enumerate(views[head:], head)]
        known = dict(zip(zip(self.keys[head:], self._digests[head:], strict=True), self._wires[head:], strict=True))
        found: list[tuple[Event, ...]] = []
        others: list[int] = []
        """Those of the messages that are new or changed, and not ordinary."""
        for at, seen in enumerate(zip(keys, digests[head:], strict=True)):
            wires = known.get(seen) if known else None
            if wires is None:
                wire = ordinary(views[head + at], self._options) if is_json else None
                wires = () if wire is None else (wire,)
                if wire is None:
                    others.append(at)
            found.append(wires)
        converted = to_json_each([self._converted(messages[head + at], head + at) for at in others]) if others else []
        for at, made in zip(others, converted, strict=True):
            found[at] = tuple(made)
        if self.unreadable:
            self.unreadable.intersection_update(self.keys[:head] + keys)
        self.past.update(self.keys[head:])
        self.past.difference_update(keys)
        self.keys[head:], self._wires[head:], self._digests = keys, found, digests

    def _converted(self, message: Any, position: int) -> list[Event]:
        try:
            converted = to_agui(message, position, self._options, self._losses)
            if not converted and not kind_of(fields(message)):
                raise TypeError(f"{type(message).__name__} is no message")
        except Exception as error:
            key = _key(fields(message), position)
            self._losses.message(key, error)
            if type(key) is str:
                self.unreadable.add(key)
            return []
        return converted


def keys_of(messages: Sequence[Any]) -> list[Any]:
    """By message: its id, or its position if it has none, as `MessageCache.keys` has them."""
    return [_key(fields(message), position) for position, message in enumerate(messages)]


def _key(view: Mapping[str, Any], position: int) -> Any:
    message_id = view.get("id") if type(view) is dict else _field(view, "id")
    if type(message_id) is str:
        return message_id or position
    return position if message_id is None else json_bytes_unlogged(message_id)


def _digests(views: Sequence[Mapping[str, Any]]) -> tuple[list[int], bool]:
    """By message: what differs if it has changed. And whether the fields of all are JSON as they are."""
    try:
        return [hash(orjson.dumps(_FIELDS[view["type"]](view))) for view in views], True
    except Exception:  # one of them is not ordinary, or has values that JSON does not have
        names = (*_NAMES, *_CALLS, *_OF_RESULT, "role")
        each = ([_field(view, name) for name in names] for view in views)
        return [hash(json_bytes_unlogged(values)) for values in each], False


def _field(view: Mapping[str, Any], name: str) -> Any:
    try:
        return view.get(name)
    except Exception:  # a mapping of a user's own
        return None
