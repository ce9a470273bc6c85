"""Reads the state of a thread of this process from its checkpointer: `read`, for an input; `newest` and `outcome_at`.
`inputs.plan` decides what an input asks for. Nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import PregelTask, StateSnapshot

from ...inputs.breakpoints import NOWHERE, both, breakpoints_in
from ...inputs.thread_state import ThreadState
from ...page_calls import page_calls, questions
from ...run_outcome import RunOutcome
from ...submission import ThreadRead
from ..checkpointers import Graph, has_checkpointer
from ..store.active_run import LastRun
from .history import state_at, values_of
from .outcome import needs_stops, outcome_of, pending

_INPUT = "__start__"
"""The channel that has a graph's input until the graph takes it."""


_own_tools: WeakKeyDictionary[Graph, frozenset[str]] = WeakKeyDictionary()
"""The tools of each graph, which do not change."""


@dataclass(frozen=True, slots=True)
class CheckpointRead(ThreadRead):
    """A thread as its checkpointer has it."""

    run_id: str | None = None
    """The run that made its newest checkpoint."""


async def read(graph: Graph, config: Any, last: LastRun | None, messages_key: str) -> CheckpointRead:
    """Reads the thread's state. `last`: how its last run ended, as the run store knows it. Raises what the checkpointer
    raises."""
    if not has_checkpointer(graph):
        return CheckpointRead(ThreadState())
    snapshot = await newest(graph, config)
    if snapshot.metadata is None and snapshot.created_at is None:
        return CheckpointRead(ThreadState())
    outcome = await outcome_at(graph, snapshot, last)
    values = values_of(snapshot)
    messages = [*(values.get(messages_key) or ()), *await _messages_of_call(graph, snapshot, messages_key)]
    asked = pending(snapshot)
    state = ThreadState(
        messages=messages,
        values=values,
        own_tools=own_tools(graph),
        knows_tools=True,
        interrupts=questions(asked),
        page_calls=page_calls(asked),
        is_stopped=outcome.stopped,
        is_unfinished=bool(snapshot.next),
        status=outcome.status,
        run_id=outcome.run_id,
        checkpoint_id=outcome.checkpoint_id,
        has_pending_writes=len(snapshot.next) < len(snapshot.tasks),
    )
    return CheckpointRead(state, outcome, run_id=(snapshot.metadata or {}).get("run_id"))


async def newest(graph: Graph, config: Any) -> StateSnapshot:
    """Returns a thread's newest state, with those of the subgraphs that have begun and not ended, and without the
    interrupts that have been answered in these."""
    state = await state_at(graph, config)
    if not any(task.state for task in state.tasks):
        return state
    return _without_answered(graph, await state_at(graph, config, subgraphs=True))


def _without_answered(graph: Graph, state: StateSnapshot) -> StateSnapshot:
    """Returns the state without the interrupts of tasks whose subgraph has continued after them.

    A task keeps the interrupt that its subgraph raised until the task is done, although the interrupt may have been
    answered, and the subgraph may have stopped later, at a breakpoint. This is certain only if the node is a graph:
    other nodes may raise interrupts themselves, and may run several graphs, of which the state has only one.
    """
    tasks = tuple(_without_answered_in(graph, task) for task in state.tasks)
    return state._replace(tasks=tasks, interrupts=tuple(interrupt for task in tasks for interrupt in task.interrupts))


def _without_answered_in(graph: Graph, task: PregelTask) -> PregelTask:
    node = graph.nodes.get(task.name)
    if node is None or not isinstance(node.bound, Pregel) or not isinstance(task.state, StateSnapshot):
        return task
    inner = _without_answered(node.bound, task.state)
    asked = {interrupt.id for interrupt in inner.interrupts}
    waits = [interrupt for interrupt in task.interrupts if interrupt.id in asked or not inner.next]
    return task._replace(interrupts=tuple(waits), state=inner)


async def outcome_at(graph: Graph, state: StateSnapshot, last: LastRun | None) -> RunOutcome:
    """Returns how the run that made this state ended; see `outcome.outcome_of`."""
    stops = needs_stops(state, last) and await _stops(graph, graph, state)
    return outcome_of(state, last, stops=stops)


async def _stops(root: Graph, graph: Graph, state: StateSnapshot) -> bool:
    """Returns whether the run was to stop where the state is: because the graph, or one inside it, was compiled with a
    breakpoint there, or because its client has asked for one."""
    asked = breakpoints_in(state.metadata) if graph is root else NOWHERE
    before = both(graph.interrupt_before_nodes, asked.before)
    after = both(graph.interrupt_after_nodes, asked.after)
    if before == "*" or not set(before).isdisjoint(state.next):
        return True
    if after and state.parent_config is not None:
        ran = (await root.aget_state(state.parent_config)).next
        if after == "*" or not set(after).isdisjoint(ran):
            return True
    inside = dict(graph.get_subgraphs())
    for task in state.tasks:
        child = inside.get(task.name)
        if isinstance(child, Pregel) and task.state is not None:
            within = task.state if isinstance(task.state, StateSnapshot) else await root.aget_state(task.state)
            if await _stops(root, child, within):
                return True
    return False


def own_tools(graph: Graph) -> frozenset[str]:
    """Returns the names of the tools that a graph and its subgraphs run themselves, in LangGraph's `ToolNode`, or in
    the copy of it that LangChain 1.0 has."""
    if graph not in _own_tools:
        _own_tools[graph] = _tools_of(graph)
    return _own_tools[graph]


def _tools_of(graph: Graph) -> frozenset[str]:
    graphs = [graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))]
    bound = [node.bound for inner in graphs if isinstance(inner, Pregel) for node in inner.nodes.values()]
    by_name = [getattr(runnable, "tools_by_name", None) for runnable in bound]
    return frozenset(name for tools in by_name if isinstance(tools, Mapping) for name in tools)


async def _messages_of_call(graph: Graph, state: StateSnapshot, messages_key: str) -> list[Any]:
    """Returns the messages with which an unfinished function was called: until it ends, its checkpoint has no
    conversation."""
    if isinstance(graph, CompiledStateGraph) or not state.next:
        return []
    kept = await graph.checkpointer.aget_tuple(state.config)  # type: ignore[union-attr]
    graph_input = None if kept is None else kept.checkpoint["channel_values"].get(_INPUT)
    return list(graph_input.get(messages_key) or ()) if isinstance(graph_input, Mapping) else []
