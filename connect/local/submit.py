"""A client's input for a graph of this process, from its arrival until it has its turn on its thread. Then
`submission.submit` plans the input, and `port.LocalPort` starts its run.

1. The active run of the thread is looked up when the input arrives, and again when the input has its turn (`turns`). A
   run with the same run id is this very request, sent twice, and the client joins that run. For any other run, the
   intake decides (`busy`).
2. An input that may have to wait keeps the messages that the thread has when the input arrives. Before its turn, the
   same request may have been carried out: it was sent twice, or to another process while this one was frozen. Then it
   runs nothing (`inputs.plan`).
3. An input that waits for the end of another run (a queued input, or the messages that came with an answer) belongs to
   `Runs`, and not to the request. It runs even without a reader, unless the intake stops runs without readers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ag_ui.core import RunAgentInput

from ...translator import Failed, Options, Translator, message_ids
from ..errors import (
    QueueFullError,
    RunConflictError,
    ThreadNotFoundError,
    UnreadableError,
    log_context,
)
from ..events.encoded import Batches, Event, one_batch
from ..events.relay import Relayed, relaying
from ..inputs import Intake
from ..inputs.channels import configurable_of
from ..inputs.configs import merge_configs
from ..inputs.graph_input import context_for
from ..inputs.request import RunRequest
from ..run_outcome import PastErrors
from ..submission import submit
from .checkpointers import reading
from .port import LocalPort, configs_of, is_owners
from .run.configs import graph_config
from .run.queued_inputs import AsJson
from .run.run import Run
from .run.run_input import queued_input
from .run.runs import Runs, agent_of
from .source import GraphSource
from .store.active_run import ActiveRun, ThreadNow
from .store.turns import Ticket
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
    await source.hold_threads(run_input.thread_id, run_input.run_id)
    request = await RunRequest.of(run_input, options or await source.options(), intake, past_errors)
    if not source.is_made:
        assert source.factory is not None
        label = log_context(source.agent or source.factory.name, run_input.thread_id, run_input.run_id)
        try:
            await source.factory.prepare(merge_configs(*configs_of(source, request)), source.user, label)
        except Exception as error:
            return one_batch(_not_made(request, error, label))
        await source.hold_threads(run_input.thread_id, run_input.run_id)  # only now is it known where they are
    return await _Input(source, request).batches(queue)


def submit_rest(source: GraphSource, request: RunRequest, first: Run) -> None:
    """Submits the rest of an input in the background, when the run of its answers has ended well. `request`: the whole
    input, without a client."""
    _Input(source, request).own_rest(first, request.without_answers(request.view))


def submit_queued(inputs: Iterable[tuple[GraphSource, RunRequest]], run: Run) -> None:
    """Submits the inputs that have followed a run to this process, in the background and in this order: each waits for
    the end of the run."""
    lock = asyncio.Lock()
    for source, request in inputs:
        _Input(source, request).own_queued(lock, run)


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
        async with self._store.turn_if_idle(self._thread.key) as (now, ticket):
            if ticket is not None:
                return await self._when_free(now, ticket)
        await self._check_owner(now)
        if now.active is not None and self._is_refused(now.active):
            return self._join(now.active)
        waits = now.active is not None or now.has_inputs
        if self._intake.busy == "queue" and waits:
            runs = self._source.runs
            if queue is not None and runs.queue.on(self._thread.key) >= queue:
                raise QueueFullError("Too many inputs are queued on this thread. Retry later.")
            return runs.queue.batches(self.own_queued())
        return await self._in_turn(waits=waits)

    async def _in_turn(self, *, waits: bool, lock: asyncio.Lock | None = None) -> Batches:
        # the thread is read while the input already has its place in the line
        keeping = asyncio.ensure_future(self._keep_messages()) if waits else None
        try:
            async with self._store.turn(self._thread.key, lock=lock) as (now, ticket):
                if keeping is not None:
                    await keeping
                return await self._when_free(now, ticket)
        finally:
            if keeping is not None:
                keeping.cancel()

    async def _when_free(self, now: ThreadNow, ticket: Ticket) -> Batches:
        while True:
            await self._check_owner(now)  # another agent or user may have begun to use the thread meanwhile
            active = now.active
            if active is None:
                with suppress(RunConflictError):  # a run started without a turn, or while this process was frozen
                    return await self._submit_to_graph(now, ticket)
            elif self._is_refused(active):
                return self._join(active)
            elif self._intake.busy == "queue":
                await active.wait()
            elif await active.cancel() == "stopping":
                return self._join(active)
            now = await self._store.now(self._thread.key)

    async def _submit_to_graph(self, now: ThreadNow, ticket: Ticket) -> Batches:
        """Submits the input to the graph of its run. If a function makes the graph, it is called first, because the
        graph decides what the thread waits for, and which tools the graph runs itself."""
        source, request, factory = self._source, self._request, self._source.factory
        channels = source.input_channels(request.options)
        context = context_for(channels, request.run_input, request.intake, request.added)
        if fields := configurable_of(channels, request.run_input, request.intake, context):
            config = merge_configs({"configurable": fields}, request.added.config)
            request = replace(request, added=replace(request.added, config=config))
        if factory is None:
            return await submit(request, LocalPort(self._thread, request, now, ticket, None, self._follow))
        config = merge_configs(*configs_of(source, request), {"configurable": {"run_id": request.run_input.run_id}})
        try:
            made = await factory.make("threads.create_run", config, source.user, self._label, context)
        except Exception as error:
            return one_batch(_not_made(request, error, self._label))
        with made:
            return await submit(request, LocalPort(self._thread, request, now, ticket, made, self._follow))

    def own_queued(self, lock: asyncio.Lock | None = None, came_with: Run | None = None) -> asyncio.Task[Batches]:
        """Returns a task that starts the run of the input when it has its turn. `lock`: see `turns.turn_on`.
        `came_with`: see `QueuedInputs.own`."""
        intake, request = self._intake, self._request
        follows_run = intake.on_lost == "continue" and is_owners(intake, self._source) and not request.follows
        return self._own(self._in_turn(waits=True, lock=lock), self._as_json if follows_run else None, came_with)

    def _as_json(self) -> dict[str, Any]:
        return queued_input(self._request.run_input, self._source.user, self._request.before)

    def _own(
        self, work: Coroutine[Any, Any, _Result], as_json: AsJson | None = None, came_with: Run | None = None
    ) -> asyncio.Task[_Result]:
        """Returns a task that the process's runs own, and that may outlive the request. `as_json`, `came_with`: see
        `QueuedInputs.own`."""
        source = self._source
        return source.runs.queue.own(
            work,
            agent=agent_of(source.graph, source.agent),
            thread=self._thread.key,
            run_id=self._request.run_input.run_id,
            needs_reader=self._intake.on_disconnect == "cancel",
            as_json=as_json,
            came_with=came_with,
        )

    def _follow(self, first: Run, rest: RunRequest) -> Batches:
        """Returns the events of a run that has started, and then those of the rest of its input, if the run has ended
        well."""
        return _both(self._source.runs, first, self._request, self.own_rest(first, rest))

    def own_rest(self, first: Run, rest: RunRequest) -> asyncio.Task[Batches | None]:
        """Returns a task that submits the rest, as an input of its own, if the run has ended well."""

        async def submit_rest() -> Batches | None:
            if await first.wait() != "finished":
                return None
            return await _Input(self._source, replace(rest, view=first.view.copy())).batches()

        return self._own(submit_rest())

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
            config = graph_config(graph, *configs_of(self._source, self._request))
            with suppress(UnreadableError), reading(self._label):
                thread = await self._thread.read(graph, config, None, self._request.options)
                self._request = replace(self._request, before=message_ids(thread.state.messages))


@relaying
async def _both(runs: Runs, first: Run, request: RunRequest, rest: asyncio.Task[Batches | None]) -> Relayed:
    yield first.attach(request.reader())
    if first.status == "finished":
        yield runs.queue.batches(rest)


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
