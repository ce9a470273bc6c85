"""Turns the reasoning of one streaming message into `REASONING_*` events. `content/reasoning.py` decides which
fragments form one block, and how the parts of a block are separated.

Rules:

1. Each reasoning block from a provider becomes one reasoning span that contains one message
   (https://docs.ag-ui.com/concepts/reasoning). Both have the provider's id for the block, or the id `{message
   id}-reasoning-{n}` if the provider gives none.
2. A block is opened when its first text or encrypted value arrives. A block that contains neither is not emitted. For
   example, `langchain-openai` yields the beginning of each reasoning item of the Responses API, which has no text yet
   (https://github.com/langchain-ai/langchain/blob/master/libs/partners/openai/langchain_openai/chat_models/base.py).
3. Another block, a text or a tool call closes the block, because reasoning precedes the answer that it belongs to. If a
   later fragment continues the block, the block is opened again with the same id, and the client appends the fragment
   to it (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts).
4. A block that the client already had before this message began is not emitted again, because the client would append
   its text to the text that it has (same source as rule 3).
"""

from __future__ import annotations

from collections.abc import Callable, Container

from ..content.blocks import Encrypted, Reasoning
from ..content.reasoning import ReasoningBlocks
from ..wire import events, ids
from ..wire.events import Event


class ReasoningEvents:
    """Makes the `REASONING_*` events for the reasoning blocks of one message."""

    __slots__ = ("_blocks", "_current", "_ids", "_tag")

    def __init__(self, tag: str | None = None) -> None:
        self._tag = tag
        self._blocks = ReasoningBlocks()
        self._ids: dict[int, str | None] = {}
        """A mapping from the number of each block to the id under which the block is emitted. The id is None if the
        client had the block before this message began."""
        self._current: str | None = None
        """The id of the most recently opened block."""

    def add(
        self,
        block: Reasoning | Encrypted,
        message_id: str,
        is_on_client: Callable[[str], bool],
        opened: Container[str],
        begin: Callable[[str], None],
    ) -> list[Event]:
        """Returns the events for a fragment. `is_on_client`: returns whether the client has a message with the given
        id. `opened`: the ids of the spans that are open at the client. `begin`: called with the id of each new
        block."""
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
        reasoning_events: list[Event] = []
        is_open = block_id == self._current and block_id in opened
        if not is_open and (is_new or placed.delta):
            reasoning_events = [*self.end(opened), *events.reasoning_start(block_id, self._tag)]
            self._current = block_id
        if placed.delta:
            reasoning_events.append(events.reasoning_content(block_id, placed.delta, self._tag))
        if placed.encrypted is not None:
            reasoning_events.append(events.reasoning_encrypted(block_id, placed.encrypted, self._tag))
        return reasoning_events

    def is_closed(self, opened: Container[str]) -> bool:
        """Whether no block of this message is open at the client."""
        return self._current is None or self._current not in opened

    def end(self, opened: Container[str]) -> list[Event]:
        """Returns the events that close the open block; an empty list if no block is open."""
        current, self._current = self._current, None
        return [] if current is None or current not in opened else events.reasoning_end(current, None, self._tag)
