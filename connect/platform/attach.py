"""Attaching to a run of a platform: from whatever is known of it, to its end. Never how a part becomes an event.

The order of things, and why:

1. Join the stream, then read the thread's state: what falls between the two comes twice, never not at all.
2. Tell the state at once; to who holds something already, when the replay is folded.
3. Where the server keeps the run's events and the state may hold some of it, *fold* what is replayed without a pause
   into a view of its own, then bring the reader to that view. Otherwise go on from the state. What of a stream may be
   cut (a live one, or a replay that has lost its beginning) is muted by `latecomer`, and mended by the next `values` or
   by the end.
4. A gap (a connection lost, and with it events): read the state again, and mute what was going on.
5. The end of the stream proves nothing: the run and the thread are asked how it ended.

Whoever asked for a run hears it from its first event on (`told_whole`): what the thread holds is in that, so nothing is
told before it, and nothing folded. A gap is mended likewise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from ...translator import ClientView, Failed, Lost, Options, Part, Translator, UnreadablePartError, read_part
from ..encoded import Batches, to_batch
from ..errors import ConnectionLost, PlatformError, log_context
from ..idle import end_events
from ..readers import Reader
from ..run_outcome import RunOutcome, Subgraph
from ..timed_iterator import Silence, TimedIterator
from .http import Received
from .outcome import is_of
from .partial_messages import PartialMessageFilter
from .run_stream import Joined, joined
from .thread import Answered, PlatformThread, tells_how, told_id

Event = dict[str, Any]

FOLD_PAUSE = 0.03
"""Seconds without an event after which a replay is taken to have caught up. Too short costs nothing but bytes: the
reader is brought up at any cut."""
FOLD_MOST = 0.5
"""Seconds after which a replay that never pauses is told as far as it came."""

_WITHHELD = (
    "Text that streamed before a reader joined, or was missed, is left out: the run's values hold no messages (%s)."
)
_log = logging.getLogger(__name__)


def attached(thread: PlatformThread, run: Answered, reader: Reader, options: Options) -> Batches:
    """What the run says from here on, to its end, for a reader that is brought from what it holds to where the run is.

    `run`: as the server gives it. Errors of the server end the run, for the reader, in `RUN_ERROR`; nothing raises.
    """
    return _Attachment(thread, run, reader, options).told()


def told_whole(
    thread: PlatformThread,
    run: Answered,
    reader: Reader,
    options: Options,
    *,
    parent_run_id: str | None = None,
    waiting: Iterable[Subgraph] = (),
) -> Batches:
    """What the run says from its first event on, to its end, on top of what the reader holds. That it runs is told at
    once.

    `run`: as the server gives it, started so that its events are kept. `waiting`: the subgraphs that it goes on in. As
    for errors, see `attached`.
    """
    whole = Translator(thread.id, told_id(run), options, reader.view, parent_run_id=parent_run_id)
    return _Attachment(thread, run, reader, options, whole, waiting).told()


def replays(run: Answered) -> bool:
    """Whether the server keeps this run's events: as the run says; where runs do not say it, it always does."""
    return bool(run["kwargs"].get("resumable")) if tells_how(run) else True


def broken_off(run_id: str, error: ConnectionLost | PlatformError | UnreadablePartError) -> RunOutcome:
    """The end of a run, for its reader, that cannot be followed any more."""
    if isinstance(error, ConnectionLost):
        return RunOutcome(run_id, None, Lost(str(error)))
    if isinstance(error, PlatformError):
        return RunOutcome(run_id, None, Failed({"error": error.code, "message": error.message}))
    return RunOutcome(run_id, None, Failed(error))


class _Attachment:
    """One reader's way along one run: joined, folding if there is something to fold, told live, over.

    `whole`: a translator of the run, not yet started, for a reader that hears it from its first event on.
    """

    def __init__(
        self,
        thread: PlatformThread,
        run: Answered,
        reader: Reader,
        options: Options,
        whole: Translator | None = None,
        waiting: Iterable[Subgraph] = (),
    ) -> None:
        self._thread = thread
        self._run_id = str(run["run_id"])
        self._told_id = told_id(run)
        self._reader = reader
        self._options = options
        self._replays = replays(run)
        self._is_folding = False
        self._latecomer = PartialMessageFilter()
        self._whole = whole
        self._waiting = waiting
        self._translator = whole or self._begun()
        self._values: Any = None
        """The thread's values as they were read last, beside the stream; None before that."""
        self._may_be_behind = False
        """Whether the stream's next root values may be older than those."""

    async def told(self) -> Batches:
        """See `attached`."""
        notices = TimedIterator(joined(self._thread, self._run_id, replays=self._replays))
        try:
            if self._whole is not None:
                yield to_batch(self._whole.start())
                for subgraph in self._waiting:
                    self._whole.apply_checkpoint(subgraph.values, subgraph.ns)
            try:
                async with aclosing(self._followed(notices)) as followed:
                    async for events in followed:
                        yield to_batch(events)
                ended = await self._thread.ended(self._run_id)
            except (ConnectionLost, PlatformError, UnreadablePartError) as error:
                ended = broken_off(self._run_id, error)
            yield to_batch(self._last(ended))
        finally:
            await notices.aclose()

    async def _followed(self, notices: TimedIterator[Received | Joined]) -> AsyncGenerator[list[Event], None]:
        """The events of each notice, where there are any."""
        clock = asyncio.get_running_loop().time
        fold_until: float | None = None
        while True:
            try:
                notice = await notices.next((FOLD_PAUSE if fold_until else FOLD_MOST) if self._is_folding else None)
            except StopAsyncIteration:
                return
            if isinstance(notice, Joined):
                events = await self._joined(notice)
            else:
                events = [] if isinstance(notice, Silence) else self._fed(notice)
                if self._is_folding:
                    fold_until = fold_until or clock() + FOLD_MOST
                    events = self._caught_up() if isinstance(notice, Silence) or clock() > fold_until else []
            if events:
                yield events

    async def _joined(self, notice: Joined) -> list[Event]:
        """A connection stands: what the thread holds now, unless all of it is to come."""
        if self._whole is not None and not notice.gap:
            return []
        state = await self._thread.state()
        self._values = state.get("values") or {}
        if notice.gap:
            self._latecomer.gap()
            self._may_be_behind = True
            events = self._translator.apply_checkpoint(self._values)
            return [] if self._is_folding else events
        shown = self._begun()
        shown.apply_checkpoint(self._values)
        self._is_folding = self._replays and _has_begun(state, self._run_id)
        if not self._is_folding:
            self._translator, self._may_be_behind = shown, not self._replays
        elif self._reader.view.knows_messages:
            return []  # what it holds of a message in the middle is not taken back for the moment of folding
        return self._reader.join(shown.view)

    def _fed(self, received: Received) -> list[Event]:
        part = read_part(received)
        if part is None or not self._latecomer.passes(part) or self._is_behind(part):
            return []
        return self._translator.feed(part)

    def _is_behind(self, part: Part) -> bool:
        """Whether these are root values of before the state was read: they would take messages back, for a moment."""
        if not self._may_be_behind or part.ns or part.mode != "values":
            return False
        self._may_be_behind = False
        key = self._options.messages_key
        return _ids(part.data, key) < _ids(self._values, key)

    def _caught_up(self) -> list[Event]:
        """The replay came to the present, or pauses: the reader is brought to what it told, and has not less than the
        state that it was told before."""
        self._is_folding, self._may_be_behind = False, True
        self._translator.apply_checkpoint(self._values)
        return self._reader.join(self._translator.view)

    def _last(self, ended: RunOutcome) -> list[Event]:
        """The events that end the run."""
        values = self._translator.values if ended.values is None else ended.values
        if self._latecomer.has_muted and not _has_messages(values, self._options.messages_key):
            _log.warning(_WITHHELD, log_context(None, self._thread.id, self._told_id))
        if self._reader.view is self._translator.view:
            return end_events(self._translator, ended, self._options)
        self._translator.apply_checkpoint(self._values)
        end_events(self._translator, ended, self._options)
        return self._reader.join(self._translator.view)

    def _begun(self) -> Translator:
        """A translator of this run that has told nothing but its start, to nobody."""
        view = ClientView(version=self._options.protocol_version)
        translator = Translator(self._thread.id, self._told_id, self._options, view)
        translator.start()
        return translator


def _has_begun(state: Answered, run_id: str) -> bool:
    """Whether the state may hold something of this run, which a replay would emit again."""
    return state.get("created_at") is not None and is_of(state, run_id)


def _has_messages(values: Any, key: str) -> bool:
    """Whether root values hold the messages of the thread."""
    return isinstance(values, Mapping) and isinstance(values.get(key), list)


def _ids(values: Any, key: str) -> set[str]:
    """The ids of the messages in root values."""
    messages = values[key] if _has_messages(values, key) else ()
    return {str(each.get("id")) for each in messages if isinstance(each, Mapping)}
