"""One client's input, from its plan to its batches: `Submission`, the same in this process and on a platform.

Which run an input asks for is `inputs.plan`'s, and what the graph gets is `inputs.graph_input`'s. Here each plan is
carried out; how a thread is read and a run started is what `local.submit` and `platform.submit` add.

| plan | the client gets |
|---|---|
| `Begin`, `Fork`, `Again` | the run that is started |
| `Resume`, `GoOn` | the same; and then the run of what the input has besides its answers |
| `Drop` | the run of what else the input has; without any, as for `Nothing` |
| `Wait` | a run that names the pending interrupts |
| `Nothing` | a run that changes nothing |

Before `Begin`, and for `Drop`, the writes of an unfinished superstep are saved, and its remaining tasks are abandoned
(`_reconciled`): a new turn would discard those writes, such as the result of one tool while another one failed, or the
message of a run that was cancelled at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from ..translator import ClientView, unanswered_calls
from .events.encoded import Batches, one_batch
from .events.readers import Reader
from .idle import log_late, unchanged_events, waiting_events, with_unused_messages
from .inputs.answers.resume import is_answering
from .inputs.channels import InputChannels, note_unused, takes_no_messages
from .inputs.forking import ForkPoint
from .inputs.graph_input import GraphInput, graph_input
from .inputs.off_loop import off_loop, size_of
from .inputs.plan import Again, Begin, Drop, Fork, GoOn, Nothing, Resume, Wait
from .inputs.planning import NoEdits, planned
from .inputs.request import RunRequest
from .inputs.thread_state import ThreadState
from .replaced_messages import with_replaced
from .run_outcome import RunOutcome
from .thread_info import Checkpoint

Started = Begin | Resume | GoOn | Fork | Again
"""The plans that start a run."""


@dataclass(frozen=True, slots=True)
class Read:
    """A thread as it was read for an input."""

    thread: ThreadState
    """Its state."""
    ended: RunOutcome | None = None
    """How its last run ended; None for a thread without one."""


_Read = TypeVar("_Read", bound=Read)


class Submission(ABC, Generic[_Read]):
    """One input, on its way to a run. `no_edits`, `unused`: what is known of the inputs before it. `label`: as
    `errors.log_context`."""

    def __init__(self, request: RunRequest, *, no_edits: NoEdits, unused: set[str], label: str) -> None:
        self._request = request
        self._given, self._options, self._intake = request.given, request.options, request.intake
        self._reader = Reader(request.options, request.view)
        self._no_edits, self._unused, self._label = no_edits, unused, label

    @abstractmethod
    async def when_free(self) -> Batches:
        """The client's batches, as soon as no other run is in the way."""

    @abstractmethod
    def _following(self, view: ClientView) -> Self:
        """The same input without its answers, for a client that has this view by then."""

    @abstractmethod
    def _history(self) -> AsyncGenerator[Checkpoint, None]:
        """The thread's checkpoints, the newest first."""

    @abstractmethod
    async def _reconciled(self) -> _Read:
        """The thread, after what its last run wrote was saved, and what that run left undone was dropped."""

    @abstractmethod
    async def _channels(self) -> InputChannels:
        """The channels in which the graph takes its input."""

    @abstractmethod
    async def _start(self, wanted: Started, now: _Read, point: ForkPoint | None) -> Batches:
        """Starts the run, at an earlier checkpoint where one is given; its batches."""

    def _keep_messages(self, thread: ThreadState) -> None:
        """Keeps what the thread has when the input comes, for its plan when it has waited."""
        if self._request.before is None:
            self._request = replace(self._request, before=thread.messages)

    async def _begin(self, now: _Read) -> Batches:
        """Plans the input for its thread, and carries the plan out."""
        takes_messages = await self._takes_messages(now.thread)
        wanted, point = await planned(
            self._request, now.thread, self._history, self._no_edits, takes_messages=takes_messages
        )
        if isinstance(wanted, Drop) or (isinstance(wanted, Begin) and now.thread.has_pending_writes):
            now = await self._reconciled()
            if isinstance(wanted, Drop) and wanted.more:
                return await self._following(self._request.view).when_free()
        if isinstance(wanted, Wait):
            thread, follows = now.thread, self._request.follows
            events = waiting_events(
                self._given, wanted, thread, self._options, self._reader, ended=now.ended, follows=follows
            )
            return one_batch(events)
        if isinstance(wanted, Nothing):
            log_late(wanted, self._label)
        if isinstance(wanted, Nothing | Drop):
            return await self._unchanged(now)
        batches = await self._start(wanted, now, point)
        return await self._with_unused(batches, wanted)

    async def _with_unused(self, batches: Batches, wanted: Started) -> Batches:
        """The client's batches, and in them what names the messages that reach nothing in the graph."""
        new = wanted.messages if isinstance(wanted, Begin | Fork) else ()
        if not new or not takes_no_messages(await self._channels(), self._intake):
            return batches
        return with_unused_messages(batches, [message.id for message in new])

    async def _takes_messages(self, thread: ThreadState) -> bool:
        """Whether the graph takes messages; if that is not known, whether the thread has some. True without a look
        where it decides nothing, since a look may cost a request."""
        if not (thread.waits or is_answering(self._given) or unanswered_calls(thread.messages)):
            return True
        channels = await self._channels()
        return channels.messages_key is not None and (channels.names is not None or bool(thread.messages))

    async def _unchanged(self, now: _Read) -> Batches:
        ended = now.ended
        if ended is not None:
            ended = replace(ended, values=await with_replaced(ended.values, self._options, self._history()))
        return one_batch(unchanged_events(self._given, ended, self._options, self._reader, self._request.past_errors))

    async def _graph_input(self, wanted: Started, state: ThreadState, channels: InputChannels) -> GraphInput:
        """What goes into the graph of a run that starts where the thread has this state."""
        return await off_loop(self._graph_input_of, size_of(self._given), wanted, state, channels)

    def _graph_input_of(self, wanted: Started, state: ThreadState, channels: InputChannels) -> GraphInput:
        given = self._given
        note_unused(self._unused, channels, given, self._intake, state, self._options, self._label)
        new = wanted.messages if isinstance(wanted, Begin | Fork) else None
        if isinstance(wanted, GoOn) and wanted.results:
            new = wanted.results
        return graph_input(given, new, state, channels, self._intake, self._request.added)
