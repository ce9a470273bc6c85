"""A client's input for a graph of this process: it waits for its turn on its thread (`_Input`), and `submission.submit`
then starts its run on that thread (`LocalPort`).

1. The active run of the thread is looked up when the input arrives, and again when the input has its turn (`turns`). A
   run with the same run id is this very request, sent twice, and the client joins that run. For any other run, the
   intake decides (`busy`).
2. An input that may have to wait keeps the messages that the thread has when the input arrives. Before its turn, the
   same request may have been carried out: it was sent twice, or to another process while this one was frozen. Then it
   runs nothing (`inputs.plan`).
3. An input that waits for the end of another run (a queued input, or the messages that came with an answer) belongs to
   `Runs`, and not to the request. It runs even without a reader, unless the intake stops runs without readers.
4. A run starts only if no other run of the thread has started or ended since the thread was read. If one has, because
   this process was frozen or its turn had expired, the input is planned again.
5. If an input has the run id of the thread's last checkpoint, LangGraph takes it for a continuation of that run, and
   ignores its content. So if a client repeats an id with something new, a number is added to the id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, TypeVar

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.types import Command

from ...translator import ClientView, Failed, Finished, Options, Translator, message_ids
from ..access import user_config
from ..errors import (
    QueueFullError,
    RunConflictError,
    ThreadNotFoundError,
    UnreadableError,
    log_context,
)
from ..events.encoded import Batches, Event, one_batch
from ..events.relay import Relayed, relaying
from ..idle import with_thread
from ..inputs import Intake
from ..inputs.answers.resume import LONGEST
from ..inputs.configs import merge_configs
from ..inputs.graph_input import context_for
from ..inputs.off_loop import off_loop
from ..inputs.request import RunRequest
from ..inputs.thread_state import ThreadState
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import PastErrors, RunOutcome
from ..submission import NewRun, ThreadRead, submit
from ..thread_info import Checkpoint
from .checkpointers import Graph, answered, reading
from .checkpoints.clock import newest_id, wait_for_clock
from .checkpoints.history import history
from .checkpoints.thread_state import CheckpointRead
from .client_state import written_in_place
from .factory import MadeGraph
from .run.configs import graph_config
from .run.run import Run
from .run.runs import Runs, RunSetup, agent_of
from .source import GraphSource
from .store.active_run import ActiveRun, ThreadNow
from .thread import LocalThread

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


async def submit_local(
    source: GraphSource,
    run_input: RunAgentInput,
    *,
    options: Options | None,
    intake: Intake,
    past_errors: PastErrors = "error",
    queue: int | None = None,
) -> Batches:
    """See `Backend.submit`. Raises `UnreadableError` if the checkpointer raises."""
    request = await RunRequest.of(run_input, options or await source.options(), intake, past_errors)
    if not source.is_made:
        assert source.factory is not None
        label = log_context(source.agent or source.factory.name, run_input.thread_id, run_input.run_id)
        try:
            await source.factory.prepare(merge_configs(*_configs(source, request)), source.user, label)
        except Exception as error:
            return one_batch(_not_made(request, error, label))
        if source.is_served:  # the server could not hold the threads before the graph was made
            await source.hold_threads(run_input.thread_id, run_input.run_id)
    return await _Input(source, request).batches(queue)


class _Input:
    """One input, from its arrival until it has its turn."""

    def __init__(self, source: GraphSource, request: RunRequest) -> None:
        self._source, self._request, self._intake = source, request, request.intake
        self._thread = LocalThread(source, request.run_input.thread_id)
        self._label = self._thread.label(request.run_input.run_id)
        self._store = source.runs.store
        self._checked: int | None = None
        """The revision of the thread at which it was last checked that the thread may be used."""

    async def batches(self, queue: int | None = None) -> Batches:
        """Returns the client's events: those of a run that has started, or that waits for the end of another run.
        `queue`: how many inputs may wait on the thread."""
        if self._store.is_shared:
            await self._keep_messages()  # first, because the store may take its time
        now = await self._store.now(self._thread.key)
        await self._check_owner(now)
        if now.active is not None and self._is_refused(now.active):
            return self._join(now.active)
        waits = now.active is not None or now.has_inputs
        if self._intake.busy == "queue" and waits:
            runs = self._source.runs
            if queue is not None and runs.queue.on(self._thread.key) >= queue:
                raise QueueFullError("Too many inputs are queued on this thread. Retry later.")
            return runs.queue.batches(_own(self._thread, self._request, self._in_turn(waits=True)))
        return await self._in_turn(waits=waits)

    async def _in_turn(self, *, waits: bool) -> Batches:
        # the thread is read while the input already has its place in the line
        keeping = asyncio.ensure_future(self._keep_messages()) if waits else None
        try:
            async with self._store.turn(self._thread.key) as now:
                if keeping is not None:
                    await keeping
                return await self._when_free(now)
        finally:
            if keeping is not None:
                keeping.cancel()

    async def _when_free(self, now: ThreadNow) -> Batches:
        while True:
            await self._check_owner(now)  # another agent or user may have begun to use the thread meanwhile
            active = now.active
            if active is None:
                with suppress(RunConflictError):  # a run started without a turn, or while this process was frozen
                    return await self._submit_to_graph(now)
            elif self._is_refused(active):
                return self._join(active)
            elif self._intake.busy == "queue":
                await active.wait()
            elif await active.cancel() == "stopping":
                return self._join(active)
            now = await self._store.now(self._thread.key)

    async def _submit_to_graph(self, now: ThreadNow) -> Batches:
        """Submits the input to the graph of its run. If a function makes the graph, it is called first, because the
        graph decides what the thread waits for, and which tools the graph runs itself."""
        source, request, factory = self._source, self._request, self._source.factory
        if factory is None:
            return await submit(request, LocalPort(self._thread, request, source.graph, now))
        channels = source.input_channels(request.options)
        context = context_for(channels, request.run_input, request.intake, request.added)
        config = merge_configs(*_configs(source, request), {"configurable": {"run_id": request.run_input.run_id}})
        try:
            made = await factory.make("threads.create_run", config, source.user, self._label, context)
        except Exception as error:
            return one_batch(_not_made(request, error, self._label))
        try:
            return await submit(request, LocalPort(self._thread, request, made.graph, now, made))
        finally:
            if not made.is_taken:
                made.leave()

    def _is_refused(self, active: ActiveRun) -> bool:
        """Returns whether the input does not wait for this run. It does wait for a run that is stopping, as long as
        `cancel` does, because that run has ended for its readers."""
        is_same = active.run_id == self._request.run_input.run_id
        return is_same or (self._intake.busy == "reject" and active.status == "running")

    def _join(self, active: ActiveRun) -> Batches:
        """Returns the events of the active run if this request started it. Raises `RunConflictError` for any other
        run."""
        if active.run_id == self._request.run_input.run_id:
            return active.attach(self._request.reader())
        raise RunConflictError(
            f"thread {active.thread_id!r} has a run that is {active.status}, {active.run_id!r}; expected a thread "
            "without one"
        )

    async def _check_owner(self, now: ThreadNow) -> None:
        """Raises `ThreadNotFoundError` if the thread may not be used. `now`: what the run store knows of the thread. If
        no run has begun or ended since the last check, the thread is not read again."""
        if now.revision == self._checked:
            return
        with reading(self._label):
            is_ours = await self._thread.may_be_used_with(now.readable)
        if not is_ours:
            raise ThreadNotFoundError
        self._checked = now.revision

    async def _keep_messages(self) -> None:
        """Keeps the messages that the thread has when the input arrives. If this read fails, a later one raises."""
        if self._request.before is None:
            graph = self._source.graph
            config = graph_config(graph, *_configs(self._source, self._request))
            with suppress(UnreadableError), reading(self._label):
                thread = await self._thread.read(graph, config, None, self._request.options)
                self._request = replace(self._request, before=thread.state.messages)


class LocalPort:
    """A thread of this process for an input; see `submission.Port`.

    - `graph`: the graph that runs, and reads the thread.
    - `now`: what the run store knows of the thread.
    - `made`: the graph, if it was made for this run alone.
    """

    def __init__(
        self, thread: LocalThread, request: RunRequest, graph: Graph, now: ThreadNow, made: MadeGraph | None = None
    ) -> None:
        source = thread.source
        self.label = thread.label(request.run_input.run_id)
        self.channels = source.input_channels(request.options)
        self.no_edits, self.unused = source.runs.no_edits, source.unused
        self._thread, self._source, self._runs = thread, source, source.runs
        self._graph, self._made = graph, made
        self._config = graph_config(graph, *_configs(source, request))
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
        values = run.input.values if run.is_turn else await self._write_in_place(run, config)
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
            newest=await self._newest_id() if state.is_unfinished else state.checkpoint_id or "",
            made=self._made,
        )
        started = await self._runs.begin(setup)
        if run.rest is None:
            return started.attach(request.reader())
        rest = _own(self._thread, request, self._submit_rest(started, run.rest))
        return _both(self._runs, started, request, rest)

    async def _newest_id(self) -> str:
        """Returns the id of the newest checkpoint of the thread and its subgraphs."""
        if not isinstance(saver := self._graph.checkpointer, BaseCheckpointSaver):
            return ""
        with reading(self.label):
            return await answered(newest_id(saver, self._thread.id), self._source.read_timeout)

    async def _write_in_place(self, run: NewRun, config: RunnableConfig) -> dict[str, Any]:
        """Writes the state of an input into the checkpoint from which the run continues, and returns the values that
        are not written. Messages are never written here: if the run does not start, the results of a page's tools must
        not be in the thread."""
        key = self._options.messages_key
        messages = {name: value for name, value in run.input.values.items() if name == key}
        state = {name: value for name, value in run.input.values.items() if name != key}
        left = await written_in_place(self._graph, config, state, self.label, continues=run.continues)
        return {**left, **messages}

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

    async def _submit_rest(self, first: Run, rest: RunRequest) -> Batches | None:
        """Submits the rest of an input, as an input of its own, if the run of its answers has ended well."""
        if await first.wait() != "finished":
            return None
        return await _Input(self._source, replace(rest, view=first.view.copy())).batches()


def _own(thread: LocalThread, request: RunRequest, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
    """Returns a task that the process's runs own, and that may outlive the request."""
    source = thread.source
    return source.runs.queue.own(
        work,
        agent=agent_of(source.graph, source.agent),
        thread=thread.key,
        run_id=request.run_input.run_id,
        needs_reader=request.intake.on_disconnect == "cancel",
    )


@relaying
async def _both(runs: Runs, first: Run, request: RunRequest, rest: asyncio.Task[Batches | None]) -> Relayed:
    yield first.attach(request.reader())
    if first.status == "finished":
        yield runs.queue.batches(rest)


def _configs(source: GraphSource, request: RunRequest) -> tuple[Mapping[str, Any], ...]:
    """Returns the configs that are merged into the config of a run."""
    thread = {"configurable": {"thread_id": request.run_input.thread_id}}
    return request.intake.config, request.added.config, user_config(source.user), thread


def _not_made(request: RunRequest, error: Exception, label: str) -> list[Event]:
    """Returns the events of a run whose graph could not be made. Nothing has run, and the thread stays as it is: an
    interrupt that waits for an answer can still be answered."""
    _log.error("The run failed: its graph could not be made (%s).", label, exc_info=error)
    run_input = request.run_input
    translator = Translator(
        run_input.thread_id,
        run_input.run_id,
        request.options,
        request.view.copy(),
        parent_run_id=run_input.parent_run_id,
        source="local",
    )
    return [*translator.start(), *translator.finish(Failed(error))]


def _graph_input(run: NewRun, values: Mapping[str, Any]) -> Any:
    """Returns the input with which the graph of the run is called."""
    if run.is_turn:
        return values
    if run.answers is not None:
        return Command(resume=run.answers, update=values or None)
    return Command(update=values) if values else None
