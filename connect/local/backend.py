"""Compiled graphs as a backend: `Local`, the verbs on its threads. What each does is in the module of its name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, Final

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import ClientView, Options
from ..errors import log_context
from ..events.encoded import Batches
from ..events.readers import Reader, direct_options
from ..idle import idle_view
from ..inputs import Intake
from ..inputs.channels import check
from ..inputs.thread_state import ThreadState
from ..run_outcome import CancelResult, PastErrors, RunOutcome
from ..thread_info import ThreadStatus
from .checkpointers import answered, reading
from .checkpoints.thread_state import read
from .connect import attach_local, cancel_local
from .run.run import Run
from .run.runs import agent_of
from .source import GraphSource
from .submit import begin_local
from .thread import LocalThread
from .threads import LocalThreads
from .watch import watched_local

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
    """A compiled graph of this process, with or without a checkpointer.

    - `agent`: the name under which runs of this graph are found, and to which their threads belong (see `owners`).
      None: the graph object itself, so that a graph built anew for each request needs a name, and threads belong to no
      agent.
    - `runs`: the scope that owns its runs, with their run store; None: that of the app that serves the graph, or the
      agent of this name, in the event loop; or else the event loop's own.
    - `shares_threads_with`: the agents whose threads it may use beside its own.
    - `timeout`: seconds after which a run is stopped and fails with the code `timeout`; None is no limit.
    - `read_timeout`: seconds in which the checkpointer and the graph's store have to answer when a thread is read; then
      it counts as unreadable.

    Raises `TypeError` for anything but a compiled graph, and for one with a synchronous checkpointer; `ValueError` for
    one text in place of names, and for a timeout that is not above 0.
    """

    ids_in_url: ClassVar = False

    @property
    def name(self) -> object:
        """See `Backend`."""
        return agent_of(self.graph, self.agent)

    @property
    def depends_on(self) -> tuple[str, object]:
        """See `Backend`."""
        return "checkpointer", self.graph.checkpointer

    async def probe(self) -> None:
        """See `Backend`."""
        if isinstance(saver := self.graph.checkpointer, BaseCheckpointSaver):
            await answered(saver.aget_tuple(_PROBED), self.read_timeout)
        await self.runs.store.ping()

    @property
    def outlives_server(self) -> bool:
        """See `Backend`."""
        return self.runs.store.is_shared

    def run_on(self, thread_id: str) -> Run | None:
        """See `Backend`."""
        return self.runs.run_on(self.key(thread_id))

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """See `Backend`."""
        check(self.input_channels(options or self._options), intake)

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Local:
        """See `Backend`. There is no server to send them to."""
        return self

    async def submit(
        self,
        given: RunAgentInput,
        *,
        options: Options | None,
        intake: Intake,
        past_errors: PastErrors = "error",
        queue: int | None = None,
    ) -> Batches:
        """See `Backend`."""
        return await begin_local(self, given, options, intake, past_errors, queue)

    async def attach(
        self,
        thread_id: str,
        reader: Reader,
        options: Options | None,
        *,
        run_id: str | None = None,
        past_errors: PastErrors = "error",
    ) -> Batches:
        """See `Backend`."""
        return await attach_local(self, thread_id, reader, options, run_id=run_id, past_errors=past_errors)

    def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """See `Backend`."""
        return watched_local(self, thread_id, reader, options, past_errors=past_errors, poll=poll)

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Raises `TypeError`: a graph of this process has no assistants."""
        raise TypeError("watch: an assistant_id is for a platform; of a graph of this process watch a thread_id")

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """See `Backend`."""
        return "stopping" if await cancel_local(self, thread_id, run_id, wait=wait) == "stopping" else "stopped"

    @property
    def threads(self) -> LocalThreads:
        """See `Backend`."""
        return LocalThreads(self)

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """See `Backend`."""
        options, config = options or await self.options(), {"configurable": {"thread_id": thread_id}}
        with reading(log_context(self.name, thread_id)):
            thread = LocalThread(self, thread_id)
            now = await thread.now(options)
            if now is None:
                return None
            last = await self.runs.store.last(thread.key)
            reads = read(self.graph, config, last, options.messages_key)
            state = (await answered(reads, self.read_timeout)).thread
        if isinstance(now, RunOutcome):
            return replace(state, view=idle_view(thread_id, now, options), status=now.status)
        view = ClientView(version=options.protocol_version)
        async with aclosing(now.attach(Reader(direct_options(options)))) as batches:
            for each in await anext(batches, []):  # they bring a reader to where the run is
                view.apply(each.event)
        status, messages = _STATUSES.get(now.status, "idle"), state.messages
        return ThreadState(messages=messages, values=state.values, view=view, run_id=now.run_id, status=status)

    async def hold_threads(
        self, thread_id: str | None = None, run_id: str | None = None, *, waits: bool = True
    ) -> None:
        """See `Backend`."""
        if not self.runs.store.is_shared:
            with reading(log_context(self.name, thread_id, run_id)):
                await self._lock.take(self.read_timeout, waits=waits)

    async def release_threads(self) -> None:
        """See `Backend`."""
        if not self.runs.running:
            await self._lock.release()

    def stop_queued(self) -> list[asyncio.Task[Any]]:
        """See `Backend`."""
        return self.runs.stop_queued(self.name, self.key("").namespace)

    def keep_runs(self) -> None:
        """See `Backend`."""
        self.runs.keep(self.name, self.key("").namespace)

    async def ended(self) -> None:
        """See `Backend`."""
        await self.runs.ended(self.name, self.key("").namespace)

    async def stop(self) -> None:
        """See `Backend`."""
        await self.runs.stop(self.name, self.key("").namespace)
