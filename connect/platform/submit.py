"""A client's input for an assistant of a platform: it waits until the platform can take it (`_when_free`), and
`submission.submit` then starts its run (`PlatformPort`), which is emitted from its first event on (`join.attach`).

What servers do was measured on `langgraph dev` and Aegra.

1. The active run of the thread is looked up first. If it has the input's own run id, the request was sent twice, and
   its client joins that run. For any other run the intake decides (`busy`).
2. `queue`: the platform's queue keeps the run when its client leaves. The thread may have changed by its turn, so the
   input is planned as if no interrupt were pending. Aegra has no queue and runs all inputs at once. There the client's
   stream waits, and the input is planned when the other run has ended.
3. `cancel`: the other run is stopped first, and the input is planned for the thread as that run has left it. A run that
   does not stop in time is a conflict.
4. A run that was planned for a free thread is started only on a free thread. Of two inputs at the same moment,
   `langgraph dev` answers one with 409. That input is planned again, because it may be the same request, sent twice.
   Aegra starts both.
5. Servers take either a context or `configurable`, and give a graph the same values as both, the context reduced to its
   schema. So the values of both are put into `configurable`.
6. Messages that came with an answer belong to the request: if its reader has left, they are not run, and the client
   still has them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from ag_ui.core import RunAgentInput

from ...translator import PLATFORM_STREAM_MODES, Options, message_ids, to_json
from ..access import Metadata
from ..errors import InvalidInputError, RunConflictError, RunNotFoundError, ThreadNotFoundError, log_context
from ..events.encoded import Batches
from ..events.readers import Reader
from ..events.relay import Relayed, relaying
from ..inputs import Intake
from ..inputs.breakpoints import both
from ..inputs.channels import InputChannels, json_of
from ..inputs.configs import merge_configs
from ..inputs.request import RunRequest
from ..inputs.thread_state import ThreadState
from ..inputs.unsent import without_pending
from ..run_outcome import PastErrors, Subgraph
from ..submission import NewRun, ThreadRead, submit
from ..thread_info import RUN_ID, Checkpoint
from .join.attach import Attachment
from .join.run_stream import run_events
from .look import WRITTEN, JsonObject, Look, client_run_id, has_kwargs, written_at, written_mark
from .outcome import ACTIVE, subgraphs
from .source import PlatformSource
from .thread import PlatformThread

_ATTEMPTS = 4
"""How often a thread is looked at, if the server answers that a run is in the way but lists no such run, or lists one
that it can't stop."""
_TOP: dict[str, Any] = {"checkpoint_ns": ""}
"""The newest checkpoint of the thread's own graph; or, with an id, the checkpoint with this id."""


async def submit_to_platform(
    source: PlatformSource,
    run_input: RunAgentInput,
    options: Options | None,
    intake: Intake,
    past_errors: PastErrors,
) -> Batches:
    """See `Backend.submit`. Raises `InvalidInputError` for a platform without an assistant, because nothing can be
    run."""
    if source.assistant_id is None:
        raise InvalidInputError("expected a Platform with an assistant_id to run something, got one without")
    request = await RunRequest.of(run_input, options or await source.options(), intake, past_errors)
    return await _when_free(source, source.thread_at(run_input.thread_id), request)


async def _when_free(source: PlatformSource, thread: PlatformThread, request: RunRequest) -> Batches:
    """Returns the events of the client's run, which has started, or waits for the end of another run."""
    attempts, busy = 0, request.intake.busy
    channels = await source.input_channels(request.options.messages_key)
    while True:
        look = await thread.look()
        if thread.is_hidden or (look is None and source.run_settings.get("if_not_exists") == "reject"):
            raise ThreadNotFoundError
        port = PlatformPort(source, thread, request, channels, look)
        if request.before is None:
            request = replace(request, before=message_ids(port.state.messages))
        if look is None or look.active is None:
            attempts += 1
            try:
                return await submit(request, port)
            except RunConflictError:  # another input was faster
                if attempts == _ATTEMPTS:
                    raise
                continue
        own = _own_run(look, request.run_input.run_id)
        if own is not None:
            return _attach(thread, own, request)
        if busy == "reject" or attempts == _ATTEMPTS:
            raise RunConflictError(
                f"thread {thread.id!r} has an active run, {client_run_id(look.active)!r}; expected a thread without one"
            )
        if busy == "queue":
            is_queued = has_kwargs(look.active)
            return await submit(request, port) if is_queued else _submit_after(look.active, source, thread, request)
        try:
            is_stopped = await thread.cancel(None)
        except RunNotFoundError:  # the run has ended by itself
            is_stopped = False
        attempts += not is_stopped


class PlatformPort:
    """A thread of a platform for an input; see `submission.Port`. `look`: the last look at the thread; None if the
    thread does not exist yet."""

    def __init__(
        self,
        source: PlatformSource,
        thread: PlatformThread,
        request: RunRequest,
        channels: InputChannels,
        look: Look | None,
    ) -> None:
        self.label = log_context(source.assistant_id, thread.id, request.run_input.run_id)
        self.channels = replace(channels, reducers=frozenset(request.intake.replaced))
        self.no_edits, self.unused = source.no_edits, source.unused
        self._source, self._thread, self._request, self._look = source, thread, request, look

    @property
    def state(self) -> ThreadState:
        """The state of the thread at the last look."""
        return ThreadState() if self._look is None else self._look.thread_state(self._request.options.messages_key)

    async def nodes(self) -> Collection[str]:
        """See `Port`."""
        graph = await self._source.graph_structure()
        return () if graph is None else graph.own_nodes

    async def read(self) -> ThreadRead:
        """See `Port`."""
        look = self._look
        if look is None:
            return ThreadRead(self.state)
        attach = None if look.active is None else partial(_attach, self._thread, look.active, self._request)
        return ThreadRead(self.state, look.outcome, attach)

    def history(self) -> AsyncGenerator[Checkpoint, None]:
        """See `Port`."""
        return self._thread.history()

    async def drop(self) -> None:
        """See `Port`."""
        await self._thread.drop()
        self._look = await self._thread.look()

    async def write(self, values: Mapping[str, Any]) -> bool:
        """See `Port`."""
        await self._thread.write(json_of(values))
        self._look = await self._thread.look()
        return True

    async def start(self, run: NewRun) -> Batches:
        """See `Port`."""
        is_free = self._look is None or self._look.active is None
        arguments = _config_arguments(run)
        of_owner: Metadata = arguments["config"]["metadata"]
        claimed = await self._thread.claim(self._source.thread_settings, of_owner, is_new=self._look is None)
        metadata = {**claimed, RUN_ID: run.request.run_input.run_id}
        values = run.input.values
        if values and not run.is_turn:
            if run.checkpoint is not None:
                copy = replace(run.checkpoint, id=await self._thread.copy_checkpoint(run.checkpoint.id))
                run = replace(run, checkpoint=copy)
            values, metadata[WRITTEN] = self._without_written(run)
        started = await self._thread.start(
            str(self._source.assistant_id),
            **create_arguments(values, run.is_turn, run.answers, None if run.checkpoint is None else run.checkpoint.id),
            **arguments | {"config": {**arguments["config"], "metadata": {**of_owner, **metadata}}},
            metadata=metadata,
            multitask_strategy="reject" if is_free else "enqueue",
            **{"if_not_exists": "create", **self._source.run_settings, **self._stops()},
            stream_mode=list(PLATFORM_STREAM_MODES),
            stream_subgraphs=True,
            stream_resumable=True,
        )
        waiting = subgraphs(self._look.state) if self._look is not None and run.continues else []
        return self._read_run(started, run, waiting)

    def _stops(self) -> dict[str, Any]:
        """Returns the arguments of `runs.create` for a run that pauses where its client has asked, and where its owner
        wants all runs to pause."""
        asked, settings = self._request.breakpoints, self._source.run_settings
        if not asked:
            return {}
        return {
            "interrupt_before": both(settings.get("interrupt_before", ()), asked.before),
            "interrupt_after": both(settings.get("interrupt_after", ()), asked.after),
        }

    def _without_written(self, run: NewRun) -> tuple[dict[str, Any], str]:
        """Returns the values of a run that continues, without those for channels that an earlier run has written at the
        same checkpoint. Also returns the mark for the run's metadata, which names the channels of both
        (`look.WRITTEN`)."""
        at = self.state.checkpoint_id if run.checkpoint is None else run.checkpoint.id
        pending = written_at(at, () if self._look is None else self._look.recent)
        values = without_pending(run.input.values, pending, self.label)
        return values, written_mark(at, pending | values.keys())

    @relaying
    async def _read_run(self, started: JsonObject, run: NewRun, waiting: Sequence[Subgraph]) -> Relayed:
        """Yields the run to its end, and then the run of the rest of its input. `waiting`: the subgraphs that the run
        continues."""
        request, reader, is_over = run.request, run.request.reader(), False
        parent = request.run_input.parent_run_id
        attachment = Attachment.from_start(
            self._thread, started, reader, run.options, parent_run_id=parent, waiting=waiting
        )
        try:
            yield attachment.batches()
            is_over = True
        finally:
            if not is_over and request.intake.on_disconnect == "cancel":
                await self._thread.stop(str(started["run_id"]))
        if run.rest is not None and _has_ended_well(reader):
            yield await _when_free(self._source, self._thread, replace(run.rest, view=reader.view))


def _own_run(look: Look, run_id: str) -> JsonObject | None:
    """Returns the active run with this run id, which an earlier copy of the same request has started; None without
    one."""
    runs = (run for run in (look.active, *look.recent) if run is not None and run.get("status") in ACTIVE)
    return next((run for run in runs if run_id in (client_run_id(run), run["run_id"])), None)


def _attach(thread: PlatformThread, run: JsonObject, request: RunRequest) -> Batches:
    """Returns the events of a run that is already active, for the request's client."""
    return Attachment(thread, run, request.reader(), request.options).batches()


@relaying
async def _submit_after(
    run: JsonObject, source: PlatformSource, thread: PlatformThread, request: RunRequest
) -> Relayed:
    """Waits for the end of another run, and then yields the events of the client's run."""
    async with aclosing(run_events(thread, str(run["run_id"]), replays=False)) as notices:
        async for _ in notices:
            pass
    yield await _when_free(source, thread, request)


def _has_ended_well(reader: Reader) -> bool:
    """Returns whether the reader's run has succeeded, or has stopped at an interrupt."""
    last = reader.view.terminal or {}
    return last.get("type") == "RUN_FINISHED" and last.get("outcome", {}).get("type") != "cancelled"


def _config_arguments(run: NewRun) -> dict[str, Any]:
    """Returns the arguments of `runs.create` for the config and the context of a run, as its owner sets them."""
    config: dict[str, Any] = dict(merge_configs(run.request.intake.config, run.request.added.config))
    context = to_json(run.input.context)
    if config["configurable"] and isinstance(context, Mapping):
        config["configurable"] = {**config["configurable"], **context}
        context = None
    return {"config": config} if context is None else {"config": config, "context": context}


def create_arguments(
    values: Mapping[str, Any], is_turn: bool, answers: Mapping[str, Any] | None, checkpoint_id: str | None
) -> dict[str, Any]:
    """Returns the arguments of `runs.create` for what a run begins with, and for the checkpoint from which it starts:
    the one with this id, or the newest. `values`, `is_turn`, `answers`: those of a `NewRun`.

    A run that continues and writes nothing is created with a checkpoint without an id, because Aegra refuses a request
    with no input, no command and no checkpoint.
    """
    at = {} if checkpoint_id is None else {"checkpoint": {**_TOP, "checkpoint_id": checkpoint_id}}
    values = json_of(values)
    if is_turn:
        return {"input": values, **at}
    command: dict[str, Any] = {} if answers is None else {"resume": answers}
    if values:
        command["update"] = values
    return {"command": command, **at} if command else at or {"checkpoint": _TOP}
