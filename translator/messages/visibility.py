"""Which model calls and tool results are visible while they stream. What the checkpoint has of them is always visible.

Rules

1. What a model says to a middleware (a summary: `lc_source`, and whatever carries `lc_internal_call`) or inside a tool
   is hidden.
2. A task runs a tool if its input is a tool call (the `tasks` mode says so), or if its node runs tools: one that is
   called `tools`, or that has answered a call which another node of its graph made in this run. A node that answers its
   own calls (structured output, a hand-off, a loop in one node) is not taken for a tool node by that. A node that
   returns its model's message is never one: that message is part of the conversation.
3. A node belongs to one run of one graph, its namespace: many agents have nodes of the same names.
4. The option `visibility`, and after it the key `agui_visibility` of a call's metadata, replace rule 1: `stream` or
   `hide`. A call that neither of them names falls under rule 1. A function of the option that raises, or returns
   anything else, hides the call, with a log line; a mark that is anything else is ignored, with a log line.
5. The metadata keys `emit-messages` and `emit-tool-calls` of a model call hide its text or its tool calls, as they do
   in `ag-ui-langgraph` (there also with the prefix `copilotkit:`). `model_calls.py` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from ..losses import Losses
from ..options import Options, Visibility
from ..parts.part import Namespace, task_path

MARK: Final = "agui_visibility"
"""The metadata key of a model call that says whether it is visible."""
_CHOICES: Final = get_args(Visibility)


class VisibilityRules:
    """What is visible in one run."""

    def __init__(self, options: Options, losses: Losses) -> None:
        self._losses = losses
        self._visibility = options.visibility
        self._tool_tasks: set[Namespace] = set()
        """The running tasks whose input is a tool call."""
        self._tool_nodes: set[tuple[Namespace, str]] = set()
        """Nodes that have answered calls of other nodes."""
        self._own_messages: set[tuple[Namespace, str]] = set()
        """Nodes that have returned messages of their own models."""
        self._callers: dict[tuple[Namespace, str], set[str]] = {}
        """By graph and id of a tool call without result: the nodes that made such a call."""

    def on_call(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """A model made a tool call."""
        graph, node = _node(task_path(ns, metadata))
        self._callers.setdefault((graph, call_id), set()).add(node)

    def on_result(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """A node answered a tool call (rule 2)."""
        graph, node = _node(task_path(ns, metadata))
        callers = self._callers.pop((graph, call_id), set())
        if node not in callers:
            if callers:
                self._tool_nodes.add((graph, node))
        elif len(callers) > 1:
            self._callers[graph, call_id] = callers - {node}

    def on_own_message(self, ns: Namespace, node: str) -> None:
        """A node returned a message of its own model (rule 2)."""
        self._own_messages.add((ns, node))

    def on_task(self, ns: Namespace, segment: str, *, runs_tool: bool) -> None:
        """The `tasks` mode: a task began that runs a tool, or any task ended; `segment` is its part of a namespace."""
        if runs_tool:
            self._tool_tasks.add((*ns, segment))
        else:
            self._tool_tasks.discard((*ns, segment))

    def runs_tools(self, ns: Namespace, node: str) -> bool:
        """Whether a node of the graph at `ns` runs tools (rule 2)."""
        return (node == "tools" or (ns, node) in self._tool_nodes) and (ns, node) not in self._own_messages

    def is_tool(self, task: Namespace) -> bool:
        """Whether a task, by its whole path, runs a tool (rule 2)."""
        return task in self._tool_tasks or self.runs_tools(*_node(task))

    def in_tool(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the graph at `ns` was called by a tool; the first `depth` segments do not count."""
        return any(self.is_tool(ns[:end]) for end in range(depth + 1, len(ns) + 1))

    def hides(self, ns: Namespace, metadata: Mapping[str, Any], depth: int = 0) -> bool:
        """Whether a call is hidden while it streams (rules 1 and 4); `depth` is that of the subagent it belongs to."""
        chosen = self._chosen(metadata) or self._marked(metadata)
        if chosen is not None:
            return chosen == "hide"
        source = metadata.get("lc_source")
        if "lc_internal_call" in metadata or (isinstance(source, str) and source == "summarization"):
            return True
        return self.is_tool(task_path(ns, metadata)) or self.in_tool(ns, depth)

    def _chosen(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """What the option says of a call."""
        visibility = self._visibility
        if not callable(visibility):
            return _named(visibility, metadata)
        try:
            chosen = visibility(metadata)
        except Exception as error:  # a function of the caller's must not end a stream
            self._losses.warn("The option `visibility` raised, and model calls are hidden", error)
            return "hide"
        if chosen is None:
            return None
        if (choice := _choice(chosen)) is None:
            self._losses.warn(f"The option `visibility` returned {type(chosen).__name__}, and model calls are hidden")
        return choice or "hide"

    def _marked(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """What a call's own metadata says of it."""
        mark = metadata.get(MARK)
        choice = _choice(mark)
        if choice is None and mark is not None:
            self._losses.warn(f"The metadata key `{MARK}` of a model call has an unknown value, and is ignored")
        return choice


def _choice(value: Any) -> Visibility | None:
    """`value`, if it is one of the choices."""
    return next((choice for choice in _CHOICES if isinstance(value, str) and value == choice), None)


def _named(visibility: Mapping[str, Visibility] | None, metadata: Mapping[str, Any]) -> Visibility | None:
    """What the option says of a call by the name of its node, a tag, or `*`, in this order."""
    if not visibility:
        return None
    tags = metadata.get("tags")
    names = [metadata.get("langgraph_node"), *(tags if isinstance(tags, list | tuple) else ()), "*"]
    return next((visibility[name] for name in names if isinstance(name, str) and name in visibility), None)


def _node(task: Namespace) -> tuple[Namespace, str]:
    """The graph and the node of a task."""
    return task[:-1], task[-1].partition(":")[0]
