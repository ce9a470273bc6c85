"""What is served: `Agent`, and the names that agents may have. Never how a request reaches one."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ag_ui.core import AgentCapabilities
from starlette.requests import Request

from ...translator import Options
from ..backend import Backend, backend_of
from ..inputs import Intake
from ..inputs.channels import check
from ..local.channels import input_channels_of
from ..local.checkpointers import has_checkpointer
from ..local.source import Local, names_of_agents
from ..platform.retry import RetryPolicy
from ..platform.source import Platform
from ..shown import options_for
from .forwarded_headers import checked_names, forwarded

RESERVED = ("health", "info", "watch")
"""Names that are routes. `agent` is none: what is below `/agent/` is longer than what is below an agent's name, and it
is what LangGraph's own templates call their graph."""
DEFAULT = "default"
"""The name of a single agent that was given none; CopilotKit asks for it where a page names no other."""

_NAME = re.compile(r"[^/\\\x00-\x20\x7f?#%]{1,128}")

_log = logging.getLogger(__name__)

IntakeOf = Callable[[Request], Intake | Awaitable[Intake]]


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A graph as it is served. Raises `TypeError` and `ValueError` for what can't be served so.

    Of one that is given as its source alone, all the rest is as it stands here.
    """

    source: Any
    """A compiled graph, a `Local`, or what stands for a platform: see `connect`."""
    name: str | None = None
    """What people call it; None: the name under which it is served."""
    description: str | None = None
    """What it is good for, in a sentence."""
    options: Options | None = None
    """How its runs are told; None shows the channels of its output schema, and of an error its class alone: what it
    says may quote what somebody said. The protocol version is the client's."""
    intake: Intake | IntakeOf = field(default_factory=Intake)
    """What of an input reaches the graph; may be made for each request, from who asks."""
    capabilities: AgentCapabilities | None = None
    """What clients are told it can do; None: what can be seen of it."""
    retry: RetryPolicy | None = None
    """How long a platform that can't be reached is waited for."""
    shares_threads_with: frozenset[str] = frozenset()
    """The names of other agents whose threads it may use. A thread of a checkpointer belongs to the agent whose run was
    the first on it, and does not exist for any other. Without effect on a platform, whose threads have no owner."""
    headers: tuple[str, ...] = ()
    """The names of the request's headers that are sent on to the platform; no other is. The platform's client sends
    none of these names by itself then, also where a request has none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", backend_of(self.source))
        object.__setattr__(self, "shares_threads_with", names_of_agents(self.shares_threads_with))
        object.__setattr__(self, "headers", checked_names(self.headers))
        if self.headers and not isinstance(self.source, Platform):
            raise ValueError("headers: expected none for a graph of this process: they are sent on to a platform")
        if not (isinstance(self.intake, Intake) or callable(self.intake)):
            raise TypeError(f"intake: expected an Intake or what makes one, got {type(self.intake).__name__}")
        if isinstance(self.intake, Intake) and isinstance(self.source, Local):
            graph = self.source.graph
            check(input_channels_of(graph, (self.options or options_for(graph)).messages_key), self.intake)

    def named(self, name: str) -> Agent:
        """The same, with a source that knows under which name it is served: threads belong to that."""
        return replace(self, source=self.source.named(name, self.shares_threads_with))

    def source_for(self, request: Request) -> Backend:
        """The source, as whoever asks sees it."""
        source: Backend = self.source
        return forwarded(source, request.headers, self.headers) if isinstance(source, Platform) else source

    async def intake_for(self, request: Request) -> Intake:
        """What is taken from whoever asks."""
        if isinstance(self.intake, Intake):
            return self.intake
        made = self.intake(request)
        return await made if inspect.isawaitable(made) else made

    async def options_for(self, source: Backend, version: str | None) -> Options:
        """How it is told to a client of this protocol version. Raises as `Platform.options`."""
        if self.options is not None:
            options = self.options
        elif isinstance(source, Platform):
            options = replace(await source.options(policy=self.retry), error_detail="code")
        else:
            options = replace(await source.options(), error_detail="code")
        return replace(options, protocol_version=version)


def agents_of(given: Any) -> dict[str, Agent]:
    """The agents by their names: of a mapping its own, of a single one `default`. Raises `TypeError`, `ValueError`."""
    named = given if isinstance(given, Mapping) else {DEFAULT: given}
    if not named:
        raise ValueError("agents: expected one at least")
    for name in named:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.strip("."):
            raise ValueError(f"agents: {name!r} can't be in a URL's path, so it can be no agent's name")
        if name in RESERVED:
            raise ValueError(f"agents: {name!r} is a route of its own ({', '.join(RESERVED)} are): choose another name")
    found = {name: each if isinstance(each, Agent) else Agent(source=each) for name, each in named.items()}
    for name, agent in found.items():
        found[name] = agent = agent.named(name)
        if isinstance(agent.source, Local) and not has_checkpointer(agent.source.graph):
            _log.warning("The graph of agent %r has no checkpointer: its threads are forgotten after each run.", name)
    return found
