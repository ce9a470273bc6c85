"""Turns fragments of tool calls into `TOOL_CALL_*` events, for one streaming message. In this module, "call" means a
tool call.

Rules:

1. A fragment belongs to the call at its index. But if the fragment has an id that differs from the id of that call, the
   fragment begins another call. LangChain merges fragments in the same way (`merge_lists` in
   https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/utils/_merge.py).
2. A fragment without an index begins a call if it has a new id, or a name but no id. Any other fragment without an
   index continues the last call.
3. A call is emitted once its name is known, because `TOOL_CALL_START` requires the name
   (https://docs.ag-ui.com/concepts/events). Arguments that arrive before the name are emitted right after the start of
   the call.
4. A call without an id gets the id `{message id}-call-{n}`. `convert/to_agui.py` gives the stored call the same id.
5. A call that the client already knows is not emitted again under the same id, because the client would append the new
   arguments to the existing ones
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts).
   `call_ids.py` decides whether the call is emitted under another id.
6. A call that ends without arguments gets the arguments `{}`, because LangChain parses it in the same way
   (`AIMessageChunk` in https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/ai.py).
7. All calls of a message end when the message ends, because providers interleave the arguments of several calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field

from ..content.blocks import Key, ToolCallBlock
from ..wire import events, ids
from ..wire.events import Event

Slot = tuple[bool, Key]
"""The position of a call in the provider's message: whether the provider runs the tool itself, and the index of the
call."""


@dataclass(slots=True)
class ToolCall:
    """One call of the message, as far as its fragments have arrived."""

    id: str | None
    emitted_id: str
    name: str | None = None
    early_args: list[str] = field(default_factory=list)
    """The arguments that arrived before it was decided whether the call is emitted."""
    size: int = 0
    """The number of characters of the arguments so far."""
    is_decided: bool = False
    """Whether the decision to emit or hide the call has been made."""
    is_emitted: bool = False
    """Whether the call is emitted. False for hidden calls, and for calls whose id the client already knows."""
    is_superseded: bool = False
    """Whether a checkpoint contains the complete message with this call. If so, rule 6 does not apply."""
    server: bool = False
    """Whether the provider runs the tool itself."""


class StreamedCalls:
    """The calls of one message, in the order in which they began."""

    __slots__ = ("_slots", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._slots: dict[Slot, ToolCall] = {}

    @property
    def ids(self) -> list[str]:
        """The ids of the calls in the stored message, in the order in which the calls began."""
        return [call.id or call.emitted_id for call in self.calls]

    @property
    def emitted_ids(self) -> list[str]:
        """The ids of the calls that were emitted while this message streamed."""
        return [call.emitted_id for call in self.calls if call.is_emitted]

    def find(self, block: ToolCallBlock, message_id: str) -> ToolCall:
        """Returns the call that a fragment belongs to. If the fragment begins a call (rules 1 and 2), that call is
        created."""
        slot = (block.server, block.index)
        call = self._without_index(block) if block.index is None else self._slots.get(slot)
        if call is None or (block.id and call.id and call.id != block.id):
            call = ToolCall(block.id, block.id or ids.call_id(message_id, len(self.calls)), server=block.server)
            self.calls.append(call)
            if block.index is not None:
                self._slots[slot] = call
        elif call.id is None and block.id and not call.is_decided:
            call.id = call.emitted_id = block.id
        call.name = call.name or block.name
        return call

    def at(self, index: Key) -> ToolCall | None:
        """The call at this index, unless the provider runs the tool itself; None if no such call exists."""
        return self._slots.get((False, index))

    def of_result(self, call_id: str) -> ToolCall | None:
        """The call to a tool of the provider that a result answers. A result without an id answers the latest such
        call."""
        calls = [call for call in self.calls if call.server and call_id in ("", call.id)]
        return calls[-1] if calls else None

    def _without_index(self, block: ToolCallBlock) -> ToolCall | None:
        if block.id:
            return next((call for call in self.calls if call.id == block.id), None)
        return None if block.name or not self.calls else self.calls[-1]


def fragment(
    call: ToolCall, args: str, parent: str, tag: str | None, begin: Callable[[ToolCall], bool], opened: Container[str]
) -> list[Event]:
    """Returns the events for a fragment of `call`. `begin`: a function that decides whether the call is emitted, and
    returns the decision. It is called once, as soon as the name is known. `opened`: the ids of the calls that are open
    at the client."""
    call.size += len(args)
    if not call.is_decided:
        call.early_args.append(args)
        if not call.name:
            return []
        call.is_decided = True
        call.is_emitted = begin(call)
        if not call.is_emitted:
            return []
        start = events.tool_start(call.emitted_id, call.name, parent, tag)
        buffered = "".join(call.early_args)
        call.early_args = []
        return [start, events.tool_args(call.emitted_id, buffered, tag)] if buffered else [start]
    is_open = call.is_emitted and call.emitted_id in opened
    return [events.tool_args(call.emitted_id, args, tag)] if args and is_open else []


def ends(calls: StreamedCalls, tag: str | None, opened: Container[str]) -> Iterator[Event]:
    """Yields the events that end all calls of a message that are still open at the client (rules 6 and 7)."""
    for call in calls.calls:
        if call.is_emitted and call.emitted_id in opened:
            if not call.size and not call.is_superseded:
                yield events.tool_args(call.emitted_id, "{}", tag)
            yield events.tool_end(call.emitted_id, tag)
