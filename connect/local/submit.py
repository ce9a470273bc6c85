"""A client's input as a run of this process: the thread is read, the run planned, started and read.

How a plan is carried out is `submission`'s. Here is the order:

1. An active run is looked for first, and again when it is the input's turn (`turns`). One with the input's own id is
   this very request, sent again: its client gets that run from where it is. For any other the intake decides (`busy`).
2. An input that may have to wait keeps what the thread had when it came. By its turn the same request may have been
   carried out: sent twice, or again to another process while this one was frozen. It runs nothing then (`plan`).
3. What waits for another run's end (a queued input, the messages that came with an answer) belongs to `Runs`, not to
   the request: it is run also without readers, unless the intake stops runs that have none.
4. A plan is carried out only if no run of the thread has started or ended since it was read. Else it is made again:
   this process may have been frozen, or its turn over.
5. LangGraph takes an input under the run id of the thread's last checkpoint for a continuation of that run, and ignores
   its content. So an id that comes again with something new gets a number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.types import Command

from ...translator import ClientView, Failed, Finished, Options, Translator, message_ids
from ..access import user_config
from ..errors import (
    NotRunError,
    QueueFullError,
    RunConflictError,
    ServerEndsError,
    ThreadNotFoundError,
    UnreadableError,
    checked_run_id,
    checked_thread_id,
    log_context,
)
from ..events.encoded import Batches, Event, one_batch
from ..events.relay import Relayed, relaying
from ..idle import with_thread
from ..inputs import Intake
from ..inputs.answers.resume import LONGEST
from ..inputs.channels import InputChannels
from ..inputs.configs import merged
from ..inputs.forking import ForkPoint
from ..inputs.graph_input import GraphInput, context_for
from ..inputs.off_loop import off_loop
from ..inputs.plan import Begin, Fork, GoOn, Resume
from ..inputs.request import RunRequest
from ..replaced_messages import with_replaced
from ..run_outcome import PastErrors, RunOutcome
from ..submission import Started, Submission
from ..thread_info import Checkpoint
from .checkpointers import answered, reading
from .checkpoints.clock import newest_id, wait_for_clock
from .checkpoints.history import history
from .checkpoints.thread_state import Read, read
from .client_state import written_in_place
from .factory import MadeGraph
from .run.configs import graph_config
from .run.run import Run
from .run.runs import agent_of
from .source import GraphSource
from .store.active_run import ActiveRun, LastRun
from .store.turns import Turn
from .thread import LocalThread

_log = logging.getLogger(__name__)

_Made = TypeVar("_Made")

_NOT_RUN: Final = "This input was queued, and did not run: the server is shutting down. Send it again."


async def begin_local(
    source: GraphSource,
    given: RunAgentInput,
    options: Options | None,
    intake: Intake,
    past_errors: PastErrors,
    queue: int | None = None,
) -> Batches:
    """See `Backend.submit`. Raises `UnreadableError` for what the checkpointer raises."""
    checked_thread_id(given.thread_id, in_url=False)
    checked_run_id(given.run_id, in_url=False)
    request = await RunRequest.of(given, options or await source.options(), intake, past_errors)
    if not source.is_made:
        assert source.factory is not None
        label = log_context(source.agent or source.factory.name, given.thread_id, given.run_id)
        try:
            await source.factory.prepare(merged(*_configs(source, request)), source.user, label)
        except Exception as error:
            return one_batch(_not_made(request, error, label))
        if source.is_served:  # its server could not do it yet
            await source.hold_threads(given.thread_id, given.run_id)
    return await _Submission(source, request).begun(queue)


class _Submission(Submission[Read]):
    """An input for a compiled graph of this process."""

    def __init__(self, source: GraphSource, request: RunRequest) -> None:
        self._source, self._graph, self._runs = source, source.graph, source.runs
        self._store = source.runs.store
        self._agent = agent_of(source.graph, source.agent)
        label = log_context(self._agent, request.given.thread_id, request.given.run_id)
        super().__init__(request, no_edits=source.runs.no_edits, unused=source.unused, label=label)
        self._opened = LocalThread(source, request.given.thread_id)
        self._thread = self._opened.key
        self._revision = 0
        """That of the thread when it was read last."""
        self._config = graph_config(source.graph, *_configs(source, request))
        self._made: MadeGraph | None = None
        """The graph that was made for the run, if a function makes graphs."""

    async def begun(self, queue: int | None = None) -> Batches:
        """The client's batches; the run has started, or waits for another's end. `queue`: how many may wait."""
        if self._store.is_shared:
            await self._look()  # first: the store may take its time
        await self._check_owner()
        active = await self._store.active(self._thread)
        if active is not None and self._is_refused(active):
            return self._joined(active)
        turn = self._store.turn(self._thread)
        waits = active is not None or await turn.is_taken()
        if self._intake.busy == "queue" and waits:
            if queue is not None and self._runs.queue.on(self._thread) >= queue:
                raise QueueFullError("Too many inputs are queued on this thread. Retry later.")
            return self._queued_batches(self._owned(self._in_turn(turn, waits=True)))
        return await self._in_turn(turn, waits=waits)

    async def _in_turn(self, turn: Turn, *, waits: bool) -> Batches:
        looking = asyncio.ensure_future(self._look()) if waits else None  # it has its place in the line meanwhile
        try:
            async with turn.taken() as has_waited:
                if looking is not None:
                    await looking
                if has_waited:
                    await self._check_owner()
                return await self.when_free()
        finally:
            if looking is not None:
                looking.cancel()

    async def when_free(self) -> Batches:
        """See `Submission`. The input has its turn."""
        while True:
            active = await self._store.active(self._thread)
            if active is None:
                with suppress(RunConflictError):  # one was started without a turn, or while this process was frozen
                    return await self._with_graph()
            elif self._is_refused(active):
                return self._joined(active)
            elif self._intake.busy == "queue":
                await active.wait()
            elif await active.cancel() == "stopping":
                return self._joined(active)
            await self._check_owner()  # another agent, or user, may have begun on it meanwhile

    async def _with_graph(self) -> Batches:
        """Carries the input out with the graph of this run. Of a function's, it is made first: what the thread waits
        for, and which tools are the graph's own, depends on it."""
        factory, request = self._source.factory, self._request
        if factory is None:
            return await self._begin(await self._read())
        context = context_for(await self._channels(), self._given, self._intake, request.added)
        config = merged(*_configs(self._source, request), {"configurable": {"run_id": self._given.run_id}})
        try:
            made = await factory.make("threads.create_run", config, self._source.user, self._label, context)
        except Exception as error:
            return one_batch(_not_made(request, error, self._label))
        self._made, self._graph = made, made.graph
        self._config = graph_config(made.graph, *_configs(self._source, request))
        try:
            return await self._begin(await self._read())
        finally:
            if not made.is_taken:
                made.leave()

    def _is_refused(self, active: ActiveRun) -> bool:
        """Whether the input does not wait for this run. A run that is stopping has ended for its readers, so an input
        waits for it, as long as `cancel` does."""
        is_same = active.run_id == self._given.run_id
        return is_same or (self._intake.busy == "reject" and active.status == "running")

    def _joined(self, active: ActiveRun) -> Batches:
        """The events of the active run, for a request that came again. Raises `RunConflictError` for any other."""
        if active.run_id == self._given.run_id:
            return active.attach(self._reader)
        raise RunConflictError(
            f"thread {active.thread_id!r} has a run that is {active.status}, {active.run_id!r}; expected a thread "
            "without one"
        )

    async def _check_owner(self) -> None:
        """Raises `ThreadNotFoundError` for a thread that may not be used."""
        with reading(self._label):
            is_ours = await self._opened.may_be_used()
        if not is_ours:
            raise ThreadNotFoundError

    async def _look(self) -> None:
        """Keeps what the thread has when the input comes. Where it can't be read, its plan raises that."""
        if self._request.before is None:
            with suppress(UnreadableError), reading(self._label):
                found = await self._read_within(None)
                self._keep_messages(found.thread)

    async def _read(self) -> Read:
        self._revision = await self._store.revision(self._thread)  # first: what changes from now on is seen
        last = await self._store.last(self._thread)
        with reading(self._label):
            found = await self._read_within(last)
        self._runs.note_outcome(self._thread, found.ended, self._agent)
        return found

    async def _read_within(self, last: LastRun | None) -> Read:
        reads = read(self._graph, self._config, last, self._options.messages_key)
        return await answered(reads, self._source.read_timeout)

    async def _history(self) -> AsyncGenerator[Checkpoint, None]:
        with reading(self._label):
            async with aclosing(history(self._graph, self._config, self._source.read_timeout)) as checkpoints:
                async for checkpoint in checkpoints:
                    yield checkpoint

    async def _channels(self) -> InputChannels:
        return self._source.input_channels(self._options)

    async def _reconciled(self) -> Read:
        await wait_for_clock(await self._newest_id(), self._label)
        with reading(self._label):
            await self._graph.aupdate_state(self._marked(), None, as_node=END)
        return await self._read()

    async def _newest_id(self) -> str:
        """The newest checkpoint of the thread and its subgraphs."""
        if not isinstance(saver := self._graph.checkpointer, BaseCheckpointSaver):
            return ""
        with reading(self._label):
            return await answered(newest_id(saver, self._given.thread_id), self._source.read_timeout)

    def _marked(self) -> RunnableConfig:
        """The config of a write that is no run's, which has the thread's metadata too."""
        known = self._runs.owners.known(self._thread) or {}
        stamp = {name: known.get(name, value) for name, value in self._source.stamp.items()}
        return merged(self._config, {"metadata": stamp})

    async def _start(self, wanted: Started, now: Read, point: ForkPoint | None) -> Batches:
        at = now if point is None else now.at(point)
        goes_in = await self._graph_input(wanted, at.thread, await self._channels())
        if not self._opened.may_still_be_used():
            raise ThreadNotFoundError  # another agent, or user, began on it while this input was planned
        config = self._config
        if at.checkpoint_id is not None:
            config = merged(config, {"configurable": {"checkpoint_id": at.checkpoint_id, "checkpoint_ns": ""}})
        run_id, continues = self._given.run_id, isinstance(wanted, Resume | GoOn)
        if not isinstance(wanted, Begin | Fork):
            goes_in = await self._in_place(goes_in, config, continues=continues)
        more = isinstance(wanted, Resume | GoOn) and wanted.more
        run = await self._runs.start(
            self._source.graph,
            _input(wanted, goes_in),
            config,
            run_id=_free(run_id, at.run_id) if isinstance(wanted, Begin | Fork) else run_id,
            options=replace(self._options, history="keep") if more else self._options,  # messages that wait stay
            view=await self._seed(at, ended=now.ended if point is None else None),
            agent=self._source.agent,
            on_disconnect=self._intake.on_disconnect,
            dispatched_events=self._intake.dispatched_events,
            mark_structured_output=self._intake.mark_structured_output,
            on_cancel=self._intake.on_cancel,
            timeout=self._source.timeout,
            context=goes_in.context,
            parent_run_id=self._given.parent_run_id,
            waiting=at.ended.waiting if at.ended is not None and continues else (),
            stamp=self._source.stamp,
            revision=self._revision,
            newest=await self._newest_id() if now.thread.is_unfinished else now.thread.checkpoint_id or "",
            made=self._made,
        )
        if more:
            return self._both_batches(run, self._owned(self._when_ended(run)))
        return run.attach(self._reader)

    async def _seed(self, at: Read, ended: RunOutcome | None) -> ClientView:
        """What the run begins with: the client's view, and what the client lacks of the thread. `ended`: how the
        thread's last run ended; None for an earlier checkpoint."""
        view = self._request.view
        held = {message["id"] for message in view.messages}
        if self._request.follows or held.issuperset(message_ids(at.thread.messages)):
            return view
        outcome = ended or RunOutcome(self._given.run_id, at.thread.values, Finished())
        with reading(self._label):
            values = await with_replaced(outcome.values, self._options, self._history())
        outcome = replace(outcome, values=values)
        size = len(at.thread.messages)
        return await off_loop(with_thread, size, view, self._given.thread_id, outcome, self._options)

    async def _in_place(self, goes_in: GraphInput, config: RunnableConfig, *, continues: bool) -> GraphInput:
        """Writes the state of an input into the checkpoint; returns what is left for the run. Messages are left: if the
        run does not start, the results of a page's tools must not be in the thread."""
        key = self._options.messages_key
        state = {name: value for name, value in goes_in.values.items() if name != key}
        left = await written_in_place(self._graph, config, state, self._label, continues=continues)
        said = {key: goes_in.values[key]} if key in goes_in.values else {}
        return replace(goes_in, values={**left, **said})

    async def _when_ended(self, first: Run) -> Batches | None:
        """The run of the messages that came along with an answer, if the answered one ended well."""
        if await first.wait() != "finished":
            return None
        return await self._following(first.view.copy()).begun()

    def _following(self, view: ClientView) -> _Submission:
        return _Submission(self._source, self._request.without_answers(view))

    def _owned(self, work: Coroutine[Any, Any, _Made]) -> asyncio.Task[_Made]:
        return self._runs.queue.own(
            work,
            agent=self._agent,
            thread=self._thread,
            run_id=self._given.run_id,
            needs_reader=self._intake.on_disconnect == "cancel",
        )

    @relaying
    async def _both_batches(self, first: Run, second: asyncio.Task[Batches | None]) -> Relayed:
        yield first.attach(self._reader)
        if first.status == "finished":
            yield self._queued_batches(second)

    @relaying
    async def _queued_batches(self, begun: asyncio.Task[Any]) -> Relayed:
        """What a queued input's client gets from its turn on. Raises `NotRunError` if the input does not run, because
        of an error or the server's end; `QueuedInputs` logs it."""
        try:
            queued: Batches | None = await asyncio.shield(begun)
        except asyncio.CancelledError:
            if not begun.cancelled() or _is_cancelled():
                self._runs.queue.reader_left(begun)
                raise
            raise NotRunError(ServerEndsError(_NOT_RUN)) from None
        except Exception as error:
            raise NotRunError(error) from error
        if queued is not None:
            yield queued


def _configs(source: GraphSource, request: RunRequest) -> tuple[Mapping[str, Any], ...]:
    """What the config of a run is put together from."""
    thread = {"configurable": {"thread_id": request.given.thread_id}}
    return request.intake.config, request.added.config, user_config(source.user), thread


def _not_made(request: RunRequest, error: Exception, label: str) -> list[Event]:
    """The events of a run whose graph could not be made. Nothing has run, and the thread stays as it is: what waits for
    an answer can still be answered."""
    _log.error("The run failed: its graph could not be made (%s).", label, exc_info=error)
    given = request.given
    translator = Translator(
        given.thread_id,
        given.run_id,
        request.options,
        request.view.copy(),
        parent_run_id=given.parent_run_id,
        source="local",
    )
    return [*translator.start(), *translator.finish(Failed(error))]


def _is_cancelled() -> bool:
    """Whether the running task is, and not what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _input(wanted: Started, goes_in: GraphInput) -> Any:
    if isinstance(wanted, Begin | Fork):
        return goes_in.values
    if isinstance(wanted, Resume):
        return Command(resume=wanted.values, update=goes_in.values or None)
    return Command(update=goes_in.values) if goes_in.values else None


def _free(run_id: str, last: str | None) -> str:
    return f"{run_id[:LONGEST]}-2" if run_id == last else run_id
