"""`GraphSource`: a compiled graph, or the function that makes one for each request, and its threads. It is the part of
`Local` without the operations (`backend`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, Self
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from ...translator import Options, Translator
from ..access import Access, Metadata, names_of_agents, user_config
from ..default_options import options_for
from ..errors import GraphNotMadeError, log_context
from ..graph_structure import GraphStructure, structure_of
from ..inputs import Intake
from ..inputs.channels import InputChannels
from ..inputs.configs import merge_configs
from .channels import input_channels_of
from .checkpointers import READ_TIMEOUT, Graph, check_saver, reading, with_threads
from .factory import GraphFactory, GraphFunction, is_function
from .process_lock import ProcessLock
from .run.runs import Runs, Served, check_timeout, default_runs, runs_of
from .schemas import context_schema_of, input_schema_of
from .store.active_run import ActiveRun, ThreadKey

_log = logging.getLogger(__name__)

_unused: WeakKeyDictionary[Graph, dict[str | None, set[str]]] = WeakKeyDictionary()
"""By graph and agent: the kinds of input that the graph has no field for. A `Local` may be made for each request."""


class GraphSource:
    """A compiled graph, the scope of its runs and the agent that owns its threads; see `Local`."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any] | GraphFunction,
        *,
        agent: str | None = None,
        runs: Runs | None = None,
        shares_threads_with: Iterable[str] = (),
        timeout: float | None = None,
        read_timeout: float = READ_TIMEOUT,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
    ) -> None:
        self.factory: GraphFactory | None = None
        """Makes the graph of each request; None if all requests have the same graph."""
        self._graph: Graph | None = None
        if isinstance(graph, Pregel):
            self._graph = with_threads(graph, checkpointer, store)
            check_saver(self._graph)
        elif is_function(graph):
            self.factory = GraphFactory(graph, checkpointer, store, agent)
        else:
            raise TypeError(f"Local: expected a compiled graph, or a function that makes one, got {type_of(graph)}")
        check_timeout(timeout)
        check_timeout(read_timeout, "read_timeout")
        self.timeout = timeout
        self.read_timeout = read_timeout
        """Seconds within which the checkpointer and the graph's store must answer."""
        self.agent = agent
        self.user: Any = None
        """The user who makes the request. Runs have it in their config."""
        self.access = Access(agent, names_of_agents(shares_threads_with))
        """Decides which threads may be used."""
        self._runs = runs
        self._locks: list[ProcessLock] = []
        """The lock on the threads of its runs. All copies that are made for requests have the same list."""
        self.make_translator: Callable[..., Translator] = Translator
        """Makes the translator of each run; see `RunSetup`."""
        self.intake: Intake | None = None
        """The intake of all its requests, if an app serves it with one."""
        self.is_served = False
        """Whether an app serves it: then it does not take the runs of another app."""
        self._options = None if self._graph is None else options_for(self._graph)
        self._input_channels: dict[str, InputChannels] = {}
        """By the conversation's channel. All copies of a source share the dictionary, since graphs do not change."""
        self._schemas: dict[str, Any] = {}
        """The graph's JSON schemas, empty until they are asked for. All copies share this dictionary too."""

    @property
    def is_made(self) -> bool:
        """Whether there is a graph: a function may not have made one yet."""
        return self.factory is None or self.factory.template is not None

    @property
    def graph(self) -> Graph:
        """The graph; or the first one that a function has made, which has the checkpointer, the store and the schemas
        of all. Raises `RuntimeError` if there is none; see `prepare`."""
        graph = self._graph if self.factory is None else self.factory.template
        if graph is None:
            raise RuntimeError("no graph has been made yet: a function makes one for each request")
        return graph

    async def prepare(self, thread_id: str | None = None, run_id: str | None = None) -> None:
        """Makes the first graph, if a function makes graphs and has not made one. Logs and raises
        `GraphNotMadeError`."""
        if self.factory is not None and self.factory.template is None:
            label = log_context(self.agent or self.factory.name, thread_id, run_id)
            try:
                await self.factory.prepare(user_config(self.user), self.user, label)
            except Exception as error:
                _log.exception("The graph could not be made (%s).", label)
                raise GraphNotMadeError(error) from error

    async def prepare_first(self) -> None:
        """Makes the first graph when a server starts, without a thread and a user. Raises what the function raises."""
        if self.factory is not None:
            await self.factory.prepare({}, None, log_context(self.agent or self.factory.name, None))

    async def graph_to_read(self, config: Mapping[str, Any], thread_id: str | None = None) -> Graph:
        """Returns the graph with which a thread, or a list of threads, is read. A function makes it for this config and
        the user. Logs and raises `GraphNotMadeError`."""
        if self.factory is None:
            return self.graph
        await self.prepare(thread_id)
        label = log_context(self.agent or self.factory.name, thread_id)
        try:
            return await self.factory.read(merge_configs(config, user_config(self.user)), self.user, label)
        except Exception as error:
            _log.exception("The graph could not be made (%s).", label)
            raise GraphNotMadeError(error) from error

    @property
    def runs(self) -> Runs:
        """The scope that owns the graph's runs: the one that was passed in; else that of the app that serves the graph
        or the agent; else that of the running event loop."""
        if self._runs is not None:
            return self._runs
        if self.is_served or not self.is_made:
            return default_runs()
        return runs_of(self.graph, self.agent)

    @property
    def unused(self) -> set[str]:
        """The kinds of input that clients have sent, and that the graph has no field for."""
        if not self.is_made:
            return set()
        return _unused.setdefault(self.graph, {}).setdefault(self.agent, set())

    def key(self, thread_id: str) -> ThreadKey:
        """Returns the key of one of its threads in the run store."""
        runs = self.runs
        return runs.store.key(self.graph, self.agent or runs.name_of(self.graph), thread_id)

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Self:
        """Returns a copy that is served under a name, which is its own if it has one."""
        same = copy(self)
        same.agent = self.agent or agent
        same.access = self.access.named(agent, shares_threads_with)
        same._locks, same.is_served = [], True
        return same

    @property
    def _lock(self) -> ProcessLock:
        if not self._locks:
            names = {self.agent or "", *self.access.shares_threads_with}
            self._locks.append(ProcessLock(self.graph.checkpointer, names))
        return self._locks[0]

    async def hold_threads(
        self, thread_id: str | None = None, run_id: str | None = None, *, waits: bool = True
    ) -> None:
        """Takes the lock by which this process alone runs on the threads of a source that an app serves (see
        `process_lock`), unless a shared run store decides who runs. Does nothing before the first graph is made, since
        it is not known yet where its threads are.

        `thread_id`, `run_id`: for the log. `waits`: whether to wait for a process that may be about to end. Raises
        `OtherProcessError`, and `UnreadableError` for an error of the checkpointer."""
        if self.is_served and self.is_made and not self.runs.store.is_shared:
            with reading(log_context(self.agent or self.graph, thread_id, run_id)):
                await self._lock.take(self.read_timeout, waits=waits)

    async def release_threads(self) -> None:
        """Lets other processes run on its threads, if no runs are active in this process."""
        if self.is_made and not self.runs.running:
            await self._lock.release()

    def served(self) -> Served:
        """Returns the graph with its name, for callers that know only one of the two."""
        return Served(self.agent or "", lambda: self.graph if self.is_made else None, self.runs)

    def taking(self, intake: Intake) -> Self:
        """Returns a copy whose requests all have this intake."""
        same = copy(self)
        same.intake = intake
        return same

    def within(self, runs: Runs) -> Self:
        """Returns a copy whose runs are in this scope, unless it has a scope of its own."""
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
            raise ValueError("$contains: expected one value, got several: the metadata of a checkpoint have no lists")
        return same

    @property
    def stamp(self) -> dict[str, Any]:
        """The metadata of a thread that is created, in the form that a checkpoint takes."""
        return {key: value[0] if isinstance(value, list) else value for key, value in self.access.stamp.items()}

    async def readable_run(self, key: ThreadKey) -> ActiveRun | None:
        """Returns the active run of a thread, in any process; or the last run, if it is kept."""
        return (await self.runs.store.now(key)).readable

    async def options(self) -> Options:
        """Returns the default options, which show the channels of the graph's output schema. If a function can't make
        the first graph, they show only the conversation; the request then fails with the reason."""
        if self._options is not None:
            return self._options
        assert self.factory is not None
        if not self.is_made:
            with suppress(Exception):
                await self.factory.prepare(user_config(self.user), self.user, str(self.agent))
        return self.factory.options

    def input_channels(self, options: Options) -> InputChannels:
        """Returns the channels in which the graph takes its input."""
        key = options.messages_key
        if key not in self._input_channels:
            self._input_channels[key] = input_channels_of(self.graph, key)
        return self._input_channels[key]

    async def input_schemas(self, options: Options) -> tuple[Mapping[str, Any], InputChannels]:
        """See `Backend`."""
        await self.prepare()
        if not self._schemas:
            self._schemas["input_schema"] = input_schema_of(self.graph)
            self._schemas["context_schema"] = context_schema_of(self.graph)
        return self._schemas, self.input_channels(options)

    async def graph_structure(self) -> GraphStructure:
        """See `Backend`."""
        graph = await self.graph_to_read({})
        return structure_of((await graph.aget_graph(xray=True)).to_json())


def type_of(value: object) -> str:
    """Describes a value that is not a compiled graph: its type, and how to compile it."""
    name = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    return f"{name}, which is not compiled: call .compile() on it" if isinstance(value, StateGraph) else name
