"""`LocalPort`: the thread of an input that has its turn. `submission.submit` plans the input for it, and the run of the
plan is started here.

1. A run starts only if no other run of the thread has started or ended since the thread was read. If one has, because
   this process was frozen or its turn had expired, the input is planned again.
2. If an input has the run id of the thread's last checkpoint, LangGraph takes it for a continuation of that run, and
   ignores its content. So if a client repeats an id with something new, a number is added to the id.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.types import Command

from ...translator import ClientView, Finished, message_ids
from ..access import user_config
from ..errors import ThreadNotFoundError
from ..events.encoded import Batches
from ..idle import with_thread
from ..inputs.answers.resume import LONGEST
from ..inputs.configs import merge_configs
from ..inputs.off_loop import off_loop
from ..inputs.request import RunRequest
from ..inputs.thread_state import ThreadState
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import RunOutcome
from ..submission import NewRun, ThreadRead
from ..thread_info import Checkpoint
from .checkpointers import Graph, reading, wait_for_answer
from .checkpoints.clock import newest_id, wait_for_clock
from .checkpoints.history import history
from .checkpoints.thread_state import CheckpointRead
from .client_state import written_in_place
from .factory import MadeGraph
from .run.configs import graph_config
from .run.run import Run
from .run.runs import RunSetup, agent_of
from .source import GraphSource
from .store.active_run import ThreadNow
from .store.turns import Ticket
from .thread import LocalThread


class LocalPort:
    """A thread of this process for an input; see `submission.Port`.

    - `graph`: the graph that runs, and reads the thread.
    - `now`: what the run store knows of the thread.
    - `ticket`: the ticket of the input, which has the turn.
    - `made`: the graph, if it was made for this run alone.
    - `follow`: returns the events of a run that has started, and then those of the rest of its input.
    """

    def __init__(
        self,
        thread: LocalThread,
        request: RunRequest,
        graph: Graph,
        now: ThreadNow,
        ticket: Ticket,
        made: MadeGraph | None,
        follow: Callable[[Run, RunRequest], Batches],
    ) -> None:
        source = thread.source
        self.label = thread.label(request.run_input.run_id)
        self.channels = source.input_channels(request.options)
        self.no_edits, self.unused = source.runs.no_edits, source.unused
        self._thread, self._source, self._runs = thread, source, source.runs
        self._graph, self._ticket, self._made, self._follow = graph, ticket, made, follow
        self._config = graph_config(graph, *configs_of(source, request))
        self._options = request.options
        self._read = CheckpointRead(ThreadState())
        """The result of the last read of the thread."""
        self._now: ThreadNow | None = now
        """What the store knew before the read; None once it has to be asked again."""
        self._revision = 0
        """The revision of the thread before the last read."""

    async def read(self) -> ThreadRead:
        """See `Port`."""
        store, key = self._runs.store, self._thread.key
        now, self._now = self._now or await store.now(key), None
        self._revision = now.revision  # from before the read, so that every later change is noticed
        with reading(self.label):
            self._read = await self._thread.read(self._graph, self._config, now.last, self._options)
        self._runs.note_outcome(key, self._read.outcome, agent_of(self._source.graph, self._source.agent))
        return self._read

    async def history(self) -> AsyncGenerator[Checkpoint, None]:
        """See `Port`."""
        with reading(self.label):
            async with aclosing(history(self._graph, self._config, self._source.read_timeout)) as checkpoints:
                async for checkpoint in checkpoints:
                    yield checkpoint

    async def drop(self) -> None:
        """See `Port`."""
        await wait_for_clock(await self._newest_id(), self.label)
        known = self._runs.owners.known(self._thread.key) or {}
        stamp = {name: known.get(name, value) for name, value in self._source.stamp.items()}
        # A checkpoint that no run writes does not get the thread's metadata by itself.
        config = merge_configs(self._config, {"metadata": stamp})
        with reading(self.label):
            await self._graph.aupdate_state(config, None, as_node=END)

    async def start(self, run: NewRun) -> Batches:
        """See `Port`."""
        request, source, state = run.request, self._source, self._read.state
        if not self._thread.may_still_be_used():
            raise ThreadNotFoundError  # another agent or user began to use the thread while this input was planned
        config, run_id, at_run = self._config, request.run_input.run_id, self._read.run_id
        if run.checkpoint is not None:
            at_run = run.checkpoint.run_id
            config = merge_configs(config, {"configurable": {"checkpoint_id": run.checkpoint.id, "checkpoint_ns": ""}})
        values: Mapping[str, Any] = run.input.values
        if not run.is_turn:
            key = self._options.messages_key
            values = await written_in_place(
                self._graph, config, values, self.label, messages_key=key, continues=run.continues
            )
        setup = RunSetup(
            graph=source.graph,
            input=_graph_input(run, values),
            config=config,
            run_id=f"{run_id[:LONGEST]}-2" if run.is_turn and run_id == at_run else run_id,
            options=run.options,
            agent=source.agent,
            context=run.input.context,
            timeout=source.timeout,
            intake=request.intake,
            view=await self._seed(run),
            parent_run_id=request.run_input.parent_run_id,
            waiting=self._read.outcome.waiting if self._read.outcome is not None and run.continues else (),
            stamp=source.stamp,
            revision=self._revision,
            ticket=self._ticket,
            newest=await self._newest_id() if state.is_unfinished else state.checkpoint_id or "",
            made=self._made,
        )
        started = await self._runs.begin(setup)
        return started.attach(request.reader()) if run.rest is None else self._follow(started, run.rest)

    async def _newest_id(self) -> str:
        """Returns the id of the newest checkpoint of the thread and its subgraphs."""
        if not isinstance(saver := self._graph.checkpointer, BaseCheckpointSaver):
            return ""
        with reading(self.label):
            return await wait_for_answer(newest_id(saver, self._thread.id), self._source.read_timeout)

    async def _seed(self, run: NewRun) -> ClientView:
        """Returns the view with which the run begins: that of the client, with the messages of the thread that it
        lacks."""
        view, state = run.request.view, run.state
        held = {message["id"] for message in view.messages}
        if run.request.follows or held.issuperset(message_ids(state.messages)):
            return view
        outcome = self._read.outcome if run.checkpoint is None else None
        outcome = outcome or RunOutcome(run.request.run_input.run_id, state.values, Finished())
        outcome = await outcome_with_replaced(outcome, self._options, self.history())
        return await off_loop(with_thread, len(state.messages), view, self._thread.id, outcome, self._options)


def configs_of(source: GraphSource, request: RunRequest) -> tuple[Mapping[str, Any], ...]:
    """Returns the configs that are merged into the config of a run."""
    thread = {"configurable": {"thread_id": request.run_input.thread_id}}
    return request.intake.config, request.added.config, user_config(source.user), thread


def _graph_input(run: NewRun, values: Mapping[str, Any]) -> Any:
    """Returns the input with which the graph of the run is called."""
    if run.is_turn:
        return values
    if run.answers is not None:
        return Command(resume=run.answers, update=values or None)
    return Command(update=values) if values else None
