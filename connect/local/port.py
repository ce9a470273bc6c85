"""`LocalPort`: the thread of an input that has its turn. `submission.submit` plans the input for it, and the run of the
plan is started here.

1. A run starts only if no other run of the thread has started or ended since the thread was read. If one has, because
   this process was frozen or its turn had expired, the input is planned again.
2. If an input has the run id of the thread's last checkpoint, LangGraph takes it for a continuation of that run, and
   ignores its content. So if a client repeats an id with something new, a number is added to the id.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END, START
from langgraph.graph.state import CompiledStateGraph

from ...translator import ClientView, Finished, Options, message_ids
from ..access import user_config
from ..errors import ThreadNotFoundError
from ..events.encoded import Batches
from ..idle import with_thread
from ..inputs import Intake
from ..inputs.answers.resume import LONGEST
from ..inputs.configs import merge_configs
from ..inputs.off_loop import off_loop
from ..inputs.request import RunRequest
from ..inputs.thread_state import ThreadState
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import RunOutcome
from ..submission import NewRun, ThreadRead
from ..thread_info import Checkpoint
from .checkpointers import reading, wait_for_answer
from .checkpoints.clock import newest_id, wait_for_clock
from .checkpoints.history import history
from .checkpoints.progress import Progress, read_progress
from .checkpoints.thread_state import CheckpointRead
from .client_state import write_in_place
from .factory import MadeGraph
from .run.configs import graph_config
from .run.run import Run
from .run.run_input import RunInput, as_json
from .run.runs import RunSetup, agent_of
from .source import GraphSource
from .store.active_run import ThreadNow
from .store.turns import Ticket
from .thread import LocalThread

_OTHER_INTAKE: Final = "its intake is not the one that an app serves its agent with"

_log = logging.getLogger(__name__)


class LocalPort:
    """A thread of this process for an input; see `submission.Port`.

    - `now`: what the run store knows of the thread.
    - `ticket`: the ticket of the input, which has the turn; None if there is no input.
    - `made`: the graph that runs, and reads the thread, if it was made for this run alone.
    - `follow`: returns the events of a run that has started, and then those of the rest of its input.
    """

    def __init__(
        self,
        thread: LocalThread,
        request: RunRequest,
        now: ThreadNow,
        ticket: Ticket | None,
        made: MadeGraph | None,
        follow: Callable[[Run, RunRequest], Batches],
    ) -> None:
        source = thread.source
        self.label = thread.label(request.run_input.run_id)
        self.channels = source.input_channels(request.options)
        self.no_edits, self.unused = source.runs.no_edits, source.unused
        self._thread, self._source, self._runs, self._request = thread, source, source.runs, request
        self._graph = graph = source.graph if made is None else made.graph
        self._ticket, self._made, self._follow = ticket, made, follow
        self._config = graph_config(graph, *configs_of(source, request))
        self._options = request.options
        self._read = CheckpointRead(ThreadState())
        """The result of the last read of the thread."""
        self._now: ThreadNow | None = now
        """What the store knew before the read; None once it has to be asked again."""
        self._revision = 0
        """The revision of the thread before the last read."""

    async def nodes(self) -> Collection[str]:
        """See `Port`."""
        return self._graph.nodes.keys() - {START}

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
        await self._update(self._config, None, END)

    async def write(self, values: Mapping[str, Any]) -> bool:
        """See `Port`. A function (`@entrypoint`) has no node that writes an input."""
        if not isinstance(self._graph, CompiledStateGraph):
            return False
        await self._update(self._config, values, START)
        await self._update(self._config, None, END)
        return True

    async def _update(self, at: RunnableConfig, values: Mapping[str, Any] | None, as_node: str) -> RunnableConfig:
        """Writes a checkpoint after the one that `at` names, as if this node had written the values. Returns the config
        of the new one."""
        await wait_for_clock(await self._newest_id(), self.label)
        stamp = self._runs.owners.with_known(self._thread.key, self._source.stamp)
        # A checkpoint that no run writes does not get the thread's metadata by itself.
        config = merge_configs(at, {"metadata": stamp})
        with reading(self.label):
            return await self._graph.aupdate_state(config, values, as_node=as_node)

    async def start(self, run: NewRun) -> Batches:
        """See `Port`."""
        request, state = run.request, self._read.state
        if not self._thread.may_still_be_used():
            raise ThreadNotFoundError  # another agent or user began to use the thread while this input was planned
        run_id, at_run = request.run_input.run_id, self._read.run_id
        if run.checkpoint is not None:
            at_run = run.checkpoint.run_id
        run_input = RunInput(
            run_id=f"{run_id[:LONGEST]}-2" if run.is_turn and run_id == at_run else run_id,
            values=run.input.values,
            is_turn=run.is_turn,
            answers=run.answers,
            checkpoint_id=None if run.checkpoint is None else run.checkpoint.id,
        )
        newest = await self._newest_id() if state.is_unfinished else state.checkpoint_id or ""
        if not run.is_turn:
            if run_input.checkpoint_id is not None and run.input.values:
                newest = await self._copy_checkpoint(run_input)
                run_input = replace(run_input, checkpoint_id=newest)
            config, key = self._config_of(run_input), self._options.messages_key
            left = await write_in_place(self._graph, config, run.input.values, self.label, messages_key=key)
            run_input = replace(run_input, values=left)
        setup = replace(
            self.setup(run_input, run.input.context, run.options, await self._seed(run)),
            waiting=self._read.outcome.waiting if self._read.outcome is not None and run.continues else (),
            revision=self._revision,
            ticket=self._ticket,
            newest=newest,
            run_input=await self._continuable(run, run_input),
        )
        started = await self._runs.begin(setup)
        return started.attach(request.reader()) if run.rest is None else self._follow(started, run.rest)

    def setup(self, run_input: RunInput, context: Any, options: Options, view: ClientView) -> RunSetup:
        """Returns the run with this input and this runtime context, which begins with this view."""
        source, request = self._source, self._request
        return RunSetup(
            graph=source.graph,
            input=run_input.graph_input,
            config=self._config_of(run_input),
            run_id=run_input.run_id,
            options=options,
            agent=source.agent,
            context=context,
            timeout=source.timeout,
            intake=request.intake,
            view=view,
            parent_run_id=request.run_input.parent_run_id,
            stamp=source.stamp,
            made=self._made,
            make_translator=source.make_translator,
        )

    async def progress(self, run_input: RunInput) -> Progress:
        """Returns how far the run with this input has come. Raises `UnreadableError`."""
        if not isinstance(saver := self._graph.checkpointer, BaseCheckpointSaver):
            return Progress()
        reads = read_progress(
            saver,
            self._thread.id,
            run_input.run_id,
            checkpoint_id=run_input.checkpoint_id,
            answers=run_input.answers is not None,
        )
        with reading(self.label):
            return await wait_for_answer(reads, self._source.read_timeout)

    async def _continuable(self, run: NewRun, run_input: RunInput) -> RunInput | None:
        """Returns what the store keeps of a run, so that another process can continue it. Returns None if the intake
        does not want that, and if it is not the one with which the agent is served: another process would not have its
        config and its context."""
        request, own = run.request, self._source.intake
        if request.intake.on_lost != "continue":
            return None
        if own is None or not is_owners(request.intake, self._source):
            _log.warning("The run cannot be continued by another process: %s (%s).", _OTHER_INTAKE, self.label)
            return None
        context, has_own_context = _without_own(run.input.context, own.context)
        whole = replace(
            run_input,
            user=self._source.user,
            config=merge_configs(request.added.config, {"metadata": request.breakpoints.metadata}),
            context=context,
            has_own_context=has_own_context,
            client_input=None if run.rest is None else as_json(request.run_input),
            parent_run_id=request.run_input.parent_run_id,
        )
        return whole if whole.answers is None else whole.before(await self.progress(whole))

    async def _copy_checkpoint(self, run_input: RunInput) -> str:
        """Copies the earlier checkpoint at which a run continues (`NewRun.checkpoint` says why). Returns the id of the
        copy, which is the newest checkpoint of the thread."""
        copy = await self._update(self._config_of(run_input), None, "__copy__")  # LangGraph's name for a copy
        return str(copy["configurable"]["checkpoint_id"])

    def _config_of(self, run_input: RunInput) -> RunnableConfig:
        if run_input.checkpoint_id is None:
            return self._config
        start = {"checkpoint_id": run_input.checkpoint_id, "checkpoint_ns": ""}
        return merge_configs(self._config, {"configurable": start})

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
    asked = {"metadata": request.breakpoints.metadata}
    return request.intake.config, request.added.config, asked, user_config(source.user), thread


def _without_own(context: Any, own: Any) -> tuple[Any, bool]:
    """Returns a run's context without the values of the intake's own, which may be secret, and whether these were left
    out."""
    if context is own:
        return None, True
    if not (isinstance(context, Mapping) and isinstance(own, Mapping)):
        return context, False
    return {name: value for name, value in context.items() if name not in own or own[name] is not value}, True


def is_owners(intake: Intake, source: GraphSource) -> bool:
    """Returns whether an intake is the one with which an app serves the agent. Another process then has it too."""
    own = source.intake
    return own is not None and _of_owner(own) == _of_owner(intake)


def _of_owner(intake: Intake) -> tuple[object, ...]:
    return intake.config, intake.context, intake.prepare
