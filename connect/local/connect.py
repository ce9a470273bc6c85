"""Connects a reader to a thread of a compiled graph in this process: `attach_local`. The module `thread` reads the
thread's present state."""

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
from .store.active_run import ActiveRun, is_news
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
    """See `Backend.attach`. Reads the thread before it returns. `options`: for a run that has ended; None shows the
    channels of the graph's output schema.

    Raises `UnreadableError` if the checkpointer raises, and `GraphNotMadeError` if the function that makes the graph
    raises. The iterator raises `RunNotFoundError` for a run that is neither active nor the thread's last.
    """
    await source.prepare(thread_id, run_id)
    options = direct_options(options or await source.options())
    thread = LocalThread(source, thread_id)
    with reading(thread.label(run_id)):
        feed: Feed | None = None
        present = await thread.present(options)
        if run_id is None and present is not None and (not thread.is_quiet or source.runs.queue.on(thread.key)):
            feed = await source.runs.feed(thread.key)
            present = await thread.present(options)  # again, since the feed has only later runs
        if present is None and run_id is not None and not await thread.may_be_used():
            run_id = None  # such a thread counts as unknown, even for a client that names a run
    batches = _present_batches(present, thread_id, reader, options, run_id, past_errors)
    if present is None or feed is None:
        return batches
    return _with_queued(batches, present, thread, reader, feed)


@relaying
async def _with_queued(
    batches: Batches, present: ActiveRun | RunOutcome, thread: LocalThread, reader: Reader, feed: Feed
) -> Relayed:
    """Yields the batches of the present run, and then those of the runs that are queued on the thread."""
    shown, since = (None, present.number) if isinstance(present, RunOutcome) else (present, 0)
    yield batches
    is_queued = partial(thread.source.runs.is_queued, thread.key)
    while (run := await feed.next_run(is_queued)) is not None:
        if is_news(run, shown, since):
            shown = run
            yield run.attach(reader)


@relaying
async def _present_batches(
    present: ActiveRun | RunOutcome | None,
    thread_id: str,
    reader: Reader,
    options: Options,
    run_id: str | None,
    past_errors: PastErrors,
) -> Relayed:
    if run_id is not None and (present is None or present.run_id != run_id):
        raise RunNotFoundError(f"The run {run_id!r} is neither active nor the thread's last.")
    elif present is not None and not isinstance(present, RunOutcome):
        yield present.attach(reader)
    elif present is not None:
        yield to_batch(await idle_events_off_loop(reader, thread_id, present, options, past_errors))
