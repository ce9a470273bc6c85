"""Decides which model calls are visible while they are streaming. A message that the checkpoint contains as part of the
conversation is always visible.

Rules:

1. A model call is hidden if it is made by a middleware or inside a tool, or if it has a tag that asks not to stream it.
   A model call counts as made by a middleware if its metadata contains `lc_internal_call`
   (https://github.com/langchain-ai/langchain/tree/master/libs/langchain_v1/langchain/agents/middleware), or shows that
   it produces a summary (`lc_source`). The hooks of LangGraph's `create_react_agent` count as middlewares too. They are
   nodes with fixed names. A subagent of deepagents runs inside the tool `task`, but its model calls do not count as
   made inside that tool. The option `subagents` decides whether they are visible (`run/subagents.py`).
2. The `visibility` option can override rule 1 for a model call by choosing `stream`, `hide` or `tool`. If the option
   does not cover the model call, the key `agui_visibility` in the call's metadata can override rule 1 in the same way.
   The choice `tool` has no effect outside a tool. If the option is a function, and that function raises an exception or
   returns an invalid value, the model call is hidden and a warning is logged. If the value of the key is invalid, the
   key is ignored and a warning is logged.
3. With `tool`, the messages of a model call inside a tool are emitted with the id of the tool call, as
   `parentToolCallId` in the metadata of their events. The id is taken from the model call's metadata
   (`agui_tool_call_id`). If it is not there, it is taken from the task of the innermost tool (`tasks` mode). If that is
   unknown too, it is the id of the only unanswered tool call that another node of the graph made. If no id can be
   found, the model call is hidden and a warning is logged.
4. If the metadata key `emit-messages` of a model call is False, its text and its reasoning are hidden. If
   `emit-tool-calls` is False, its tool calls are hidden. Both keys apply to a message that streams and to a complete
   message. They hide only what arrives before the values: CopilotKit, whose `copilotkit_customize_config` sets them,
   asks a node not to return a message that is to stay hidden
   (https://docs.copilotkit.ai/langgraph-fastapi/advanced/disabling-state-streaming). The keys may have the prefix
   `copilotkit:`. `model_calls.py` reads them.
5. Structured output is not part of the conversation. `StructuredOutputMarker` in `connect` sets the mark
   `agui_structured`, which hides a whole model call or only its text, even if rule 2 chooses `tool` for the model call.
   If you stream a local graph yourself and do not use the marker, JSON that a model streams is emitted as text.
6. Parts from a platform lack this mark, unless the graph on the platform uses `StructuredOutputMarker`. Without the
   mark, the text of a model call is held back for as long as it may be the beginning of a JSON object or array
   (`jsonable/json_prefix.py`). It is emitted as soon as a character arrives that JSON does not allow at that position,
   so prose is held back for only a few characters. If the text is still held back when the model call ends, it is
   emitted with the values, provided that the graph saves it. Text is never held back if rule 2 chooses `stream` for the
   model call, or if the node is known to save JSON as a message.
7. If a model call is hidden only because it is made inside a tool, its calls of `render_a2ui` are visible, and nothing
   else of it. A2UI's tool `generate_a2ui` asks a model for a surface in this way, and CopilotKit's runtime displays the
   surface while the arguments of that call arrive
   (https://github.com/ag-ui-protocol/ag-ui/tree/main/middlewares/a2ui-middleware). Like everything that is emitted
   during a tool call, the call is removed when the step ends: the result of the outer tool contains the surface. A
   complete message adds nothing to that result, so it stays hidden. If the id of the outer tool call is known, it is
   `parentToolCallId` in the metadata, as with `tool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from ..losses import Losses, Reason
from ..options import Options, Visibility
from ..parts.part import Namespace, task_path
from ..tool_tasks import ToolTasks

MARK: Final = "agui_visibility"
"""The metadata key that determines whether a model call is visible."""
PARENT: Final = "agui_tool_call_id"
"""The metadata key for the id of the tool call during which a model call is made."""
STRUCTURED: Final = "agui_structured"
"""The metadata key whose value states which part of a model's answer is structured output: `call` (the whole answer),
`text` or `none`."""
RENDER_A2UI: Final = "render_a2ui"
"""The tool whose arguments are an A2UI surface. The toolkit of A2UI fixes its name
(https://github.com/ag-ui-protocol/ag-ui/tree/main/sdks/python/a2ui_toolkit)."""
_CHOICES: Final = get_args(Visibility)
_HOOKS: Final = frozenset({"pre_model_hook", "post_model_hook"})
"""https://github.com/langchain-ai/langgraph/blob/main/libs/prebuilt/langgraph/prebuilt/chat_agent_executor.py"""
_NOT_STREAMED: Final = frozenset({"nostream", "langsmith:nostream"})
"""The tag that LangGraph's `messages` mode obeys (https://github.com/langchain-ai/langgraph/pull/2132), and its older
name. LangGraph 1 ignores the older name, but some graphs still use it."""


class Decision(NamedTuple):
    """The decision about which parts of a model call are visible while it is streaming."""

    hidden: Reason | None
    """Why the model call is hidden; None if it is visible."""
    parent_tool_call: str | None = None
    """The id of the tool call under which the model call is displayed; None if it is displayed on its own."""
    hides_text: bool = False
    """Whether the text of the model call is hidden, but not its tool calls."""
    may_be_structured: bool = False
    """Whether the text is held back for as long as it may be JSON (rule 6)."""
    only_surfaces: bool = False
    """Whether nothing of the model call is visible but its calls of `RENDER_A2UI` (rule 7)."""


class VisibilityRules:
    """Applies the rules of this module to one run."""

    def __init__(self, options: Options, tools: ToolTasks, losses: Losses) -> None:
        self._tools = tools
        self._losses = losses
        self._visibility = options.visibility
        self.expects_marks = True
        """Whether a model call without a mark certainly produces no structured output. On a platform, even such a model
        call may produce structured output (rule 6)."""
        self.saving: set[str] = set()
        """The nodes that are known to save JSON as messages, in the form that `node_of` returns."""

    def decide(self, ns: Namespace, metadata: Mapping[str, Any], depth: int = 0) -> Decision:
        """Decides which parts of a model call are visible while it is streaming. `depth`: the depth of the subagent
        that made the model call."""
        chosen = self._chosen(metadata) or self._marked(metadata)
        if chosen is not None and chosen != "tool":
            return Decision(Reason.HIDDEN if chosen == "hide" else None)
        structured = metadata.get(STRUCTURED)
        if structured == "call":
            return Decision(Reason.STRUCTURED)
        hides_text = structured == "text"
        may_be = not self.expects_marks and structured is None and not self._saves(metadata)
        path = task_path(ns, metadata)
        is_tool = self._tools.is_tool(path)
        within = (path[:end] for end in range(len(path) - 1, depth, -1))
        tool = path if is_tool else next(filter(self._tools.is_called_by_tool, within), None)
        call_id = None if tool is None else self._parent_tool_call(tool, metadata)
        if chosen == "tool" and tool is not None:
            if call_id is None:
                self._losses.warn(
                    "A model call inside a tool is hidden, because it is not known which tool call it belongs to: "
                    f"stream the mode `tasks` too, or set `{PARENT}` in its metadata"
                )
            return Decision(Reason.HIDDEN if call_id is None else None, call_id, hides_text, may_be)
        if _is_internal(metadata):
            return Decision(Reason.HIDDEN)
        if is_tool or self._tools.in_tool(ns, depth):
            return Decision(None, call_id, hides_text=True, only_surfaces=True)
        return Decision(None, None, hides_text, may_be)

    def _saves(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the node that made a model call is known to save JSON as a message."""
        return bool(self.saving) and node_of(metadata) in self.saving

    def _parent_tool_call(self, tool: Namespace, metadata: Mapping[str, Any]) -> str | None:
        """The id of the tool call that a task runs; None if the id is unknown (rule 3)."""
        marked = metadata.get(PARENT)
        if isinstance(marked, str) and marked:
            return marked
        return self._tools.call_of(tool) or self._tools.only_call_for(tool)

    def _chosen(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """The choice that the option `visibility` makes for a model call; None if the option does not cover the model
        call."""
        visibility = self._visibility
        if visibility is None:
            return None
        if not callable(visibility):
            return _named(visibility, metadata)
        try:
            chosen = visibility(metadata)
        except Exception as error:  # an error in the caller's function must not end the stream
            self._losses.warn("The option `visibility` raised an exception, so model calls are hidden", error)
            return "hide"
        if chosen is None:
            return None
        if (choice := _choice(chosen)) is None:
            self._losses.warn(f"The option `visibility` returned {type(chosen).__name__}, so model calls are hidden")
        return choice or "hide"

    def _marked(self, metadata: Mapping[str, Any]) -> Visibility | None:
        """The choice in the metadata of a model call; None if the metadata contains no valid choice."""
        mark = metadata.get(MARK)
        if mark is None:
            return None
        choice = _choice(mark)
        if choice is None:
            self._losses.warn(f"The metadata key `{MARK}` of a model call has an unknown value, and is ignored")
        return choice


def _is_internal(metadata: Mapping[str, Any]) -> bool:
    """Whether a model call is made by a middleware, or has a tag that asks not to stream it (rule 1)."""
    source, node, tags = metadata.get("lc_source"), metadata.get("langgraph_node"), metadata.get("tags")
    if "lc_internal_call" in metadata or (isinstance(source, str) and source == "summarization"):
        return True
    if isinstance(node, str) and node in _HOOKS:
        return True
    return isinstance(tags, (list, tuple)) and any(isinstance(tag, str) and tag in _NOT_STREAMED for tag in tags)


def _choice(value: Any) -> Visibility | None:
    """`value` if it is one of the choices; otherwise None."""
    return next((choice for choice in _CHOICES if isinstance(value, str) and value == choice), None)


def _named(visibility: Mapping[str, Visibility], metadata: Mapping[str, Any]) -> Visibility | None:
    """The choice that a mapping contains for a model call. The mapping is searched for the name of the node, then for
    the tags, and then for `*`."""
    tags = metadata.get("tags")
    names = [metadata.get("langgraph_node"), *(tags if isinstance(tags, (list, tuple)) else ()), "*"]
    return next((visibility[name] for name in names if isinstance(name, str) and name in visibility), None)


def node_of(metadata: Mapping[str, Any]) -> str:
    """The path of the node that made a model call: the names of the enclosing nodes, from the root graph inwards,
    followed by the name of the node itself. The path is the same in every run."""
    task = metadata.get("langgraph_checkpoint_ns")
    return "|".join(part.partition(":")[0] for part in task.split("|")) if isinstance(task, str) else ""
