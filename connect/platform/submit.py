"""A client's input as a run of a platform: the thread is read, the run planned, started, and emitted from its first
event on.

How a plan is carried out is `submission`'s; a run's events, `attach`'s. Here is the order, and what servers are
requested to do (measured on `langgraph dev` and Aegra):

1. A run that is active is searched for first. One with the input's own id is this very request, sent again, and is
   emitted from where it is. For any other the intake decides (`busy`).
2. `queue`: the platform's queue keeps the run when its client leaves. What it will find there is not known yet, so it
   goes in as if nothing waited for an answer. Aegra has no queue, and runs all at once: there it is the stream that
   waits, and plans when the other run has ended.
3. `cancel`: the other run is stopped first, so that the plan is made from what it has left behind. One that does not
   stop in time is a conflict.
4. A run is started on a thread that was found free for a free one: of two inputs at the same moment `langgraph dev`
   answers 409 to one, which looks again, and may be the same request, sent twice. Aegra starts both.
5. Servers take either a context or `configurable`, and give a graph the same values as both, the context reduced to its
   schema. So the values of both are put into `configurable`.
6. Messages that came with an answer belong to the request: if its reader has left, they are not run, and the client
   still has them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import RunAgentInput

from ...translator import PLATFORM_STREAM_MODES, ClientView, Options, to_json
from ..access import Metadata
from ..errors import (
    InvalidInputError,
    RunConflictError,
    RunNotFoundError,
    ThreadNotFoundError,
    checked_run_id,
    checked_thread_id,
    log_context,
)
from ..events.encoded import Batches
from ..events.relay import Relayed, relaying
from ..inputs import Intake
from ..inputs.channels import InputChannels, json_of
from ..inputs.configs import merged
from ..inputs.forking import ForkPoint
from ..inputs.graph_input import GraphInput
from ..inputs.plan import Begin, Fork, GoOn, Resume
from ..inputs.request import RunRequest
from ..inputs.thread_state import ThreadState
from ..inputs.unsent import without_pending
from ..run_outcome import PastErrors, Subgraph
from ..submission import Read, Started, Submission
from ..thread_info import Checkpoint
from .join.attach import Attachment
from .join.run_stream import run_events
from .look import RUN_ID, WRITTEN, Answered, Look, client_run_id, has_kwargs, written_at, written_mark
from .outcome import ACTIVE, subgraphs
from .source import PlatformSource
from .thread import PlatformThread

_ATTEMPTS = 4
"""How often a thread is looked at again where a server answers that a run is in the way and lists none, or lists one
that it can't stop."""
_TOP: dict[str, Any] = {"checkpoint_ns": ""}
"""The newest checkpoint of a thread's graph; with an id, that one."""


async def begin_platform(
    source: PlatformSource,
    given: RunAgentInput,
    options: Options | None,
    intake: Intake,
    past_errors: PastErrors,
) -> Batches:
    """See `Backend.submit`. Raises `InvalidInputError` for a platform without an assistant: it has nothing to run."""
    thread = source.thread_at(checked_thread_id(given.thread_id))
    checked_run_id(given.run_id, in_url=False)
    if source.assistant_id is None:
        raise InvalidInputError("expected a Platform with an assistant_id to run something, got one without")
    request = await RunRequest.of(given, options or await source.options(), intake, past_errors)
    return await _Submission(source, thread, request).when_free()


@dataclass(frozen=True, slots=True)
class _Read(Read):
    """A thread as the server has it."""

    look: Look | None = None
    """None for a thread that does not exist yet."""


class _Submission(Submission[_Read]):
    """An input for an assistant of a platform."""

    def __init__(self, source: PlatformSource, thread: PlatformThread, request: RunRequest) -> None:
        label = log_context(source.assistant_id, request.given.thread_id, request.given.run_id)
        super().__init__(request, no_edits=source.no_edits, unused=source.unused, label=label)
        self._source, self._thread = source, thread

    async def when_free(self) -> Batches:
        """See `Submission`. The run has started, or waits for another's end."""
        attempts = 0
        while True:
            look = await self._thread.look()
            if self._thread.is_hidden:
                raise ThreadNotFoundError
            found = self._found(look)
            self._keep_messages(found.thread)
            if look is None or look.active is None:
                attempts += 1
                try:
                    return await self._begin(found)
                except RunConflictError:  # another one was faster
                    if attempts == _ATTEMPTS:
                        raise
                    continue
            same = self._same(look)
            if same is not None:
                return self._attached(same)
            if self._intake.busy == "reject" or attempts == _ATTEMPTS:
                raise RunConflictError(
                    f"thread {self._thread.id!r} has a run that is running, {client_run_id(look.active)!r}; expected "
                    "to be called when it has ended"
                )
            if self._intake.busy == "queue":
                return await self._begin(found) if has_kwargs(look.active) else self._after(look.active)
            try:
                is_stopped = await self._thread.cancel(None)
            except RunNotFoundError:  # it has ended by itself
                is_stopped = False
            attempts += not is_stopped

    def _same(self, look: Look) -> Answered | None:
        """The active run that this very request has started."""
        for run in (look.active, *look.recent):
            if (
                run is not None
                and run.get("status") in ACTIVE
                and self._given.run_id in (client_run_id(run), run["run_id"])
            ):
                return run
        return None

    def _found(self, look: Look | None) -> _Read:
        if look is None:
            return _Read(ThreadState())
        return _Read(look.thread_state(self._options.messages_key), look.outcome, look)

    def _history(self) -> AsyncGenerator[Checkpoint, None]:
        return self._thread.history()

    async def _channels(self) -> InputChannels:
        channels = await self._source.input_channels(self._options.messages_key)
        return replace(channels, reducers=frozenset(self._intake.replaced))

    async def _reconciled(self) -> _Read:
        await self._thread.drop()
        return self._found(await self._thread.look())

    async def _unchanged(self, now: _Read) -> Batches:
        if now.look is not None and now.look.active is not None:
            return self._attached(now.look.active)
        return await super()._unchanged(now)

    async def _start(self, wanted: Started, now: _Read, point: ForkPoint | None) -> Batches:
        at = now.thread if point is None else point.thread
        is_free = now.look is None or now.look.active is None
        if not is_free and point is None:
            at = replace(at, messages=())  # a call that waits now may be answered when the queued run starts
        goes_in = await self._graph_input(wanted, at, await self._channels())
        metadata = {**await self._thread.claim(), RUN_ID: self._given.run_id}
        if goes_in.values and not isinstance(wanted, Begin | Fork):
            goes_in, metadata[WRITTEN] = self._unwritten(goes_in, now, point)
        run = await self._thread.start(
            str(self._source.assistant_id),
            **create_arguments(wanted, goes_in, None if point is None else point.checkpoint.id),
            **self._configured(goes_in.context, metadata),
            metadata=metadata,
            multitask_strategy="reject" if is_free else "enqueue",
            if_not_exists="create",
            stream_mode=list(PLATFORM_STREAM_MODES),
            stream_subgraphs=True,
            stream_resumable=True,
        )
        if not isinstance(wanted, Resume | GoOn):
            return self._started_run(run, [], more=False)
        return self._started_run(run, [] if now.look is None else subgraphs(now.look.state), more=wanted.more)

    def _unwritten(self, goes_in: GraphInput, now: _Read, point: ForkPoint | None) -> tuple[GraphInput, str]:
        """The input of a run that continues, without values for channels that an earlier run has written at the same
        checkpoint; and the mark of both in the run's metadata (`look.WRITTEN`)."""
        at = now.thread.checkpoint_id if point is None else point.checkpoint.id
        pending = written_at(at, () if now.look is None else now.look.recent)
        values = without_pending(goes_in.values, pending, self._label)
        return replace(goes_in, values=values), written_mark(at, pending | values.keys())

    def _configured(self, context: Any, metadata: Metadata) -> dict[str, Any]:
        config: dict[str, Any] = dict(merged(self._intake.config, self._request.added.config))
        config["metadata"] = {**config["metadata"], **metadata}
        context = to_json(context)
        if config["configurable"] and isinstance(context, Mapping):
            config["configurable"] = {**config["configurable"], **context}
            context = None
        return {"config": config} if context is None else {"config": config, "context": context}

    @relaying
    async def _started_run(self, run: Answered, waiting: Sequence[Subgraph], *, more: bool) -> Relayed:
        """The run, to its end; `more`: and then what came with it."""
        is_over = False
        options = replace(self._options, history="keep") if more else self._options  # messages that wait stay
        parent = self._given.parent_run_id
        attachment = Attachment.from_start(
            self._thread, run, self._reader, options, parent_run_id=parent, waiting=waiting
        )
        try:
            yield attachment.batches()
            is_over = True
        finally:
            if not is_over and self._intake.on_disconnect == "cancel":
                await self._thread.stop(str(run["run_id"]))
        if more and self._has_ended_well():
            yield await self._following(self._reader.view).when_free()

    def _has_ended_well(self) -> bool:
        """Whether the run that was emitted has; it may have stopped for an answer."""
        last = self._reader.view.terminal or {}
        return last.get("type") == "RUN_FINISHED" and last.get("outcome", {}).get("type") != "cancelled"

    def _following(self, view: ClientView) -> _Submission:
        return _Submission(self._source, self._thread, self._request.without_answers(view))

    @relaying
    async def _after(self, run: Answered) -> Relayed:
        """The client's events, when another run has ended."""
        async with aclosing(run_events(self._thread, str(run["run_id"]), replays=False)) as notices:
            async for _ in notices:
                pass
        yield await self.when_free()

    def _attached(self, run: Answered) -> Batches:
        """A run that is active already."""
        return Attachment(self._thread, run, self._reader, self._options).batches()


def create_arguments(wanted: Started, goes_in: GraphInput, checkpoint_id: str | None) -> dict[str, Any]:
    """The arguments of `runs.create` for what is done, and where: at this checkpoint, or at the newest.

    A run that continues and writes nothing is created by a checkpoint without an id: Aegra takes no request without
    any of these.
    """
    at = {} if checkpoint_id is None else {"checkpoint": {**_TOP, "checkpoint_id": checkpoint_id}}
    values = json_of(goes_in.values)
    if isinstance(wanted, Begin | Fork):
        return {"input": values, **at}
    command: dict[str, Any] = {"resume": wanted.values} if isinstance(wanted, Resume) else {}
    if values:
        command["update"] = values
    return {"command": command, **at} if command else at or {"checkpoint": _TOP}
