"""Compiled graphs as a backend: `Local`, the verbs on its threads. What each does is in the module of its name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import ClientView, Options
from ..default_options import options_for
from ..errors import log_context
from ..events.encoded import Batches
from ..events.readers import Reader, direct_options
from ..idle import idle_view
from ..inputs import Intake
from ..inputs.channels import check
from ..inputs.thread_state import ThreadState
from ..run_outcome import CancelResult, PastErrors, RunOutcome
from ..thread_info import ThreadStatus
from .checkpointers import Graph, answered, reading
from .connect import attach_local
from .run.run import Run
from .source import GraphSource
from .submit import submit_local
from .thread import LocalThread
from .threads import LocalThreads
from .watch import watch_local

_PROBED: RunnableConfig = {"configurable": {"thread_id": "agui-ready", "checkpoint_ns": ""}}
"""A thread that nothing is written to: an empty answer will do."""

_STATUSES: Final[Mapping[str, ThreadStatus]] = {
    "running": "running",
    "stopping": "running",
    "interrupted": "waiting",
    "failed": "failed",
}
"""The status of a thread by that of its run."""


class Local(GraphSource):
    """A compiled graph of this process, with or without a checkpointer; or the function that makes one for each run.

    - `graph`: the graph; or a function of a config, a user, or nothing (`make_graph(config)`, `make_graph(config,
      user)`), which may be async, or return a context manager: see the module `factory`. It is called for each run,
      with the config that the run gets, and for each thread that is read while it has no run. The context manager is
      left when the run has ended, with its error, if it failed. The config of a read has the `thread_id`, the user, and
      the strings, numbers and booleans of `configurable` that the thread's last run had; `configurable` says whether
      the graph is going to be run (`__is_for_execution__`). What the function raises is the run's error (`RUN_ERROR`),
      and leaves the thread as it is. The graphs may have different models, tools and nodes; their channels and schemas
      have to be the same.
    - `agent`: the name under which runs of this graph are found, and to which their threads belong (see `owners`).
      None: the graph object itself, so that a graph that you build for each request needs a name, and threads belong to
      no agent.
    - `runs`: the scope that owns its runs, with their run store; None: that of the app that serves the graph, or the
      agent of this name, in the event loop; or else the event loop's own.
    - `shares_threads_with`: the agents whose threads it may use as well as its own.
    - `timeout`: seconds after which a run is stopped and fails with the code `timeout`; None is no limit.
    - `read_timeout`: seconds in which the checkpointer and the graph's store have to answer when a thread is read; then
      it counts as unreadable.
    - `checkpointer`, `store`: for a graph that has none. All graphs of a function have the same: those of the first.

    Raises `TypeError` for anything but a compiled graph or such a function, and for a synchronous checkpointer;
    `ValueError` for one text in place of names, and for a timeout that is not above 0.
    """

    ids_in_url: ClassVar = False
    is_local: ClassVar = True

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
        """See `Backend`. A function that makes graphs is not called: it may need a user."""
        if self.is_made and isinstance(saver := self.graph.checkpointer, BaseCheckpointSaver):
            await answered(saver.aget_tuple(_PROBED), self.read_timeout)
        await self.runs.store.ping()

    @property
    def outlives_server(self) -> bool:
        """See `Backend`."""
        return self.runs.store.is_shared

    def run_on(self, thread_id: str) -> Run | None:
        """See `Backend`."""
        return self.runs.run_on(self.key(thread_id)) if self.is_made else None

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """See `Backend`."""
        if self.is_made:  # else it is checked when the server starts
            check(self.input_channels(options or options_for(self.graph)), intake)

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Local:
        """See `Backend`. There is no server to send them to."""
        return self

    submit = submit_local
    attach = attach_local
    watch = watch_local

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Raises `TypeError`: a graph of this process has no assistants."""
        raise TypeError("watch: an assistant_id is for a platform; of a graph of this process watch a thread_id")

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """See `Backend`."""
        await self.prepare(thread_id, run_id)
        return "stopped" if await LocalThread(self, thread_id).cancel(run_id, wait) else "stopping"

    @property
    def threads(self) -> LocalThreads:
        """See `Backend`."""
        return LocalThreads(self)

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
            for encoded in await anext(batches, []):  # they bring a reader to where the run is
                view.apply(encoded.event)
        status, messages = _STATUSES.get(present.status, "idle"), state.messages
        return ThreadState(messages=messages, values=state.values, view=view, run_id=present.run_id, status=status)

    def stop_queued(self) -> list[asyncio.Task[Any]]:
        """Cancels the inputs that are queued in this process; their readers get a terminal event."""
        return self.runs.stop_queued(self.name, self.key("").namespace) if self.is_made else []

    def keep_runs(self) -> None:
        """Makes its active runs in this process, and its queued inputs, go on when their last reader leaves, whatever
        they were started with: the server sends its readers away, and they read elsewhere."""
        if self.is_made:
            self.runs.keep(self.name, self.key("").namespace)

    async def ended(self) -> None:
        """Waits until its runs in this process have ended, and those of its queued inputs."""
        if self.is_made:
            await self.runs.ended(self.name, self.key("").namespace)

    async def stop(self) -> None:
        """Cancels its runs in this process and what is queued, and waits for their end."""
        if self.is_made:
            await self.runs.stop(self.name, self.key("").namespace)
        if self.factory is not None:
            await self.factory.aclose()
