"""A compiled graph and its threads: `GraphSource`, all of `Local` but its verbs (`backend`)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Self
from weakref import WeakKeyDictionary

from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel

from ...translator import Options
from ..access import Access, Metadata, names_of_agents
from ..default_options import options_for
from ..inputs.channels import InputChannels
from .channels import input_channels_of
from .checkpointers import READ_TIMEOUT, Graph, check_saver
from .process_lock import ProcessLock
from .run.runs import Runs, Served, check_timeout, default_runs, runs_of
from .store.active_run import ActiveRun, ThreadKey

_unused: WeakKeyDictionary[Graph, dict[str | None, set[str]]] = WeakKeyDictionary()
"""By graph and agent: what clients have sent and the graph has no field for. A `Local` may be made for each request."""


class GraphSource:
    """A compiled graph, the scope of its runs and the agent that owns its threads; see `Local`."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        *,
        agent: str | None = None,
        runs: Runs | None = None,
        shares_threads_with: Iterable[str] = (),
        timeout: float | None = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        if not isinstance(graph, Pregel):
            raise TypeError(f"Local: expected a compiled graph, got {type_of(graph)}")
        check_saver(graph)
        check_timeout(timeout)
        check_timeout(read_timeout, "read_timeout")
        self.timeout = timeout
        self.read_timeout = read_timeout
        """Seconds in which the checkpointer and the graph's store have to answer."""
        self.graph = graph
        self.agent = agent
        self.user: Any = None
        """Who makes the request; runs have it in their config."""
        self.access = Access(agent, names_of_agents(shares_threads_with))
        """Which threads may be used."""
        self._runs = runs
        self._lock = self._new_lock()
        self._is_served = False
        """Whether it is an app's: then it has no other app's runs."""
        self._options = options_for(graph)
        self._input_channels: dict[str, InputChannels] = {}
        """By the conversation's channel. The same object in all copies of a source: graphs do not change."""

    @property
    def runs(self) -> Runs:
        """What owns the graph's runs; without one of its own, that of the app that serves the graph or the agent, or
        else the running event loop's."""
        if self._runs is not None:
            return self._runs
        return default_runs() if self._is_served else runs_of(self.graph, self.agent)

    @property
    def unused(self) -> set[str]:
        """The kinds of what clients have sent and the graph has no field for."""
        return _unused.setdefault(self.graph, {}).setdefault(self.agent, set())

    def key(self, thread_id: str) -> ThreadKey:
        """One of its threads, as the run store knows it."""
        runs = self.runs
        return runs.store.key(self.graph, self.agent or runs.name_of(self.graph), thread_id)

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Self:
        """The same as it is served under a name: its own, if it has one."""
        same = copy(self)
        same.agent = self.agent or agent
        same.access = self.access.named(agent, shares_threads_with)
        same._lock, same._is_served = same._new_lock(), True
        return same

    def _new_lock(self) -> ProcessLock:
        """The lock on the threads that its runs may have: one for all copies that are made for requests."""
        return ProcessLock(self.graph.checkpointer, {self.agent or "", *self.access.shares_threads_with})

    def served(self) -> Served:
        """The graph under its name, for who names only one of them."""
        return Served(self.agent or "", self.graph, self.runs)

    def within(self, runs: Runs) -> Self:
        """The same, whose runs are in this scope, unless it has one of its own."""
        same = copy(self)
        same._runs = self._runs or runs
        return same

    def for_user(self, user: Any, where: Metadata, creates: Metadata | bool = True) -> Self:
        """See `Backend`."""
        if user is self.user and (where, creates) == (self.access.where, self.access.creates):
            return self
        same = copy(self)
        same.user, same.access = user, replace(self.access, where=where, creates=creates)
        if any(isinstance(value, list) and len(value) > 1 for value in same.access.stamp.values()):
            raise ValueError("$contains: expected one value: a checkpoint's metadata has no lists")
        return same

    @property
    def stamp(self) -> dict[str, Any]:
        """The metadata of a thread that is created, as a checkpoint takes them."""
        return {key: value[0] if isinstance(value, list) else value for key, value in self.access.stamp.items()}

    async def readable_run(self, key: ThreadKey) -> ActiveRun | None:
        """The active run of a thread, in whatever process, or an ended one that is kept."""
        last = await self.runs.store.last(key)
        return await self.runs.store.active(key) or (None if last is None else last.run)

    async def options(self) -> Options:
        """The options when none are given: the channels of the graph's output schema."""
        return self._options

    def input_channels(self, options: Options) -> InputChannels:
        """The places in which the graph takes its input."""
        key = options.messages_key
        if key not in self._input_channels:
            self._input_channels[key] = input_channels_of(self.graph, key)
        return self._input_channels[key]


def type_of(given: object) -> str:
    """The type of a value that is no compiled graph, and how to make one of it."""
    name = type(given).__name__
    return f"{name}, which is not compiled: call .compile() on it" if isinstance(given, StateGraph) else name
