"""The reasoning of one streaming message: fragments in, `REASONING_*` events out. `content.reasoning` says which
fragments form one block, and how the parts of a block are separated.

Rules

1. One block of a provider becomes one span with one message in it. Both have the provider's id, or
   `{message id}-reasoning-{n}` if there is none.
2. A block is emitted from its first text or encrypted value on. A block with neither is not emitted.
3. Another block, text or a tool call closes the block, because reasoning comes before the answer it belongs to. If more
   of the block comes, it is opened again, and the client appends.
4. A block that the client had before this message is not emitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from ..content.blocks import Encrypted, Reasoning
from ..content.reasoning import ReasoningBlocks
from ..wire import events, ids
from ..wire.events import Event


class ReasoningEvents:
    """The reasoning blocks of one message, emitted as `REASONING_*` events."""

    __slots__ = ("_blocks", "_current", "_ids", "_tag")

    def __init__(self, tag: str | None = None) -> None:
        self._tag = tag
        self._blocks = ReasoningBlocks()
        self._ids: dict[int, str | None] = {}
        """By ordinal of a block: the id that it is emitted under; None if the client had it before."""
        self._current: str | None = None
        """The block that was opened last."""

    def add(
        self,
        block: Reasoning | Encrypted,
        message_id: str,
        is_on_client: Callable[[str], bool],
        opened: Container[str],
        begin: Callable[[str], None],
    ) -> list[Event]:
        """The events for a fragment. `is_on_client`: says whether the client has a message. `opened`: the ids of the
        spans that the client has open. `begin`: called with the id of each new block."""
        placed = self._blocks.place(block)
        if not placed.delta and placed.encrypted is None:
            return []
        is_new = placed.ordinal not in self._ids
        if is_new:
            own_id = placed.id or ids.reasoning_id(message_id, placed.ordinal)
            self._ids[placed.ordinal] = None if is_on_client(own_id) else own_id
        block_id = self._ids[placed.ordinal]
        if block_id is None:
            return []
        if is_new:
            begin(block_id)
        made: list[Event] = []
        is_open = block_id == self._current and block_id in opened
        if not is_open and (is_new or placed.delta):
            made = [*self.end(opened), *events.reasoning_start(block_id, self._tag)]
            self._current = block_id
        if placed.delta:
            made.append(events.reasoning_content(block_id, placed.delta, self._tag))
        if placed.encrypted is not None:
            made.append(events.reasoning_encrypted(block_id, placed.encrypted, self._tag))
        return made

    def is_closed(self, opened: Container[str]) -> bool:
        """Whether the client has no block of this message open."""
        return self._current is None or self._current not in opened

    def end(self, opened: Container[str]) -> list[Event]:
        """Closes the block that is open."""
        current, self._current = self._current, None
        return [] if current is None or current not in opened else events.reasoning_end(current, None, self._tag)
