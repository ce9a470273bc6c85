"""What goes into a graph with a run: `graph_input`. New messages, completed; what the owner's hook adds; and the
client's state, tools and context, where the graph has a field for them (`channels`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message, RunAgentInput
from langchain_core.messages import RemoveMessage
from langgraph.types import Overwrite

from .channels import InputChannels, context_of, written
from .completed import completed
from .intake import Intake, Prepared
from .messages import REMOVE_ALL_MESSAGES, taken
from .thread_state import ThreadState


@dataclass(frozen=True, slots=True)
class GraphInput:
    """What a run is started with."""

    values: dict[str, Any] = field(default_factory=dict)
    """What is written to channels."""
    context: Any = None
    """The graph's runtime context."""


def graph_input(
    given: RunAgentInput,
    new: Sequence[Message] | None,
    state: ThreadState,
    channels: InputChannels,
    intake: Intake,
    added: Prepared,
) -> GraphInput:
    """What goes in with an input.

    `new`: the messages that begin a turn; None for a run that continues. `state`: the thread where the run starts.
    """
    values = {**written(channels, given, intake, state.values), **added.values}
    if new is not None and channels.messages_key is not None:
        values[channels.messages_key] = _conversation(state, new, channels)
    context = added.context if added.context is not None else intake.context
    if isinstance(added.context, Mapping) and isinstance(intake.context, Mapping):
        context = {**intake.context, **added.context}
    return GraphInput(values, context_of(channels, given, context))


def _conversation(state: ThreadState, new: Sequence[Message], channels: InputChannels) -> Any:
    """What is written to the conversation's channel, so that the new messages are behind the stored ones."""
    stored = [*state.messages, *state.brought]
    items = [*state.brought, *completed(stored, taken(new))]
    if channels.is_plain:
        return [*state.messages, *items]
    if not state.is_replaced:
        return items
    if channels.reducers is not None and channels.messages_key in channels.reducers:
        return Overwrite(items)
    return [RemoveMessage(REMOVE_ALL_MESSAGES), *items]
