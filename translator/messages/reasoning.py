"""The reasoning of one streaming message: fragments in, `REASONING_*` events out. Which fragments are one block, and
where its parts are set apart, is `reasoning_blocks`' to say.

Rules:

1. One block of a provider is one span with one message in it; both have the provider's id, or `{message
   id}-reasoning-{n}`.
2. A block is told from its first text or encrypted value on; one with neither is not told.
3. Another block, text or a tool call closes it: reasoning stands before the answer it belongs to. More of it opens it
   again; the client appends.
4. A block the client held before this message is not told again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..content.blocks import Encrypted, Reasoning
from ..content.reasoning import ReasoningBlocks
from ..wire import events, ids
from ..wire.events import Event


class ReasoningLane:
    """The reasoning blocks of one message. `held` says whether the client holds a message of an id."""

    __slots__ = ("_blocks", "_held", "_open", "_subagent", "_told")

    def __init__(self, held: Callable[[str], bool], subagent: str | None = None) -> None:
        self._held = held
        self._subagent = subagent
        self._blocks = ReasoningBlocks()
        self._told: dict[int, str | None] = {}
        """Block by ordinal: the id it is told under; None: the client held it before."""
        self._open: str | None = None

    @property
    def told_ids(self) -> list[str]:
        """The ids of the reasoning messages told."""
        return [told_id for told_id in self._told.values() if told_id is not None]

    @property
    def is_closed(self) -> bool:
        """Whether no block is open."""
        return self._open is None

    def add(self, piece: Reasoning | Encrypted, message_id: str) -> list[Event]:
        """The events for a fragment."""
        placed = self._blocks.place(piece)
        if not placed.delta and placed.encrypted is None:
            return []
        new = placed.ordinal not in self._told
        if new:
            told_id = placed.id or ids.reasoning_id(message_id, placed.ordinal)
            self._told[placed.ordinal] = None if self._held(told_id) else told_id
        block = self._told[placed.ordinal]
        if block is None:
            return []
        told: list[Event] = []
        if block != self._open and (new or placed.delta):
            told = [*self.end(), *events.reasoning_start(block, self._subagent)]
            self._open = block
        if placed.delta:
            told.append(events.reasoning_content(block, placed.delta, self._subagent))
        if placed.encrypted is not None:
            told.append(events.reasoning_encrypted(block, placed.encrypted, self._subagent))
        return told

    def realign(self, opened: Collection[str]) -> None:
        """Takes over which blocks are open at the client."""
        self._open = self._open if self._open in opened else None

    def end(self) -> list[Event]:
        """Closes the block that is open."""
        block, self._open = self._open, None
        return [] if block is None else events.reasoning_end(block, None, self._subagent)
