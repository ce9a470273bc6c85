"""Watches a thread of a compiled graph in this process: its runs here, and checkpoints that other code writes (a
scheduler's `ainvoke`, an `update_state`, another process), which leave no stream.

The feed of the thread has the runs that start, and the changes that the thread's poller finds. Rules:

1. Runs of this process are emitted in the order in which they start, each to its end, before the thread is read again.
2. A change that was not made by a run of this process is emitted as a run: from start to end at once if that run has
   ended, else change by change until it has. Its id is the run id in its checkpoint, or is derived from its first
   checkpoint that was read. Runs that start and end between two reads are one change.
3. A run that has not ended when the watch begins is emitted as `connect` emits it, since its process may have been
   killed. It is followed from its next change on. Since it may continue, it leaves no activity of a failure.
4. A run that is followed has ended when its state says so (finished, failed or interrupted), or when another run
   begins; then the last checkpoint before the other run says how it ended.
5. A run may end for its readers because its process was lost, and then come back: the feed has it again, or its end
   is a change.
6. If the checkpointer raises, it is read again a few times. Only the first error in a row is logged.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import Failed, Options, Translator
from ..errors import GraphNotMadeError, StoreUnavailableError, UnreadableError
from ..events.encoded import Event, to_batch
from ..events.readers import Reader, direct_options
from ..events.relay import Relayed, relaying
from ..idle import end_events, idle_events
from ..inputs.answers.resume import id_of
from ..run_outcome import UNFINISHED, PastErrors, RunOutcome, written_as
from .checkpointers import has_checkpointer, wait_for_answer
from .checkpoints.history import state_at
from .checkpoints.thread_state import outcome_at
from .source import GraphSource
from .store.active_run import ActiveRun, is_news
from .thread import LocalThread

_log = logging.getLogger(__name__)

_TRIES = 10
"""Reads in a row that may raise before the watch gives up."""
_EMPTY = 2
"""The number of events of a run without news: its start and its end."""
_STEPS = 100
"""Checkpoints that are searched, at most, for the end of the run before another one."""


@relaying
async def watch_local(
    source: GraphSource,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    *,
    past_errors: PastErrors,
    poll: float,
) -> Relayed:
    """See `Backend.watch`. Yields the thread's state, and then its runs and changes until the reader leaves.

    Ends when the process's runs are closed. Raises `UnreadableError` if the checkpointer keeps raising.
    """
    await source.prepare(thread_id)
    watch = _Watch(source, thread_id, reader, direct_options(options or await source.options()), past_errors)
    runs, key = source.runs, source.key(thread_id)
    feed = await runs.feed(key)  # first, so that it has every later run
    run = await source.readable_run(key)
    shown: ActiveRun | None = None
    with ExitStack() as stack:
        poller = None
        if has_checkpointer(source.graph):
            polling = runs.pollers.watching(
                key, feed, poll, partial(_mark_of, source, thread_id), lambda: runs.run_on(key) is not None
            )
            poller = stack.enter_context(polling)
        while not watch.is_over:
            if run is not None and not run.is_readable:
                run = None
            if run is not None and is_news(run, shown, watch.since) and await watch.may_show(run):
                shown = run
                yield watch.run(run)
                if poller is not None:
                    poller.hurry()
            elif run is None:
                if events := await watch.news():
                    yield to_batch(events)
                if watch.has_failed and poller is not None:
                    poller.repeat()
            try:
                run = await anext(feed)
            except StopAsyncIteration:
                return


class _Watch:
    """What one reader has received of the thread, and what it receives next."""

    def __init__(
        self, source: GraphSource, thread_id: str, reader: Reader, options: Options, past_errors: PastErrors
    ) -> None:
        self.is_over = False
        """Whether the thread was given up."""
        self.has_failed = False
        """Whether the last read of the thread raised."""
        self.since = 0
        """The number of the last run in the state that the reader began with. The feed may have this run, and earlier
        ones that started while the state was read."""
        self._source = source
        self._thread = LocalThread(source, thread_id)
        self._thread_id = thread_id
        self._reader = reader
        self._options = options
        self._past_errors = past_errors
        self._mark: Any = None
        """The checkpoint that was read last, and how much was written to it."""
        self._emitted: Any = None
        """The outcome of that checkpoint, which was emitted."""
        self._has_begun = False
        """Whether the thread has been read, or a run of it emitted."""
        self._followed: Translator | None = None
        """The run of another process that is followed."""
        self._followed_at: str | None = None
        """The last checkpoint of that run that was read."""
        self._lost: str | None = None
        """The id of the last run, if its process was lost. The run may come back, and end."""
        self._failures = 0
        """Reads in a row for which the checkpointer raised."""
        self._label = self._thread.label()

    async def may_show(self, run: ActiveRun) -> bool:
        """Returns whether the thread of this run may be used."""
        try:
            return await self._thread.may_be_used_with(run)
        except Exception:  # whatever a checkpointer raises
            _log.exception("The checkpointer raised (%s).", run.label)
            return False

    @relaying
    async def run(self, run: ActiveRun) -> Relayed:
        """Yields the events of a run to its end."""
        self._has_begun = True
        if self._followed is not None:
            yield to_batch(self._end(self._followed, RunOutcome(str(self._followed.view.run_id), None, UNFINISHED)))
        self._lost = None
        yield run.attach(self._reader)
        if run.is_lost:
            self._lost = run.run_id
            with suppress(Exception):  # whatever a checkpointer raises: the next read logs it
                self._mark = await _mark_of(self._source, self._thread_id)  # the run's checkpoint is not a change

    async def news(self) -> list[Event]:
        """Returns the events of what has changed since the last call, if anything has."""
        if not has_checkpointer(self._source.graph):
            return []
        is_first, self._has_begun = not self._has_begun, True
        try:
            events = await self._look(is_first)
        except (StoreUnavailableError, GraphNotMadeError) as error:  # logged where it is raised
            self.has_failed, self.is_over = True, is_first
            return self._give_up(error) if is_first else []
        except Exception as error:  # whatever a checkpointer raises
            self.has_failed = True
            self._failures += 1
            if self._failures == 1:  # each further read would log the same error
                _log.exception("The checkpointer raised (%s).", self._label)
            self.is_over = is_first or self._failures >= _TRIES
            return self._give_up(UnreadableError(error)) if self.is_over else []
        self._failures, self.has_failed = 0, False
        return events

    async def _look(self, is_first: bool) -> list[Event]:
        mark = await _mark_of(self._source, self._thread_id)
        if mark == self._mark and not is_first:
            return []
        outcome = await self._thread.present(self._options)
        if outcome is None:
            self._mark = mark
            return []
        if not isinstance(outcome, RunOutcome):  # a run, which the feed has
            return []
        last = await self._source.runs.store.last(self._thread.key)
        events: list[Event] = []
        if is_first:
            events, self.since = self._idle(outcome), outcome.number
        elif last is None or last.run_id != outcome.run_id or outcome.run_id in self._ids_without_end():
            events = await self._changed(outcome)
        self._mark, self._emitted = mark, _brief(outcome)
        return events

    def _ids_without_end(self) -> tuple[str | None, ...]:
        """Returns the ids of runs whose real end the reader has not received: the lost one, and the followed one."""
        return (self._lost, None if self._followed is None else str(self._followed.view.run_id))

    async def _changed(self, outcome: RunOutcome) -> list[Event]:
        """Returns the events of a state that was not made by a run of this process, or that ends a run whose end the
        reader has not received."""
        events: list[Event] = []
        if self._followed is not None and self._is_another(self._followed, outcome):
            events = self._end(self._followed, await self._last_before(outcome, str(self._followed.view.run_id)))
        if outcome.ending is not UNFINISHED:
            self._lost = None
            return events + (self._idle(outcome) if self._followed is None else self._end(self._followed, outcome))
        if self._followed is None:
            self._followed = Translator(
                self._thread_id, outcome.run_id, self._options_of(outcome), self._reader.view, source="local"
            )
            events += self._followed.start()
        self._followed_at = outcome.checkpoint_id
        return events + self._followed.feed(("values", outcome.values))

    def _is_another(self, followed: Translator, outcome: RunOutcome) -> bool:
        """Returns whether this state was made by a later run than the followed one."""
        if outcome.run_id != followed.view.run_id and outcome.run_id != written_as(str(outcome.checkpoint_id)):
            return True
        return outcome.is_input and outcome.checkpoint_id != self._followed_at

    async def _last_before(self, outcome: RunOutcome, run_id: str) -> RunOutcome:
        """Returns how the run before this one ended. This run began at a checkpoint with its input."""
        graph = await self._thread.graph()
        where: Any = {"configurable": {"thread_id": self._thread_id, "checkpoint_id": outcome.checkpoint_id}}
        has_begun = False
        for _ in range(_STEPS):
            state = await wait_for_answer(state_at(graph, where), self._source.read_timeout)
            if has_begun:
                last = await wait_for_answer(outcome_at(graph, state, None), self._source.read_timeout)
                return RunOutcome(run_id, last.values, last.ending, last.stopped)
            has_begun = (state.metadata or {}).get("source") == "input"
            if state.parent_config is None:
                break
            where = state.parent_config
        return RunOutcome(run_id, None, UNFINISHED)

    def _idle(self, outcome: RunOutcome) -> list[Event]:
        """Returns the events of the state of a run that has ended; none if its end was emitted, and nothing is new."""
        reader = Reader(self._options, self._reader.view)
        events = idle_events(reader, self._thread_id, outcome, self._options_of(outcome), self._past_errors)
        if _brief(outcome) == self._emitted and len(events) == _EMPTY:
            return []
        self._reader.view = reader.view
        return events

    def _options_of(self, outcome: RunOutcome) -> Options:
        """Returns the options for a run (rule 3)."""
        return replace(self._options, error_activity=False) if outcome.ending is UNFINISHED else self._options

    def _end(self, followed: Translator, outcome: RunOutcome) -> list[Event]:
        self._followed = self._followed_at = None
        return end_events(followed, outcome, self._options)

    def _give_up(self, error: UnreadableError | StoreUnavailableError | GraphNotMadeError) -> list[Event]:
        if self._followed is not None:
            cause = error if isinstance(error, StoreUnavailableError) else error.cause
            return self._end(self._followed, RunOutcome(str(self._followed.view.run_id), None, Failed(cause)))
        raise error


async def _mark_of(source: GraphSource, thread_id: str) -> tuple[str, int] | None:
    """Returns the id of the thread's newest checkpoint, and the number of its pending writes."""
    saver = source.graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return None
    newest: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    saved = await wait_for_answer(saver.aget_tuple(newest), source.read_timeout)
    return None if saved is None else (saved.checkpoint["id"], len(saved.pending_writes or ()))


def _brief(outcome: RunOutcome) -> Any:
    """Returns an end without its values, which tells whether the same end was emitted before."""
    if outcome.ending is UNFINISHED:
        return None
    interrupts = [id_of(interrupt) for interrupt in outcome.interrupts]
    return outcome.checkpoint_id, type(outcome.ending), outcome.stopped, interrupts
