"""Where runs are: `Local` and `Platform`, and what is taken as one. No I/O but asking for what is
known of an assistant's graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from typing import Any
from uuid import UUID

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ..translator import Options
from .inputs.channels import Places, places_of_schemas
from .local.checkpointers import check_saver, place_of
from .local.run_store import Runs, default_runs
from .platform.channels import with_reducers
from .platform.http import PlatformError
from .platform.retry import Policy
from .platform.thread import NOT_FOUND, answer
from .shown import options_for, options_for_schemas

_ACCEPTED = (
    "expected a compiled graph, a RemoteGraph, an asynchronous client of langgraph_sdk (get_client()), "
    "or Local(graph) or Platform(client) of one"
)

_HAS_NONE = (NOT_FOUND, 405, 501)
"""What a server says to a question that it does not know."""


class Local:
    """A compiled graph of this process, with or without a checkpointer.

    `agent`: the name under which runs of this graph are found, and to which their threads belong (see `owners`); None:
    the graph object itself, so that a graph built anew for each request needs a name, and threads belong to no agent.
    `shares_threads_with`: the agents whose threads it may use beside its own. `runs`: the registry that has its runs;
    None: the event loop's default one.
    Raises `TypeError` for what is no compiled graph, and for one with a synchronous checkpointer; `ValueError` for one
    text in place of names.
    """

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        *,
        agent: str | None = None,
        runs: Runs | None = None,
        shares_threads_with: Iterable[str] = (),
    ) -> None:
        if not isinstance(graph, Pregel):
            raise TypeError(f"Local: expected a compiled graph, got {_named(graph)}")
        check_saver(graph)
        self.graph = graph
        self.agent = agent
        self.shares_threads_with = names_of_agents(shares_threads_with)
        self._runs = runs

    @property
    def runs(self) -> Runs:
        """The registry that has the graph's runs; without one of its own, the running event loop's."""
        return default_runs() if self._runs is None else self._runs

    @property
    def place(self) -> Hashable:
        """Where its threads are, as the registry knows it."""
        return place_of(self.graph, self.agent)

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Local:
        """The same as it is served under a name: its own, if it has one."""
        same = copy(self)
        same.agent = self.agent or agent
        same.shares_threads_with = self.shares_threads_with.union(shares_threads_with)
        return same

    def takes(self, owner: str | None) -> bool:
        """Whether it may use threads of an owner; None: of no agent."""
        return self.agent is None or owner is None or owner in {self.agent, *self.shares_threads_with}

    async def may_use(self, thread_id: str) -> bool:
        """Whether the thread belongs to no other agent. Raises what the checkpointer raises."""
        saver = self.graph.checkpointer
        if self.agent is None or not isinstance(saver, BaseCheckpointSaver):
            return True
        return self.takes(await self.runs.owners.find((self.place, thread_id), saver, self.agent))

    async def options(self, assistant_id: str | None = None) -> Options:
        """The options when none are given: the channels of the graph's output schema."""
        return options_for(self.graph)


class Platform:
    """A server that speaks LangGraph Platform's interface: the platform itself, `langgraph dev`, Aegra.

    `client`: of `langgraph_sdk.get_client()`; its address, headers and transport are used, never closed.
    `assistant_id`: whose output schema says what is shown; None: the assistant of the run that is told.
    Raises `TypeError` for what is no asynchronous client.
    """

    def __init__(self, client: LangGraphClient, assistant_id: str | None = None) -> None:
        if not isinstance(client, LangGraphClient):
            raise TypeError(f"Platform: expected an asynchronous client of langgraph_sdk, got {_named(client)}")
        self.client = client
        self.assistant_id = assistant_id
        self._schemas: dict[str, Mapping[str, Any] | None] = {}
        self._places: dict[str, Places] = {}
        self.dropped: set[str] = set()
        """The kinds of what clients have sent and the assistant has no place for."""

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Platform:
        """The same as it is served under a name. A platform's threads belong to no agent."""
        return self

    def through(self, client: LangGraphClient) -> Platform:
        """The same, by another client. What it said of its graphs' schemas is not asked for again."""
        same = Platform(client, self.assistant_id)
        same._schemas, same._places, same.dropped = self._schemas, self._places, self.dropped
        return same

    async def options(self, assistant_id: str | None = None, policy: Policy | None = None) -> Options:
        """The options when none are given: the channels of the assistant's output schema; asked for once.

        `assistant_id`: the assistant of the run that is told. `policy`: how long a server that can't be reached is
        waited for. All channels, where the server has no schemas; none, where it has, but not (any more) of the run's
        assistant. Raises `PlatformError` and `Cut` where it does not say, or does not know the assistant that it was
        given, because then nothing may be shown.
        """
        wanted = self.assistant_id if is_assistant_id(self.assistant_id) else assistant_id or self.assistant_id
        if wanted is None:
            return Options()
        try:
            return options_for_schemas(await self.schemas(wanted, policy))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            if not await self._has_assistants(policy):
                return Options()  # what it gives out is all that is known
            if wanted == self.assistant_id:
                raise
            return Options(state_include=frozenset())

    async def schemas(self, wanted: str, policy: Policy | None = None) -> Mapping[str, Any] | None:
        """The schemas of an assistant, or of the first one of a graph; asked for once.

        Raises `PlatformError` (404 for an assistant that is not there, and where there are no schemas) and `Cut`.
        """
        if wanted not in self._schemas:
            self._schemas[wanted] = await self._asked(wanted, policy or Policy())
        return self._schemas[wanted]

    async def places(self, messages_key: str, policy: Policy, *, decided: bool = False) -> Places:
        """Where a client's input goes in the assistant's graph. `decided`: and which of its channels have a reducer, as
        far as the platform lets that be known; asked for once. Raises as `schemas` does, but for what is not there."""
        try:
            schemas = await self.schemas(str(self.assistant_id), policy) or {}
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            schemas = {}
        found = self._places.get(messages_key) or places_of_schemas(schemas, messages_key)
        if decided and found.reducers is None:
            graph_id = str(schemas.get("graph_id") or self.assistant_id)
            found = await with_reducers(self.client, graph_id, found, policy)
            if found.reducers is not None:
                self._places[messages_key] = found
        return found

    async def _has_assistants(self, policy: Policy | None) -> bool:
        """Whether the server has assistants: then it has their schemas, but not those of one that is unknown."""
        try:
            return bool(await answer(lambda: self.client.assistants.search(limit=1), policy or Policy()))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return False

    async def _asked(self, wanted: str, policy: Policy) -> Mapping[str, Any] | None:
        """The schemas as the server has them: by an assistant's id only."""
        if not is_assistant_id(wanted):
            found = await answer(lambda: self.client.assistants.search(graph_id=wanted, limit=1), policy)
            if not found:
                raise PlatformError(NOT_FOUND, f"There is no assistant of a graph {wanted!r}.")
            wanted = str(found[0]["assistant_id"])
        return await answer(lambda: self.client.assistants.get_schemas(wanted), policy)


def is_assistant_id(name: str | None) -> bool:
    """Whether this is an assistant's id, a UUID; if not, it is the name of a graph."""
    try:
        UUID(name or "")
    except ValueError:
        return False
    return True


Source = Local | Platform


def source_of(given: Any) -> Source:
    """The source that `given` is or stands for; raises `TypeError`, saying what came and what is accepted."""
    if isinstance(given, Local | Platform):
        return given
    if isinstance(given, Pregel):
        return Local(given)
    if isinstance(given, LangGraphClient):
        return Platform(given)
    if isinstance(given, RemoteGraph):
        if isinstance(given.client, LangGraphClient):
            return Platform(given.client, given.assistant_id)
        raise TypeError(f"this RemoteGraph has no asynchronous client; {_ACCEPTED}")
    raise TypeError(f"{_ACCEPTED}; got {_named(given)}")


def names_of_agents(given: Iterable[str]) -> frozenset[str]:
    """Names of agents; raises `ValueError` for a text, whose letters would be taken for names."""
    if isinstance(given, str):
        raise ValueError(f"shares_threads_with: expected names of agents, got the text {given!r}")
    return frozenset(given)


def _named(given: Any) -> str:
    name = type(given).__name__
    if isinstance(given, StateGraph):
        return f"{name}, which is not compiled: call .compile() on it"
    if isinstance(given, SyncLangGraphClient):
        return f"{name}, which is synchronous: use get_client()"
    return name
