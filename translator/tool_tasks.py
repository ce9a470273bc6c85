"""Finds the tasks that run tools, and the graphs that run inside tools (`ToolTasks`). This module emits no events.

Rules:

1. A task runs a tool if its input is a tool call, or if its node is a tool node. Only the `tasks` mode shows the input.
   A node is a tool node if its name is `tools`, or if in this run it has answered a tool call that another node of its
   graph made. A node that answers its own tool calls does not become a tool node. Structured output, hand-offs and
   loops in one node are examples of this. A node that returns a message of its own model is never a tool node, because
   that message is part of the conversation.

   A graph runs inside a tool if the task that started it runs a tool. It also counts as running inside a tool if, when
   the task began, other nodes of the graph that contains the task had made tool calls that were still unanswered. This
   second condition is checked when the first part of the inner graph arrives. It covers nodes that answer tool calls by
   running a graph, such as `supervisor_tools` in https://github.com/langchain-ai/open_deep_research. The first time
   these nodes run, they do not yet count as tool nodes. The steps of such a graph are visible, but the text of its
   model calls is not. The text of the node's own model stays visible, because that text may be the answer.
2. Nodes are identified by the namespace of their graph as well as by name, because many agents have nodes with the same
   names.
3. Only the `tasks` mode shows which tool call a task runs. If the input of a task is a tool call, the task runs that
   tool call. LangChain's `create_agent` starts such a task for each tool call
   (https://github.com/langchain-ai/langchain/blob/master/libs/langchain_v1/langchain/agents/factory.py). If a node
   named `tools` gets any other input, one task runs all tool calls of the last assistant message, as LangGraph's
   `ToolNode` does without `Send`
   (https://github.com/langchain-ai/langgraph/blob/main/libs/prebuilt/langgraph/prebuilt/tool_node.py). If only one of
   these tool calls is unanswered, the task runs that one. If several are unanswered, nothing shows which of them raises
   an interrupt. The id of an interrupt identifies only the task, and LangGraph stores no results for a task that was
   interrupted. `connect` finds the tool calls of a checkpoint by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .owner import Owner
from .parts.channels import channels_with_user_message, unanswered_calls_in, updates_in
from .parts.part import Namespace, task_path

_TOOLS: Final = "tools"
"""The name that LangChain's `create_agent` and most graphs give to the node that runs tools."""


class _Unanswered(NamedTuple):
    """An unanswered tool call in the channels of a graph."""

    node: str
    """The node that returned it; empty if the tool call is older than the stream."""
    channel: str


class ToolTasks:
    """Tracks the tool calls of one run and the tasks that answer them."""

    def __init__(self) -> None:
        self._calls: dict[Namespace, str] = {}
        """For each running task whose tool call is known, the id of that tool call (rule 3)."""
        self._tool_nodes: set[tuple[Namespace, str]] = set()
        """The nodes that have answered tool calls made by other nodes."""
        self._own_messages: set[tuple[Namespace, str]] = set()
        """The nodes that have returned messages of their own models."""
        self._callers: dict[tuple[Namespace, str], set[str]] = {}
        """A mapping from a graph and the id of an unanswered tool call to the nodes that made a tool call with this
        id."""
        self._unanswered: dict[Namespace, dict[str, _Unanswered]] = {}
        """For each graph, the unanswered tool calls in its channels by their ids."""
        self._answers: dict[Namespace, bool] = {}
        """For each task that runs a graph, whether tool calls made by other nodes were unanswered when the task
        began."""

    def record_call(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """Records that a model made a tool call."""
        graph, node = _node(task_path(ns, metadata))
        self._callers.setdefault((graph, call_id), set()).add(node)

    def made(self, ns: Namespace, call_id: str) -> bool:
        """Whether a model of the graph at `ns` has made, in this run, a tool call with this id that is still
        unanswered."""
        return (ns, call_id) in self._callers

    def record_result(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """Records that a node answered a tool call (rule 1)."""
        self._answered(*_node(task_path(ns, metadata)), call_id)

    def _answered(self, graph: Namespace, node: str, call_id: str) -> None:
        callers = self._callers.pop((graph, call_id), set())
        if node not in callers:
            if callers:
                self._tool_nodes.add((graph, node))
        elif len(callers) > 1:
            self._callers[graph, call_id] = callers - {node}

    def read_values(self, ns: Namespace, values: Any) -> None:
        """Reads the unanswered tool calls in the first values of the graph at `ns`. They may be older than the
        stream."""
        if ns not in self._unanswered:
            calls, _ = unanswered_calls_in(updates_in(values))
            self._unanswered[ns] = {call_id: _Unanswered("", channel) for call_id, channel in calls.items()}

    def read_updates(self, ns: Namespace, node: str, updates: Sequence[Mapping[str, Any]]) -> set[str]:
        """Reads the tool calls and the results in the updates of a node of the graph at `ns`. The tool calls without a
        result are unanswered from now on, and those before a user's message no longer are (rule 1). Returns the ids of
        the tool calls that the results answer."""
        unanswered, answered = unanswered_calls_in(updates)
        for call_id in answered:  # a result that is not a message object appears only in the output
            self._answered(ns, node, call_id)
        before = self._unanswered.get(ns)
        if before or unanswered or answered:
            kept: dict[str, _Unanswered] = {}
            if before:
                ended = channels_with_user_message(updates)
                kept = {
                    call_id: call
                    for call_id, call in before.items()
                    if call_id not in answered
                    and call.channel not in ended
                    and (call.node != node or not (unanswered or answered))
                }
            made = {call_id: _Unanswered(node, channel) for call_id, channel in unanswered.items()}
            self._unanswered[ns] = kept | made
        return answered

    def record_own_message(self, ns: Namespace, node: str) -> None:
        """Records that a node returned a message of its own model (rule 1)."""
        self._own_messages.add((ns, node))

    def record_task(self, ns: Namespace, task: Mapping[Any, Any]) -> str | None:
        """Records a part of the `tasks` mode: the start or the result of a task of the graph at `ns`. Returns the id of
        the tool call that the task runs; None if the task runs no tool call, or if it is unknown which one it runs
        (rule 3)."""
        path = (*ns, f"{task.get('name')}:{task.get('id')}")
        if "input" not in task:
            return self._calls.pop(path, None)
        call_id = _called_tool(task["input"])
        if call_id is None and task.get("name") == _TOOLS and (ns, _TOOLS) not in self._own_messages:
            unanswered, _ = unanswered_calls_in(updates_in(task["input"]))
            call_id = next(iter(unanswered)) if len(unanswered) == 1 else None
        if call_id is not None:
            self._calls[path] = call_id
        return call_id

    def call_of(self, task: Namespace) -> str | None:
        """The id of the tool call that a task is running; None if the `tasks` mode has not shown it."""
        return self._calls.get(task)

    def runs_tools(self, ns: Namespace, node: str) -> bool:
        """Whether a node of the graph at `ns` is a tool node (rule 1)."""
        return (node == _TOOLS or (ns, node) in self._tool_nodes) and (ns, node) not in self._own_messages

    def graph_of_call(self, ns: Namespace, call_id: str, depth: int = 0) -> Namespace:
        """The graph that made the unanswered tool call with this id. The graph at `ns` is searched first, followed by
        the graphs that enclose it, from the innermost outwards. If none of them made such a tool call, the result is
        the first `depth` segments of `ns`, which are the namespace of a subagent, or of the root graph if `depth` is
        0."""
        graphs = (ns[:end] for end in range(len(ns), -1, -1))
        return next((graph for graph in graphs if (graph, call_id) in self._callers), ns[:depth])

    def is_tool(self, task: Namespace) -> bool:
        """Whether the task with this path runs a tool (rule 1)."""
        return task in self._calls or self.runs_tools(*_node(task))

    def is_called_by_tool(self, ns: Namespace) -> bool:
        """Whether the task that runs the graph at `ns` runs a tool or answers tool calls (rule 1)."""
        return bool(ns) and (self.is_tool(ns) or self._is_answering(ns))

    def in_tool(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the graph at `ns` runs inside a tool. The first `depth` segments of the path are ignored."""
        return len(ns) > depth and any(self.is_called_by_tool(ns[:end]) for end in range(depth + 1, len(ns) + 1))

    def writes_state(self, ns: Namespace, owner: Owner) -> bool:
        """Whether the values that are written or predicted in the graph at `ns` belong to the run's state. A subagent,
        or an agent that a tool runs, has its own state, even if some of its channels have the same names as the run's
        channels (`todos`). `owner`: the owner of the message or the tool call that the values come from."""
        return owner.id is None and not owner.in_tool and not self.in_tool(ns)

    def has_steps(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the steps of the graph at `ns` are visible. Steps inside a tool are hidden. But if a node runs a
        graph in order to answer tool calls, the steps of that graph are visible (rule 1). The first `depth` segments of
        the path are ignored."""
        tasks = (ns[:end] for end in range(depth + 1, len(ns) + 1))
        return not any(task in self._calls or _node(task)[1] == _TOOLS for task in tasks)

    def _is_answering(self, task: Namespace) -> bool:
        if ":" not in task[-1]:  # the second graph of a task, whose name is in the segment before this one
            return False
        known = self._answers.get(task)
        if known is None:
            graph, node = _node(task)
            has_unanswered = any(call.node != node for call in self._unanswered.get(graph, {}).values())
            known = self._answers[task] = has_unanswered and (graph, node) not in self._own_messages
        return known

    def only_call_for(self, task: Namespace) -> str | None:
        """The id of the unanswered tool call that other nodes of the task's graph have made; None if there is no such
        tool call, or more than one."""
        graph, node = _node(task)
        unanswered = [call_id for (ns, call_id), nodes in self._callers.items() if ns == graph and nodes != {node}]
        return unanswered[0] if len(unanswered) == 1 else None


def _node(task: Namespace) -> tuple[Namespace, str]:
    """Returns the graph and the node of a task."""
    return task[:-1], task[-1].partition(":")[0]


def _called_tool(task_input: Any) -> str | None:
    """The id of the tool call in the input of a task; None if the input is not a tool call.

    LangGraph passes the tool call in a list, or together with the state
    (https://github.com/langchain-ai/langgraph/blob/main/libs/prebuilt/langgraph/prebuilt/tool_node.py). Both forms are
    recognised by their `type` marks, because a graph's own state may have fields with the same names.
    """
    if type(task_input) in (list, tuple) and len(task_input) == 1:
        task_input = task_input[0]
    if type(task_input) is dict and task_input.get("__type") == "tool_call_with_context":
        task_input = task_input.get("tool_call")
    if type(task_input) is dict and task_input.get("type") == "tool_call" and {"name", "args"} <= task_input.keys():
        call_id = task_input.get("id")
        return call_id if isinstance(call_id, str) else None
    return None
