"""The options of a translation: one frozen value, checked when it is made. Nothing here acts on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt
from pydantic.dataclasses import dataclass

PROTOCOL_VERSION: Final = "1.0"
"""The AG-UI version this package implements."""

CLIENT_CHANNELS: Final = frozenset({"copilotkit", "ag-ui"})
"""State channels for a front end's tools and context. They are visible only if `state_include` names them, because the
client already has their content, and graphs keep their own notes there."""

StateMode = Literal["deltas", "initial", "final", "all", "none"]
FirstState = Literal["snapshot", "delta"]
HistoryMode = Literal["mirror", "keep"]
UnsavedMode = Literal["step", "run", "keep"]
SubagentMode = Literal["attributed", "inline", "hidden"]
InterruptMode = Literal["outcome", "legacy", "both"]
ErrorDetail = Literal["none", "code", "message", "full"]

Visibility = Literal["stream", "hide", "tool"]
"""What is emitted of a model call while it streams. `stream`: each chunk as it comes. `hide`: nothing. `tool`: if the
call is made inside a tool, each chunk as it comes, as a part of the tool call; elsewhere, the default."""

_EXACT: Final = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, config=_EXACT)
class Prediction:
    """A tool argument that is emitted as state while it streams (CopilotKit's *predictive state*).

    `state_key`: The state channel that the value goes to.
    `tool`: The tool whose calls have the argument.
    `tool_argument`: The argument to take the value from; None takes all arguments, as an object.
    """

    state_key: str
    tool: str
    tool_argument: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, config=_EXACT)
class Options:
    """How a stream becomes events. The default of each field suits most front ends.

    Raises `pydantic.ValidationError`, a `ValueError`, for an unknown name, for a value that has the wrong type or is
    not one of the choices, and for a positional argument. `dataclasses.replace(options, ...)` returns a changed copy.

    `state_include`: Names of the state channels that are visible; None means all but `messages_key`, names that begin
        with `_`, `CLIENT_CHANNELS`, and `state_exclude`.
    `state_exclude`: Names of state channels that are never visible.
    `messages_key`: The channel that has the conversation.
    `state`: `deltas`: a snapshot, then deltas. `initial`: one snapshot at the start. `final`: one at the end. `all`: a
        snapshot for each change. `none`: no state events.
    `first_state`: The first state event of a run, if the client's state is known. `snapshot`: the whole state; needed
        if a server between here and the client keeps no state from before the run, as CopilotKit's Node runtime does
        not. `delta`: only what changed, if that is smaller; for clients that read this stream themselves.
    `history`: `mirror`: the client has the messages that the checkpoint has. `keep`: messages that the graph removed
        stay, and `connect` and `watch` also emit those that a summary replaced, as far back as the thread's history
        goes.
    `unsaved`: What happens to text that a model said and no node saved in `messages_key`: drafts, the answers of
        routers, and all text of a graph without that channel. `step`: it is removed when its step ends. `run`: it is
        removed when the run ends in success; if the run waits at an interrupt, when the run continues. `keep`: it
        stays, in later runs too, until the page is loaded again, because the thread does not have it.
    `steps`: Whether runs of nodes are emitted as `STEP_*`.
    `reasoning`: Whether reasoning is emitted.
    `subagents`: deepagents' `task` subagents. `attributed`: as `SUBAGENT_*`, their events with the subagent's id.
        `inline`: as if the main agent had emitted them. `hidden`: not at all. Clients that declare no version get no
        `SUBAGENT_*`, and no steps of subagents: up to 0.0.58 they cannot read them.
    `tool_results`: Whether tool results are emitted.
    `result_limit`: The number of characters of a tool result that are emitted; the rest is left out, and the metadata
        gives the full size. None means no limit.
    `tool_progress`: Whether the progress that a tool reports is emitted, as the activity `tool_progress` of its call.
    `plan`: The state channel with the agent's plan, such as `todos`, which is also emitted as the activity `plan`; None
        if there is no such channel.
    `error_activity`: Whether a run that failed also leaves the activity `run_error` in the conversation.
    `hidden_tools`: Names of tools whose calls and results are not emitted, such as the call of structured output.
    `visibility`: Which model calls are emitted while they stream: `stream`, `hide` or `tool`. It is a function of the
        call's LangGraph metadata, or a mapping of names of nodes and tags, where `*` is every other call. `tool`: what
        a model says inside a tool, or inside a tool of a subagent, is emitted with the id of the tool call as
        `parentToolCallId` in the metadata of its message, and removed when the root graph's step ends. For a call that
        the option does not name (or for which the function returns None), the key `agui_visibility` of the call's
        metadata decides. Without that key, all calls are emitted but those of models inside tools and middlewares. A
        message that the checkpoint has in the conversation is emitted whatever this option says, at the latest with the
        checkpoint.
    `predict_state`: Tool arguments that are emitted as state while they stream.
    `interrupts`: How interrupts are emitted. `outcome`: in `RUN_FINISHED.outcome`. `legacy`: as the `on_interrupt`
        custom event that older clients know. `both`: in both ways.
    `raw_events`: Whether every part is also emitted as a `RAW` event.
    `error_detail`: What `RUN_ERROR` reveals. `none`: a neutral message. `code`: also the exception's class name, as
        `code`. `message`: also its text. `full`: also its traceback, in `metadata`.
    `protocol_version`: The protocol version that the client declares; None if it declares none (`@ag-ui/client` before
        1.0).
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
    subagents: SubagentMode = "attributed"
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
    interrupts: InterruptMode = "outcome"
    raw_events: StrictBool = False
    error_detail: ErrorDetail = "message"
    protocol_version: Annotated[str, Field(min_length=1)] | None = PROTOCOL_VERSION

    def shows_channel(self, name: Any) -> bool:
        """Whether the state channel `name` is visible; `messages_key` and names that begin with `_` never are."""
        if not isinstance(name, str) or name == self.messages_key or name.startswith("_"):
            return False
        if name in self.state_exclude:
            return False
        return name not in CLIENT_CHANNELS if self.state_include is None else name in self.state_include
