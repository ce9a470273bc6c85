"""The messages of one client in its order, and the indexes to find them: `MessageStore`.

Text and arguments are kept as deltas until they are read. What an event does to a message is in `reducer`.

Rules:
- A wire dict is never changed once it is made or stored. A change makes a new dict, which shares what did not change.
  So what is read here may be put into events, and what events carry may be stored, without copies.
- Ids may repeat, as they may in the client. A look-up gives the first message, or the first tool call, with an id.
- Appending a delta costs the same however long the message and the history are.
- Messages that are only read need no indexes: they are made when something is first looked up or changed.
- Only assistant messages have tool calls. A tool call without an id, a name and arguments is not indexed, since no
  event can reach it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

Message = dict[str, Any]
_INDEXES: Final = ("order", "entries", "calls")


class StoredCall:
    """A tool call of a stored message."""

    __slots__ = ("deltas", "wire")

    def __init__(self, wire: dict[str, Any]) -> None:
        self.wire = wire
        self.deltas: list[str] = []
        """Arguments that are not yet in `wire`."""

    def read(self) -> dict[str, Any]:
        """The tool call as it is in its message."""
        if self.deltas:
            function = self.wire["function"]
            arguments = function["arguments"] + "".join(self.deltas)
            self.wire = {**self.wire, "function": {**function, "arguments": arguments}}
            self.deltas = []
        return self.wire


class StoredMessage:
    """A message: its wire dict, the deltas that are not yet in it, its tool calls and its position."""

    __slots__ = ("calls", "deltas", "id", "is_activity", "is_stale", "message", "position", "results")

    def __init__(self, message: Message, position: int) -> None:
        self.id: str = message["id"]
        self.position = position
        self.message = message
        self.deltas: list[str] = []
        self.is_activity: bool = message["role"] == "activity"
        self.is_stale = False
        """Whether `deltas` or `calls` changed since the last read."""
        self.results = 0
        """How many tool results are known to follow it."""
        calls = message.get("toolCalls") if message["role"] == "assistant" else None
        self.calls: list[StoredCall] | None = None
        if isinstance(calls, list):
            self.calls = [StoredCall(call) for call in calls if _can_grow(call)]

    def read(self) -> Message:
        """The message as the client has it now."""
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
        """Appends to the content."""
        self.deltas.append(delta)
        self.is_stale = True

    def set(self, **fields: Any) -> None:
        """Sets fields of the message."""
        self.message = {**self.message, **fields}


class MessageStore:
    """Messages in order, with indexes of message ids and tool call ids.

    `is_legacy`: whether the client is 0.0.59, whose reducer has a few other rules (see `reducer`).
    """

    __slots__ = ("_plain", "calls", "entries", "is_legacy", "order")

    order: list[StoredMessage]
    """All messages."""
    entries: dict[str, StoredMessage]
    """The first message of each id."""
    calls: dict[str, tuple[StoredMessage, StoredCall]]
    """The first tool call of each id, with its message."""

    def __init__(self, messages: Iterable[Message] = (), *, is_legacy: bool = False) -> None:
        self.is_legacy = is_legacy
        self._plain: list[Message] | None = list(messages)
        """The messages as they were passed in; None once the indexes are made."""

    def __getattr__(self, name: str) -> Any:
        """Makes the indexes. Python calls this for attributes that are not set: those that are set cost nothing."""
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
        """All messages as the client has them, in its order."""
        if self._plain is None:
            return [entry.read() if entry.is_stale else entry.message for entry in self.order]
        return list(self._plain)

    def append(self, message: Message) -> StoredMessage:
        """Adds a message at the end."""
        entry = StoredMessage(message, len(self.order))
        self.order.append(entry)
        self._index((entry,))
        return entry

    def insert(self, position: int, message: Message) -> StoredMessage:
        """Adds a message before the one at `position`. It costs a step for each message behind it."""
        entry = StoredMessage(message, position)
        self.order.insert(position, entry)
        for place in range(len(self.order) - 1, position, -1):
            if self.order[place].position >= position:  # a message that is in `order` twice keeps its first position
                self.order[place].position = place
        first = self.entries.get(entry.id)
        if first is None or first.position > position:
            self.entries[entry.id] = entry
        return entry

    def add_call(self, entry: StoredMessage, wire: dict[str, Any]) -> None:
        """Adds a tool call that no message has yet behind the tool calls of a message."""
        call = StoredCall(wire)
        entry.calls = [*(entry.calls or ()), call]
        entry.is_stale = True
        self.calls[wire["id"]] = entry, call

    def replace(self, entry: StoredMessage, message: Message) -> StoredMessage:
        """Replaces the first message with the same id."""
        fresh = StoredMessage(message, entry.position)
        self.order[entry.position] = self.entries[entry.id] = fresh
        if not entry.is_activity:
            for stored in self.order:
                stored.results = 0
            self.set_order(self.order)
        return fresh

    def set_order(self, order: list[StoredMessage]) -> None:
        """Replaces all messages by these, and makes the indexes."""
        self._plain, self.order, self.entries, self.calls = None, order, {}, {}
        for position in range(len(order) - 1, -1, -1):
            order[position].position = position
        self._index(order)

    def set_messages(self, messages: Iterable[Message]) -> None:
        """Replaces all messages by these, without indexes."""
        self._plain = list(messages)
        with suppress(AttributeError):  # no indexes were made
            del self.order, self.entries, self.calls

    def copy(self) -> MessageStore:
        """An independent copy: later events change only one of the two."""
        return MessageStore(self.read(), is_legacy=self.is_legacy)

    def _index(self, added: Iterable[StoredMessage]) -> None:
        entries, calls = self.entries, self.calls
        for entry in added:
            entries.setdefault(entry.id, entry)
            for call in entry.calls or ():
                calls.setdefault(call.wire["id"], (entry, call))


def _can_grow(call: Any) -> bool:
    """Whether a tool call has an id, a name and arguments. A client's messages may have anything."""
    try:
        call_id, name, arguments = call["id"], call["function"]["name"], call["function"]["arguments"]
    except (TypeError, KeyError):
        return False
    return isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)
