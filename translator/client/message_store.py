"""The messages a client holds, in its order, and what finds them.

Here: `MessageStore`, its entries, and their text, which is kept in pieces until somebody reads it.
Never here: events and what they mean (`reducer_messages`), state, runs.

Rules:
- A wire dict, once made or taken in, is never changed: a change makes a new dict, sharing what did not change. So what
  is read here may be put into events, and what events bring may be kept, without copies.
- Ids may repeat, as they may in the client. Whatever looks for an id gets the first message (or call) with it.
- Appending text costs the same however long the message and the history are.
"""

from collections.abc import Iterable
from typing import Any

__all__ = ["Call", "Entry", "MessageStore"]

Message = dict[str, Any]


class Call:
    """A tool call of a held message."""

    __slots__ = ("pieces", "wire")

    def __init__(self, wire: dict[str, Any]) -> None:
        self.wire = wire
        self.pieces: list[str] = []

    def read(self) -> dict[str, Any]:
        """The call as its message carries it."""
        if self.pieces:
            function = self.wire["function"]
            arguments = function["arguments"] + "".join(self.pieces)
            self.wire = {**self.wire, "function": {**function, "arguments": arguments}}
            self.pieces = []
        return self.wire

    def rename(self, name: str) -> None:
        """Gives the call another name, its arguments as they are."""
        self.wire = {**self.wire, "function": {**self.wire["function"], "name": name}}


class Entry:
    """A held message: its wire dict, the text not yet joined into it, and its place."""

    __slots__ = ("activity", "answers", "calls", "id", "message", "pieces", "position", "stale")

    def __init__(self, message: Message, position: int) -> None:
        self.id: str = message["id"]
        self.position = position
        self.message = message
        self.pieces: list[str] = []
        self.activity: bool = message["role"] == "activity"
        self.stale = False
        self.answers = (0, 0)
        calls = message.get("toolCalls") if message["role"] == "assistant" else None  # other roles have no such field
        self.calls: list[Call] | None = None if calls is None else [Call(call) for call in calls]

    def read(self) -> Message:
        """The message as the client holds it now."""
        if self.pieces:
            said = self.message.get("content")
            text = "".join(self.pieces)
            self.message = {**self.message, "content": said + text if isinstance(said, str) else text}
            self.pieces = []
        if self.calls is not None and (self.stale or any(call.pieces for call in self.calls)):
            self.message = {**self.message, "toolCalls": [call.read() for call in self.calls]}
            self.stale = False
        return self.message

    def put(self, **fields: Any) -> None:
        """Sets fields of the message."""
        self.message = {**self.message, **fields}

    def copy(self) -> "Entry":
        """An entry that goes its own way from here."""
        return Entry(self.read(), self.position)


class MessageStore:
    """Messages in order, with the first of each id and of each tool call id at hand."""

    __slots__ = ("_moves", "calls", "entries", "order")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.order: list[Entry] = []
        self._moves = 0  # how often entries have been put elsewhere, or others in their places
        self.entries: dict[str, Entry] = {}
        self.calls: dict[str, tuple[Entry, Call]] = {}
        for message in messages:
            self.append(message)

    def read(self) -> list[Message]:
        """All messages, as the client holds them."""
        return [entry.read() for entry in self.order]

    def append(self, message: Message) -> Entry:
        """Puts a message at the end."""
        entry = Entry(message, len(self.order))
        self.order.append(entry)
        self._index(entry)
        return entry

    def insert(self, position: int, message: Message) -> Entry:
        """Puts a message before the one at `position`; costs what comes after it."""
        entry = Entry(message, position)
        self.order.insert(position, entry)
        for place in range(len(self.order) - 1, position, -1):
            later = self.order[place]
            if later.position >= position:  # an entry standing twice keeps its first place
                later.position = place
        first = self.entries.get(entry.id)
        if first is None or first.position > position:
            self.entries[entry.id] = entry
        return entry

    def after_answers(self, entry: Entry) -> int:
        """The position behind the tool results that follow a message. They come one by one: it goes on from the last.

        Between moves a row of results only grows: what is put before its end is a result.
        """
        moves, count = entry.answers
        position = entry.position + 1 + (count if moves == self._moves else 0)
        while position < len(self.order) and self.order[position].message["role"] == "tool":
            position += 1
        entry.answers = (self._moves, position - entry.position - 1)
        return position

    def add_call(self, entry: Entry, wire: dict[str, Any]) -> Call:
        """Puts a tool call that no message holds yet at the end of a message's calls."""
        call = Call(wire)
        if entry.calls is None:
            entry.calls = []
        entry.calls.append(call)
        entry.stale = True
        self.calls.setdefault(wire["id"], (entry, call))
        return call

    def swap(self, entry: Entry, message: Message) -> Entry:
        """Puts a message of the same id in another's place, the first where it stands twice."""
        fresh = Entry(message, entry.position)
        self._moves += 1
        self.order[entry.position] = fresh
        if len(self.entries) == len(self.order) and entry.calls is None:
            self.entries[entry.id] = fresh
        else:
            self.reorder(self.order)
        return fresh

    def reorder(self, order: list[Entry]) -> None:
        """Makes `order` what is held."""
        self.order = order
        self._moves += 1
        self.entries = {}
        self.calls = {}
        for place in range(len(order) - 1, -1, -1):
            order[place].position = place
        for entry in order:
            self._index(entry)

    def copy(self) -> "MessageStore":
        """The same messages, going their own way from here."""
        twin = MessageStore()
        twins = {id(entry): entry.copy() for entry in self.order}
        twin.reorder([twins[id(entry)] for entry in self.order])
        return twin

    def _index(self, entry: Entry) -> None:
        self.entries.setdefault(entry.id, entry)
        for call in entry.calls or ():
            self.calls.setdefault(call.wire["id"], (entry, call))
