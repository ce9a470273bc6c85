"""The state of a thread of this process when an input comes, read from its checkpointer: `read`. Never what an input
asks for (`inputs.plan`), and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from ...translator import unanswered_calls
from .. import submission
from ..inputs.forking import ForkPoint
from ..inputs.thread_state import ThreadState
from .active_run import LastRun
from .checkpointers import has_checkpointer
from .connect import newest, outcome_at
from .history import values_of
from .outcome import pending
from .runs import Graph

_INPUT = "__start__"
"""The channel in which a graph's input is until it has been taken."""


@dataclass(frozen=True, slots=True)
class Read(submission.Read):
    """A thread as its checkpointer has it."""

    run_id: str | None = None
    """The run that its newest checkpoint is of."""
    checkpoint_id: str | None = None
    """The checkpoint to start from; None is the newest."""

    def at(self, found: ForkPoint) -> Read:
        """The thread as it was at an earlier checkpoint."""
        return Read(found.thread, self.ended, found.checkpoint.run_id, found.checkpoint.id)


async def read(graph: Graph, config: Any, last: LastRun | None, messages_key: str) -> Read:
    """The thread's state; `last`: how its last run ended, as the run store knows it. Raises what the checkpointer
    raises."""
    if not has_checkpointer(graph):
        return Read(ThreadState())
    state = await newest(graph, config)
    if state.metadata is None and state.created_at is None:
        return Read(ThreadState())
    ended = await outcome_at(graph, state, last)
    values = values_of(state)
    messages = [*(values.get(messages_key) or ()), *await _asked(graph, state, messages_key)]
    thread = ThreadState(
        messages=messages,
        values=values,
        own_tools=own_tools(graph) if unanswered_calls(messages) else (),
        interrupts=pending(state),
        is_stopped=ended.stopped,
        is_unfinished=bool(state.next),
        status=ended.status,
        run_id=ended.run_id,
        checkpoint_id=ended.checkpoint_id,
        has_pending_writes=len(state.next) < len(state.tasks),
    )
    return Read(thread, ended, (state.metadata or {}).get("run_id"))


def own_tools(graph: Graph) -> frozenset[str]:
    """The names of the tools that a graph and its subgraphs run themselves, in LangGraph's own nodes for it."""
    graphs = [graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))]
    bound = [node.bound for each in graphs if isinstance(each, Pregel) for node in each.nodes.values()]
    return frozenset(name for each in bound if isinstance(each, ToolNode) for name in each.tools_by_name)


async def _asked(graph: Graph, state: StateSnapshot, messages_key: str) -> list[Any]:
    """The messages that an unfinished function was called with: its checkpoint has no conversation before its end."""
    if isinstance(graph, CompiledStateGraph) or not state.next:
        return []
    kept = await graph.checkpointer.aget_tuple(state.config)  # type: ignore[union-attr]
    given = None if kept is None else kept.checkpoint["channel_values"].get(_INPUT)
    return list(given.get(messages_key) or ()) if isinstance(given, Mapping) else []
