"""Attaching to a run of a platform: from whatever is known of it, to its end. How a part becomes an event is the
translator's.

The order, and why:

1. Join the stream, then read the thread's state: what falls between the two comes twice, never not at all.
2. Emit the state at once; to a reader that has messages already, when the replay is folded. Not the state that a later
   run has made: this run is over then, and its own state is emitted at its end.
3. Where the server keeps the run's events and the state may have some of it, *fold* what is replayed without a pause
   into a view of its own, then bring the reader to that view. Otherwise continue from the state. What of a stream may
   be incomplete (a live one, or a replay that has lost its beginning) is suppressed by `partial_messages`; the next
   `values`, or the end, have it whole.
4. A gap (a connection lost, and with it events): read the state again, and suppress the messages that were streaming.
5. The end of the stream proves nothing: the run and the thread are requested, once, and `Attachment.look` keeps the
   answers for the next step of the reader.

A reader that started the run gets it from its first event on (`from_start`): what the thread has is in that, so nothing
is emitted before it, and nothing is folded. After a gap the state is read all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from ....translator import ClientView, Failed, Lost, Options, Part, PartReader, Translator, UnreadablePartError
from ...errors import ConnectionLost, PlatformError, log_context
from ...events.encoded import Batches, Event, to_batch
from ...events.readers import Reader
from ...events.relay import Relayed, relaying
from ...events.timed_iterator import TimedIterator, TimedOut
from ...idle import end_events
from ...replaced_messages import with_replaced
from ...run_outcome import RunOutcome, Subgraph
from ...tracing import active_trace_id
from ..http import Received
from ..look import Answered, Look, client_run_id, has_kwargs
from ..outcome import is_of
from ..thread import PlatformThread
from .partial_messages import PartialMessageFilter
from .run_stream import Connected, Ended, run_events

FOLD_PAUSE: Final = 0.03
"""Seconds without an event after which a replay is taken to have caught up. Too short costs nothing but bytes: the
reader is brought up to date at any event."""
FOLD_MOST: Final = 0.5
"""Seconds after which a replay that never pauses is emitted as far as it came."""

_LEFT_OUT = (
    "Text that streamed before a reader joined, or was missed, is left out: the run's values have no messages (%s)."
)
_log = logging.getLogger(__name__)


def replays(run: Answered) -> bool:
    """Whether the server keeps this run's events: as the run says; where runs do not say it, it always does."""
    return bool(run["kwargs"].get("resumable")) if has_kwargs(run) else True


def outcome_of_error(
    thread_id: str, run_id: str, error: ConnectionLost | PlatformError | UnreadablePartError
) -> RunOutcome:
    """The end of a run, for its reader, that cannot be followed any more; logged."""
    _log.warning("A run can't be followed to its end: %s (%s).", error, log_context(None, thread_id, run_id))
    if isinstance(error, ConnectionLost):
        return RunOutcome(run_id, None, Lost(str(error)))
    if isinstance(error, PlatformError):
        return RunOutcome(run_id, None, Failed({"error": error.code, "message": error.message}))
    return RunOutcome(run_id, None, Failed(error))


class Attachment:
    """One reader's way along one run: joined, folding if there is something to fold, live, over.

    `run`: as the server gives it. `options`: the run's. `earlier`: the ids of the newest runs that came before it;
    None: they are not known.
    """

    def __init__(
        self,
        thread: PlatformThread,
        run: Answered,
        reader: Reader,
        options: Options,
        translator: Translator | None = None,
        waiting: Iterable[Subgraph] = (),
        earlier: Collection[str] | None = None,
    ) -> None:
        self.look: Look | None = None
        """The thread as it was found when the run had ended; None while it is active, and for a thread that is gone."""
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
        """A translator of the run, not yet started, for a reader that gets it from its first event on."""
        self._waiting = waiting
        self._earlier = earlier
        self._translator = translator or self._new_translator()
        self._values: Any = None
        """The thread's values as they were read last, beside the stream, and as readers get them; None before that."""
        self._stored: set[str] = set()
        """The ids of the messages in them that the thread still has."""
        self._may_be_behind = False
        """Whether the stream's next root values may be older than those."""
        self._ended: Ended | None = None

    @classmethod
    def from_start(
        cls,
        thread: PlatformThread,
        run: Answered,
        reader: Reader,
        options: Options,
        *,
        parent_run_id: str | None = None,
        waiting: Iterable[Subgraph] = (),
    ) -> Attachment:
        """For a reader that started the run: all of its events, on top of what the reader has. Its start is emitted at
        once.

        `run`: as the server gives it, started so that its events are kept. `waiting`: the subgraphs that it continues.
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
        """The run from where it is to its end, for a reader that is brought from what it has to there.

        Errors of the server end the run, for the reader, in `RUN_ERROR`; nothing raises.
        """
        notices = TimedIterator(run_events(self._thread, self._run_id, replays=self._replays))
        try:
            if self._from_start is not None:
                yield to_batch(self._from_start.start(active_trace_id()))
                for subgraph in self._waiting:
                    self._from_start.apply_checkpoint(subgraph.values, subgraph.ns)
            try:
                yield self._followed(notices)
                outcome = await self._outcome()
            except (ConnectionLost, PlatformError, UnreadablePartError) as error:
                outcome = outcome_of_error(self._thread.id, self._run_id, error)
            yield to_batch(self._end(outcome))
        finally:
            await notices.aclose()

    async def _followed(self, notices: TimedIterator[Received | Connected | Ended]) -> Batches:
        """The events of each notice, where there are any."""
        clock = asyncio.get_running_loop().time
        fold_until: float | None = None
        while True:
            notice = await notices.next((FOLD_PAUSE if fold_until else FOLD_MOST) if self._is_folding else None)
            if isinstance(notice, Ended):
                self._ended = notice
                return
            if isinstance(notice, Connected):
                events = await self._connected(notice)
            else:
                events = [] if isinstance(notice, TimedOut) else self._fed(notice)
                if self._is_folding:
                    fold_until = fold_until or clock() + FOLD_MOST
                    events = self._caught_up() if isinstance(notice, TimedOut) or clock() > fold_until else []
            if events:
                yield to_batch(events)

    async def _outcome(self) -> RunOutcome:
        """How the run ended; and the look that shows it."""
        run, runs = (None, None) if self._ended is None else self._ended
        if runs is not None:
            self.look = await self._thread.look(runs)
        if self.look is not None and run is not None:
            run = self.look.runs.with_id(self._run_id) or run
        return await self._thread.outcome_of(self._run_id, run, self.look)

    async def _connected(self, notice: Connected) -> list[Event]:
        """The stream is connected: what the thread has now, unless all of it is to come."""
        if self._from_start is not None and not notice.gap:
            return []
        state = await self._thread.state()
        if not notice.gap and self._is_later(state):
            self._is_folding = True
            return []
        values = state.get("values") or {}
        self._stored = _ids(values, self._options.messages_key)
        self._values = await with_replaced(values, self._options, self._thread.history())
        if notice.gap:
            self._parts.gap()
            self._partial.gap()
            self._may_be_behind = True
            events = self._translator.apply_checkpoint(self._values)
            return [] if self._is_folding else events
        current = self._new_translator()
        current.apply_checkpoint(self._values)
        self._is_folding = self._replays and _has_begun(state, self._run_id)
        if not self._is_folding:
            self._translator, self._may_be_behind = current, not self._replays
        elif self._reader.view.knows_messages:
            return []  # a message that it has in part is not removed while the replay is folded
        return self._reader.join(current.view)

    def _is_later(self, state: Answered) -> bool:
        """Whether a run that came after this one made the state: this one is over, and has nothing of that."""
        if self._earlier is None or is_of(state, self._run_id):
            return False
        return state["metadata"]["run_id"] not in self._earlier

    def _fed(self, received: Received) -> list[Event]:
        events: list[Event] = []
        for part in self._parts.read(received):
            if self._partial.passes(part) and not self._is_behind(part):
                events += self._translator.feed(part)
        return events

    def _is_behind(self, part: Part) -> bool:
        """Whether these root values are older than the state that was read: they would remove messages for a moment."""
        if not self._may_be_behind or part.ns or part.mode != "values":
            return False
        self._may_be_behind = False
        return _ids(part.data, self._options.messages_key) < self._stored

    def _caught_up(self) -> list[Event]:
        """The replay came to the present, or pauses: the reader is brought to it, and to no less than the state that
        it got before."""
        self._is_folding, self._may_be_behind = False, True
        self._translator.apply_checkpoint(self._values)
        return self._reader.join(self._translator.view)

    def _end(self, outcome: RunOutcome) -> list[Event]:
        """The events that end the run."""
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

    def _new_translator(self) -> Translator:
        """A translator of this run that has emitted nothing but its start, to no reader."""
        view = ClientView(version=self._options.protocol_version)
        translator = Translator(
            self._thread.id,
            self._client_run_id,
            self._options,
            view,
            source="platform",
            saving_nodes=self._thread.saving_nodes.get(self._assistant_id, ()),
        )
        translator.start()
        return translator


def _has_begun(state: Answered, run_id: str) -> bool:
    """Whether the state may have something of this run, which a replay would emit again."""
    return state.get("created_at") is not None and is_of(state, run_id)


def _has_messages(values: Any, key: str) -> bool:
    """Whether root values have the messages of the thread."""
    return isinstance(values, Mapping) and isinstance(values.get(key), list)


def _ids(values: Any, key: str) -> set[str]:
    """The ids of the messages in root values."""
    messages = values[key] if _has_messages(values, key) else ()
    return {str(each.get("id")) for each in messages if isinstance(each, Mapping)}
