"""One thread of a compiled graph in this process: `attach_local` reads it, `cancel_local` stops its run.

What the thread has is found by `thread`.
"""

from __future__ import annotations

from functools import partial

from ...translator import Options
from ..errors import RunNotFoundError
from ..events.encoded import Batches, to_batch
from ..events.readers import Reader, direct_options
from ..events.relay import Relayed, relaying
from ..idle import idle_events_off_loop
from ..run_outcome import PastErrors, RunOutcome
from .checkpointers import reading
from .source import GraphSource
from .store.active_run import CANCEL_WAIT, ActiveRun, RunStatus, is_news
from .store.feed import Feed
from .thread import LocalThread


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
    of one that is neither active nor the thread's last the iterator raises `RunNotFoundError`. Raises `UnreadableError`
    if the checkpointer raises, and `GraphNotMadeError` if a function raises that makes the graph.
    """
    await source.prepare(thread_id, run_id)
    options = direct_options(options or await source.options())
    thread = LocalThread(source, thread_id)
    with reading(thread.label(run_id)):
        feed = await source.runs.feed(thread.key)  # first: it has every later run
        now = await thread.now(options)
        if now is None and run_id is not None and not await thread.may_be_used():
            run_id = None  # as for an unknown thread, also where a run is named
    batches = _present(now, thread_id, reader, options, run_id, past_errors)
    if now is None or run_id is not None:
        return batches
    return _with_queued(batches, now, thread, reader, feed)


@relaying
async def _with_queued(
    batches: Batches, now: ActiveRun | RunOutcome, thread: LocalThread, reader: Reader, feed: Feed
) -> Relayed:
    """The batches, and then those of the runs that are queued on the thread. `now`: the run that they are of."""
    shown, since = (None, now.number) if isinstance(now, RunOutcome) else (now, 0)
    yield batches
    is_queued = partial(thread.source.runs.is_queued, thread.key)
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
        raise RunNotFoundError(f"The run {run_id!r} is neither active nor the thread's last.")
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
    run = await LocalThread(source, thread_id).active()
    if run is None:
        raise RunNotFoundError(f"no run is active on thread {thread_id!r}")
    if run_id not in (None, run.run_id):
        raise RunNotFoundError(f"run {run_id!r} is not active on thread {thread_id!r}; {run.run_id!r} is")
    return await run.cancel(wait)
