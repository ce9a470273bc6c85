"""Compiled graphs as a backend: `Local`, with the operations on its threads. Each is in the module of its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import ClientView, Options
from ..default_options import options_for
from ..errors import Report, log_context
from ..events.encoded import Batches
from ..events.readers import Reader, direct_options
from ..idle import idle_view
from ..inputs import Intake
from ..inputs.channels import check
from ..inputs.thread_state import ThreadState
from ..run_outcome import CancelResult, PastErrors, RunOutcome
from ..thread_info import ThreadStatus
from .checkpointers import Graph, reading, wait_for_answer
from .connect import attach_local
from .finished_runs import recorded_run
from .run.queued_inputs import AgentKey
from .run.run import Run
from .source import GraphSource
from .submit import submit_local
from .thread import LocalThread
from .threads import LocalThreads
from .watch import watch_local

_PROBED: RunnableConfig = {"configurable": {"thread_id": "agui-ready", "checkpoint_ns": ""}}
"""A thread that nobody writes to. The probe needs an answer, even an empty one."""

_STATUSES: Final[Mapping[str, ThreadStatus]] = {
    "running": "running",
    "stopping": "running",
    "interrupted": "waiting",
    "failed": "failed",
}
"""The status of a thread, by the status of its run."""


class Local(GraphSource):
    """A compiled graph of this process, with or without a checkpointer; or the function that makes one for each run.

    - `graph`: the graph, or a function of a config, a user, or nothing (`make_graph(config)`, `make_graph(config,
      user)`). The function may be asynchronous, or return a context manager; see the module `factory`. It is called for
      each run, with the run's config, and for each thread that is read while it has no run. The context manager is left
      when the run has ended, and receives the run's error, if it failed. The config of a read has the `thread_id`, the
      user, and the strings, numbers and booleans of `configurable` that the thread's last run had. The key
      `__is_for_execution__` of `configurable` says whether the graph is going to be run. An exception of the function
      is the run's error (`RUN_ERROR`), and leaves the thread as it is. The graphs may have different models, tools and
      nodes, but must have the same channels and schemas.
    - `agent`: the name by which runs of this graph are found, and of the agent that owns their threads (see `owners`).
      With None, runs are found by the graph object, so a graph that you build for each request needs a name, and the
      threads belong to no agent.
    - `runs`: the scope that owns the runs, with their run store. None takes the scope of the app that serves the graph,
      or the agent of this name, in the event loop; else the event loop's own scope.
    - `shares_threads_with`: the agents whose threads it may use as well as its own.
    - `timeout`: seconds after which a run is stopped and fails with the code `timeout`. None means no limit.
    - `read_timeout`: seconds within which the checkpointer and the graph's store must answer when a thread is read.
      After that, the thread counts as unreadable.
    - `checkpointer`, `store`: for a graph that has none of its own. All graphs of a function use those of the first
      graph.

    Raises `TypeError` for anything but a compiled graph or such a function, and for a synchronous checkpointer. Raises
    `ValueError` for a single string in place of names, and for a timeout that is not above 0.
    """

    ids_in_url: ClassVar = False
    is_local: ClassVar = True
    watches_by: ClassVar = None

    @property
    def name(self) -> object:
        """See `Backend`."""
        if self.agent is None and self.factory is not None and not self.is_made:
            return self.factory.name
        return self.agent if self.agent is not None else self.graph

    @property
    def depends_on(self) -> tuple[str, object]:
        """See `Backend`."""
        return "checkpointer", self.graph.checkpointer if self.is_made else self.factory

    @property
    def template(self) -> Graph | None:
        """See `Backend`."""
        return self.graph if self.is_made else None

    async def probe(self) -> None:
        """See `Backend`. A function that makes graphs is not called, since it may need a user."""
        if self.is_made and isinstance(saver := self.graph.checkpointer, BaseCheckpointSaver):
            await wait_for_answer(saver.aget_tuple(_PROBED), self.read_timeout)
        await self.runs.store.ping()

    @property
    def outlives_server(self) -> bool:
        """See `Backend`."""
        return self.runs.store.is_shared

    @property
    def agent_key(self) -> AgentKey | None:
        """The key by which its runs and queued inputs are found; None while it has no graph, and so no runs."""
        return AgentKey(self.name, self.key("").namespace) if self.is_made else None

    def run_on(self, thread_id: str) -> Run | None:
        """See `Backend`."""
        return self.runs.run_on(self.key(thread_id)) if self.is_made else None

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """See `Backend`."""
        if self.is_made:  # otherwise it is checked when the server starts
            check(self.input_channels(options or options_for(self.graph)), intake)

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Local:
        """See `Backend`. Changes nothing, since headers are for platforms."""
        return self

    def reporting(self, report: Report, thread_id: str | None = None) -> Local:
        """See `Backend`. There is no server to lose."""
        return self

    submit = submit_local
    attach = attach_local

    async def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """See `Backend`. Raises nothing."""
        return watch_local(self, thread_id, reader, options, past_errors=past_errors, poll=poll)

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Raises `TypeError`: a graph of this process has no assistants."""
        raise TypeError(
            "watch: expected a thread_id for a graph of this process, got an assistant_id, which only platforms have"
        )

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """See `Backend`."""
        await self.prepare(thread_id, run_id)
        await self.hold_threads(thread_id, run_id)  # a run of another process would not be found
        return "stopped" if await LocalThread(self, thread_id).cancel(run_id, wait) else "stopping"

    @property
    def threads(self) -> LocalThreads:
        """See `Backend`."""
        return LocalThreads(self)

    async def recorded(self, thread_id: str, run_id: str, options: Options) -> Batches:
        """See `Backend`."""
        return await recorded_run(self, thread_id, run_id, options)

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """See `Backend`."""
        await self.prepare(thread_id)
        options = options or await self.options()
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        with reading(log_context(self.name, thread_id)):
            thread = LocalThread(self, thread_id)
            present = await thread.present(options)
            if present is None:
                return None
            last = await self.runs.store.last(thread.key)
            state = (await thread.read(await thread.graph(), config, last, options)).state
        if isinstance(present, RunOutcome):
            return replace(state, view=idle_view(thread_id, present, options), status=present.status)
        view = ClientView(version=options.protocol_version)
        async with aclosing(present.attach(Reader(direct_options(options)))) as batches:
            for encoded in await anext(batches, []):  # they bring a reader up to date with the run
                view.apply(encoded.event)
        status, messages = _STATUSES.get(present.status, "idle"), state.messages
        return ThreadState(messages=messages, values=state.values, view=view, run_id=present.run_id, status=status)

    async def stop(self) -> None:
        """Cancels its runs and queued inputs in this process, and waits until they have ended."""
        await self.runs.stop(self.agent_key)
        if self.factory is not None:
            await self.factory.aclose()
