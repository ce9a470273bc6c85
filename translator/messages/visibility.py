"""Which model calls and tool results are visible while they stream. What the checkpoint has of them is always visible.

Rules

1. What a model says is hidden if it says it to a middleware, inside a tool, or with a tag that asks not to stream it. A
   middleware's calls are those with `lc_internal_call` in their metadata
   (https://github.com/langchain-ai/langchain/tree/master/libs/langchain_v1/langchain/agents/middleware), those that
   make a summary (`lc_source`), and those of the hooks of LangGraph's `create_react_agent`, which are nodes with fixed
   names.
2. A task runs a tool if its input is a tool call (the `tasks` mode says so) or if its node runs tools. A node runs
   tools if it is called `tools`, or if it has answered a call that another node of its graph made in this run. A node
   does not count as a tool node because it answers its own calls (structured output, a hand-off, a loop in one node). A
   node that returns a message of its own model never counts as one, because that message is part of the conversation.
   A tool calls a graph if the graph is called by a task that runs a tool, or by a task that began while calls of other
   nodes of its graph waited for their results. The latter is decided when the first part of the graph comes. So all
   rounds of a node that answers calls by running a graph look alike, from the first one on
   (https://github.com/langchain-ai/open_deep_research, `supervisor_tools`). The steps of such a graph are visible, but
   not what is said in it. What the node's own model says stays visible, because it may be the answer.
3. A node belongs to one run of one graph, which its namespace identifies, because many agents have nodes with the same
   names.
4. The option `visibility`, and after it the key `agui_visibility` of a call's metadata, replace rule 1 with `stream`,
   `hide` or `tool`. Rule 1 applies if neither of them names the call, or if `tool` is chosen outside a tool. If the
   option is a function that raises or returns anything else, the call is hidden, with a log line. If the key has any
   other value, it is ignored, with a log line.
5. With `tool`, what a model says inside a tool is emitted with the id of the tool call, as `parentToolCallId` in the
   metadata of its events. The id comes from the model call's metadata (`agui_tool_call_id`), else from the innermost
   tool's task (the `tasks` mode), else it is the id of the only call without a result that other nodes of the graph
   have made. If none of these names it, the model call is hidden, with a log line.
6. The metadata keys `emit-messages` and `emit-tool-calls` of a model call hide its text or its tool calls, as they do
   in `ag-ui-langgraph`
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/integrations/langgraph/python/ag_ui_langgraph/agent.py). They may
   have the prefix `copilotkit:`. `model_calls.py` reads them.
7. Structured output is not conversation. The mark `agui_structured`, which `StructuredOutputMarker` of `connect` sets,
   hides a whole call or its text, even if rule 4 says `tool` for the call.
8. A platform's parts have no mark, unless its graph has that handler. Without it, the text of a call is held while it
   may be the beginning of a JSON object or array (`jsonable/json_prefix.py`), and emitted as soon as a character comes
   that JSON cannot have there; prose is released within a few characters. Text that is still held when the call ends is
   not emitted; if the graph saves it, the checkpoint brings it. Text is not held if rule 4 lets the call stream, or if
   its node is known to save JSON as a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from ..losses import Losses, Reason
from ..options import Options, Visibility
from ..parts.channels import unanswered_calls_in
from ..parts.part import Namespace, task_path

MARK: Final = "agui_visibility"
"""The metadata key of a model call that says whether it is visible."""
PARENT: Final = "agui_tool_call_id"
"""The metadata key with the id of the tool call inside which a model call is made."""
STRUCTURED: Final = "agui_structured"
"""The metadata key of a model call that says what of its answer is structured output: `call`, `text` or `none`."""
_CHOICES: Final = get_args(Visibility)
_HOOKS: Final = frozenset({"pre_model_hook", "post_model_hook"})
"""https://github.com/langchain-ai/langgraph/blob/main/libs/prebuilt/langgraph/prebuilt/chat_agent_executor.py"""
_NOT_STREAMED: Final = frozenset({"nostream", "langsmith:nostream"})
"""LangGraph's tag, which its mode `messages` obeys (https://github.com/langchain-ai/langgraph/pull/2132), and the tag's
older name, which graphs still use although it means nothing to LangGraph 1."""


class Decision(NamedTuple):
    """What is visible of a model call while it streams."""

    hidden: Reason | None
    """Why the call is hidden; None if it is visible."""
    parent_call: str | None = None
    """The id of the tool call that it is shown as a part of."""
    hides_text: bool = False
    """Whether only its text is hidden."""
    may_be_structured: bool = False
    """Whether its text is held while it may be JSON."""


class VisibilityRules:
    """What is visible in one run."""

    def __init__(self, options: Options, losses: Losses) -> None:
        self._losses = losses
        self._visibility = options.visibility
        self.expects_marks = True
        """Whether a call without a mark certainly has no structured output. On a platform it may have (rule 8)."""
        self.saving: set[str] = set()
        """The nodes that are known to save JSON as messages, as `node_of` names them."""
        self._tool_tasks: dict[Namespace, str] = {}
        """The running tasks whose input is a tool call, with the call's id."""
        self._tool_nodes: set[tuple[Namespace, str]] = set()
        """Nodes that have answered calls of other nodes."""
        self._own_messages: set[tuple[Namespace, str]] = set()
        """Nodes that have returned messages of their own models."""
        self._callers: dict[tuple[Namespace, str], set[str]] = {}
        """By graph and id of a tool call without a result: the nodes that made such a call."""
        self._waiting: dict[Namespace, dict[str, str]] = {}
        """By graph, and by id of a call that is in its channels and waits for its result: the node that returned the
        call. The name is empty if the node is unknown, because the call is older than the stream."""
        self._answers: dict[Namespace, bool] = {}
        """By task that runs a graph: whether it began while calls of other nodes waited for their results."""

    def on_call(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """A model made a tool call."""
        graph, node = _node(task_path(ns, metadata))
        self._callers.setdefault((graph, call_id), set()).add(node)

    def on_result(self, ns: Namespace, metadata: Mapping[str, Any], call_id: str) -> None:
        """A node answered a tool call (rule 2)."""
        self._answered(*_node(task_path(ns, metadata)), call_id)

    def _answered(self, graph: Namespace, node: str, call_id: str) -> None:
        callers = self._callers.pop((graph, call_id), set())
        if node not in callers:
            if callers:
                self._tool_nodes.add((graph, node))
        elif len(callers) > 1:
            self._callers[graph, call_id] = callers - {node}

    def on_values(self, ns: Namespace, values: Any) -> None:
        """Values of the graph at `ns` came. The first ones may have calls that are older than the stream."""
        if ns not in self._waiting:
            self._waiting[ns] = dict.fromkeys(unanswered_calls_in(values)[0], "")

    def on_node_output(self, ns: Namespace, node: str, output: Any) -> None:
        """A node of the graph at `ns` returned its output, which may have calls that now wait, and results."""
        waiting, answered = unanswered_calls_in(output)
        for call_id in answered:  # a result that is not a message object comes only here
            self._answered(ns, node, call_id)
        if waiting or answered:
            before = self._waiting.get(ns, {})
            kept = {call_id: by for call_id, by in before.items() if by != node and call_id not in answered}
            self._waiting[ns] = kept | dict.fromkeys(waiting, node)

    def on_own_message(self, ns: Namespace, node: str) -> None:
        """A node returned a message of its own model (rule 2)."""
        self._own_messages.add((ns, node))

    def on_task(self, ns: Namespace, segment: str, call_id: str | None) -> None:
        """The `tasks` mode says that a task began which runs this tool call or, with None, that any task ended.
        `segment`: the task's part of a namespace."""
        if call_id is not None:
            self._tool_tasks[*ns, segment] = call_id
        else:
            self._tool_tasks.pop((*ns, segment), None)

    def call_of(self, task: Namespace) -> str | None:
        """The id of the tool call that a running task runs; None if the `tasks` mode did not say so."""
        return self._tool_tasks.get(task)

    def runs_tools(self, ns: Namespace, node: str) -> bool:
        """Whether a node of the graph at `ns` runs tools (rule 2)."""
        return (node == "tools" or (ns, node) in self._tool_nodes) and (ns, node) not in self._own_messages

    def graph_of_call(self, ns: Namespace, call_id: str, depth: int = 0) -> Namespace:
        """The graph that made a call with this id that has no result yet: the innermost one, from the graph at `ns`
        outwards. If none is known, the subagent at `depth`, or the root graph."""
        graphs = (ns[:end] for end in range(len(ns), -1, -1))
        return next((graph for graph in graphs if (graph, call_id) in self._callers), ns[:depth])

    def is_tool(self, task: Namespace) -> bool:
        """Whether the task with this path runs a tool (rule 2)."""
        return task in self._tool_tasks or self.runs_tools(*_node(task))

    def is_called_by_tool(self, ns: Namespace) -> bool:
        """Whether the task that runs the graph at `ns` runs a tool, or answers calls (rule 2)."""
        return bool(ns) and (self.is_tool(ns) or self._is_answering(ns))

    def in_tool(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the graph at `ns` was called by a tool; the first `depth` segments do not count."""
        return any(self.is_called_by_tool(ns[:end]) for end in range(depth + 1, len(ns) + 1))

    def has_steps(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the steps of the graph at `ns` are visible. Steps within a tool are not; steps within a node that
        answers calls are (rule 2). The first `depth` segments do not count."""
        tasks = (ns[:end] for end in range(depth + 1, len(ns) + 1))
        return not any(task in self._tool_tasks or _node(task)[1] == "tools" for task in tasks)

    def _is_answering(self, task: Namespace) -> bool:
        if ":" not in task[-1]:  # the second graph that a task calls: the segment before it names the task
            return False
        known = self._answers.get(task)
        if known is None:
            graph, node = _node(task)
            waits = any(by != node for by in self._waiting.get(graph, {}).values())
            known = self._answers[task] = waits and (graph, node) not in self._own_messages
        return known

    def decide(self, ns: Namespace, metadata: Mapping[str, Any], depth: int = 0) -> Decision:
        """What is visible of a model call while it streams. `depth`: the depth of the subagent that it belongs to."""
        chosen = self._chosen(metadata) or self._marked(metadata)
        if chosen is not None and chosen != "tool":
            return Decision(Reason.HIDDEN if chosen == "hide" else None)
        structured = metadata.get(STRUCTURED)
        if structured == "call":
            return Decision(Reason.STRUCTURED)
        hides_text = structured == "text"
        may_be = not self.expects_marks and structured is None and node_of(metadata) not in self.saving
        path = task_path(ns, metadata)
        within = (path[:end] for end in range(len(path) - 1, depth, -1))
        tool = path if self.is_tool(path) else next(filter(self.is_called_by_tool, within), None)
        if tool is not None and chosen == "tool":
            call_id = self._parent_call(tool, metadata)
            return Decision(Reason.HIDDEN if call_id is None else None, call_id, hides_text, may_be)
        is_hidden = _is_internal(metadata) or self.is_tool(path) or self.in_tool(ns, depth)
        return Decision(Reason.HIDDEN if is_hidden else None, None, hides_text, may_be)

    def _parent_call(self, tool: Namespace, metadata: Mapping[str, Any]) -> str | None:
        """The id of the tool call that a task runs; None if it is unknown (rule 5)."""
        marked = metadata.get(PARENT)
        if isinstance(marked, str) and marked:
            return marked
        if (known := self.call_of(tool)) is not None:
            return known
        graph, node = _node(tool)
        unanswered = [call_id for (ns, call_id), nodes in self._callers.items() if ns == graph and nodes != {node}]
        if len(unanswered) == 1:
            return unanswered[0]
        self._losses.warn(
            "A model call inside a tool is hidden, because it is not known which tool call it belongs to: stream the "
            f"mode `tasks` too, or set `{PARENT}` in its metadata"
        )
        return None

    def _chosen(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """What the option says about a call."""
        visibility = self._visibility
        if not callable(visibility):
            return _named(visibility, metadata)
        try:
            chosen = visibility(metadata)
        except Exception as error:  # the caller's function must not end a stream
            self._losses.warn("The option `visibility` raised, and model calls are hidden", error)
            return "hide"
        if chosen is None:
            return None
        if (choice := _choice(chosen)) is None:
            self._losses.warn(f"The option `visibility` returned {type(chosen).__name__}, and model calls are hidden")
        return choice or "hide"

    def _marked(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """What the metadata of a call says about it."""
        mark = metadata.get(MARK)
        choice = _choice(mark)
        if choice is None and mark is not None:
            self._losses.warn(f"The metadata key `{MARK}` of a model call has an unknown value, and is ignored")
        return choice


def _is_internal(metadata: Mapping[str, Any]) -> bool:
    """Whether a middleware makes the call, or its tags ask not to stream it."""
    source, node, tags = metadata.get("lc_source"), metadata.get("langgraph_node"), metadata.get("tags")
    if "lc_internal_call" in metadata or (isinstance(source, str) and source == "summarization"):
        return True
    if isinstance(node, str) and node in _HOOKS:
        return True
    return isinstance(tags, list | tuple) and any(isinstance(tag, str) and tag in _NOT_STREAMED for tag in tags)


def _choice(value: Any) -> Visibility | None:
    """`value`, if it is one of the choices."""
    return next((choice for choice in _CHOICES if isinstance(value, str) and value == choice), None)


def _named(visibility: Mapping[str, Visibility] | None, metadata: Mapping[str, Any]) -> Visibility | None:
    """What a mapping says about a call: by the name of its node, else by one of its tags, else by `*`."""
    if not visibility:
        return None
    tags = metadata.get("tags")
    names = [metadata.get("langgraph_node"), *(tags if isinstance(tags, list | tuple) else ()), "*"]
    return next((visibility[name] for name in names if isinstance(name, str) and name in visibility), None)


def node_of(metadata: Mapping[str, Any]) -> str:
    """The name of the node that made a model call, after the names of the nodes that its graph runs in. It is the same
    in every run."""
    task = metadata.get("langgraph_checkpoint_ns")
    return "|".join(part.partition(":")[0] for part in task.split("|")) if isinstance(task, str) else ""


def _node(task: Namespace) -> tuple[Namespace, str]:
    """The graph and the node of a task."""
    return task[:-1], task[-1].partition(":")[0]
