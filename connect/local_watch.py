"""Following a thread of a compiled graph in this process: its runs here, as they are told, and what others write to its
checkpointer (a scheduler's `ainvoke`, an `update_state`, another process), which leaves no stream.

The registry says when a run starts; the checkpointer is looked at in intervals. A change that no run of this process
made is told as a run: one whose state is settled from start to end at once, one that goes on from change to change
until it is settled. Its id is the checkpoint's run id, or made from the first checkpoint seen of it.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..translator import Options, Translator
from .idle import Ended, PastErrors, told_end, told_idle
from .local import found
from .local_ended import UNFINISHED
from .lookahead import Lookahead, Silence
from .reader import Reader
from .run import Run
from .runs import agent_of, has_checkpointer
from .sources import Local
from .told import Batches, tell

Event = dict[str, Any]
_Mark = tuple[str, int] | None


async def watched_local(
    source: Local,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    *,
    past_errors: PastErrors,
    poll: float,
) -> Batches:
    """What the thread holds, then every run of it and every change, until the reader goes away."""
    watch = _Watch(source, thread_id, reader, options or await source.options(), past_errors)
    starts = Lookahead(source.runs.starts(agent_of(source.graph, source.agent), thread_id))
    try:
        while True:
            async for batch in watch.news():
                yield batch
            try:
                started = await starts.next(poll if has_checkpointer(source.graph) else None)
            except StopAsyncIteration:
                return
            if not isinstance(started, Silence):
                async for batch in watch.run(started):
                    yield batch
    finally:
        await starts.aclose()


class _Watch:
    """What one reader was told of the thread."""

    def __init__(
        self, source: Local, thread_id: str, reader: Reader, options: Options, past_errors: PastErrors
    ) -> None:
        self._source = source
        self._thread_id = thread_id
        self._reader = reader
        self._options = options
        self._past_errors = past_errors
        self._mark: _Mark = None
        self._told: Run | None = None
        """The run of this process that was told last."""
        self._going: Translator | None = None
        """Somebody else's run that is told while it goes on."""

    async def news(self) -> Batches:
        """What changed since the last time, if anything did."""
        mark = await self._newest()
        if mark == self._mark and self._told is not None:
            return
        is_new, self._mark = mark != self._mark, mark
        now = await found(self._source, self._thread_id)
        if isinstance(now, Run):
            async for batch in self.run(now):
                yield batch
        elif now is not None and is_new:
            yield tell(self._changed(now))

    async def run(self, run: Run) -> Batches:
        """A run of this process, to its end."""
        if run is self._told:
            return
        self._told = run
        if self._going is not None:
            yield tell(self._end(Ended(self._going.run_id, None, UNFINISHED)))
        async with aclosing(run.attach(self._reader)) as batches:
            async for batch in batches:
                yield batch
        self._mark = await self._newest()

    def _changed(self, now: Ended) -> list[Event]:
        """A state that no run of this process made."""
        events: list[Event] = []
        if self._going is not None and now.is_input:
            events = self._end(Ended(self._going.run_id, None, UNFINISHED))
        if now.ending is UNFINISHED:
            if self._going is None:
                self._going = Translator(self._thread_id, now.run_id, self._options, self._reader.view)
                events += self._going.start()
            return events + self._going.feed(("values", now.values))
        if self._going is not None:
            return events + self._end(now)
        return told_idle(self._reader, self._thread_id, now, self._options, self._past_errors)

    def _end(self, ended: Ended) -> list[Event]:
        going, self._going = cast(Translator, self._going), None
        return told_end(going, ended)

    async def _newest(self) -> _Mark:
        """What the thread's newest checkpoint is, and how much was written to it since."""
        saver = self._source.graph.checkpointer
        if not isinstance(saver, BaseCheckpointSaver):
            return None
        kept = await saver.aget_tuple({"configurable": {"thread_id": self._thread_id, "checkpoint_ns": ""}})
        return None if kept is None else (kept.checkpoint["id"], len(kept.pending_writes or ()))
