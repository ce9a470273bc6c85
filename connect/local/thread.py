"""`LocalThread`: one thread of a compiled graph in this process, for one agent and user.

All code that reads, runs, watches or stops a thread uses this class. A thread that the agent or the user may not use
looks like one that does not exist.

The run store is asked before and after the checkpointer is read, since a run may have started, or even ended,
meanwhile. So the result belongs to one moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import Options
from ..errors import RunNotFoundError, log_context
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import RunOutcome
from .checkpointers import Graph, has_checkpointer, wait_for_answer
from .checkpoints.history import history
from .checkpoints.outcome import outcome_without_checkpoint
from .checkpoints.thread_state import CheckpointRead, newest, outcome_at, read
from .run.runs import agent_of
from .source import GraphSource
from .store.active_run import ActiveRun, LastRun
from .store.retention import KeptRun

_OF_LANGGRAPH: Final = frozenset({"source", "step", "parents", "run_id", "thread_id", "writes"})
"""The metadata of a checkpoint that do not come from `configurable`."""

_RESERVED: Final = ("agui_", "langgraph_", "__")
"""Prefixes of the names of other metadata that do not count as left by a run, such as those of the user."""


class LocalThread:
    """A thread of a source. Its methods raise what the checkpointer raises."""

    def __init__(self, source: GraphSource, thread_id: str) -> None:
        self.source = source
        self.id = thread_id
        self.key = source.key(thread_id)
        """The thread as the run store knows it."""
        self.is_quiet = False
        """Whether no run was active, and no input waited, when `present` had read the thread."""
        self._made: tuple[Mapping[str, Any], Graph] | None = None
        """The graph that was made to read the thread, after the values of `configurable` that it was made with."""

    def label(self, run_id: str | None = None) -> str:
        """Returns the names of the agent, the thread and the run for log lines."""
        return log_context(agent_of(self.source.graph, self.source.agent), self.id, run_id)

    async def may_be_used(self) -> bool:
        """Returns whether this agent and this user may use the thread. Asks the store for a run of the thread, since
        another process may have started one."""
        return not self.source.access.keys or await self.may_be_used_with(await self.source.readable_run(self.key))

    async def may_be_used_with(self, run: ActiveRun | None) -> bool:
        """Returns the same as `may_be_used`, if the caller knows which run of the thread can be read."""
        source, key = self.source, self.key
        access, saver = source.access, source.graph.checkpointer
        if not access.keys:
            return True
        if run is not None:  # its thread may have no checkpoint yet
            source.runs.owners.note(key, run.metadata)
        if not isinstance(saver, BaseCheckpointSaver):
            return access.allows(source.runs.owners.known(key))
        return access.allows(await wait_for_answer(source.runs.owners.find(key, saver, access), source.read_timeout))

    def may_still_be_used(self) -> bool:
        """Returns the same as `may_be_used`, by what this process has learned since then, without asking again."""
        return self.source.access.allows(self.source.runs.owners.known(self.key))

    async def graph(self) -> Graph:
        """Returns the graph with which the thread is read. If a function makes graphs, it makes this one for the user
        who reads the thread. Its config has the values of `configurable` that the last run left in the thread's newest
        checkpoint, since the graph may depend on them. A thread without a checkpoint needs no graph of its own."""
        if self.source.factory is None or (left := await self._left_by_run()) is None:
            return self.source.graph
        if self._made is None or self._made[0] != left:
            config = {"configurable": {**left, "thread_id": self.id}}
            self._made = left, await self.source.graph_to_read(config, self.id)
        return self._made[1]

    async def _left_by_run(self) -> Mapping[str, Any] | None:
        """Returns the values of `configurable` that LangGraph keeps in a checkpoint, next to its own metadata. The user
        is left out, since the reader may be another one. Returns None for a thread that has no checkpoint, or that may
        not be used."""
        saver = self.source.graph.checkpointer
        if not isinstance(saver, BaseCheckpointSaver) or not await self.may_be_used():
            return None
        at: Any = {"configurable": {"thread_id": self.id, "checkpoint_ns": ""}}
        saved = await wait_for_answer(saver.aget_tuple(at), self.source.read_timeout)
        if saved is None:
            return None
        metadata: Mapping[str, Any] = saved.metadata
        return {
            name: value
            for name, value in metadata.items()
            if name not in _OF_LANGGRAPH and not name.startswith(_RESERVED)
        }

    async def read(
        self, graph: Graph, config: RunnableConfig, last: LastRun | None, options: Options
    ) -> CheckpointRead:
        """Reads the state, for an input or for `connect.thread`. `graph`: the graph that reads it. `last`: how the last
        run ended, as the run store knows it."""
        return await wait_for_answer(read(graph, config, last, options.messages_key), self.source.read_timeout)

    async def active(self) -> ActiveRun | None:
        """Returns the run that is active on the thread, in any process."""
        run = await self.source.runs.store.active(self.key)
        return run if run is not None and await self.may_be_used_with(run) else None

    async def finished_runs(self) -> list[KeptRun]:
        """Returns the runs that the run store keeps, the newest first. Each has the metadata of the thread from when it
        began, and counts only if the thread may be used with these: if its checkpoints are gone, nothing else says
        whose it is."""
        kept = await self.source.runs.store.finished_runs(self.key)
        return [run for run in reversed(kept) if self.source.access.allows(run.metadata)]

    async def cancel(self, run_id: str | None, wait: float) -> bool:
        """Stops the active run, and returns whether its graph has stopped within `wait` seconds. `run_id`: the run that
        must be the active one; None takes any. Raises `RunNotFoundError` if there is no such run."""
        run = await self.active()
        if run is None:
            raise RunNotFoundError(f"no run is active on thread {self.id!r}")
        if run_id not in (None, run.run_id):
            raise RunNotFoundError(f"run {run_id!r} is not active on thread {self.id!r}; {run.run_id!r} is")
        return await run.cancel(wait) != "stopping"

    async def present(self, options: Options) -> ActiveRun | RunOutcome | None:
        """Returns the active run, if it can be read; or the last run of a graph without a checkpointer; or else how the
        last run ended, as these options show it. Returns None if the thread is unknown, or may not be used."""
        present, run = await self._read_present(options)
        return present if present is not None and await self.may_be_used_with(run) else None

    async def _read_present(self, options: Options) -> tuple[ActiveRun | RunOutcome | None, ActiveRun | None]:
        """Returns the present state of the thread, and its run that can be read."""
        source, store, key = self.source, self.source.runs.store, self.key
        while True:
            facts = await store.now(key)
            run, last = facts.active, facts.last
            if run is not None and run.status == "stopping" and await run.stream_end():
                continue  # the run has ended, and the checkpoint has its state
            if run is not None and run.is_readable:
                return run, run
            if not has_checkpointer(source.graph):
                self.is_quiet = run is None and not facts.has_inputs
                return (None if last is None else last.run), facts.readable
            graph = await self.graph()
            idle = await wait_for_answer(self._idle(graph, last), source.read_timeout)
            if idle is not None:
                config = {"configurable": {"thread_id": self.id}}
                checkpoints = history(graph, config, source.read_timeout)
                number = last.number if last is not None and last.run_id == idle.run_id else 0
                idle = replace(await outcome_with_replaced(idle, options, checkpoints), number=number)
            facts = await store.now(key)
            if facts.active is run and facts.last == last:
                source.runs.note_outcome(key, idle, source.agent or source.graph)
                self.is_quiet = run is None and not facts.has_inputs
                return idle, facts.readable

    async def _idle(self, graph: Graph, last: LastRun | None) -> RunOutcome | None:
        state = await newest(graph, {"configurable": {"thread_id": self.id}})
        if state.metadata is None and state.created_at is None:
            return outcome_without_checkpoint(last)
        return await outcome_at(graph, state, last)
