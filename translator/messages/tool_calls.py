"""The tool calls of one streaming message: fragments in, `TOOL_CALL_*` events out.

Rules

1. A fragment belongs to the call at its index, but a new id at the same index begins another call.
2. A fragment without an index begins a call if its id is new, or if it has a name and no id. Otherwise it continues the
   last call.
3. A call is emitted once its name is known; arguments that came before the name are emitted with it.
4. A call without an id gets the id `{message id}-call-{n}`, as it does in its stored message.
5. A call that the client already has is not emitted again under its id, because the client would append its arguments
   to those it has. `calls.py` says under which other id it is emitted, if any.
6. A call that ends without arguments has the arguments `{}`.
7. All calls of a message end with the message, because providers interleave the arguments of several calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field

from ..content.blocks import Key, ToolCallBlock
from ..wire import events, ids
from ..wire.events import Event

Slot = tuple[bool, Key]
"""Where a provider keeps a call: whether the provider runs it itself, and its index."""


@dataclass(slots=True)
class ToolCall:
    """One call: what is known of it, and whether it is emitted."""

    id: str | None
    emitted_id: str
    name: str | None = None
    early_args: list[str] = field(default_factory=list)
    """Arguments that came before it was decided whether the call is emitted."""
    size: int = 0
    """The number of characters of the arguments so far."""
    has_begun: bool = False
    """Whether it has been decided if the call is emitted."""
    is_emitted: bool = False
    """False for hidden calls, and for calls that the client has from elsewhere."""
    is_superseded: bool = False
    """Whether a checkpoint has its message whole: then rule 6 does not apply."""
    server: bool = False
    """Whether the provider runs the tool itself."""


class ToolCalls:
    """The calls of one message, in order of appearance."""

    __slots__ = ("_slots", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._slots: dict[Slot, ToolCall] = {}

    @property
    def ids(self) -> list[str]:
        """The ids that the calls have in the stored message, in order of appearance."""
        return [call.id or call.emitted_id for call in self.calls]

    @property
    def emitted_ids(self) -> list[str]:
        """The ids of those calls that the client has from this message's stream."""
        return [call.emitted_id for call in self.calls if call.is_emitted]

    def find(self, block: ToolCallBlock, message_id: str) -> ToolCall:
        """The call that a fragment belongs to. It is a new one if the fragment begins it (rules 1 and 2)."""
        slot = (block.server, block.index)
        call = self._without_index(block) if block.index is None else self._slots.get(slot)
        if call is None or (block.id and call.id and call.id != block.id):
            call = ToolCall(block.id, block.id or ids.call_id(message_id, len(self.calls)), server=block.server)
            self.calls.append(call)
            if block.index is not None:
                self._slots[slot] = call
        elif call.id is None and block.id and not call.has_begun:
            call.id = call.emitted_id = block.id
        call.name = call.name or block.name
        return call

    def at(self, index: Key) -> ToolCall | None:
        """The call at an index, among those that the provider does not run itself."""
        return self._slots.get((False, index))

    def of_result(self, call_id: str) -> ToolCall | None:
        """The provider-run call that a result answers. A result without an id answers the latest call."""
        calls = [call for call in self.calls if call.server and call_id in ("", call.id)]
        return calls[-1] if calls else None

    def _without_index(self, block: ToolCallBlock) -> ToolCall | None:
        if block.id:
            return next((call for call in self.calls if call.id == block.id), None)
        return None if block.name or not self.calls else self.calls[-1]


def fragment(
    call: ToolCall, args: str, parent: str, tag: str | None, begin: Callable[[ToolCall], bool], opened: Container[str]
) -> list[Event]:
    """The events for a fragment of `call`. `begin` is called once, at the start of the call, and says whether the call
    is emitted. `opened`: the ids of the calls that the client has open."""
    call.size += len(args)
    if not call.has_begun:
        call.early_args.append(args)
        if not call.name:
            return []
        call.has_begun = True
        call.is_emitted = begin(call)
        if not call.is_emitted:
            return []
        start = events.tool_start(call.emitted_id, call.name, parent, tag)
        buffered = "".join(call.early_args)
        call.early_args = []
        return [start, events.tool_args(call.emitted_id, buffered, tag)] if buffered else [start]
    is_open = call.is_emitted and call.emitted_id in opened
    return [events.tool_args(call.emitted_id, args, tag)] if args and is_open else []


def ends(calls: ToolCalls, tag: str | None, opened: Container[str]) -> Iterator[Event]:
    """The ends of all calls of a message that the client has open (rules 6 and 7)."""
    for call in calls.calls:
        if call.is_emitted and call.emitted_id in opened:
            if not call.size and not call.is_superseded:
                yield events.tool_args(call.emitted_id, "{}", tag)
            yield events.tool_end(call.emitted_id, tag)
