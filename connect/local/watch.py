"""Following a thread of a compiled graph in this process: its runs here, as they are told, and what others write to its
checkpointer (a scheduler's `ainvoke`, an `update_state`, another process), which leaves no stream.

The registry says when a run starts; the checkpointer is looked at in intervals. Rules:

1. Runs of this process are told in the order they start, each to its end, before anything is looked at again.
2. A change that no run of this process made is told as a run: one that is settled when it is seen, from start to end at
   once; one that is not, from change to change until it is. Its id is the one its checkpoint carries, or is made from
   the first checkpoint that was seen of it. Runs that come and go between two looks are one change.
3. What is unsettled when the watch begins is told as `connect` does: nobody knows whether it goes on. It is a run from
   its next change on.
4. A run that is followed is settled when its state is: at its end, an error or an interrupt; and when another begins,
   then as the last checkpoint before that one says.
5. A checkpointer that raises is asked again at the next looks, a few times; the first error of a row is logged.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...translator import Failed, Finished, Options, Translator
from ..encoded import Batches, to_batch
from ..errors import UnreadableError, failed, log_context
from ..idle import end_events, idle_events
from ..readers import Reader, direct_options
from ..run_outcome import PastErrors, RunOutcome, written_as
from .checkpointers import has_checkpointer
from .connect import ended_at, found
from .outcome import UNFINISHED
from .run import Run
from .run_store import agent_of
from .source import Local

Event = dict[str, Any]

_log = logging.getLogger(__name__)

_TRIES = 10
"""Looks in a row at a checkpointer that raises, before it is given up."""
_EMPTY = 2
"""How many events a run is told with that has nothing new: its start and its end."""
_STEPS = 100
"""Checkpoints through which the end of a run before another is looked for."""


async def watched_local(
    source: Local,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    *,
    past_errors: PastErrors,
    poll: float,
) -> Batches:
    """What the thread holds, then every run of it and every change, until the reader goes away.

    Ends when the registry is closed, and in `RUN_ERROR` when the checkpointer raises and goes on to.
    """
    watch = _Watch(source, thread_id, reader, direct_options(options or await source.options()), past_errors)
    runs, key = source.runs, (source.place, thread_id)
    feed = runs.feed(*key)
    run = runs.find(*key)  # in the same turn: every later run is in the feed
    with ExitStack() as stack:
        poller = None
        if has_checkpointer(source.graph):
            polling = runs.pollers.watching(
                key, feed, poll, partial(_mark_of, source, thread_id), lambda: runs.active(*key) is not None
            )
            poller = stack.enter_context(polling)
        while not watch.is_over:
            if run is not None and await watch.may_show(run):
                async with aclosing(watch.run(run)) as batches:
                    async for batch in batches:
                        yield batch
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
    """What one reader was told of the thread."""

    def __init__(
        self, source: Local, thread_id: str, reader: Reader, options: Options, past_errors: PastErrors
    ) -> None:
        self.is_over = False
        """Whether the checkpointer was given up."""
        self._source = source
        self._thread_id = thread_id
        self._reader = reader
        self._options = options
        self._past_errors = past_errors
        self._mark: Any = None
        """What was looked at last: a checkpoint, and how much was written to it."""
        self._known: Any = None
        """What was told of it."""
        self._has_begun = False
        """Whether anything was told, or looked for."""
        self._going: Translator | None = None
        """Somebody else's run that is told while it goes on."""
        self._going_at: str | None = None
        """The checkpoint that it was seen at last."""
        self._failures = 0
        self._place = log_context(agent_of(source.graph, source.agent), thread_id)

    @property
    def has_failed(self) -> bool:
        """Whether the last read of the thread raised."""
        return self._failures > 0

    async def may_show(self, run: Run) -> bool:
        """Whether this run is on no other agent's thread."""
        try:
            return await self._source.may_use(self._thread_id)
        except Exception:  # whatever a checkpointer raises
            _log.exception("The checkpointer raised (%s).", run.label)
            return False

    async def run(self, run: Run) -> Batches:
        """A run of this process, to its end."""
        self._has_begun = True
        if self._going is not None:
            yield to_batch(self._over(self._going, RunOutcome(str(self._going.view.run_id), None, UNFINISHED)))
        async with aclosing(run.attach(self._reader)) as batches:
            async for batch in batches:
                yield batch

    async def news(self) -> list[Event]:
        """What changed since the last time, if anything did."""
        if not has_checkpointer(self._source.graph):
            return []
        is_first, self._has_begun = not self._has_begun, True
        try:
            events = await self._looked(is_first)
        except Exception as error:  # whatever a checkpointer raises
            self._failures += 1
            if self._failures == 1:  # of many in a row, which would be one each look
                _log.exception("The checkpointer raised (%s).", self._place)
            self.is_over = is_first or self._failures >= _TRIES
            return self._unreadable(error) if self.is_over else []
        self._failures = 0
        return events

    async def _looked(self, is_first: bool) -> list[Event]:
        mark = await _mark_of(self._source, self._thread_id)
        if mark == self._mark and not is_first:
            return []
        now = await found(self._source, self._thread_id)
        if now is None or isinstance(now, Run):  # it is among the starts
            return []
        if not await self._source.may_use(self._thread_id):
            self._mark = mark
            return []
        last = self._source.runs.last(self._source.place, self._thread_id)
        events: list[Event] = []
        if is_first:
            events = self._idle(now)
        elif last is None or last.run_id != now.run_id:
            events = await self._changed(now)
        self._mark, self._known = mark, _brief(now)
        return events

    async def _changed(self, now: RunOutcome) -> list[Event]:
        """A state that no run of this process made."""
        events: list[Event] = []
        if self._going is not None and self._is_another(self._going, now):
            events = self._over(self._going, await self._last_before(now, str(self._going.view.run_id)))
        if now.ending is not UNFINISHED:
            return events + (self._idle(now) if self._going is None else self._over(self._going, now))
        if self._going is None:
            self._going = Translator(self._thread_id, now.run_id, self._options, self._reader.view)
            events += self._going.start()
        self._going_at = now.checkpoint_id
        return events + self._going.feed(("values", now.values))

    def _is_another(self, going: Translator, now: RunOutcome) -> bool:
        """Whether this is a later run's state than the one that is told."""
        if now.run_id != going.view.run_id and now.run_id != written_as(str(now.checkpoint_id)):
            return True
        return now.is_input and now.checkpoint_id != self._going_at

    async def _last_before(self, now: RunOutcome, run_id: str) -> RunOutcome:
        """How the run ended that was before this one, which began at a checkpoint with its input."""
        graph = self._source.graph
        where: Any = {"configurable": {"thread_id": self._thread_id, "checkpoint_id": now.checkpoint_id}}
        has_begun = False
        for _ in range(_STEPS):
            state = await graph.aget_state(where)
            if has_begun:
                last = await ended_at(graph, state, None)
                return RunOutcome(run_id, last.values, last.ending, last.stopped)
            has_begun = (state.metadata or {}).get("source") == "input"
            if state.parent_config is None:
                break
            where = state.parent_config
        return RunOutcome(run_id, None, UNFINISHED)

    def _idle(self, now: RunOutcome) -> list[Event]:
        """A settled state: of an end that was told already, only what is new."""
        reader = Reader(self._options, self._reader.view)
        events = idle_events(reader, self._thread_id, now, self._options, self._past_errors)
        if _brief(now) == self._known and len(events) == _EMPTY:
            return []
        self._reader.view = reader.view
        return events

    def _over(self, going: Translator, ended: RunOutcome) -> list[Event]:
        self._going = self._going_at = None
        return end_events(going, ended, self._options)

    def _unreadable(self, error: Exception) -> list[Event]:
        if self._going is not None:
            return self._over(self._going, RunOutcome(str(self._going.view.run_id), None, Failed(error)))
        if (self._reader.view.terminal or {}).get("type") == "RUN_ERROR":
            return []  # clients take none after one
        event = failed(UnreadableError(error), self._options)
        self._reader.view.apply(event)
        return [event]


async def _mark_of(source: Local, thread_id: str) -> tuple[str, int] | None:
    """The thread's newest checkpoint, and how many writes it has since."""
    saver = source.graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return None
    saved = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    return None if saved is None else (saved.checkpoint["id"], len(saved.pending_writes or ()))


def _brief(ended: RunOutcome) -> Any:
    """What of an end says whether it was told: that is, but for the values."""
    if ended.ending is UNFINISHED:
        return None
    asked = ended.ending.interrupts if isinstance(ended.ending, Finished) else ()
    return ended.checkpoint_id, type(ended.ending), ended.stopped, [str(getattr(each, "id", each)) for each in asked]
