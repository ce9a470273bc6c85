"""The tool calls of one streaming message: fragments in, `TOOL_CALL_*` events out.

Rules:

1. A fragment belongs to the call at its index; another id at the same index begins another call.
2. A fragment without index begins a call if it has an id not seen or only a name, and else goes on with the last one.
3. A call is told once its name is known; arguments that came before are told with it.
4. A call without id gets `{message id}-call-{n}`, as its stored message does.
5. A call the client holds already is not told again under its id: its arguments would be appended to those it has.
   Under which other id, if any, is `call_ids`' to say.
6. A call that ends without arguments has the arguments `{}`.
7. All calls of a message end with the message: providers interleave their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..content.blocks import Key, ToolCallBlock
from ..wire import events, ids
from ..wire.events import Event

Slot = tuple[bool, Key]
"""Where a provider keeps a call: its index, apart for calls the provider runs itself."""


@dataclass(slots=True)
class ToolCall:
    """One call: what is known of it and what of it has been told."""

    id: str | None
    told_id: str
    name: str | None = None
    args: list[str] = field(default_factory=list)
    begun: bool = False
    """Whether its start has been decided on."""
    told: bool = False
    """Whether the client is told of it; False for hidden ones and for those it holds."""
    ended: bool = False
    server: bool = False
    """The provider runs the tool itself."""


class ToolLane:
    """The calls of one message, in order of appearance."""

    __slots__ = ("_slots", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._slots: dict[Slot, ToolCall] = {}

    @property
    def ids(self) -> list[str]:
        """The ids the calls have in the stored message, in order of appearance."""
        return [call.id or call.told_id for call in self.calls]

    def find(self, piece: ToolCallBlock, message_id: str) -> ToolCall:
        """The call a fragment belongs to, new if it begins one (rules 1 and 2)."""
        slot = (piece.server, piece.index)
        call = self._without_index(piece) if piece.index is None else self._slots.get(slot)
        if call is None or (piece.id and call.id and call.id != piece.id):
            call = ToolCall(piece.id, piece.id or ids.call_id(message_id, len(self.calls)), server=piece.server)
            self.calls.append(call)
            if piece.index is not None:
                self._slots[slot] = call
        elif call.id is None and piece.id and not call.begun:
            call.id = call.told_id = piece.id
        call.name = call.name or piece.name
        return call

    def of_result(self, call_id: str) -> ToolCall | None:
        """The provider-run call a result answers; without id it is the latest."""
        calls = [call for call in self.calls if call.server and call_id in ("", call.id)]
        return calls[-1] if calls else None

    def _without_index(self, piece: ToolCallBlock) -> ToolCall | None:
        if piece.id:
            return next((call for call in self.calls if call.id == piece.id), None)
        return None if piece.name or not self.calls else self.calls[-1]


def told(
    call: ToolCall, args: str, parent: str, subagent: str | None, hold_back: Callable[[ToolCall], bool]
) -> list[Event]:
    """The events for a fragment of `call`; `hold_back` is asked once, at its start, whether it is not to be told."""
    if args:
        call.args.append(args)
    if not call.begun:
        if not call.name:
            return []
        call.begun = True
        call.told = not hold_back(call)
        if not call.told:
            return []
        start = events.tool_start(call.told_id, call.name, parent, subagent)
        buffered = "".join(call.args)
        return [start, events.tool_args(call.told_id, buffered, subagent)] if buffered else [start]
    return [events.tool_args(call.told_id, args, subagent)] if args and call.told and not call.ended else []


def ended(lane: ToolLane, subagent: str | None) -> list[Event]:
    """The ends of all calls of a message that are open."""
    ends = []
    for call in lane.calls:
        if call.told and not call.ended:
            call.ended = True
            if not call.args:
                ends.append(events.tool_args(call.told_id, "{}", subagent))
            ends.append(events.tool_end(call.told_id, subagent))
    return ends
