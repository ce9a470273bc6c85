"""The messages of one client, in its order, and the indexes that find them: `MessageStore`.

Lives here: the store, its messages and tool calls, and their text, which is kept as deltas until it is read.
Never here: events and what they do to messages (`reducer`), state, runs.

Rules:
- A wire dict, once made or stored, is never changed: a change makes a new dict that shares what did not change. So
  what is read here may be put into events, and what events carry may be stored, without copies.
- Ids may repeat, as they may in the client. A look-up gives the first message (or tool call) with an id.
- Appending a delta costs the same however long the message and the history are.
- Only assistants have tool calls. One without an id, a name and arguments is not indexed: no event can reach it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MessageStore", "StoredCall", "StoredMessage"]

Message = dict[str, Any]


class StoredCall:
    """A tool call of a stored message."""

    __slots__ = ("deltas", "wire")

    def __init__(self, wire: dict[str, Any]) -> None:
        self.wire = wire
        self.deltas: list[str] = []
        """Arguments that are not yet joined into `wire`."""

    def read(self) -> dict[str, Any]:
        """The tool call as its message carries it."""
        if self.deltas:
            function = self.wire["function"]
            arguments = function["arguments"] + "".join(self.deltas)
            self.wire = {**self.wire, "function": {**function, "arguments": arguments}}
            self.deltas = []
        return self.wire

    def rename(self, name: str) -> None:
        """Gives the tool call another name; its arguments stay."""
        self.wire = {**self.wire, "function": {**self.wire["function"], "name": name}}


class StoredMessage:
    """A message: its wire dict, the deltas not yet joined into it, its tool calls and its position."""

    __slots__ = ("calls", "deltas", "id", "is_activity", "is_stale", "message", "position", "results")

    def __init__(self, message: Message, position: int) -> None:
        self.id: str = message["id"]
        self.position = position
        self.message = message
        self.deltas: list[str] = []
        self.is_activity: bool = message["role"] == "activity"
        self.is_stale = False
        """Whether `calls` changed otherwise than by arguments since the last read."""
        self.results = (0, 0)
        """How many results follow (see `MessageStore.after_results`), and at which reordering that was counted."""
        calls = message.get("toolCalls") if message["role"] == "assistant" else None
        self.calls: list[StoredCall] | None = None
        if calls is not None and isinstance(calls, list):
            self.calls = [StoredCall(call) for call in calls if _can_grow(call)]

    def read(self) -> Message:
        """The message as the client has it now."""
        if self.deltas:
            content = self.message.get("content")
            text = "".join(self.deltas)
            self.message = {**self.message, "content": content + text if isinstance(content, str) else text}
            self.deltas = []
        if self.calls is not None and (self.is_stale or any(call.deltas for call in self.calls)):
            self.message = {**self.message, "toolCalls": [call.read() for call in self.calls]}
            self.is_stale = False
        return self.message

    def set(self, **fields: Any) -> None:
        """Sets fields of the message."""
        self.message = {**self.message, **fields}


class MessageStore:
    """Messages in order, with the first of each message id and of each tool call id at hand.

    `is_legacy`: whether the client is 0.0.59, whose reducer differs in a few rules (see `reducer`).
    """

    __slots__ = ("_reorderings", "calls", "entries", "is_legacy", "order")

    def __init__(self, messages: Iterable[Message] = (), *, is_legacy: bool = False) -> None:
        self.is_legacy = is_legacy
        self.order: list[StoredMessage] = []
        """All messages."""
        self.entries: dict[str, StoredMessage] = {}
        """The first message of each id."""
        self.calls: dict[str, tuple[StoredMessage, StoredCall]] = {}
        """The first tool call of each id, with its message."""
        self._reorderings = 0  # how often messages were moved, or replaced by others
        for message in messages:
            self.append(message)

    def read(self) -> list[Message]:
        """All messages as the client has them, in its order."""
        return [entry.message if not entry.deltas and entry.calls is None else entry.read() for entry in self.order]

    def append(self, message: Message) -> StoredMessage:
        """Adds a message at the end."""
        entry = StoredMessage(message, len(self.order))
        self.order.append(entry)
        self._index(entry)
        return entry

    def insert(self, position: int, message: Message) -> StoredMessage:
        """Adds a message before the one at `position`; the cost is that of the messages after it."""
        entry = StoredMessage(message, position)
        self.order.insert(position, entry)
        for place in range(len(self.order) - 1, position, -1):
            later = self.order[place]
            if later.position >= position:  # an entry that is in `order` twice keeps its first position
                later.position = place
        first = self.entries.get(entry.id)
        if first is None or first.position > position:
            self.entries[entry.id] = entry
        return entry

    def after_results(self, entry: StoredMessage) -> int:
        """The position behind the tool results that follow a message.

        Results come one by one, so the count continues from the last one: between reorderings a row of results only
        grows, since what is inserted before its end is a result.
        """
        reorderings, count = entry.results
        position = entry.position + 1 + (count if reorderings == self._reorderings else 0)
        while position < len(self.order) and self.order[position].message["role"] == "tool":
            position += 1
        entry.results = (self._reorderings, position - entry.position - 1)
        return position

    def add_call(self, entry: StoredMessage, wire: dict[str, Any]) -> StoredCall:
        """Adds a tool call, which no message has yet, at the end of a message's tool calls."""
        call = StoredCall(wire)
        if entry.calls is None:
            entry.calls = []
        entry.calls.append(call)
        entry.is_stale = True
        self.calls.setdefault(wire["id"], (entry, call))
        return call

    def replace(self, entry: StoredMessage, message: Message) -> StoredMessage:
        """Puts a message in the place of one with the same id, the first place where that has two."""
        fresh = StoredMessage(message, entry.position)
        self._reorderings += 1
        self.order[entry.position] = fresh
        if len(self.entries) == len(self.order) and entry.calls is None:
            self.entries[entry.id] = fresh
        else:
            self.set_order(self.order)
        return fresh

    def set_order(self, order: list[StoredMessage]) -> None:
        """Makes these the messages."""
        self.order = order
        self._reorderings += 1
        self.entries = {}
        self.calls = {}
        for place in range(len(order) - 1, -1, -1):
            order[place].position = place
        for entry in order:
            self._index(entry)

    def copy(self) -> MessageStore:
        """The same messages; later events change one of the two only."""
        twin = MessageStore(is_legacy=self.is_legacy)
        twins = {id(entry): StoredMessage(entry.read(), entry.position) for entry in self.order}
        twin.set_order([twins[id(entry)] for entry in self.order])
        return twin

    def _index(self, entry: StoredMessage) -> None:
        self.entries.setdefault(entry.id, entry)
        for call in entry.calls or ():
            self.calls.setdefault(call.wire["id"], (entry, call))


def _can_grow(call: Any) -> bool:
    """Whether a tool call has an id, a name and arguments: a client may have anything."""
    try:
        fields = call["id"], call["function"]["name"], call["function"]["arguments"]
    except (TypeError, KeyError):
        return False
    return all(isinstance(field, str) for field in fields)
