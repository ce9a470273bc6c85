"""One thread of a compiled graph in this process, as its agent and user have it: `LocalThread`.

What reads, runs, watches or stops a thread finds it here, and so never has one that may not be used: that one is
unknown.

The run store is asked first, and again after the checkpointer was read: a run may have started, or even ended,
meanwhile. So what is found is of one moment.
"""

from __future__ import annotations

from dataclasses import replace

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import Options
from ..errors import log_context
from ..replaced_messages import with_replaced
from ..run_outcome import RunOutcome
from .checkpointers import answered, has_checkpointer
from .checkpoints.history import history
from .checkpoints.outcome import outcome_without_checkpoint
from .checkpoints.thread_state import newest, outcome_at
from .run.runs import agent_of
from .source import GraphSource
from .store.active_run import ActiveRun, LastRun


class LocalThread:
    """A thread of a source. Its methods raise what the checkpointer raises."""

    def __init__(self, source: GraphSource, thread_id: str) -> None:
        self.source = source
        self.id = thread_id
        self.key = source.key(thread_id)
        """The thread as the run store knows it."""

    def label(self, run_id: str | None = None) -> str:
        """The agent, the thread and the run, as log lines name them."""
        return log_context(agent_of(self.source.graph, self.source.agent), self.id, run_id)

    async def may_be_used(self, now: ActiveRun | RunOutcome | None = None) -> bool:
        """Whether the thread is no other agent's, and no other user's. `now`: what is to be read or stopped; without a
        run in it the store is asked for one, since another process may have started it."""
        source, key = self.source, self.key
        access, saver = source.access, source.graph.checkpointer
        if not access.keys:
            return True
        run = await source.readable_run(key) if now is None or isinstance(now, RunOutcome) else now
        if run is not None:  # its thread may have no checkpoint yet
            source.runs.owners.note(key, run.metadata)
        if not isinstance(saver, BaseCheckpointSaver):
            return access.allows(source.runs.owners.known(key))
        return access.allows(await answered(source.runs.owners.find(key, saver, access), source.read_timeout))

    def may_still_be_used(self) -> bool:
        """The same, by what this process has learned since it asked."""
        return self.source.access.allows(self.source.runs.owners.known(self.key))

    async def active(self) -> ActiveRun | None:
        """The run that is active on it, in whatever process."""
        run = await self.source.runs.store.active(self.key)
        return run if run is not None and await self.may_be_used(run) else None

    async def now(self, options: Options) -> ActiveRun | RunOutcome | None:
        """The active run, if it can be read, or an ended one of a graph without a checkpointer, or else how the last
        one ended, as these options show it; None for a thread that is unknown, or may not be used."""
        found = await self._found(options)
        return found if found is not None and await self.may_be_used(found) else None

    async def _found(self, options: Options) -> ActiveRun | RunOutcome | None:
        source, store, key = self.source, self.source.runs.store, self.key
        while True:
            run, last = await store.active(key), await store.last(key)
            if run is not None and run.status == "stopping" and await run.stream_end():
                continue  # the checkpoint has what the run left
            if run is not None and run.is_readable:
                return run
            if not has_checkpointer(source.graph):
                return None if last is None else last.run
            idle = await answered(self._idle(last), source.read_timeout)
            if idle is not None:
                config = {"configurable": {"thread_id": self.id}}
                checkpoints = history(source.graph, config, source.read_timeout)
                number = last.number if last is not None and last.run_id == idle.run_id else 0
                idle = replace(idle, values=await with_replaced(idle.values, options, checkpoints), number=number)
            if await store.active(key) is run and await store.last(key) == last:
                source.runs.note_outcome(key, idle, source.agent or source.graph)
                return idle

    async def _idle(self, last: LastRun | None) -> RunOutcome | None:
        state = await newest(self.source.graph, {"configurable": {"thread_id": self.id}})
        if state.metadata is None and state.created_at is None:
            return outcome_without_checkpoint(last)
        return await outcome_at(self.source.graph, state, last)
