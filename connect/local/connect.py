"""One thread of a compiled graph in this process: `attach_local` reads it, `cancel_local` stops its run.

The run store is asked first, and again after the checkpointer was read: a run may have started, or even ended,
meanwhile. So the events are those of one moment.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...translator import Options
from ...translator import events as agui
from ..errors import RunNotFoundError, log_context
from ..events.encoded import Batch, Batches, to_batch
from ..events.readers import Reader, direct_options
from ..events.relay import Relayed, relaying
from ..idle import idle_events_off_loop
from ..replaced_messages import with_replaced
from ..run_outcome import PastErrors, RunOutcome
from .checkpointers import Graph, answered, has_checkpointer, reading
from .checkpoints.history import history
from .checkpoints.outcome import outcome_without_checkpoint
from .checkpoints.thread_state import newest, outcome_at
from .run.runs import agent_of
from .source import GraphSource
from .store.active_run import CANCEL_WAIT, ActiveRun, LastRun, RunStatus, is_news
from .store.feed import Feed

NOT_FOUND = "not_found"
"""The code for a run that was asked for and is neither active nor the thread's last."""


async def attach_local(
    source: GraphSource,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    *,
    run_id: str | None = None,
    past_errors: PastErrors = "error",
) -> Batches:
    """Reads the thread, and returns its state, its active run and the runs queued behind it, to their end; no events
    for a thread that is unknown, or may not be used.

    `options`: of a run that has ended; None gives the channels of the graph's output schema. `run_id`: this run alone;
    one that is neither active nor the thread's last is `RUN_ERROR`. Raises `UnreadableError` if the checkpointer
    raises.
    """
    options = direct_options(options or await source.options())
    with reading(log_context(agent_of(source.graph, source.agent), thread_id, run_id)):
        feed = await source.runs.feed(source.key(thread_id))  # first: it has every later run
        now = await found(source, thread_id, options)
        if now is not None and not await source.may_use(thread_id, now):
            now, run_id = None, None  # as for an unknown thread, also where a run is named
    batches = _present(now, thread_id, reader, options, run_id, past_errors)
    if now is None or run_id is not None:
        return batches
    return _with_queued(batches, now, source, thread_id, reader, feed)


@relaying
async def _with_queued(
    batches: Batches, now: ActiveRun | RunOutcome, source: GraphSource, thread_id: str, reader: Reader, feed: Feed
) -> Relayed:
    """The batches, and then those of the runs that are queued on the thread. `now`: the run that they are of."""
    shown, since = (None, now.number) if isinstance(now, RunOutcome) else (now, 0)
    yield batches
    is_queued = partial(source.runs.is_queued, source.key(thread_id))
    while (run := await feed.next_run(is_queued)) is not None:
        if not is_news(run, shown, since):
            continue
        shown = run
        yield run.attach(reader)


@relaying
async def _present(
    now: ActiveRun | RunOutcome | None,
    thread_id: str,
    reader: Reader,
    options: Options,
    run_id: str | None,
    past_errors: PastErrors,
) -> Relayed:
    if run_id is not None and (now is None or now.run_id != run_id):
        yield _refusal(reader, f"The run {run_id!r} is neither active nor the thread's last.", NOT_FOUND)
    elif now is not None and not isinstance(now, RunOutcome):
        yield now.attach(reader)
    elif now is not None:
        yield to_batch(await idle_events_off_loop(reader, thread_id, now, options, past_errors))


async def cancel_local(
    source: GraphSource, thread_id: str, run_id: str | None = None, *, wait: float = CANCEL_WAIT
) -> RunStatus:
    """Stops the thread's run, and waits up to `wait` seconds until its graph has stopped; the run's status then.

    Raises `RunNotFoundError` if no run is active, or another than `run_id`.
    """
    run = await source.runs.store.active(source.key(thread_id))
    if run is None or not await source.may_use(thread_id, run):
        raise RunNotFoundError(f"no run is active on thread {thread_id!r}")
    if run_id not in (None, run.run_id):
        raise RunNotFoundError(f"run {run_id!r} is not active on thread {thread_id!r}; {run.run_id!r} is")
    return await run.cancel(wait)


async def found(source: GraphSource, thread_id: str, options: Options) -> ActiveRun | RunOutcome | None:
    """The active run, if it can be read, or an ended one of a graph without a checkpointer, or else how the last one
    ended, as these options show it; None for an unknown thread."""
    store, key = source.runs.store, source.key(thread_id)
    while True:
        run, last = await store.active(key), await store.last(key)
        if run is not None and run.status == "stopping" and await run.stream_end():
            continue  # the checkpoint has what the run left
        if run is not None and run.is_readable:
            return run
        if not has_checkpointer(source.graph):
            return None if last is None else last.run
        idle = await answered(_idle(source.graph, thread_id, last), source.read_timeout)
        if idle is not None:
            config = {"configurable": {"thread_id": thread_id}}
            checkpoints = history(source.graph, config, source.read_timeout)
            number = last.number if last is not None and last.run_id == idle.run_id else 0
            idle = replace(idle, values=await with_replaced(idle.values, options, checkpoints), number=number)
        if await store.active(key) is run and await store.last(key) == last:
            source.runs.note_outcome(key, idle, source.agent or source.graph)
            return idle


async def _idle(graph: Graph, thread_id: str, last: LastRun | None) -> RunOutcome | None:
    state = await newest(graph, {"configurable": {"thread_id": thread_id}})
    if state.metadata is None and state.created_at is None:
        return outcome_without_checkpoint(last)
    return await outcome_at(graph, state, last)


def _refusal(reader: Reader, message: str, code: str) -> Batch:
    event = agui.run_error(message, code)
    reader.view.apply(event)
    return to_batch([event])
