"""Stores the messages of one client in the client's order, and indexes them.

Text and arguments are stored as deltas until they are read. `reducer.py` changes the messages when events are applied.

Rules:

- A wire dict is never modified after it has been made or stored. A change makes a new dict that shares the unchanged
  parts with the old one. So neither messages that are put into events nor parts of events that are stored have to be
  copied.
- Several messages or tool calls may have the same id, as in the client. A lookup returns the first message or tool call
  with the id.
- The cost of appending a delta does not depend on the length of the message or of the history.
- The indexes are built on the first lookup or change, because messages that are only read do not need them.
- Only assistant messages contain tool calls. A tool call that lacks an id, a name or arguments is not indexed, because
  no event can refer to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

Message = dict[str, Any]
_INDEXES: Final = ("order", "entries", "calls")


class StoredCall:
    """A tool call in a stored message."""

    __slots__ = ("deltas", "wire")

    def __init__(self, wire: dict[str, Any]) -> None:
        self.wire = wire
        self.deltas: list[str] = []
        """Argument deltas that have not been merged into `wire` yet."""

    def read(self) -> dict[str, Any]:
        """The tool call's wire dict, with all pending argument deltas merged in."""
        if self.deltas:
            function = self.wire["function"]
            arguments = function["arguments"] + "".join(self.deltas)
            self.wire = {**self.wire, "function": {**function, "arguments": arguments}}
            self.deltas = []
        return self.wire


class StoredMessage:
    """A stored message with its wire dict, its pending deltas, its tool calls and its position."""

    __slots__ = ("calls", "deltas", "id", "is_activity", "is_stale", "message", "position", "results")

    def __init__(self, message: Message, position: int) -> None:
        self.id: str = message["id"]
        self.position = position
        self.message = message
        self.deltas: list[str] = []
        self.is_activity: bool = message["role"] == "activity"
        self.is_stale = False
        """Whether `deltas` or `calls` have changed since the message was last read."""
        self.results = 0
        """The number of tool results that are known to follow this message directly."""
        calls = message.get("toolCalls") if message["role"] == "assistant" else None
        self.calls: list[StoredCall] | None = None
        if isinstance(calls, list):
            self.calls = [StoredCall(call) for call in calls if _can_grow(call)]

    def read(self) -> Message:
        """The message's wire dict, with all pending deltas and tool calls merged in."""
        if self.is_stale:
            self.is_stale = False
            if self.deltas:
                content, text = self.message.get("content"), "".join(self.deltas)
                self.set(content=content + text if isinstance(content, str) else text)
                self.deltas = []
            if self.calls is not None:
                self.set(toolCalls=[call.read() for call in self.calls])
        return self.message

    def append_text(self, delta: str) -> None:
        """Appends text to the message's content."""
        self.deltas.append(delta)
        self.is_stale = True

    def set(self, **fields: Any) -> None:
        """Sets fields of the message in a new wire dict."""
        self.message = {**self.message, **fields}


class MessageStore:
    """The messages of a client in order, with indexes by message id and by tool call id.

    `is_legacy`: whether the client is version 0.0.59, whose reducer follows slightly different rules (see
    `reducer.py`).
    """

    __slots__ = ("_plain", "calls", "entries", "is_legacy", "order")

    order: list[StoredMessage]
    """All messages in order."""
    entries: dict[str, StoredMessage]
    """For each message id, the first message with that id."""
    calls: dict[str, tuple[StoredMessage, StoredCall]]
    """For each tool call id, the first tool call with that id and the message that contains it."""

    def __init__(self, messages: Iterable[Message] = (), *, is_legacy: bool = False) -> None:
        self.is_legacy = is_legacy
        self._plain: list[Message] | None = list(messages)
        """The messages as they were passed in, or None once the indexes have been built."""

    def __getattr__(self, name: str) -> Any:
        """Builds the indexes on first use. Python calls this method only for attributes that are not set, so access to
        all other attributes stays fast."""
        if name not in _INDEXES:
            raise AttributeError(name)
        self.set_order([StoredMessage(message, 0) for message in self._plain or ()])
        return getattr(self, name)

    @property
    def ids(self) -> list[str]:
        """The ids of all messages, in order."""
        if self._plain is None:
            return [entry.id for entry in self.order]
        return [message["id"] for message in self._plain]

    def read(self) -> list[Message]:
        """The wire dicts of all messages, in the client's order. Merges all pending deltas."""
        if self._plain is None:
            return [entry.read() if entry.is_stale else entry.message for entry in self.order]
        return list(self._plain)

    def append(self, message: Message) -> StoredMessage:
        """Appends a message, and returns its entry."""
        entry = StoredMessage(message, len(self.order))
        self.order.append(entry)
        self._index((entry,))
        return entry

    def insert(self, position: int, message: Message) -> StoredMessage:
        """Inserts a message at `position`, and returns its entry. The cost grows with the number of messages after
        it."""
        entry = StoredMessage(message, position)
        self.order.insert(position, entry)
        for place in range(len(self.order) - 1, position, -1):
            if self.order[place].position >= position:  # if a message is in `order` twice, its first position counts
                self.order[place].position = place
        first = self.entries.get(entry.id)
        if first is None or first.position > position:
            self.entries[entry.id] = entry
        return entry

    def add_call(self, entry: StoredMessage, wire: dict[str, Any]) -> None:
        """Appends a tool call to a message. The store must not already contain a tool call with the same id."""
        call = StoredCall(wire)
        entry.calls = [*(entry.calls or ()), call]
        entry.is_stale = True
        self.calls[wire["id"]] = entry, call

    def replace(self, entry: StoredMessage, message: Message) -> StoredMessage:
        """Replaces `entry`, the first message with its id, and returns the new entry. If `entry` is not an activity,
        all indexes are rebuilt."""
        fresh = StoredMessage(message, entry.position)
        self.order[entry.position] = self.entries[entry.id] = fresh
        if not entry.is_activity:
            for stored in self.order:
                stored.results = 0
            self.set_order(self.order)
        return fresh

    def set_order(self, order: list[StoredMessage]) -> None:
        """Replaces all messages, and builds the indexes."""
        self._plain, self.order, self.entries, self.calls = None, order, {}, {}
        for position in range(len(order) - 1, -1, -1):
            order[position].position = position
        self._index(order)

    def set_messages(self, messages: Iterable[Message]) -> None:
        """Replaces all messages, and removes the indexes."""
        self._plain = list(messages)
        with suppress(AttributeError):  # the indexes have not been built
            del self.order, self.entries, self.calls

    def copy(self) -> MessageStore:
        """Returns an independent copy. A change to one store does not affect the other."""
        return MessageStore(self.read(), is_legacy=self.is_legacy)

    def _index(self, added: Iterable[StoredMessage]) -> None:
        entries, calls = self.entries, self.calls
        for entry in added:
            entries.setdefault(entry.id, entry)
            for call in entry.calls or ():
                calls.setdefault(call.wire["id"], (entry, call))


def _can_grow(call: Any) -> bool:
    """Whether a tool call has an id, a name and arguments, so that events can refer to it. The check is needed because
    a tool call in a message from a client may have any form."""
    try:
        call_id, name, arguments = call["id"], call["function"]["name"], call["function"]["arguments"]
    except (TypeError, KeyError):
        return False
    return isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)
