"""The messages that a stopped run had emitted and not stored, written to its thread: `Intake(on_cancel="save")`.

What is written is the text, as far as it was emitted, of the messages that the run itself emitted and the thread does
not have; with their ids, so that a client has them once. Their tool calls are left out: nothing ran them. They are
written as the node that was running, so that the graph continues behind it; what other nodes of its superstep have
finished is kept. While an interrupt of the thread is pending nothing is written: a write would drop it. Messages of a
subagent, or from inside a tool call, are not saved: they are no part of a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from ...translator import ClientView, message_ids
from ..inputs.configs import merged
from .channels import input_channels_of
from .checkpointers import has_checkpointer
from .outcome import pending

Graph = Pregel[Any, Any, Any, Any]

_log = logging.getLogger(__name__)


async def save_partial_messages(
    graph: Graph, config: RunnableConfig, messages_key: str, before: Collection[str], label: str, view: ClientView
) -> None:
    """Writes them. `config`: the run's. `before`: the ids of the messages that the client had before the run. `label`:
    the run as log lines name it. `view`: what the client has now. Raises what the checkpointer raises, and the edges
    behind the node."""
    if not (has_checkpointer(graph) and isinstance(graph, CompiledStateGraph) and messages_key in graph.channels):
        return
    at: Any = merged(config)
    at["configurable"] = {**at["configurable"], "checkpoint_ns": ""}
    at["configurable"].pop("checkpoint_id", None)
    state = await graph.aget_state(at)
    node = next(iter(state.next), None)
    if node is None or not _not_stored(view, before, state.values.get(messages_key)):
        return
    if pending(state):
        _log.info("The text of the stopped run is not saved: its thread waits at an interrupt (%s).", label)
        return
    if len(state.next) < len(state.tasks):
        await graph.aupdate_state(at, None, as_node=END)
        state = await graph.aget_state(at)
    stored = state.values.get(messages_key)
    if missing := _not_stored(view, before, stored):
        if input_channels_of(graph, messages_key).is_plain:  # without a reducer, what is written is the conversation
            missing = [*(stored or ()), *missing]
        await graph.aupdate_state(at, {messages_key: missing}, as_node=node)


def _not_stored(view: ClientView, before: Collection[str], stored: Any) -> list[AIMessage]:
    known = {*before, *message_ids(stored or ())}
    found = [message for message in view.messages if message["role"] == "assistant" and message["id"] not in known]
    own = [each for each in found if "subagentRunId" not in each and "parentToolCallId" not in each.get("metadata", {})]
    return [AIMessage(each["content"], id=each["id"], name=each.get("name")) for each in own if each.get("content")]
