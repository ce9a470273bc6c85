"""A thread of a platform, told: what is, and what runs on it. Each run's telling is `attach`'s, that of a thread on
which nothing runs is `idle`'s; here is what to emit, and in which order.

After a run has ended its thread is looked at again: one that was queued, or that took its place, is told too. When
nothing runs any more, and something is there that was not told (runs that came and went between two looks; somebody
wrote the state), that is told as runs that have ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...translator import Cancelled, Lost, Options, Translator
from ..encoded import Batches, to_batch
from ..idle import idle_events
from ..readers import Reader, direct_options
from ..run_outcome import PastErrors, RunOutcome, was_written, written_as
from .attach import attached
from .outcome import ACTIVE, ended, is_of
from .source import Platform
from .thread import Answered, Look, PlatformThread, told_id

Event = dict[str, Any]

_REMEMBERED = 64


def is_going(run: Answered) -> bool:
    """Whether an active run has begun."""
    return run.get("status") == "running"


def is_due(run: Answered) -> bool:
    """Whether an active run has begun, or is to begin as soon as it can: not one that waits for its time
    (`after_seconds`), which says that it is made then, later than it was written."""
    made, written = run.get("created_at"), run.get("updated_at")
    return is_going(run) or not (made and written) or _time(made) <= _time(written)


def _is_active(run: Answered) -> bool:
    return run.get("status") in ACTIVE


def _time(written: Any) -> datetime:
    return datetime.fromisoformat(str(written))


def _told_as(thread: Answered) -> Answered:
    """What stands for the run of a thread that has none, but was written or copied: whose graph it is, it says."""
    return {"assistant_id": (thread.get("metadata") or {}).get("graph_id")}


class PlatformTelling:
    """What one reader has been told of a platform's thread, and is told next.

    `since`: of the runs that ended before the first look, those made later than this are told; None: the last alone.
    """

    def __init__(
        self,
        platform: Platform,
        thread: PlatformThread,
        reader: Reader,
        options: Options | None,
        past_errors: PastErrors = "error",
        since: datetime | None = None,
    ) -> None:
        self.thread = thread
        self.reader = reader
        self._told: deque[str] = deque(maxlen=_REMEMBERED)
        """Runs that were told to their end, or are none of the reader's."""
        self._checkpoint_id: str | None = None
        """The newest checkpoint that was told, as far as it is known."""
        self.joined: str | None = None
        """The run that was joined when it was told last what is."""
        self._has_looked = False
        self._platform = platform
        self._options = options
        self._past_errors = past_errors
        self._since = since

    async def told_now(
        self, run_id: str | None = None, *, joins: Callable[[Answered], bool] = _is_active, follow: bool = True
    ) -> Batches:
        """What the thread holds, and the runs that are going on or waiting on it, to their end.

        `run_id`: this run alone, by the platform's id or its client's. `joins`: which active runs are waited for.
        `follow`: whether runs that come after the first are told too. Nothing for a thread that the platform does not
        know, or on which nothing was ever written, or of which all was told.
        """
        self.joined = None
        if run_id is not None:
            run_id = await self.thread.run_id_of(run_id)
        while (look := await self.thread.look(run_id)) is not None:
            active = look.active
            if active is not None and (self.has_told(str(active["run_id"])) or not joins(active)):
                active = None
            if not self._has_looked:
                self._see_first(look, active)
            if active is None:
                for run in self._missed(look):
                    if events := await self._past(look, run):
                        yield to_batch(events)
                if events := await self._written(look):
                    yield to_batch(events)
                return
            async with aclosing(self._attached(active)) as batches:
                async for batch in batches:
                    yield batch
            if run_id is not None or not follow or self.is_lost:
                return

    async def begun(self, run_id: str) -> tuple[Translator, Options]:
        """A translator for a run that is told from its first event on, with its options; whoever ends it says so by
        `ended`."""
        self._has_looked = True
        run = await self.thread.run(run_id)
        told = run_id if run is None else told_id(run)
        options = await self._chosen(run)
        return Translator(self.thread.id, told, options, self.reader.view), options

    def has_told(self, run_id: str) -> bool:
        """Whether this run was told to its end."""
        return run_id in self._told

    def ended(self, run_id: str) -> None:
        """This run was told to its end."""
        self._told.append(run_id)

    @property
    def is_lost(self) -> bool:
        """Whether the server went away in the middle of a run, so that request it more is in vain."""
        return (self.reader.view.terminal or {}).get("code") == Lost.code

    async def _chosen(self, run: Answered | None) -> Options:
        """How this run is told: as was chosen, or else by its assistant's output schema."""
        chosen = self._options or await self._platform.options((run or {}).get("assistant_id"), self.thread.policy)
        return direct_options(chosen)

    async def _attached(self, run: Answered) -> Batches:
        self.joined = str(run["run_id"])
        self.ended(self.joined)
        async with aclosing(attached(self.thread, run, self.reader, await self._chosen(run))) as batches:
            async for batch in batches:
                yield batch

    def _see_first(self, look: Look, active: Answered | None) -> None:
        """The first look. Of the runs that were over before it, all but the last are none of the reader's."""
        self._has_looked = True
        over = [run for run in look.recent if not _is_active(run)]
        known = over if active is not None else over[1:]
        if self._since is not None:
            known = [run for run in over if _time(run["created_at"]) <= self._since]
            if look.checkpoint_id is not None and _time(look.state["created_at"]) <= self._since:
                self._checkpoint_id = look.checkpoint_id
        self._told.extend(str(run["run_id"]) for run in known)

    def _missed(self, look: Look) -> list[Answered]:
        """The runs that are over and were not told, the oldest first."""
        return [run for run in reversed(look.recent) if not _is_active(run) and not self.has_told(str(run["run_id"]))]

    async def _past(self, look: Look, run: Answered) -> list[Event]:
        """A run that is over. Of one that was cancelled before it had begun, nothing, if it is not the last."""
        last = await self.thread.ended_as(look, run)
        self.ended(last.run_id)
        if is_of(look.state, last.run_id):
            self._checkpoint_id = look.checkpoint_id
        if last.values is None:
            if run is not look.last and isinstance(last.ending, Cancelled):
                return []
            last = replace(last, values=look.state.get("values") or {})
        return self._idle(replace(last, run_id=told_id(run)), await self._chosen(run))

    async def _written(self, look: Look) -> list[Event]:
        """What somebody wrote who is no run."""
        is_written = was_written(look.state.get("metadata"))
        if look.checkpoint_id in (None, self._checkpoint_id) or (look.recent and not is_written):
            return []
        self._checkpoint_id = look.checkpoint_id
        last = ended(None, look.state, look.thread, run_id=written_as(str(look.checkpoint_id)))
        return self._idle(last, await self._chosen(look.last or _told_as(look.thread)))

    def _idle(self, last: RunOutcome, options: Options) -> list[Event]:
        return idle_events(self.reader, self.thread.id, last, options, self._past_errors)
