"""The agents of an app: `Agent`, and `AgentNames`, their names."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from http import HTTPStatus
from typing import Any, get_args

from ag_ui.core import AgentCapabilities
from langgraph.checkpoint.memory import InMemorySaver
from starlette.requests import Request

from ...translator import PROTOCOL_VERSION, Options
from ..access import names_of_agents
from ..backend import Backend, Source, backend_of
from ..default_options import options_for
from ..events.readers import for_version
from ..inputs import Intake
from ..inputs.channels import writable
from ..local.backend import Local
from ..local.channels import input_channels_of
from ..local.checkpointers import Graph, has_checkpointer
from ..local.continuing import continue_run
from ..local.factory import GraphFunction, UnusableGraphError, is_function
from ..local.run.runs import Runs, Served
from ..local.store.records import LostRun
from ..platform.calls import RetryPolicy
from ..platform.forwarded_headers import checked_names
from .compatible import CompatibleWith, compatible_intake, compatible_options
from .errors import Refusal

RESERVED = ("client.tgz", "health", "info", "ready", "threads", "watch")
"""Names that agents can't have, because they are routes. `agent` is allowed, because LangGraph's own templates call
their graph that, and paths below `/agent/` are longer than those below an agent's name."""
DEFAULT = "default"
"""The name of a single agent that has no other name. CopilotKit requests it for a page that names no agent."""

_NAME = re.compile(r"[^/\\\x00-\x20\x7f?#%]{1,128}")

_log = logging.getLogger(__name__)

IntakeOf = Callable[[Request], Intake | Awaitable[Intake]]


@dataclass(frozen=True)
class Agent:
    """A graph and how it is served: `Agent(graph, intake=...)`. A bare graph is served with these defaults.

    Raises `TypeError` and `ValueError` for a source or an argument that can't be served.

    `source`: A compiled graph, a `Local`, or a platform: a `Platform`, a `RemoteGraph`, or an asynchronous client of
        `langgraph_sdk`. It may also be a function that makes the graph of each run, `make_graph(config)` (see `Local`).
        The function is called once when the server starts, without a thread and a user, to read the graph's schemas. If
        it raises an exception, the first request calls it again, and until then the agent's capabilities are not known.
    `name`: The name that people see. None: the name under which the agent is served.
    `description`: What the agent is good for, in a sentence.
    `options`: How its runs are translated. None: the channels of the graph's output schema are visible, and an error
        shows only the exception's class, because the exception's text may quote a user. The protocol version is always
        the client's.
    `intake`: Which parts of an input reach the graph. Either an `Intake`, or a function that returns one for each
        request and may depend on the user.
    `capabilities`: The capabilities that clients are told. None: those that can be derived from the graph.
    `retry`: How often and for how long requests to a platform are retried. None: the default `RetryPolicy()`.
    `shares_threads_with`: Names of other agents whose threads it may use. A thread belongs to the first agent that ran
        on it, and does not exist for any other.
    `headers`: Names of the request headers that are forwarded to the platform. No others are. The platform's client
        never sends headers of these names on its own, even if a request has none.
    `compatible_with`: The library for whose pages it is served, `ag-ui-langgraph`. The module `compatible` lists what
        changes. None: no other library.
    """

    source: Source | GraphFunction
    _: KW_ONLY
    name: str | None = None
    description: str | None = None
    options: Options | None = None
    intake: Intake | IntakeOf = field(default_factory=Intake)
    capabilities: AgentCapabilities | None = None
    retry: RetryPolicy | None = None
    shares_threads_with: Iterable[str] = frozenset()
    headers: tuple[str, ...] = ()
    compatible_with: CompatibleWith | None = None

    def __post_init__(self) -> None:
        graph: Any = self.source
        source = Local(graph) if is_function(graph) else backend_of(graph, self.retry)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "shares_threads_with", names_of_agents(self.shares_threads_with))
        object.__setattr__(self, "headers", checked_names(self.headers))
        if self.compatible_with not in (None, *get_args(CompatibleWith)):
            raise ValueError(f"compatible_with: expected 'ag-ui-langgraph' or None, got {self.compatible_with!r}")
        if self.headers and self.backend.is_local:
            raise ValueError("headers: expected none for a graph of this process: they are forwarded to a platform")
        if not (isinstance(self.intake, Intake) or callable(self.intake)):
            raise TypeError(
                f"intake: expected an Intake or a function that returns one, got {type(self.intake).__name__}"
            )
        if isinstance(self.intake, Intake):
            self.backend.check_intake(self.intake, self.options)

    @property
    def backend(self) -> Backend:
        """The source, as the backend that runs it and has its threads."""
        source: Any = self.source
        return backend_of(source)

    async def prepare(self, name: str) -> None:
        """Makes the first graph, if the source is a function that makes the graphs. An exception of the function is
        logged, because it may need a user. In that case, the first request makes the graph. Raises `ValueError` if the
        intake names channels that the graph's input does not have, and `TypeError` if the function returns something
        other than a graph."""
        backend = self.backend
        if not isinstance(backend, Local) or backend.factory is None or backend.is_made:
            return
        try:
            await backend.prepare_first()
        except UnusableGraphError:
            raise
        except Exception as error:
            _log.warning(
                "The graph of agent %r could not be made at the start (%s: %s). The first request makes it, with its "
                "config and its user; until then the agent's capabilities are not known.",
                name,
                type(error).__name__,
                error,
            )
            return
        if isinstance(self.intake, Intake):
            backend.check_intake(self.intake, self.options)
        _warn_of_threads(name, backend.graph, is_shared=backend.outlives_server)

    def named(self, name: str, runs: Runs | None = None) -> Agent:
        """Returns the agent as it is served under this name, to which its threads belong. Options that depend on a
        graph of this process are filled in. If the graph has no `Runs` of its own, it uses `runs`."""
        options = self.options
        if options is None and (graph := self.backend.template) is not None:
            options = options_for(graph, error_detail="code")
        source = self.backend.named(name, self.shares_threads_with)
        if isinstance(source, Local) and isinstance(self.intake, Intake):
            source = source.taking(self.intake)
        if runs is not None and isinstance(source, Local):
            source = source.within(runs)
        return replace(self, source=source, options=options)

    def served(self) -> Served | None:
        """Returns the agent as callers find it that know only its graph or its name, and as its lost runs are
        continued; None for a platform."""
        source, intake = self.backend, self.intake
        if not isinstance(source, Local):
            return None
        if not isinstance(intake, Intake) or intake.on_lost != "continue":
            return source.served()

        async def continue_lost(lost: LostRun) -> None:
            await source.prepare(lost.thread.thread_id, lost.claim.run_id)
            options = await self.options_for(source, PROTOCOL_VERSION)
            await continue_run(source, self._adapted(intake, is_page=True), options, lost)

        return source.served()._replace(continue_run=continue_lost)

    async def intake_for(self, request: Request) -> Intake:
        """Returns the intake for this request."""
        intake = self.intake if isinstance(self.intake, Intake) else self.intake(request)
        if inspect.isawaitable(intake):
            intake = await intake
        return self._adapted(intake, is_page="origin" in request.headers)

    def _adapted(self, intake: Intake, *, is_page: bool) -> Intake:
        if self.compatible_with is None:
            return intake
        return compatible_intake(intake, is_local=self.backend.is_local, is_page=is_page)

    def writable(self) -> list[str] | None:
        """Returns the names of the channels that clients may write, or None if they depend on the request or are not
        known."""
        if not isinstance(self.intake, Intake):
            return None
        intake, graph = self._adapted(self.intake, is_page=True), self.backend.template
        if not isinstance(intake.state, str):
            return sorted(intake.state)
        key = (self.options or Options()).messages_key
        return None if graph is None else sorted(writable(input_channels_of(graph, key), intake))

    async def options_for(self, source: Backend, version: str | None) -> Options:
        """Returns the options for a client of this protocol version. Raises what `Platform.options` raises."""
        if self.options is not None:
            return for_version(self.adjusted(self.options), version)
        return self.adjusted(replace(await source.options(), error_detail="code", protocol_version=version))

    def adjusted(self, options: Options) -> Options:
        """Returns these options with the changes that `compatible_with` makes."""
        return options if self.compatible_with is None else compatible_options(options)


@dataclass(frozen=True, slots=True)
class AgentNames:
    """The names of the agents of an app. `are_shown`: whether error messages list them."""

    names: tuple[str, ...]
    are_shown: bool

    @property
    def only(self) -> str | None:
        """The name of the agent, if there is only one."""
        return self.names[0] if len(self.names) == 1 else None

    def sentence(self) -> str:
        """Returns a sentence that lists the agents, or an empty text if error messages do not list them."""
        return f" The agents are: {', '.join(self.names)}." if self.are_shown else ""

    def checked(self, name: str) -> str:
        """Returns the name if an agent has it. Raises `Refusal` (404) otherwise."""
        if name not in self.names:
            raise Refusal(HTTPStatus.NOT_FOUND, "unknown_agent", f"There is no such agent.{self.sentence()}")
        return name

    def named(self, name: str | None) -> str:
        """Returns the name of the agent that a request names. If there is only one agent, None and `default` mean that
        one. Raises `Refusal` if there are several agents and the request names none, or one that does not exist."""
        only = self.only
        if only is not None and name in (None, DEFAULT):
            return only
        if name is None:
            message = f"Name an agent with ?agent=.{self.sentence()}"
            raise Refusal(HTTPStatus.BAD_REQUEST, "agent_expected", message)
        return self.checked(name)


Agents = Mapping[str, Agent | Source | GraphFunction] | Agent | Source | GraphFunction
"""Agents by their names in the URL, or a single agent."""


def agents_of(
    agents: Agents, compatible_with: CompatibleWith | None = None, runs: Runs | None = None
) -> dict[str, Agent]:
    """Returns the agents by name: those of a mapping, or a single one as `default`. `compatible_with` and `runs` are
    for agents that have none of their own. Raises `TypeError` and `ValueError`."""
    sources = agents if isinstance(agents, Mapping) else {DEFAULT: agents}
    if not sources:
        raise ValueError("agents: expected at least one")
    served, is_shared = {}, runs is not None and runs.store.is_shared
    for name, source in sources.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.strip("."):
            raise ValueError(f"agents: {name!r} can't be an agent's name: it can't be in the path of a URL")
        if name in RESERVED:
            raise ValueError(
                f"agents: {name!r} is a route, and can't be an agent's name (routes: {', '.join(RESERVED)})"
            )
        try:
            agent = source if isinstance(source, Agent) else Agent(source)
        except TypeError as error:
            raise TypeError(f"agents: {name!r}: {error}") from None
        agent = replace(agent, compatible_with=agent.compatible_with or compatible_with)
        served[name] = agent = agent.named(name, runs)
        if (graph := agent.backend.template) is not None:
            _warn_of_threads(name, graph, is_shared=is_shared)
        if (names := agent.writable()) is not None:
            _log.info("Pages may write these channels of agent %r: %s.", name, ", ".join(names) or "none")
    return served


def _warn_of_threads(name: str, graph: Graph, *, is_shared: bool) -> None:
    if not has_checkpointer(graph):
        _log.warning("The graph of agent %r has no checkpointer: its threads are forgotten after each run.", name)
    elif is_shared and isinstance(graph.checkpointer, InMemorySaver):
        _log.warning(
            "The threads of agent %r are in the memory of this process, but its runs are in a store that is shared: "
            "other processes do not have the threads.",
            name,
        )
