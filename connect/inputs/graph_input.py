"""Makes the input of a graph for a run: `graph_input`. It consists of the new messages, what the owner's hook adds, and
the client's state, tools and context, if the graph has a field for them (`channels`).

The new messages are completed with a result for every tool call before them that has none. Models refuse a conversation
if the result of a call is missing or does not follow its call directly, or if a result belongs to no call. So the
result of a call before the last assistant message is inserted there, and the conversation is replaced.
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
from .channels import InputChannels, channel_values, context_of
from .intake import Intake, Prepared
from .messages import REMOVE_ALL_MESSAGES, is_result, left_unanswered, to_graph_messages
from .thread_state import ThreadState

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphInput:
    """The input of a run."""

    values: dict[str, Any] = field(default_factory=dict)
    """The values to write to channels."""
    context: Any = None
    """The graph's runtime context."""


def graph_input(
    run_input: RunAgentInput,
    new: Sequence[Message] | None,
    state: ThreadState,
    channels: InputChannels,
    intake: Intake,
    added: Prepared,
) -> GraphInput:
    """Returns the input of a graph for a run.

    Args:
        run_input: The input of the client.
        new: The messages that begin a turn, or the results with which a run continues; None if there are none.
        state: The thread at the point where the run starts.
        channels: Where the graph takes its input from.
        intake: What the owner allows the client's input to do.
        added: What the owner's hook adds.
    """
    values = {**channel_values(channels, run_input, intake, state.values), **added.values}
    if new is not None and channels.messages_key is not None:
        values[channels.messages_key] = _conversation(state, new, channels)
    return GraphInput(values, context_for(channels, run_input, intake, added))


def results_input(state: ThreadState, results: Sequence[Message], channels: InputChannels) -> dict[str, Any]:
    """Returns the values to write to channels, so that these results follow their calls in a thread that has other
    calls which still wait for the page."""
    assert channels.messages_key is not None
    return {channels.messages_key: _conversation(state, results, channels, is_last=False)}


def context_for(channels: InputChannels, run_input: RunAgentInput, intake: Intake, added: Prepared) -> Any:
    """Returns the runtime context for the run of an input. Raises as `context_of`."""
    context = added.context if added.context is not None else intake.context
    if isinstance(added.context, Mapping) and isinstance(intake.context, Mapping):
        context = {**intake.context, **added.context}
    return context_of(channels, run_input, intake, context)


def _conversation(state: ThreadState, new: Sequence[Message], channels: InputChannels, *, is_last: bool = True) -> Any:
    """Returns the value to write to the conversation's channel so that the new messages follow the stored ones.
    `is_last`: whether the page sends no more results, so that a call that has none gets one that says so."""
    stored = [*state.messages, *state.brought]
    complete, rest = _place_results(stored, to_graph_messages(new))
    added = _complete(complete, rest, is_last=is_last)
    if channels.is_plain:
        return [*complete, *added]
    is_replaced = state.is_replaced or len(complete) > len(stored)
    items = [*(complete if is_replaced else state.brought), *added]
    if not is_replaced:
        return items
    if channels.reducers is not None and channels.messages_key in channels.reducers:
        return Overwrite(items)
    return [RemoveMessage(REMOVE_ALL_MESSAGES), *items]


def _place_results(stored: Sequence[Any], new: Sequence[BaseMessage]) -> tuple[list[Any], list[BaseMessage]]:
    """Returns the stored messages with the results of calls before the last assistant message, and the other new
    messages. Each of these results follows its call, and the results of the same message that are stored."""
    last = dict(unanswered_calls(stored))
    earlier = [call_id for call_id, _ in unanswered_calls(stored, of_turn=True) if call_id not in last]
    given = [item for item in new if isinstance(item, ToolMessage) and item.tool_call_id in earlier]
    results = {item.tool_call_id: item for item in given}
    rest = [item for item in new if not any(item is other for other in given)]
    messages: list[Any] = []
    for message in stored:
        if results and not is_result(message):
            messages += _results_of(dict(unanswered_calls(messages)), results, continues=False)
        messages.append(message)
    return messages, rest


def _complete(stored: Sequence[Any], new: Iterable[BaseMessage], *, is_last: bool) -> list[BaseMessage]:
    """Returns the messages that follow the stored ones, with results directly after their calls and in their order. A
    call without a result gets one that says so, if `is_last` (see `_conversation`)."""
    items = list(new)
    results = {message.tool_call_id: message for message in items if isinstance(message, ToolMessage)}
    rest = [message for message in items if not isinstance(message, ToolMessage)]
    messages = list(_results_of(dict(unanswered_calls(stored)), results, continues=is_last and bool(items)))
    for index, message in enumerate(rest):
        messages.append(message)
        if isinstance(message, AIMessage):
            calls = {str(call["id"]): call["name"] for call in message.tool_calls if call["id"]}
            continues = index + 1 < len(rest) or bool(calls.keys() & results.keys())
            messages += _results_of(calls, results, continues=continues)
    if results:
        _log.warning("%d tool results are ignored, because no call waits for them", len(results))
    return messages


def _results_of(calls: Mapping[str, str], results: dict[str, ToolMessage], *, continues: bool) -> Iterator[BaseMessage]:
    for call_id, name in calls.items():
        result = results.pop(call_id, None)
        if result is not None:
            yield result.model_copy(update={"name": name or None})  # some models require it, and clients do not send it
        elif continues:
            yield left_unanswered(call_id, name)
