"""What goes into a graph with a run: `graph_input`. New messages, completed; what the owner's hook adds; and the
client's state, tools and context, where the graph has a field for them (`channels`).

New messages are completed by a result for every tool call that comes before them: models refuse a conversation in which
an answer to a call is missing, or is not right after its call, or belongs to none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.types import Overwrite

from ...translator import unanswered_calls
from .channels import InputChannels, context_of, written
from .intake import Intake, Prepared
from .messages import REMOVE_ALL_MESSAGES, left_unanswered, taken
from .thread_state import ThreadState

_log = logging.getLogger(__name__)


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

    `new`: the messages that begin a turn, or the results with which a run continues; None if there are none.
    `state`: the thread where the run starts.
    """
    values = {**written(channels, given, intake, state.values), **added.values}
    if new is not None and channels.messages_key is not None:
        values[channels.messages_key] = _conversation(state, new, channels)
    return GraphInput(values, context_for(channels, given, intake, added))


def context_for(channels: InputChannels, given: RunAgentInput, intake: Intake, added: Prepared) -> Any:
    """The runtime context of the run of an input."""
    context = added.context if added.context is not None else intake.context
    if isinstance(added.context, Mapping) and isinstance(intake.context, Mapping):
        context = {**intake.context, **added.context}
    return context_of(channels, given, context)


def _conversation(state: ThreadState, new: Sequence[Message], channels: InputChannels) -> Any:
    """What is written to the conversation's channel, so that the new messages are behind the stored ones."""
    stored = [*state.messages, *state.brought]
    items = [*state.brought, *_completed(stored, taken(new))]
    if channels.is_plain:
        return [*state.messages, *items]
    if not state.is_replaced:
        return items
    if channels.reducers is not None and channels.messages_key in channels.reducers:
        return Overwrite(items)
    return [RemoveMessage(REMOVE_ALL_MESSAGES), *items]


def _completed(stored: Sequence[Any], new: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages that go in after the stored ones: results right after their calls, in the calls' order, and one
    that says so for each call that was left unanswered."""
    items = list(new)
    results = {message.tool_call_id: message for message in items if isinstance(message, ToolMessage)}
    others = [message for message in items if not isinstance(message, ToolMessage)]
    found = list(_answered(dict(unanswered_calls(stored)), results, continues=bool(items)))
    for index, message in enumerate(others):
        found.append(message)
        if isinstance(message, AIMessage):
            calls = {str(call["id"]): call["name"] for call in message.tool_calls if call["id"]}
            found += _answered(calls, results, continues=index + 1 < len(others) or bool(calls.keys() & results.keys()))
    if results:
        _log.warning("%d tool results are passed over: no call waits for them", len(results))
    return found


def _answered(calls: Mapping[str, str], results: dict[str, ToolMessage], *, continues: bool) -> Iterator[BaseMessage]:
    for call_id, name in calls.items():
        result = results.pop(call_id, None)
        if result is not None:
            yield result.model_copy(update={"name": name or None})  # some models want it; the call is not the client's
        elif continues:
            yield left_unanswered(call_id, name)
