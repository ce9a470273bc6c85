"""Attaches to a run of a platform, and follows it to its end. How a part becomes an event is decided in the translator.

The order, with reasons:

1. Join the stream, and then read the thread's state. An event between the two is then received twice, but never missed.
2. Emit the state at once. But if the reader already has messages, emit it after the replay was folded. If a later run
   has changed the state, do not emit it: this run is over then, and its own state is emitted at its end.
3. If the server keeps the run's events, and the state may contain some of their effects, *fold* what is replayed
   without a pause into a separate view, and then bring the reader to that view. Otherwise continue from the state.
   Parts of the stream may be incomplete, because the stream is live or the replay lacks its beginning.
   `partial_messages` suppresses these; the next `values`, or the end of the run, contain the complete messages.
4. After a gap (a lost connection, and with it events), read the state again, and suppress the messages that were
   streaming.
5. The end of the stream proves nothing. Request the run and the thread once; `Attachment.look` keeps the responses for
   the reader's next step.

A reader that has started the run receives it from its first event (`from_start`). The run's events include what the
thread already has, so nothing is emitted before them, and nothing is folded. After a gap, the state is read all the
same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from ....translator import (
    ClientView,
    Failed,
    Finished,
    Lost,
    Options,
    Part,
    PartReader,
    Translator,
    UnreadablePartError,
)
from ...errors import ConnectionLost, PlatformError, log_context
from ...events.encoded import Batches, Event, to_batch
from ...events.readers import Reader
from ...events.relay import Relayed, relaying
from ...events.timed_iterator import TimedIterator, TimedOut
from ...idle import end_events, idle_view
from ...replaced_messages import with_replaced
from ...run_outcome import RunOutcome, Subgraph
from ...tracing import active_trace_id
from ..http import Received
from ..look import JsonObject, Look, client_run_id, has_kwargs
from ..outcome import is_of, subgraphs
from ..thread import PlatformThread
from .partial_messages import PartialMessageFilter
from .run_stream import Connected, Ended, run_events

FOLD_PAUSE: Final = 0.01
"""After this many seconds without an event, a replay counts as caught up. If the value is too low, this costs only
bytes, because the reader can be brought up to date at any event. If it is longer than the pauses between the tokens of
a fast model, the reader waits for `FOLD_MOST` and gets the tokens of that time in one burst."""
FOLD_MOST: Final = 0.5
"""After this many seconds, a replay that never pauses is emitted up to its last event."""

_LEFT_OUT = (
    "Text that streamed before a reader joined, or was missed, is left out: the run's values have no messages (%s)."
)
_log = logging.getLogger(__name__)


def replays(run: JsonObject) -> bool:
    """Whether the server keeps this run's events. If the server's runs do not say so, it always keeps them."""
    return bool(run["kwargs"].get("resumable")) if has_kwargs(run) else True


def outcome_of_error(
    thread_id: str, run_id: str, error: ConnectionLost | PlatformError | UnreadablePartError
) -> RunOutcome:
    """Logs that a run can't be followed any longer, and returns how the run ends for its reader."""
    _log.warning("A run can't be followed to its end: %s (%s).", error, log_context(None, thread_id, run_id))
    if isinstance(error, ConnectionLost):
        return RunOutcome(run_id, None, Lost(str(error)))
    if isinstance(error, PlatformError):
        return RunOutcome(run_id, None, Failed({"error": error.code, "message": error.message}))
    return RunOutcome(run_id, None, Failed(error))


class Attachment:
    """Follows one run for one reader: joins it, folds its replay if there is something to fold, and follows it to its
    end.

    `run` is as the server returns it, and `options` are those of the run. `earlier` are the ids of the latest runs
    before it, or None if they are not known.
    """

    def __init__(
        self,
        thread: PlatformThread,
        run: JsonObject,
        reader: Reader,
        options: Options,
        translator: Translator | None = None,
        waiting: Iterable[Subgraph] = (),
        earlier: Collection[str] | None = None,
    ) -> None:
        self.look: Look | None = None
        """The thread as it was after the run had ended; None while the run is active, or if the thread was deleted."""
        self._thread = thread
        self._run_id = str(run["run_id"])
        self._client_run_id = client_run_id(run)
        self._assistant_id = str(run.get("assistant_id"))
        self._reader = reader
        self._options = options
        self._replays = replays(run)
        self._is_folding = False
        self._parts = PartReader("platform")
        self._partial = PartialMessageFilter()
        self._from_start = translator
        """The translator, not yet started, for a reader that receives the run from its first event; else None."""
        self._waiting = waiting
        self._earlier = earlier
        self._translator = translator or self._new_translator()
        self._values: Any = None
        """The thread's values that were last read apart from the stream, as readers see them; None before the first
        time."""
        self._stored: set[str] = set()
        """The ids of those messages in them that the thread still has."""
        self._may_be_behind = False
        """Whether the next root values of the stream may be older than these."""
        self._ended: Ended | None = None

    @classmethod
    def from_start(
        cls,
        thread: PlatformThread,
        run: JsonObject,
        reader: Reader,
        options: Options,
        *,
        parent_run_id: str | None = None,
        waiting: Iterable[Subgraph] = (),
    ) -> Attachment:
        """Attaches a reader that has started the run. It receives all events of the run, in addition to what it already
        has. The start of the run is emitted at once.

        `run` is as the server returns it, and must have been started so that its events are kept. `waiting` are the
        subgraphs that it continues.
        """
        translator = Translator(
            thread.id,
            client_run_id(run),
            options,
            reader.view,
            parent_run_id=parent_run_id,
            source="platform",
            saving_nodes=thread.saving_nodes.get(str(run.get("assistant_id")), ()),
        )
        return cls(thread, run, reader, options, translator, waiting)

    @relaying
    async def batches(self) -> Relayed:
        """Yields the events that bring the reader from what it has to the run's present state, and then those of the
        run until its end.

        An error of the server ends the run with `RUN_ERROR` for the reader. Nothing is raised.
        """
        notices = TimedIterator(run_events(self._thread, self._run_id, replays=self._replays))
        try:
            if self._from_start is not None:
                yield to_batch(self._from_start.start(active_trace_id()))
                _add_waiting(self._from_start, self._waiting)
            try:
                yield self._follow(notices)
                outcome = await self._outcome()
            except (ConnectionLost, PlatformError, UnreadablePartError) as error:
                outcome = outcome_of_error(self._thread.id, self._run_id, error)
            yield to_batch(self._end(outcome))
        finally:
            await notices.aclose()

    async def _follow(self, notices: TimedIterator[Received | Connected | Ended]) -> Batches:
        """Yields the events for each notice that has any."""
        clock = asyncio.get_running_loop().time
        fold_until: float | None = None
        while True:
            notice = await notices.next((FOLD_PAUSE if fold_until else FOLD_MOST) if self._is_folding else None)
            if isinstance(notice, Ended):
                self._ended = notice
                return
            if isinstance(notice, Connected):
                events = await self._on_connected(notice)
            else:
                events = [] if isinstance(notice, TimedOut) else self._feed(notice)
                if self._is_folding:
                    fold_until = fold_until or clock() + FOLD_MOST
                    events = self._end_folding() if isinstance(notice, TimedOut) or clock() > fold_until else []
            if events:
                yield to_batch(events)

    async def _outcome(self) -> RunOutcome:
        """Returns how the run ended, and sets `look`, which shows it."""
        run, runs = (None, None) if self._ended is None else self._ended
        if runs is not None:
            self.look = await self._thread.look(runs)
        if self.look is not None and run is not None:
            run = self.look.runs.with_id(self._run_id) or run
        return await self._thread.outcome_of(self._run_id, run, self.look)

    async def _on_connected(self, notice: Connected) -> list[Event]:
        """Returns the events for the thread's present state after the stream was connected, unless the stream will
        contain all of it."""
        if self._from_start is not None and not notice.gap:
            return []
        state = await self._thread.state()
        if not notice.gap and self._is_later(state):
            self._is_folding = True
            return []
        values, waiting = state.get("values") or {}, subgraphs(state, before=self._run_id)
        self._stored = _ids(values, self._options.messages_key)
        self._values = await with_replaced(values, self._options, self._thread.history())
        if notice.gap:
            self._parts.gap()
            self._partial.gap()
            self._may_be_behind = True
            events = self._translator.apply_checkpoint(self._values)
            return [] if self._is_folding else events
        has_begun = _has_begun(state, self._run_id)
        self._is_folding = self._replays and has_begun
        if not has_begun:  # it may continue in a step that an earlier run has begun
            waiting = await self._thread.subgraphs_before(state, self._run_id)
        current = self._new_translator(self._view_before(waiting))
        for translator in (self._translator, current):
            _add_waiting(translator, waiting)
        if not waiting:
            current.apply_checkpoint(self._values)
        if not self._is_folding:
            self._translator, self._may_be_behind = current, not self._replays
        elif self._reader.view.knows_messages:
            return []  # messages that the reader has in part must not be removed before the replay is folded
        return self._reader.join(current.view)

    def _is_later(self, state: JsonObject) -> bool:
        """Whether a later run has made the state. If so, this run is over, and has nothing of that state."""
        if self._earlier is None or is_of(state, self._run_id):
            return False
        return state["metadata"]["run_id"] not in self._earlier

    def _feed(self, received: Received) -> list[Event]:
        events: list[Event] = []
        for part in self._parts.read(received):
            if self._partial.passes(part) and not self._is_behind(part):
                events += self._translator.feed(part)
        return events

    def _is_behind(self, part: Part) -> bool:
        """Whether these root values are older than the state that was read, so that they would briefly remove
        messages."""
        if not self._may_be_behind or part.ns or part.mode != "values":
            return False
        self._may_be_behind = False
        return _ids(part.data, self._options.messages_key) < self._stored

    def _end_folding(self) -> list[Event]:
        """Brings the reader to the present, when the replay has caught up or pauses, and to no less than the state that
        the reader got before."""
        self._is_folding, self._may_be_behind = False, True
        self._translator.apply_checkpoint(self._values)
        return self._reader.join(self._translator.view)

    def _end(self, outcome: RunOutcome) -> list[Event]:
        """Returns the events that end the run."""
        if nodes := self._translator.saving_nodes:
            self._thread.saving_nodes[self._assistant_id] = nodes
        values = self._translator.values if outcome.values is None else outcome.values
        if self._partial.has_suppressed and not _has_messages(values, self._options.messages_key):
            _log.warning(_LEFT_OUT, log_context(None, self._thread.id, self._client_run_id))
        if self._reader.view is self._translator.view:
            return end_events(self._translator, outcome, self._options)
        self._translator.apply_checkpoint(self._values)
        end_events(self._translator, outcome, self._options)
        return self._reader.join(self._translator.view)

    def _view_before(self, waiting: Sequence[Subgraph]) -> ClientView | None:
        """Returns the view of a client that has read the thread as it waited before this run, with what these subgraphs
        have said; None if none waited."""
        if not waiting:
            return None
        asked = [interrupt for subgraph in waiting for interrupt in subgraph.interrupts]
        ending = Finished(asked, self._values)
        before = RunOutcome(self._client_run_id, self._values, ending, stopped=not asked, waiting=waiting)
        return idle_view(self._thread.id, before, self._options)

    def _new_translator(self, view: ClientView | None = None) -> Translator:
        """Returns a translator for this run without a reader, which has emitted only the start. `view`: what its client
        had before; None if that was nothing."""
        translator = Translator(
            self._thread.id,
            self._client_run_id,
            self._options,
            view or ClientView(version=self._options.protocol_version),
            source="platform",
            saving_nodes=self._thread.saving_nodes.get(self._assistant_id, ()),
        )
        translator.start()
        return translator


def _add_waiting(translator: Translator, waiting: Iterable[Subgraph]) -> None:
    """Adds the subgraphs that were waiting when a run began to its translator, before the first part, so that what they
    have said is kept."""
    for subgraph in waiting:
        translator.apply_checkpoint(subgraph.values, subgraph.ns)


def _has_begun(state: JsonObject, run_id: str) -> bool:
    """Whether the state may contain effects of this run, which a replay would emit again."""
    return state.get("created_at") is not None and is_of(state, run_id)


def _has_messages(values: Any, key: str) -> bool:
    """Whether root values contain the messages of the thread."""
    return isinstance(values, Mapping) and isinstance(values.get(key), list)


def _ids(values: Any, key: str) -> set[str]:
    """Returns the ids of the messages in root values."""
    messages = values[key] if _has_messages(values, key) else ()
    return {str(message.get("id")) for message in messages if isinstance(message, Mapping)}
