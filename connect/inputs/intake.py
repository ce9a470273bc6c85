"""Defines what the owner of a graph allows a client's input to do, `Intake`, and what a hook adds to a run,
`Prepared`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, Literal, get_args

from ag_ui.core import RunAgentInput

OnDisconnect = Literal["continue", "cancel"]
"""What happens to a run when its last reader disconnects."""
OnCancel = Literal["discard", "save"]
"""What happens to text that a run has emitted but not stored when the run is stopped."""
OnLost = Literal["error", "continue"]
"""What happens to a run when the process that runs it is lost."""
Busy = Literal["reject", "queue", "cancel"]
"""What happens when an input arrives for a thread that has an active run: the input is rejected, the input waits, or
the active run is cancelled."""
Shortened = Literal["continue", "fork"]
"""What it means if an input has new messages and lacks some messages of the thread: either the client has lost them,
and the thread continues, or the client has taken them back, and the thread forks where the two differ."""


ROLES: Final = frozenset({"user", "assistant", "tool", "system", "developer"})
"""The AG-UI roles of messages that belong to a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the hook `Intake.prepare` adds to one run.

    `config`: Merged into the intake's own config; `configurable` and `metadata` are merged key by key.
    `context`: The graph's runtime context. If both are mappings, it is merged into the intake's own, key by key.
    `values`: Values by channel. They are written as a node would write them, through the channels' reducers.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    context: object = None
    values: Mapping[str, Any] = field(default_factory=dict)


ALL: Final = "all"
WITHOUT_MESSAGES: Final = "without_messages"
PAGE_CALLS: Final = frozenset({"log_a2ui_event"})
"""The tool whose call CopilotKit's runtime adds to a conversation when a user presses a button of an A2UI surface
(https://github.com/ag-ui-protocol/ag-ui/tree/main/middlewares/a2ui-middleware)."""

_WORDS: Final = (("state", ALL), ("state", WITHOUT_MESSAGES), ("context_fields", ALL))
"""The fields of an `Intake` that accept a word instead of names, each with such a word."""

Prepare = Callable[[RunAgentInput], Prepared | Awaitable[Prepared]]


_CHOICES: Final = (
    ("busy", Busy),
    ("shortened", Shortened),
    ("on_disconnect", OnDisconnect),
    ("on_cancel", OnCancel),
    ("on_lost", OnLost),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What is accepted from clients, and how their runs are started. Raises `ValueError` for an unknown choice.

    Fields whose names begin with `on_` are choices; `prepare` and `answer_cancelled` are functions.

    `state`: Names of the channels that the client's state is written to. The values are replaced, not reduced. The
        messages can't be named. `"all"` means every channel of the graph's input except the messages, the channels for
        a front end's tools, and names that begin with `_`. It is for graphs that trust their clients.
        `"without_messages"` means the same for a graph whose input takes no messages, because nothing but its state
        can be sent to it. For any other graph it means no channel.
    `context_fields`: Names of the fields of the graph's runtime context that a client sets with the object
        `forwardedProps.context`. A field that the owner sets (`context`, `prepare`) keeps the owner's value. `"all"`
        means every field except those for a front end's tools and context. The values are also in `configurable`, where
        graphs with a `config_schema` read them.
    `replaced`: On a platform, names of those channels with a reducer that clients write (`state`; `tools`,
        `copilotkit`, `ag-ui`), because no platform says which channels have one. Their values are replaced with
        LangGraph's `Overwrite`. If a channel with a reducer is not named, the client's value goes through the reducer.
        A channel without a reducer must not be named.
    `roles`: The roles whose messages are accepted. Without `system` and `developer`, clients can't give a model
        instructions that look like yours. Without `tool`, they can't provide the result of a call. Without
        `assistant`, they can't bring answers to a new thread.
    `page_calls`: Names of tools whose calls a page itself may add to the conversation, each with its result, to report
        what its user did. A call and its result at the end of the messages run the graph as a user's message does. By
        default, this is the call that A2UI surfaces add. Tools that the graph has are refused. But the tools of a
        platform, and of a node that runs tools by itself, are not known: do not name any of them.
    `page_tools`: On a platform, names of the page's tools whose results let a run continue at a static breakpoint. A
        platform does not say which tools its graph runs, and a human may have to approve those at the breakpoint.
    `prepare`: A function that is called with the input before it runs. It is the only way for `forwardedProps` to reach
        a graph. It returns `Prepared`, may be async, and raises `InvalidInputError` to refuse the input.
    `config`: The config of every run: `recursion_limit`, `tags`, `configurable`, ...
    `context`: The runtime context of every run.
    `busy`: What happens to an input for a thread with an active run. `reject`: it is refused. `queue`: it waits.
        `cancel`: the active run is cancelled.
    `shortened`: What a new message means if the client sends only some of the thread's messages. `continue`: the client
        has lost the others, and the thread continues. `fork`: the client has taken them back, and the thread forks
        where the two differ. `fork` is for front ends that give an edited message a new id, and always send all of
        their messages.
    `answer_cancelled`: A function that takes the value of an interrupt that the user has cancelled, and returns the
        value to resume it with. That must fit the interrupt's schema, or the input is refused. By default, an approval
        of LangChain's middleware is rejected, and any other interrupt is resumed with `{"status": "cancelled"}`.
    `on_disconnect`: What happens to a run when its last reader disconnects, and to a queued input when its client does.
        `continue`: both stay, and the input runs when it is its turn. `cancel`: the run is cancelled, and the input
        leaves the queue. On a platform, only the client that started the run counts as its reader. On Aegra, which has
        no queue, a queued input leaves with its client.
    `on_cancel`: What happens to text that a run has emitted but not stored when the run is stopped. `discard`: the
        client has it until it loads the thread again, or runs it. `save`: it is written to the thread in the name of
        the nodes that were emitting it, so that the next run has it too. Only for graphs of this process.
    `on_lost`: What happens to a run when the process that runs it is lost: killed, frozen, or cut off. `error`: the run
        ends with `RUN_ERROR`. `continue`: another process that serves the agent submits its input again, and LangGraph
        continues at the last checkpoint. Nodes that had not been stored run again. This requires a run store that other
        processes share or that is in a file, a checkpointer, and that all requests have this intake. Each step is
        stored before the next one begins (`durability="sync"`). Only for graphs of this process. See the guide to
        deployment.
    `dispatched_events`: Whether to emit what nodes and tools send with LangChain's `adispatch_custom_event`. It becomes
        a `CUSTOM` event, or messages, tool calls and state if it has one of the names of `ag-ui-langgraph` or
        CopilotKit (`manually_emit_message`, ...). A callback handler is added to the config of each run. Only for
        graphs of this process.
    `mark_structured_output`: Whether to mark model calls that return structured output, so that it is not shown as
        text; see `StructuredOutputMarker`, which is added to the config of each run. Only for graphs of this process;
        nothing is added to the runs of a platform.
    `breakpoints`: Whether clients may name nodes at which their runs pause, in `forwardedProps.command`. Such a client
        decides which nodes of a run are executed, and may drop the rest of the run. A client that sends the app's token
        may always do that.
    """

    state: Collection[str] | Literal["all", "without_messages"] = frozenset()
    context_fields: Collection[str] | Literal["all"] = frozenset()
    replaced: Collection[str] = frozenset()
    roles: Collection[str] = ROLES
    page_calls: Collection[str] = PAGE_CALLS
    page_tools: Collection[str] = frozenset()
    prepare: Prepare | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: object = None
    busy: Busy = "reject"
    shortened: Shortened = "continue"
    answer_cancelled: Callable[[Any], Any] | None = None
    on_disconnect: OnDisconnect = "continue"
    on_cancel: OnCancel = "discard"
    on_lost: OnLost = "error"
    dispatched_events: bool = False
    mark_structured_output: bool = True
    breakpoints: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES:
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name}: expected one of {get_args(choices)}, got {getattr(self, name)!r}")
        if unknown := sorted(set(self.roles) - ROLES):
            raise ValueError(f"roles: expected some of {', '.join(sorted(ROLES))}, got {', '.join(map(repr, unknown))}")
        for name, kind in (
            ("state", "channels"),
            ("context_fields", "fields"),
            ("replaced", "channels"),
            ("page_calls", "tools"),
            ("page_tools", "tools"),
        ):
            if isinstance(names := getattr(self, name), str) and (name, names) not in _WORDS:
                raise ValueError(f"{name}: expected a collection of {kind}, got the string {names!r}")
        if not isinstance(self.state, str) and "messages" in self.state:
            raise ValueError("state: expected channels of the state, got 'messages', which is the conversation")


async def call_prepare(intake: Intake, run_input: RunAgentInput) -> Prepared:
    """Returns what the owner's hook adds to a run. Raises what the hook raises, and `TypeError` if it does not return
    `Prepared`."""
    if intake.prepare is None:
        return Prepared()
    prepared = intake.prepare(run_input)
    if isawaitable(prepared):
        prepared = await prepared
    if not isinstance(prepared, Prepared):
        raise TypeError(f"prepare: expected Prepared, got {type(prepared).__name__}")
    return prepared
