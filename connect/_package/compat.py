"""The names of `ag-ui-langgraph`, for an app that was written for it and changes only its import line.

    from langgraph_agui.compat import LangGraphAgent, add_langgraph_fastapi_endpoint

They are thin: an agent is served by `add_agui_routes`, with its checks, its limits and
`compatible_with="ag-ui-langgraph"`, and `LangGraphAgent.run` is `connect.run`. For every other name of that library,
the error says why it is not here, and what to use instead. `docs/migration.md` lists what is different.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, get_args

from ag_ui.core import Event, RunAgentInput
from langgraph.pregel import Pregel

from .connect import Intake, Local, options_for, run
from .connect.serve import Agent, AguiRoutes, add_agui_routes
from .connect.serve.compatible import compatible_intake, compatible_options
from .translator import Options

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI
    from fastapi.params import Depends

__all__ = ["LangGraphAgent", "add_langgraph_fastapi_endpoint"]

Visibility = Literal["inline", "attributed", "hidden"]

_IN_URLS: Final = re.compile(r"[/\\\x00-\x20\x7f?#%]")
"""Characters that `serve` allows in no agent's name, because the name is a part of URLs."""
_NOT_AT_THE_ROOT: Final = ("/threads", "/watch", "/ready", "/client.tgz")
"""Routes that an app is likely to have itself, below an agent whose path is `/`."""
_LIBRARIES: Final = ("ag_ui_langgraph", "copilotkit")
"""Packages whose agents are served as ours: what their methods do, `compatible_with` does."""
_SERVED: Final = "use langgraph_agui.connect.serve.add_agui_routes(app, Agent(graph, options=..., intake=...))"
_STAYS: Final = "it belongs to the graph and works here too: import it from ag_ui_langgraph as before"
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("get_a2ui_tools", "A2UIToolParams", "A2UIGuidelines", "A2UI_OPERATIONS_KEY", "BASIC_CATALOG_ID"), _STAYS
    ),
    "StateStreamingMiddleware": f"{_STAYS}, or write Options(predict_state=...)",
    "StateItem": f"{_STAYS}, or write Options(predict_state=...)",
    **dict.fromkeys(("CustomEventNames", "LangGraphEventTypes"), "write the names of the events as strings"),
    **{f"SUBAGENT_VISIBILITY_{name.upper()}": f"write {name!r}" for name in get_args(Visibility)},
    "make_json_safe": "events are made of any value, without it",
    "json_safe_stringify": "events are made of any value, without it",
    "run": "wrap the routes of add_agui_routes, or call run() in a route of your own",
    "get_state_snapshot": f"Options(state_include=...) decides which channels are visible; {_SERVED}",
    "langgraph_default_merge_state": f"Intake(state=..., prepare=...) decides what reaches the graph; {_SERVED}",
    "prepare_stream": f"Intake(prepare=..., config=..., context=...) decides how runs are started; {_SERVED}",
    "get_capabilities": f"write Agent(graph, capabilities=...); {_SERVED}",
}
"""What to use in place of a name of the other library, by name: of its module, and of its `LangGraphAgent`."""
_HOOKS: Final = frozenset(
    {
        "run",
        "prepare_stream",
        "prepare_regenerate_stream",
        "langgraph_default_merge_state",
        "get_state_snapshot",
        "get_schema_keys",
        "get_capabilities",
        "get_checkpoint_before_message",
        "handle_node_change",
        "handle_reasoning_event",
        "start_step",
        "end_step",
        "_dispatch_event",
        "_handle_single_event",
        "_handle_stream_events",
        "_interrupts_to_agui",
        "_build_command_from_agui_resume",
    }
)
"""Methods that a subclass overrides to change what a run shows or takes. Nothing calls them here."""


class LangGraphAgent:
    """A compiled graph under a name, as the class of this name in `ag-ui-langgraph`.

    Raises `TypeError` if the graph is not a compiled one, and `ValueError` for an unknown visibility.

    `name`, `description`: The name of the agent, to which its threads belong, and what it is good for.
    `graph`: A compiled graph.
    `config`: The config of every run: `recursion_limit`, `tags`, `callbacks`, `configurable`, ...
    `enable_legacy_on_interrupt_event`, `emit_interrupt_outcome`: Whether an interrupt is the custom event
        `on_interrupt`, and whether it is in `RUN_FINISHED.outcome`. Without either, it is in the outcome.
    `emit_raw_events`: Has no effect: `RAW` events are never emitted (see `Options.raw_events`).
    `emit_subagent_events`, `subagent_visibility`: How subagents are emitted, as in `Options.subagents`. True is another
        word for `attributed`, False for `inline`.

    The attributes may be changed until the agent is served. Any other attribute of that library's class raises
    `AttributeError`, which says what to use instead.
    """

    def __init__(
        self,
        *,
        name: str,
        graph: Pregel[Any, Any, Any, Any],
        description: str | None = None,
        config: Mapping[str, Any] | None = None,
        enable_legacy_on_interrupt_event: bool = True,
        emit_interrupt_outcome: bool = False,
        emit_raw_events: bool = True,
        emit_subagent_events: bool | None = None,
        subagent_visibility: Visibility | None = None,
    ) -> None:
        if not isinstance(graph, Pregel):
            raise TypeError(f"graph: expected a compiled graph, got {type(graph).__name__}")
        if subagent_visibility not in (None, *get_args(Visibility)):
            raise ValueError(
                f"subagent_visibility: expected one of {get_args(Visibility)}, got {subagent_visibility!r}"
            )
        self.name = name
        self.graph = graph
        self.description = description
        self.config = config or {}
        self.enable_legacy_on_interrupt_event = enable_legacy_on_interrupt_event
        self.emit_interrupt_outcome = emit_interrupt_outcome
        self.emit_raw_events = emit_raw_events
        self.subagent_visibility = subagent_visibility or "inline"
        self.emit_subagent_events = emit_subagent_events or self.subagent_visibility == "attributed"

    def clone(self) -> Self:
        """Returns a copy, whose attributes can be changed for one request. The graph is the same."""
        return copy(self)

    def run(self, input: RunAgentInput) -> AsyncGenerator[Event, None]:  # noqa: A002 - the name AG-UI gives it
        """Runs a client's input, and emits the events of the run. Nothing is kept in the agent, so that one agent may
        run many inputs at once. For what it raises see `langgraph_agui.connect.run`. Closing the iterator does not stop
        the run."""
        source = Local(self.graph, agent=_name_of(self))
        return run(source, input, options=_options_of(self), intake=_intake_of(self))

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_reason(f"LangGraphAgent.{name}", name), name=name, obj=self)


def add_langgraph_fastapi_endpoint(
    app: FastAPI | APIRouter,
    agent: LangGraphAgent,
    path: str = "/",
    *,
    dependencies: Sequence[Depends] | None = None,
    tags: list[str | Enum] | None = None,
    include_in_schema: bool = True,
) -> AguiRoutes:
    """Serves an agent at `POST path`, and its health at `GET path/health`, as the function of this name in
    `ag-ui-langgraph`. Connecting to a thread and stopping a run are below the same path, and CopilotKit's client can
    use it as its `runtimeUrl`. Below `/`, there are no routes for lists of threads, and none that would take a path
    from the rest of the app.

    `agent`: a `LangGraphAgent`, or CopilotKit's `LangGraphAGUIAgent`. `dependencies`: run for each request before its
    body is read, and may refuse it. `tags`, `include_in_schema`: as in FastAPI's `include_router`.

    Returns the routes. If the app's lifespan has already begun, enter theirs in it: `async with
    add_langgraph_fastapi_endpoint(...).lifespan(app): yield`.

    Raises `TypeError` for anything but such an agent, and for one of a subclass with methods that would not be called;
    and what `add_agui_routes` raises.
    """
    from fastapi import APIRouter

    _check(agent)
    served = Agent(
        agent.graph,
        name=agent.name,
        description=agent.description,
        options=_options_of(agent),
        intake=_intake_of(agent),
        compatible_with="ag-ui-langgraph",
    )
    prefix = path.rstrip("/")
    router = APIRouter()
    routes = add_agui_routes(router, {_name_of(agent): served}, prefix, dependencies=dependencies or ())
    taken = (f"{prefix}/{{", *(() if prefix else _NOT_AT_THE_ROOT))
    router.routes[:] = [route for route in router.routes if not getattr(route, "path", "").startswith(taken)]
    app.include_router(router, tags=tags, include_in_schema=include_in_schema)
    routes.service.enter_lifespan = routes.service.enter_lifespan.replace(
        add_agui_routes.__name__, add_langgraph_fastapi_endpoint.__name__
    )
    return routes


def _check(agent: Any) -> None:
    """Raises `TypeError` for what is not an agent, and for one with methods that the other library would call."""
    known = isinstance(agent, LangGraphAgent) or any(_package_of(kind) in _LIBRARIES for kind in type(agent).__mro__)
    if not known:
        raise TypeError(
            f"agent: expected a LangGraphAgent(name=..., graph=...) or CopilotKit's LangGraphAGUIAgent, got "
            f"{type(agent).__name__}"
        )
    for kind in type(agent).__mro__:
        if kind is LangGraphAgent or _package_of(kind) in _LIBRARIES:
            break
        if overridden := sorted(_HOOKS & vars(kind).keys()):
            raise TypeError(
                f"agent: {kind.__name__} overrides {', '.join(overridden)}, which would not be called here: "
                + "; ".join(dict.fromkeys(_INSTEAD.get(name, _SERVED) for name in overridden))
            )


def _package_of(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _name_of(agent: LangGraphAgent) -> str:
    """Returns the name under which an agent is served, and to which its threads belong."""
    return _IN_URLS.sub("-", agent.name)


def _options_of(agent: LangGraphAgent) -> Options:
    """Returns the options of an agent of either library; older versions of the other one have fewer attributes."""
    options = compatible_options(options_for(agent.graph, error_detail="code"))
    if not getattr(agent, "enable_legacy_on_interrupt_event", True):
        options = replace(options, interrupts="outcome")
    elif getattr(agent, "emit_interrupt_outcome", False):
        options = replace(options, interrupts="both")
    if getattr(agent, "subagent_visibility", "inline") == "hidden":
        return replace(options, subagents="hidden")
    return replace(options, subagents="attributed") if getattr(agent, "emit_subagent_events", False) else options


def _intake_of(agent: LangGraphAgent) -> Intake:
    return compatible_intake(Intake(config=agent.config or {}), is_local=True, is_page=True)


def _reason(what: str, name: str) -> str:
    return f"langgraph_agui.compat has no {what}: {_INSTEAD.get(name, _SERVED)}"


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    # Python replaces the message of an AttributeError in `from ... import`.
    raise ImportError(_reason(name, name), name=__name__)
