"""What an owner of a graph lets a client's input do: `Intake`, and what a hook adds to one run: `Prepared`."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, Literal, get_args

from ag_ui.core import RunAgentInput

from ..former_names import former_names

OnDisconnect = Literal["continue", "cancel"]
"""What becomes of a run when its last reader leaves."""
OnCancel = Literal["discard", "save"]
"""What becomes of the text that a run has emitted and not stored when it is stopped."""
Busy = Literal["reject", "queue", "cancel"]
"""What becomes of a run that is to start on a thread that has an active one: it is refused, it waits, or the other is
cancelled."""
Shortened = Literal["continue", "fork"]
"""What an input means that has something new and is without some messages of the thread: that the client lost them, so
that the thread continues; or that it took them back, so that the thread forks where the two differ."""


ROLES: Final = frozenset({"user", "assistant", "tool", "system", "developer"})
"""AG-UI's roles of the messages of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the hook `Intake.prepare` adds to one run.

    `config`: Merged over the intake's own; `configurable` and `metadata` key by key.
    `context`: The graph's runtime context; merged over the intake's own, key by key where both are mappings.
    `values`: Values by channel, written as a node would write them: through the channels' reducers.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    context: object = None
    values: Mapping[str, Any] = field(default_factory=dict)


ALL: Final = "all"
PAGE_CALLS: Final = frozenset({"log_a2ui_event"})
"""The tool whose call CopilotKit's runtime adds to a conversation when a user presses a button of an A2UI surface:
https://github.com/ag-ui-protocol/ag-ui/tree/main/middlewares/a2ui-middleware"""

Prepare = Callable[[RunAgentInput], Prepared | Awaitable[Prepared]]


_CHOICES: Final = (
    ("busy", Busy),
    ("shortened", Shortened),
    ("on_disconnect", OnDisconnect),
    ("on_cancel", OnCancel),
)


@former_names(on_cancelled="answer_cancelled")
@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What is accepted from a client, and how its runs are started. Raises `ValueError` for an unknown choice.

    What begins with `on_` is a choice; `prepare` and `answer_cancelled` are functions of yours.

    `state`: Names of the channels that the client's state is written to: replaced, not reduced. Never the messages.
        `"all"`: each channel of the graph's input, but the messages, those for a front end's tools, and names that
        begin with `_`; for graphs that trust their clients.
    `replaced`: On a platform, names of the channels with a reducer among those that a client writes (`state`; `tools`,
        `copilotkit`, `ag-ui`): no platform says which have one. Their values are replaced by LangGraph's `Overwrite`. A
        channel with a reducer that is not named gets the client's value through it; one without must not be named.
    `roles`: The roles whose messages are accepted. Without `system` and `developer` no client gives a model
        instructions as yours are given; without `tool` none gives the result of a call; without `assistant` none
        brings answers to a new thread.
    `page_calls`: Names of tools whose calls a page may add to a conversation itself, each with its result, to say what
        its user did: a call and its result at the end of the messages are run as a user's message is. By default the
        one that A2UI surfaces add. Tools that the graph has are refused, but those of a platform, or of a node that
        runs tools by itself, are not known: do not name any of them.
    `page_tools`: On a platform, names of the page's tools whose results let a run pass a static breakpoint. A platform
        does not say which tools its graph runs itself, and a breakpoint may be there for a human to decide about those.
    `prepare`: A function of the input that is called before it runs, and the only way for its `forwardedProps` to a
        graph. It returns `Prepared`, may be async, and raises `InvalidInputError` to refuse.
    `config`: The config of every run: `recursion_limit`, `tags`, `configurable`, ...
    `context`: The runtime context of every run.
    `busy`: What happens to an input for a thread that has a run. `reject`: it is refused. `queue`: it waits. `cancel`:
        the run is cancelled.
    `shortened`: What a new message means from a client that sends only some of the thread's messages. `continue`: it
        lost them, and the thread continues. `fork`: it took them back, and the thread forks where the two differ; for
        front ends that give an edited message a new id, and always send all their messages.
    `answer_cancelled`: A function of the value of an interrupt that the user cancelled, which gives what it is resumed
        with. That must fit the interrupt's schema, or the input is refused. None: an approval of LangChain's middleware
        is rejected, any other interrupt is resumed with `{"status": "cancelled"}`.
    `on_disconnect`: What happens to a run when its last reader leaves, and to a queued input when its client does.
        `continue`: both stay, and the input runs when its turn comes. `cancel`: the run is cancelled, and the input
        leaves the queue. On a platform the run's reader is the client that started it: others are not counted;
        on Aegra, which has no queue, a queued input leaves with its client.
    `on_cancel`: What happens to the text that a run has emitted and not stored when it is stopped. `discard`: the
        client has it until it loads the thread again, or runs it. `save`: it is written to the thread, as the
        nodes that were emitting it, so that the next run has it too. For a graph of this process; not on a platform.
    `dispatched_events`: Whether what nodes and tools send with LangChain's `adispatch_custom_event` is emitted: as
        `CUSTOM`, and messages, tool calls and state that they send under the names of `ag-ui-langgraph` or CopilotKit
        (`manually_emit_message`, ...) as such. A callback handler is added to the config of each run. For a graph of
        this process; not on a platform.
    `mark_structured_output`: Whether model calls are marked whose answer is structured output, so that it is not shown
        as text; see `StructuredOutputMarker`, which is added to the config of each run. For a graph of this process: to
        the runs of a platform nothing is added.
    """

    state: Collection[str] | Literal["all"] = frozenset()
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
    dispatched_events: bool = False
    mark_structured_output: bool = True

    @property
    def on_cancelled(self) -> Callable[[Any], Any] | None:
        """The former name of `answer_cancelled`; raises a `DeprecationWarning`."""
        warnings.warn("Intake: on_cancelled is called answer_cancelled now", DeprecationWarning, stacklevel=2)
        return self.answer_cancelled

    def __post_init__(self) -> None:
        for name, kind in _CHOICES:
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name}: expected one of {get_args(kind)}, got {getattr(self, name)!r}")
        if unknown := sorted(set(self.roles) - ROLES):
            raise ValueError(f"roles: expected some of {', '.join(sorted(ROLES))}, got {', '.join(map(repr, unknown))}")
        for name, what in (
            ("state", "channels"),
            ("replaced", "channels"),
            ("page_calls", "tools"),
            ("page_tools", "tools"),
        ):
            if isinstance(names := getattr(self, name), str) and (name, names) != ("state", ALL):
                raise ValueError(f"{name}: expected a collection of {what}, got the text {names!r}")
        if "messages" in self.state:
            raise ValueError("state: 'messages' is the conversation, which is no state")


async def prepared(intake: Intake, given: RunAgentInput) -> Prepared:
    """What the owner's hook adds to a run. Raises what it raises, and `TypeError` for what is no `Prepared`."""
    if intake.prepare is None:
        return Prepared()
    made = intake.prepare(given)
    if isawaitable(made):
        made = await made
    if not isinstance(made, Prepared):
        raise TypeError(f"prepare: expected Prepared, got {type(made).__name__}")
    return made
