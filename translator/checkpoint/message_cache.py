"""The stored messages as they were last seen: which of them have changed since, and what each is for the client.

Emits nothing, and does not know what the client has. Rules

1. Every message is compared each time: nodes edit messages in place, and what is in one then is in the checkpoint when
   its channel is next written.
2. What can be edited in place (calls, lists of content, keyword arguments) compares by its frozen bytes. The rest, text
   above all, compares by value, which is by identity where nothing replaced it.
3. The usual case, new messages behind unchanged ones, costs a short look at each of the old ones: of the ordinary kinds
   only the fields that are visible, and what can be edited in place is frozen for all at once. In any other case that
   is taken apart again, to find each message by its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import call, itemgetter
from typing import Any, Final, NamedTuple

import orjson

from ..convert.to_agui import to_agui
from ..jsonable.to_json import json_bytes_unlogged, to_json_each
from ..losses import Losses
from ..options import Options
from ..parts.message import fields, kind_of
from ..wire.events import Event

_Look = Callable[[Any], Any]
_FIXED: Final[Mapping[Any, _Look]] = {
    **dict.fromkeys(("human", "ai", "system"), itemgetter("type", "content", "id", "name")),
    "tool": itemgetter("type", "content", "id", "name", "tool_call_id", "status"),
}
_KWARGS: Final = ("additional_kwargs", "response_metadata")
_CALLS: Final = ("tool_calls", "invalid_tool_calls")
_LOOSE: Final[Mapping[Any, _Look]] = {kind: itemgetter(*_KWARGS, *(_CALLS if kind == "ai" else ())) for kind in _FIXED}
_LOOSE_AND_CONTENT: Final[Mapping[Any, _Look]] = {
    kind: itemgetter(*_KWARGS, *(_CALLS if kind == "ai" else ()), "content") for kind in _FIXED
}


class Stored(NamedTuple):
    """One stored message as it was seen."""

    key: Any
    """Its id, or its position if it has none."""
    messages: list[Event]
    """What it is for the client."""


class MessageCache:
    """The messages of a conversation, as last seen."""

    def __init__(self, options: Options, losses: Losses) -> None:
        self._options = options
        self._losses = losses
        self.known = False
        """Whether there has been any list of them."""
        self.all: list[Stored] = []
        self.past: set[Any] = set()
        """The keys of messages that were there and are not any more."""
        self._fixed: list[_Look] = []
        """By message: what reads the fields that cannot be edited in place."""
        self._seen: list[Any] = []
        """By message: what that read; of one that is not ordinary, a digest of all that counts."""
        self._loose: list[_Look] = []
        """By message: what reads the fields that can be edited in place."""
        self._frozen = b"[]"
        """What those read, of all messages, as JSON."""

    def read(self, messages: Sequence[Any]) -> int:
        """Takes the messages as they are now; returns how many, from the first on, are as they were."""
        self.known = True
        count = len(self.all)
        if len(messages) >= count and self._are_unchanged(messages):
            added = messages[count:]
            self.all += map(Stored, _keys(added, count), self._converted(added, count))
            self._frozen = _joined(self._frozen, self._note(added, count))
            return count
        return self._read_anew(messages)

    @property
    def keys(self) -> list[Any]:
        """By message: its id, or its position if it has none."""
        return [stored.key for stored in self.all]

    def _are_unchanged(self, messages: Sequence[Any]) -> bool:
        """Whether the messages seen are still there, unchanged, before any others."""
        try:
            views = [message if type(message) is dict else message.__dict__ for message in messages[: len(self.all)]]
            if list(map(call, self._fixed, views)) != self._seen:
                return False
            return json_bytes_unlogged(list(map(call, self._loose, views))) == self._frozen
        except Exception:  # no ordinary message, or one whose fields do not compare
            return False

    def _read_anew(self, messages: Sequence[Any]) -> int:
        before, digests = self.all, self._digests()
        by_key = {stored.key: at for at, stored in enumerate(before)}
        self._fixed, self._seen, self._loose = [], [], []
        self._frozen = self._note(messages, 0)
        self.all = []
        for position, (key, digest) in enumerate(zip(_keys(messages, 0), self._digests(), strict=True)):
            at = position
            if at >= len(before) or before[at].key != key or not _is_same(digests[at], digest):
                at = by_key.get(key, -1)
            is_known = at >= 0 and _is_same(digests[at], digest)
            self.all.append(before[at] if is_known else Stored(key, *self._converted([messages[position]], position)))
        self.past.update(by_key)
        self.past.difference_update(self.keys)
        pairs = zip(before, self.all, strict=False)
        return next((at for at, (was, now) in enumerate(pairs) if was is not now), min(len(before), len(self.all)))

    def _converted(self, messages: Sequence[Any], first: int) -> list[list[Event]]:
        """By message: what it is for the client."""
        return to_json_each([self._converted_one(message, at) for at, message in enumerate(messages, first)])

    def _converted_one(self, message: Any, position: int) -> list[Event]:
        try:
            converted = to_agui(message, position, self._options, self._losses.block)
            if not converted and not kind_of(fields(message)):
                raise TypeError(f"{type(message).__name__} is no message")
        except Exception as error:
            self._losses.message(_key(fields(message), position), error)
            return []
        return converted

    def _digests(self) -> list[tuple[Any, bytes]]:
        """By message: what differs if it has changed since it was seen."""
        return list(zip(self._seen, map(orjson.dumps, orjson.loads(self._frozen)), strict=True))

    def _note(self, messages: Sequence[Any], first: int) -> bytes:
        """Notes how further messages are read the short way, and what is fixed in them; gives the rest, frozen."""
        loose = []
        for position, message in enumerate(messages, first):
            read_fixed, read_loose, view = _looks(message)
            ordinary = read_fixed is not _refuse
            self._fixed.append(read_fixed)
            self._loose.append(read_loose)
            self._seen.append(read_fixed(view) if ordinary else _digest(message, position))
            loose.append(read_loose(view) if ordinary else None)
        return json_bytes_unlogged(loose)


def keys_of(messages: Sequence[Any]) -> list[Any]:
    """By message: its id, or its position if it has none, as `MessageCache.keys` has them."""
    return _keys(messages, 0)


def _keys(messages: Sequence[Any], first: int) -> list[Any]:
    return [_key(fields(message), position) for position, message in enumerate(messages, first)]


def _key(view: Mapping[str, Any], position: int) -> Any:
    message_id = _comparable(_field(view, "id"))
    return position if message_id in (None, "") else message_id


def _looks(message: Any) -> tuple[_Look, _Look, Mapping[str, Any]]:
    """What reads a message the short way (rule 3): what is fixed in it, and the rest. Other kinds are refused."""
    view = fields(message)
    kind = _field(view, "type")
    if type(kind) is str and kind in _FIXED and (view is message or view is getattr(message, "__dict__", None)):
        fixed, loose = _FIXED[kind], (_LOOSE if type(view.get("content")) is str else _LOOSE_AND_CONTENT)[kind]
        try:
            loose(view)
            fixed(view)
        except Exception:  # a field that is not there, or a mapping that raises
            return _refuse, _refuse, view
        return fixed, loose, view
    return _refuse, _refuse, view


def _refuse(view: Any) -> Any:
    raise LookupError


def _joined(head: bytes, tail: bytes) -> bytes:
    """The JSON array of the elements of two."""
    if head == b"[]" or tail == b"[]":
        return tail if head == b"[]" else head
    return b"%b,%b" % (head[:-1], tail[1:])


def _digest(message: Any, position: int) -> tuple[Any, ...]:
    """What differs if a message of any kind has changed."""
    view = fields(message)
    names = ("type", "content", "name", "status", "tool_call_id", "role", *_CALLS, *_KWARGS)
    return (_key(view, position), *(_comparable(_field(view, name)) for name in names))


def _field(view: Mapping[str, Any], name: str) -> Any:
    try:
        return view.get(name)
    except Exception:  # a mapping of a user's own
        return None


def _is_same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # a field that does not compare
        return False


def _comparable(value: Any) -> str | bytes | None:
    """A text, or the frozen bytes of anything else; None for what is empty."""
    if value is None or type(value) is str:
        return value
    if (type(value) is list or type(value) is dict) and not value:
        return None
    return json_bytes_unlogged(value)
