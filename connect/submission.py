"""Turns a client's input into a run, in this process or on a platform: `submit`.

An input first waits for its turn on its thread, in `local.submit` or `platform.submit`, which then call `submit` with
the thread as a `Port`. `inputs.plan` decides which run the input asks for, and `submit` carries out the plan. A port
knows nothing of plans: it reads the thread, and starts the run that it is told to start.

| plan | the client gets |
|---|---|
| `Begin`, `Fork`, `Again`, `GoBack` | the run that is started |
| `Resume`, `GoOn` | the same, and then a run of the rest of the input, if it has more than answers |
| `Collect` | a run that changes nothing but what the thread has stored before it |
| `Drop` | a run of the rest of the input; without a rest, the same as for `Nothing` |
| `Wait` | a run that names the pending interrupts |
| `Nothing` | a run that changes nothing |

Before `Begin`, and for `Drop`, the writes of an unfinished superstep are saved and its remaining tasks are given up
(`Port.drop`). A new turn would otherwise discard those writes: the result of one tool when another one failed, or the
message of a run that was cancelled at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..translator import Options
from .errors import InvalidInputError
from .events.encoded import Batches, one_batch
from .idle import log_late, unchanged_events, unused_messages, unused_state, waiting_events, with_unused
from .inputs.channels import InputChannels, note_unused, takes_no_messages
from .inputs.forking import ForkPoint
from .inputs.graph_input import GraphInput, graph_input, results_input
from .inputs.off_loop import off_loop, size_of
from .inputs.plan import Again, Begin, Collect, Drop, Fork, GoBack, GoOn, Nothing, Plan, Resume, Wait
from .inputs.planning import NoEdits, make_plan
from .inputs.request import RunRequest
from .inputs.thread_state import ThreadState
from .inputs.time_travel import find_checkpoint, requested_checkpoint
from .replaced_messages import outcome_with_replaced
from .run_outcome import RunOutcome
from .thread_info import Checkpoint


@dataclass(frozen=True, slots=True)
class ThreadRead:
    """A thread, as a port has read it."""

    state: ThreadState
    """The state that the plan of an input depends on."""
    outcome: RunOutcome | None = None
    """How its last run ended; None for a thread without one."""
    attach: Callable[[], Batches] | None = None
    """Returns the events of its active run, for the input's client; None if no run is active."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run for a port to start on the thread that it has read."""

    request: RunRequest
    """The input that the run is for."""
    input: GraphInput
    """The values that it writes to channels, and its context."""
    is_turn: bool
    """Whether the values are the graph's input. If not, the run continues at a checkpoint, and they update its
    state."""
    state: ThreadState
    """The thread at the checkpoint where it starts."""
    checkpoint: Checkpoint | None = None
    """The earlier checkpoint where it starts; None is the newest one. If the run continues there with values, it starts
    at a copy of the checkpoint: what is written next to a checkpoint stays there, and would be part of every later run
    from it."""
    answers: Mapping[str, Any] | None = None
    """The answers that it resumes with, by interrupt id."""
    rest: RunRequest | None = None
    """The input without its answers, which is submitted after this run has succeeded, with the view that the client
    has then; None without a rest."""

    @property
    def continues(self) -> bool:
        """Whether it continues where the thread's last run stopped."""
        return not self.is_turn and self.checkpoint is None

    @property
    def options(self) -> Options:
        """Its options. If it has a rest, they keep the waiting messages in the client."""
        options = self.request.options
        return options if self.rest is None else replace(options, history="keep")


class Port(Protocol):
    """The thread of an input that has its turn."""

    label: str
    """The agent, the thread and the run, as log lines name them."""
    channels: InputChannels
    """The channels in which the graph takes its input."""
    no_edits: NoEdits
    """Messages that differ from the thread's and were found not to be edits."""
    unused: set[str]
    """The kinds of input that clients have sent and for which the graph has no field."""

    async def nodes(self) -> Collection[str]:
        """Returns the names of the graph's own nodes; none if they are not known."""

    async def read(self) -> ThreadRead:
        """Returns the thread as it is now."""

    def history(self) -> AsyncGenerator[Checkpoint, None]:
        """Yields the thread's checkpoints, the newest first."""

    async def drop(self) -> None:
        """Saves the pending writes of the thread's last run, and gives up its unfinished work."""

    async def write(self, values: Mapping[str, Any]) -> bool:
        """Writes values to channels of a thread that has no unfinished work, as the input of a run would, but starts no
        run. Returns whether the values were written; some graphs do not allow it."""

    async def start(self, run: NewRun) -> Batches:
        """Starts a run on the thread as it was last read, and returns the events for the input's client. Raises
        `RunConflictError` if another run has started since, and `ThreadNotFoundError` if the thread now belongs to
        someone else."""


async def submit(request: RunRequest, port: Port) -> Batches:
    """Plans an input for its thread, carries out the plan, and returns the events for its client.

    Raises `InvalidInputError` for an input that cannot be run, and what the port raises. After `RunConflictError` the
    input may be submitted again: its plan was made for a thread that has changed.
    """
    if request.breakpoints:
        request.breakpoints.check_names(await port.nodes())
    thread = await port.read()
    plan, point = await _plan(request, thread.state, port)
    if isinstance(plan, Drop) or (isinstance(plan, Begin) and thread.state.has_pending_writes):
        await port.drop()
        if isinstance(plan, Drop) and plan.more:
            return await submit(request.without_answers(request.view), port)
        thread = await port.read()
    if isinstance(plan, Collect):
        values = results_input(thread.state, plan.results, port.channels)
        if thread.attach is None and await port.write(values):
            return await _unchanged(request, (await port.read()).outcome, port)
        plan = Begin(plan.results)
    if isinstance(plan, Wait):
        return one_batch(waiting_events(request, plan, thread.state, thread.outcome))
    if isinstance(plan, Nothing):
        log_late(plan, port.label)
    if isinstance(plan, Nothing | Drop):
        return thread.attach() if thread.attach is not None else await _unchanged(request, thread.outcome, port)
    run, unwritten = await _new_run(request, plan, point, thread, port)
    batches = await port.start(run)
    messages = plan.messages if isinstance(plan, Begin | Fork) else ()
    notices = [unused_state(unwritten)] if unwritten else []
    if messages and takes_no_messages(port.channels, request.intake):
        notices.append(unused_messages([message.id for message in messages]))
    return with_unused(batches, notices) if notices else batches


async def _plan(request: RunRequest, state: ThreadState, port: Port) -> tuple[Plan, ForkPoint | None]:
    """Returns the plan of an input, and the earlier checkpoint at which to carry it out, or None for the newest."""
    checkpoint_id = requested_checkpoint(request.run_input)
    if checkpoint_id is None:
        takes_messages = _takes_messages(port.channels, state)
        return await make_plan(request, state, port.history, port.no_edits, takes_messages=takes_messages)
    if request.run_input.run_id == state.run_id:  # the same request, sent twice
        return Nothing(), None
    if state.is_new:
        raise InvalidInputError("the thread has no checkpoint with this id")
    return GoBack(), await find_checkpoint(checkpoint_id, port.history(), request.options.messages_key)


def _takes_messages(channels: InputChannels, state: ThreadState) -> bool:
    """Returns whether the graph takes messages. If its channels are not known, returns whether the thread has
    messages."""
    return channels.messages_key is not None and (channels.names is not None or bool(state.messages))


async def _unchanged(request: RunRequest, outcome: RunOutcome | None, port: Port) -> Batches:
    if outcome is not None:
        outcome = await outcome_with_replaced(outcome, request.options, port.history())
    return one_batch(unchanged_events(request, outcome))


async def _new_run(
    request: RunRequest,
    plan: Begin | Resume | GoOn | Fork | Again | GoBack,
    point: ForkPoint | None,
    thread: ThreadRead,
    port: Port,
) -> tuple[NewRun, list[str]]:
    """Makes the run of a plan, and returns it with the names in the client's state that may not be written. `point`:
    the earlier checkpoint where it starts; None is the newest."""
    state = thread.state if point is None else point.thread
    if thread.attach is not None and point is None:
        state = replace(state, messages=())  # a call that waits now may be answered when the queued run starts
    messages = plan.messages if isinstance(plan, Begin | Fork) else None
    if isinstance(plan, GoOn) and plan.results:
        messages = plan.results

    def make_input() -> tuple[GraphInput, list[str]]:
        run_input, intake = request.run_input, request.intake
        # What the client has changed is seen from what it had: the newest values, wherever the run starts, or those of
        # the checkpoint that it names.
        before = state if isinstance(plan, GoBack) else replace(state, values=thread.state.values)
        unwritten = note_unused(port.unused, port.channels, run_input, intake, before, request.options, port.label)
        added = graph_input(run_input, messages, state, port.channels, intake, request.added)
        return added, [] if thread.attach is not None else unwritten  # what the active run has changed is not known yet

    has_rest = isinstance(plan, Resume | GoOn) and plan.more
    made, unwritten = await off_loop(make_input, size_of(request.run_input))
    run = NewRun(
        request=request,
        input=made,
        is_turn=isinstance(plan, Begin | Fork),
        state=state,
        checkpoint=None if point is None else point.checkpoint,
        answers=plan.values if isinstance(plan, Resume) else None,
        rest=request.without_answers(request.view) if has_rest else None,
    )
    return run, unwritten
