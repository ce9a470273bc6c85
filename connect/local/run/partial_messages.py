"""Writes the messages that a stopped run had emitted, but not stored, to its thread: `Intake(on_cancel="save")`.

The text of each message is written as far as it was emitted, under the id of the message, so that a client has it once.
Tool calls are left out, because they did not run. Each message is written as the node that was emitting it, all in one
superstep, so that the graph continues after these nodes. The results of nodes of the superstep that had finished are
kept, and nodes that had emitted no text do not run again.

Nothing is written while the thread has a pending interrupt, because a write would drop the interrupt. Messages of a
subagent, or from inside a tool call, are not saved, because they do not belong to the thread. Nor are messages that a
node emitted and did not save when it finished: they would have been removed at the end of the step.
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
    """Writes these messages. Raises what the checkpointer raises, or the edges of the graph after the nodes.

    - `config`, `translator`: those of the run. The translator knows which messages were emitted.
    - `label`: the name of the run in log lines.
    """
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
    texts = {
        node: _messages(messages) for node, messages in translator.not_stored(stored).items() if node in unfinished
    }
    if texts and input_channels_of(graph, messages_key).is_plain:  # one node must write the whole conversation
        texts = {next(iter(texts)): [*stored, *chain.from_iterable(texts.values())]}
    if texts:
        updates = [StateUpdate({messages_key: messages}, node) for node, messages in texts.items()]
        await graph.abulk_update_state(at, [updates])


def _messages(emitted: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [AIMessage(message["content"], id=message["id"], name=message.get("name")) for message in emitted]
