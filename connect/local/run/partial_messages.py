"""The messages that a stopped run had emitted and not stored, written to its thread: `Intake(on_cancel="save")`.

What is written is the text, as far as it was emitted, of the messages that the run itself emitted and the thread does
not have; with their ids, so that a client has them once. Their tool calls are left out: nothing ran them. Each is
written as the node that was emitting it, in one superstep, so that the graph continues behind each of these nodes; what
other nodes of the superstep have finished is kept, and nodes that had emitted no text do not run again. While an
interrupt of the thread is pending nothing is written: a write would drop it. Messages of a subagent, or from inside a
tool call, are not saved: they are no part of a thread. Nor are those that a node emitted and has finished without: they
would have left with its step.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from ....translator import Translator
from ...inputs.configs import merge_configs
from ..channels import input_channels_of
from ..checkpointers import Graph, has_checkpointer
from ..checkpoints.outcome import pending

_log = logging.getLogger(__name__)


async def save_partial_messages(
    graph: Graph, config: RunnableConfig, messages_key: str, label: str, translator: Translator
) -> None:
    """Writes them. `config`: the run's. `label`: the run as log lines name it. `translator`: the run's, which knows
    what it emitted. Raises what the checkpointer raises, and the edges behind the node."""
    if not (has_checkpointer(graph) and isinstance(graph, CompiledStateGraph) and messages_key in graph.channels):
        return
    at: Any = merge_configs(config)
    at["configurable"] = {**at["configurable"], "checkpoint_ns": ""}
    at["configurable"].pop("checkpoint_id", None)
    state = await graph.aget_state(at)
    if not (state.next and translator.not_stored(state.values.get(messages_key) or ())):
        return
    if pending(state):
        _log.info("The text of the stopped run is not saved: its thread waits at an interrupt (%s).", label)
        return
    unfinished = dict.fromkeys(state.next)
    if len(state.next) < len(state.tasks):
        await graph.aupdate_state(at, None, as_node=END)
        state = await graph.aget_state(at)
    stored = state.values.get(messages_key) or ()
    texts = {node: _messages(each) for node, each in translator.not_stored(stored).items() if node in unfinished}
    if texts and input_channels_of(graph, messages_key).is_plain:  # what is written is the conversation, by one node
        texts = {next(iter(texts)): [*stored, *chain.from_iterable(texts.values())]}
    if texts:
        updates = [StateUpdate({messages_key: each}, node) for node, each in texts.items()]
        await graph.abulk_update_state(at, [updates])


def _messages(emitted: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [AIMessage(each["content"], id=each["id"], name=each.get("name")) for each in emitted]
