"""Defines `Options`, the settings for a translation. They are validated on creation and cannot be changed
afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt
from pydantic.dataclasses import dataclass

PROTOCOL_VERSION: Final = "1.0"
"""The AG-UI version that this package implements."""

CLIENT_CHANNELS: Final = frozenset({"copilotkit", "ag-ui"})
"""The state channels in which a graph receives the front end's tools and context. They are visible only if
`state_include` names them. The client already knows the tools and the context, and some graphs also keep private notes
in these channels."""

StateMode = Literal["deltas", "initial", "final", "all", "none"]
FirstState = Literal["snapshot", "delta"]
HistoryMode = Literal["mirror", "keep"]
UnsavedMode = Literal["step", "run", "keep"]
SubagentMode = Literal["attributed", "inline", "hidden"]
InterruptMode = Literal["outcome", "legacy", "both"]
ErrorDetail = Literal["none", "code", "message", "full"]

Visibility = Literal["stream", "hide", "tool"]
"""How a model call is emitted while it is streaming.

- `stream`: every chunk is emitted as soon as it arrives.
- `hide`: no chunk is emitted.
- `tool`: if the model is called inside a tool, every chunk is emitted as soon as it arrives, and the message is marked
  as part of the tool call. Outside tools, the default applies."""

_EXACT: Final = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, config=_EXACT)
class Prediction:
    """A tool argument that is emitted as state while the model is still generating it (CopilotKit's *predictive
    state*).

    `state_key`: The state channel that receives the value.
    `tool`: The name of the tool.
    `tool_argument`: The name of the argument that contains the value. With None, the value is an object that contains
    all arguments.
    """

    state_key: str
    tool: str
    tool_argument: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, config=_EXACT)
class Options:
    """Settings for the translation of a stream into events. The defaults suit most front ends.

    Raises `pydantic.ValidationError`, which is a `ValueError`, for an unknown option, for a value that has the wrong
    type or is not one of the choices, and for a positional argument. To make a changed copy, use
    `dataclasses.replace(options, ...)`.

    `state_include`: The names of the visible state channels. None means all channels except `messages_key`,
        `CLIENT_CHANNELS`, the channels in `state_exclude`, and those whose names begin with `_`.
    `state_exclude`: The names of state channels that are never visible, even if `state_include` names them.
    `messages_key`: The state channel that contains the conversation.
    `state`: Which state events are emitted. `deltas`: a snapshot, followed by deltas. `initial`: one snapshot at the
        start of the run. `final`: one snapshot at the end of the run. `all`: a snapshot for every change. `none`: no
        state events.
    `first_state`: The first state event of a run, if the client's state is already known. `snapshot`: the whole state.
        This is necessary if a server between this one and the client, such as CopilotKit's Node runtime, does not keep
        the state from before the run. `delta`: only the changes, unless the whole state is smaller. Use this for
        clients that read this stream directly.
    `history`: Which older messages the client keeps. `mirror`: the client has exactly the messages that are in the
        checkpoint. `keep`: the client also keeps messages that the graph has removed. In addition, `connect` and
        `watch` emit messages that a summary has replaced, as far back as the thread's history goes.
    `unsaved`: What happens to text that a model generated but no node saved in `messages_key`, such as drafts, the
        answers of routers, and all text in a graph without that channel. `step`: the text is removed when the superstep
        of the root graph in which it was generated ends. `run`: the text is removed when the run succeeds. If the run
        stops at an interrupt, the text is removed when the run continues. `keep`: the text stays on the page during
        later runs too. It disappears when the page is reloaded, because the thread does not contain it.
    `steps`: Whether each run of a node is emitted as `STEP_STARTED` and `STEP_FINISHED`.
    `reasoning`: Whether the models' reasoning is emitted.
    `subagents`: How the subagents of deepagents' `task` tool are emitted. `attributed`: as `SUBAGENT_*` events, and the
        events from a subagent carry its id. `inline`: as if the main agent had emitted the events. `hidden`: not at
        all. Clients that declare no protocol version get neither `SUBAGENT_*` events nor the steps of subagents,
        because they may be `@ag-ui/client` 0.0.58 or older, which cannot read these events. None: `attributed`, unless
        the agent is served with `compatible_with`.
    `tool_results`: Whether tool results are emitted.
    `result_limit`: The maximum number of characters that are emitted for one tool result. The rest is left out, and the
        metadata contains the full size. None means that there is no limit.
    `tool_progress`: Whether the progress that a tool reports is emitted, as a `tool_progress` activity for the tool
        call.
    `plan`: The state channel, such as `todos`, that contains the agent's plan. The plan is also emitted as a `plan`
        activity. None means that there is no such channel.
    `error_activity`: Whether a failed run leaves a `run_error` activity in the conversation, in addition to
        `RUN_ERROR`.
    `hidden_tools`: The names of tools whose calls and results are not emitted, such as a tool for structured output.
    `visibility`: Which model calls are emitted while they are streaming. This is either a function or a mapping. The
        function takes the LangGraph metadata of a model call. The keys of the mapping are names of nodes, tags, or `*`
        for all other model calls. The function returns, and the mapping contains, one of these values. `stream`: the
        model call is emitted. `hide`: it is not emitted. `tool`: if the model call is made inside a tool, its messages
        are emitted with the tool call's id as `parentToolCallId` in their metadata, and are removed when the root
        graph's superstep ends. If the mapping does not cover a model call, or the function returns None, the key
        `agui_visibility` in the model call's metadata decides. Without that key, a model call is emitted unless it is
        made inside a tool or a middleware. Of a model call inside a tool, calls of A2UI's `render_a2ui` are emitted all
        the same. Messages that belong to the conversation in the checkpoint are always emitted, at the latest when the
        checkpoint arrives.
    `predict_state`: The tool arguments that are emitted as state while the model is still generating them.
    `interrupts`: How interrupts are emitted. `outcome`: in `RUN_FINISHED.outcome`. `legacy`: as the custom event
        `on_interrupt`, which older clients understand. `both`: in both ways. None: `outcome`, unless the agent is
        served with `compatible_with`.
    `raw_events`: Whether every part of the stream is also emitted as a `RAW` event.
    `error_detail`: How much of an exception `RUN_ERROR` reveals. `none`: nothing; the message is "The run failed."
        `code`: the exception's class name, in the field `code`. `message`: the class name, and the exception's text as
        the message. `full`: the class name, the text, and the traceback in `metadata`.
    `protocol_version`: The protocol version that the client declares. None means that the client declares none, as is
        the case for `@ag-ui/client` before 1.0.
    """

    state_include: frozenset[str] | None = None
    state_exclude: frozenset[str] = frozenset()
    messages_key: Annotated[str, Field(min_length=1)] = "messages"
    state: StateMode = "deltas"
    first_state: FirstState = "snapshot"
    history: HistoryMode = "mirror"
    unsaved: UnsavedMode = "step"
    steps: StrictBool = True
    reasoning: StrictBool = True
    subagents: SubagentMode | None = None
    tool_results: StrictBool = True
    result_limit: Annotated[StrictInt, Field(ge=0)] | None = 50_000
    tool_progress: StrictBool = True
    plan: Annotated[str, Field(min_length=1)] | None = None
    error_activity: StrictBool = True
    hidden_tools: frozenset[str] = frozenset()
    visibility: Callable[[Mapping[str, Any]], Visibility | None] | Mapping[str, Visibility] | None = field(
        default=None, hash=False
    )
    predict_state: tuple[Prediction, ...] = ()
    interrupts: InterruptMode | None = None
    raw_events: StrictBool = False
    error_detail: ErrorDetail = "message"
    protocol_version: Annotated[str, Field(min_length=1)] | None = PROTOCOL_VERSION

    def shows_channel(self, name: Any) -> bool:
        """Returns whether the state channel `name` is visible. `messages_key` and channels whose names begin with `_`
        are never visible."""
        if not isinstance(name, str) or name == self.messages_key or name.startswith("_"):
            return False
        if name in self.state_exclude:
            return False
        return name not in CLIENT_CHANNELS if self.state_include is None else name in self.state_include
