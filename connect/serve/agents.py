"""What is served: `Agent`, and the names that agents may have."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from http import HTTPStatus
from typing import Any, get_args

from ag_ui.core import AgentCapabilities
from langgraph.checkpoint.memory import InMemorySaver
from starlette.requests import Request

from ...translator import Options
from ..access import Grant, names_of_agents
from ..backend import Backend, Source, backend_of
from ..default_options import options_for
from ..events.readers import for_version
from ..inputs import Intake
from ..local.backend import Local
from ..local.checkpointers import Graph, has_checkpointer
from ..local.factory import GraphFunction, UnusableGraphError, is_function
from ..local.run.runs import Runs
from ..platform.calls import RetryPolicy
from ..platform.forwarded_headers import checked_names
from .compatible import CompatibleWith, compatible_intake, compatible_options
from .errors import Refusal

RESERVED = ("health", "info", "ready", "threads", "watch")
"""Names that are routes. `agent` is allowed: paths below `/agent/` are longer than those below an agent's name, and
LangGraph's own templates call their graph that."""
DEFAULT = "default"
"""The name of a single agent that is given without one; CopilotKit uses it where a page names no agent."""

_NAME = re.compile(r"[^/\\\x00-\x20\x7f?#%]{1,128}")

_log = logging.getLogger(__name__)

IntakeOf = Callable[[Request], Intake | Awaitable[Intake]]


@dataclass(frozen=True)
class Agent:
    """A graph as it is served: `Agent(graph, intake=...)`. A graph that is given alone has these defaults.

    Raises `TypeError` and `ValueError` for what can't be served.

    `source`: A compiled graph, a `Local`, or what stands for a platform: a `Platform`, a `RemoteGraph`, an asynchronous
        client of `langgraph_sdk`. Or a function that makes the graph of each run, `make_graph(config)`: see `Local`.
        It is called once when the server starts, without a thread and a user, for the graph's schemas. If it raises
        then, the first request calls it again, and until then the agent's capabilities are not known.
    `name`: The name that people see; None: the name under which it is served.
    `description`: What it is good for, in a sentence.
    `options`: How its runs are translated. None: the channels of its output schema are visible, and of an error only
        the exception's class, because its text may quote what a user wrote. The protocol version is always the
        client's.
    `intake`: What of an input reaches the graph: an `Intake`, or a function that makes one for each request, which may
        depend on the user.
    `capabilities`: What clients are informed that it can do; None: what can be derived from the graph.
    `retry`: For how long a platform that can't be reached is retried; None: the default `RetryPolicy()`.
    `shares_threads_with`: Names of other agents whose threads it may use. A thread belongs to the agent that ran on it
        first, and does not exist for any other.
    `headers`: Names of request headers that are forwarded to the platform; no other is. The platform's client sends
        none of these names by itself then, also where a request has none.
    `compatible_with`: The library whose pages it serves, `ag-ui-langgraph`; the module `compatible` says what changes.
        None: none.
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
        given: Any = self.source
        source = Local(given) if is_function(given) else backend_of(given, self.retry)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "shares_threads_with", names_of_agents(self.shares_threads_with))
        object.__setattr__(self, "headers", checked_names(self.headers))
        if self.compatible_with not in (None, *get_args(CompatibleWith)):
            raise ValueError(f"compatible_with: expected 'ag-ui-langgraph' or None, got {self.compatible_with!r}")
        if self.headers and self.backend.is_local:
            raise ValueError("headers: expected none for a graph of this process: they are sent on to a platform")
        if not (isinstance(self.intake, Intake) or callable(self.intake)):
            raise TypeError(f"intake: expected an Intake or what makes one, got {type(self.intake).__name__}")
        if isinstance(self.intake, Intake):
            self.backend.check_intake(self.intake, self.options)

    @property
    def backend(self) -> Backend:
        """The source as what has its threads and runs it."""
        source: Any = self.source
        return backend_of(source)

    async def prepare(self, name: str) -> None:
        """Makes the first graph, where a function makes one for each request. What it raises is logged, because it may
        need a user; the first request makes the graph then. Raises `ValueError` for an intake that names channels which
        the graph does not take in, and `TypeError` if it is no graph."""
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
        """The same agent with a source that knows under which name it is served: threads belong to that name. Its
        options are complete, where they depend on a graph of this process, and its runs are in the scope `runs`, where
        it has none of its own."""
        options = self.options
        if options is None and (graph := self.backend.template) is not None:
            options = options_for(graph, error_detail="code")
        source = self.backend.named(name, self.shares_threads_with)
        if runs is not None and isinstance(source, Local):
            source = source.within(runs)
        return replace(self, source=source, options=options)

    def source_for(self, user: Any, grant: Grant, sent: Sequence[tuple[bytes, bytes]]) -> Backend:
        """The source for one request. `user`, `grant`: its user, and which threads this user may use. `sent`: the
        request's headers, of which a platform gets those that `headers` names. Raises `ValueError` for an invalid
        filter."""
        return self.backend.for_user(user, *grant).with_headers(sent, self.headers)

    async def intake_for(self, request: Request) -> Intake:
        """The intake for this request."""
        intake = self.intake if isinstance(self.intake, Intake) else self.intake(request)
        if inspect.isawaitable(intake):
            intake = await intake
        if self.compatible_with is None:
            return intake
        return compatible_intake(intake, is_local=self.backend.is_local)

    async def options_for(self, source: Backend, version: str | None) -> Options:
        """The options for a client of this protocol version. Raises as `Platform.options`."""
        if self.options is not None:
            return for_version(self.adjusted(self.options), version)
        return self.adjusted(replace(await source.options(), error_detail="code", protocol_version=version))

    def adjusted(self, options: Options) -> Options:
        """These options, for the pages that it serves."""
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
        """A sentence that lists the agents; empty where error messages do not list them."""
        return f" The agents are: {', '.join(self.names)}." if self.are_shown else ""

    def checked(self, name: str) -> str:
        """The name, if an agent has it; raises `Refusal` (404)."""
        if name not in self.names:
            raise Refusal(HTTPStatus.NOT_FOUND, "unknown_agent", f"There is no such agent.{self.sentence()}")
        return name

    def named(self, name: str | None) -> str:
        """The name of the agent that a request means; None and `default` are the only one. Raises `Refusal`."""
        only = self.only
        if only is not None and name in (None, DEFAULT):
            return only
        if name is None:
            message = f"Expected ?agent= and the name of one.{self.sentence()}"
            raise Refusal(HTTPStatus.BAD_REQUEST, "agent_expected", message)
        return self.checked(name)


Agents = Mapping[str, Agent | Source | GraphFunction] | Agent | Source | GraphFunction
"""Agents by their names in the URL, or a single one."""


def agents_of(
    given: Agents, compatible_with: CompatibleWith | None = None, runs: Runs | None = None
) -> dict[str, Agent]:
    """The agents by name: those of a mapping, or a single one as `default`. `compatible_with`: of those that do not say
    it themselves. `runs`: the scope of graphs that have none of their own. Raises `TypeError`, `ValueError`."""
    named = given if isinstance(given, Mapping) else {DEFAULT: given}
    if not named:
        raise ValueError("agents: expected at least one")
    found, is_shared = {}, runs is not None and runs.store.is_shared
    for name, each in named.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.strip("."):
            raise ValueError(f"agents: {name!r} can't be an agent's name: it can't be in the path of a URL")
        if name in RESERVED:
            raise ValueError(f"agents: {name!r} is a route ({', '.join(RESERVED)} are): choose another name")
        try:
            agent = each if isinstance(each, Agent) else Agent(each)
        except TypeError as error:
            raise TypeError(f"agents: {name!r}: {error}") from None
        agent = replace(agent, compatible_with=agent.compatible_with or compatible_with)
        found[name] = agent = agent.named(name, runs)
        if (graph := agent.backend.template) is not None:
            _warn_of_threads(name, graph, is_shared=is_shared)
    return found


def _warn_of_threads(name: str, graph: Graph, *, is_shared: bool) -> None:
    if not has_checkpointer(graph):
        _log.warning("The graph of agent %r has no checkpointer: its threads are forgotten after each run.", name)
    elif is_shared and isinstance(graph.checkpointer, InMemorySaver):
        _log.warning("The threads of agent %r are in the memory of this process, and its runs in a shared store.", name)
