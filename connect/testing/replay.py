"""Serves a recording as if it were a graph, so that every client can see the run again: `Replay`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypedDict, cast

from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.state import CompiledStateGraph

from ...translator import (
    Cancelled,
    ClientView,
    Ending,
    Failed,
    Finished,
    Lost,
    Options,
    PartReader,
    UnreadablePartError,
)
from ..errors import RunConflictError
from ..events.encoded import Batches
from ..events.readers import Reader
from ..inputs.thread_state import ThreadState
from ..local.backend import Local
from ..local.run.runs import RunSetup
from ..local.thread import LocalThread
from ..run_outcome import PastErrors
from ..thread_info import ThreadStatus
from .recording import Recording
from .replay_threads import ReplayThreads

_NODE: Final = "replay"


class Replay(Local):
    """A source that repeats a recorded run for every input, on any thread. On the thread of the recording, the run
    starts with the recorded run id as soon as a reader connects.

    `recording` is what is replayed. `speed` is how many times faster than it was recorded; None means at once. Raises
    `ValueError` if `speed` is not above 0.

    Threads are kept in memory, without messages from before the recording. The parts are translated like those of a
    live run, so readers receive the events that this version makes of them. If a recording contains only events, as the
    inspector saves it, they are played as they are. Lists contain only the thread of the recording. If it has no run in
    memory, it is shown as the recording ends.

    Example:
        app = agui_app({"fault": Replay(Recording.read("fault.jsonl"))})
    """

    def __init__(self, recording: Recording, *, speed: float | None = 1.0) -> None:
        if speed is not None and not speed > 0:
            raise ValueError(f"speed: expected more than 0, got {speed!r}")
        super().__init__(_graph(recording, speed))
        self.recording = recording
        self._options = recording.options
        self.make_translator = recording.make_translator
        self._recorded = _at_the_end(recording)
        self._served_at = datetime.now(UTC)

    @property
    def threads(self) -> ReplayThreads:
        """See `Backend`."""
        return ReplayThreads(self, self.recording.thread_id, self._served_at)

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """See `Backend`."""
        state = await super().thread(thread_id, options)
        if state is None and thread_id == self.recording.thread_id and await LocalThread(self, thread_id).may_be_used():
            return self._recorded
        return state

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
        await self._begin(thread_id)
        return await super().attach(thread_id, reader, options, run_id=run_id, past_errors=past_errors)

    async def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """See `Backend`."""
        await self._begin(thread_id)
        return await super().watch(thread_id, reader, options, past_errors=past_errors, poll=poll)

    async def _begin(self, thread_id: str) -> None:
        """Starts the run if this is the recording's thread and it has had no run."""
        if thread_id != self.recording.thread_id or await self.readable_run(self.key(thread_id)) is not None:
            return
        config = {"configurable": {"thread_id": thread_id}}
        with suppress(RunConflictError):  # another reader has just started it
            run_id = self.recording.run_id
            await self.runs.begin(
                RunSetup(
                    graph=self.graph,
                    input=None,
                    config=config,
                    run_id=run_id,
                    agent=self.agent,
                    stamp=self.stamp,
                    make_translator=self.make_translator,
                )
            )


class _ReplayGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that streams a recording's parts, whatever its input is."""

    def __init__(self, *, recording: Recording, speed: float | None, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.recording, self.speed = recording, speed

    async def astream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Yields the parts at their times, and then ends as the run did."""
        clock = asyncio.get_running_loop().time
        began = clock()
        for part in self.recording.parts:
            if self.speed is not None and (wait := began + part.at / self.speed - clock()) > 0:
                await asyncio.sleep(wait)
            yield part.data
        for data in _end(self.recording.ending):
            yield data


def _at_the_end(recording: Recording) -> ThreadState:
    """Returns the state of a recording's thread at its end."""
    view = ClientView([], {})
    last = recording.translate(view=view)[-1]
    status: ThreadStatus = "failed" if last["type"] == "RUN_ERROR" else "idle"
    if last.get("outcome", {}).get("type") == "interrupt":
        status = "waiting"
    return ThreadState(view=view, run_id=recording.run_id, status=status)


def _graph(recording: Recording, speed: float | None) -> _ReplayGraph:
    """Returns a graph with the recording's channels, so that the same channels are visible."""
    options = recording.options
    names = options.state_include
    if names is None:
        names = frozenset(name for values in _values(recording) for name in values)
    channels: dict[str, Any] = dict.fromkeys(sorted(filter(options.shows_channel, names)), Any)
    channels[options.messages_key] = Annotated[list[Any], add_messages]
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(TypedDict("State", channels))  # type: ignore[operator]
    builder.add_node(_NODE, cast(Any, _do_nothing)).add_edge(START, _NODE)
    return _ReplayGraph(recording=recording, speed=speed, **vars(builder.compile(name=_NODE)))


def _values(recording: Recording) -> Iterator[dict[str, Any]]:
    """Yields the root values in the parts. A part that can't be read is skipped here, and fails the run when it is
    played."""
    reader = PartReader()
    for _, data in recording.parts:
        with suppress(UnreadablePartError):
            for part in reader.read(data):
                if part.mode == "values" and not part.ns and isinstance(part.data, dict):
                    yield part.data


def _do_nothing(_: Any) -> None:
    """The only node of the graph. It never runs, because the graph streams the recording instead."""


def _end(ending: Ending) -> Iterator[Any]:
    """Yields the parts for the ending of the run, or raises what a graph with this ending raises."""
    match ending:
        case Finished(interrupts, state, _, at_breakpoint):
            if state is not None:
                yield ["values", dict(state)]
            if interrupts or at_breakpoint:
                yield ["updates", {"__interrupt__": list(interrupts)}]
        case Cancelled():
            raise asyncio.CancelledError
        case Failed({"error": str(name), "message": message}):
            raise _error(name, message)
        case Failed(error):
            raise RuntimeError(str(error))
        case Lost(reason):
            raise _error(Lost.code, str(reason))


def _error(name: str, message: object) -> Exception:
    """Returns an exception whose class has this name, because the name becomes the code of the `RUN_ERROR`."""
    error_class: type[Exception] = type(name, (Exception,), {})
    return error_class(message)
