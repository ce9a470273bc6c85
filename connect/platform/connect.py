"""Decides what one reader gets of a platform's thread, and in which order: the thread's present state, and its runs.
`attach` makes the events of a run, and `idle` those of a thread on which nothing runs.

After a run has ended, the same look at its thread shows how it ended and which run comes next: one that was queued, or
that took its place, is emitted too. Runs that began and ended between two looks are emitted as runs that have ended,
before later ones. A state that was written without a run is emitted when nothing runs any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ...translator import Cancelled, Lost, Options, Translator
from ..errors import ConnectionLost, PlatformError
from ..events.encoded import Event, to_batch
from ..events.readers import Reader, direct_options
from ..events.relay import Relayed, relaying
from ..idle import idle_events_off_loop
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import PastErrors, RunOutcome, was_written, written_as
from .join.attach import Attachment
from .look import JsonObject, Look, ThreadRuns, client_run_id
from .outcome import ACTIVE, is_of, run_outcome
from .source import PlatformSource

_REMEMBERED: Final = 64


def is_running(run: JsonObject) -> bool:
    """Returns whether an active run has begun."""
    return run.get("status") == "running"


def is_due(run: JsonObject) -> bool:
    """Returns whether an active run has begun, or begins as soon as it can. A run that waits for its time
    (`after_seconds`) does not: its creation time is that time, later than its last update."""
    created, updated = run.get("created_at"), run.get("updated_at")
    return is_running(run) or not (created and updated) or _time(created) <= _time(updated)


def _is_active(run: JsonObject) -> bool:
    return run.get("status") in ACTIVE


def _time(text: Any) -> datetime:
    return datetime.fromisoformat(str(text))


def _run_of_writer(thread: JsonObject) -> JsonObject:
    """Returns a run that names the thread's graph, for a thread that was only written or copied and has no run."""
    return {"assistant_id": (thread.get("metadata") or {}).get("graph_id")}


class ThreadFollower:
    """Keeps track of what one reader has of a platform's thread, and makes its next events.

    `options`: None shows, of each run, the channels of its assistant's output schema. `since`: the runs that ended
    before the first look are emitted if they were created later than this; None emits only the last one.
    """

    def __init__(
        self,
        platform: PlatformSource,
        thread_id: str,
        reader: Reader,
        options: Options | None,
        past_errors: PastErrors = "error",
        since: datetime | None = None,
    ) -> None:
        self.thread = platform.thread_at(thread_id)
        self.reader = reader
        self.attached_run: str | None = None
        """The run to which the last `batches` attached."""
        self._emitted: deque[str] = deque(maxlen=_REMEMBERED)
        """Runs that were emitted to their end, or that the reader does not get."""
        self._checkpoint_id: str | None = None
        """The newest checkpoint that was emitted, as far as it is known."""
        self._has_looked = False
        self.platform = platform
        self._options = options
        self._past_errors = past_errors
        self._since = since
        self._first: tuple[str | None, ThreadRuns | None] | None = None
        """What `begin` has requested for the next `batches`: the platform's id of the only run, and the runs."""

    async def begin(self, run_id: str | None = None) -> None:
        """Makes the first requests of the next `batches`, so that a server that is away, or refuses, is known before
        anything is emitted. `run_id`: only this run is emitted, by the platform's id or its client's. Raises
        `PlatformError` and `ConnectionLost`."""
        only = None if run_id is None else await self.thread.run_id_of(run_id)
        self._first = only, await self.thread.runs(only)

    @relaying
    async def batches(self, *, joins: Callable[[JsonObject], bool] = _is_active, follow: bool = True) -> Relayed:
        """Yields the thread's state, and the runs that are running or queued on it, to their end; or only the run that
        was passed to `begin`.

        `joins`: returns whether to attach to an active run. `follow`: whether runs that come after the first are
        emitted too. Yields nothing for a thread that the platform does not know, that was never written, or that has
        nothing new.
        """
        self.attached_run = None
        (only, runs), self._first = self._first or (None, await self.thread.runs()), None
        look = None
        while runs is not None:
            active = self._next_active(runs, joins)
            if active is None or (self._since is not None and not self._has_looked):
                look = look or await (self.thread.look(runs) if only is None else self.thread.look_at(runs))
                if look is None:
                    return
                runs = look.runs
                active = self._next_active(runs, joins)
            if not self._has_looked:
                self._see_first(runs, active, look)
            for run in self._missed_runs(runs):
                if look is None and (look := await self.thread.look_at(runs)) is None:
                    return
                if events := await self._past_events(look, run):
                    yield to_batch(events)
            if active is None:
                assert look is not None
                if events := await self._written_events(look):
                    yield to_batch(events)
                return
            attachment = await self._attachment(active, None if only else runs.before(active))
            yield attachment.batches()
            if only is not None or not follow or self.is_lost:
                return
            look = attachment.look
            runs = await self.thread.runs() if look is None else look.runs

    async def prepare(self) -> None:
        """Requests what the next run needs before its first event, if it is known which assistant runs it: otherwise
        the run's first tokens would wait for it. Errors are left to that run."""
        with suppress(ConnectionLost, PlatformError):
            await self._options_of(None)

    async def translator_of(self, run_id: str) -> tuple[Translator, Options]:
        """Returns a translator for a run that is emitted from its first event on, and the options of the run. The
        caller calls `mark_emitted` when the run has ended."""
        self._has_looked = True
        run = await self.thread.run(run_id)
        options = await self._options_of(run)
        emitted_id = run_id if run is None else client_run_id(run)
        saving_nodes = self.thread.saving_nodes.get(str((run or {}).get("assistant_id")), ())
        view = self.reader.view
        translator = Translator(self.thread.id, emitted_id, options, view, source="platform", saving_nodes=saving_nodes)
        return translator, options

    def has_emitted(self, run_id: str) -> bool:
        """Returns whether this run was emitted to its end."""
        return run_id in self._emitted

    def mark_emitted(self, run_id: str) -> None:
        """Notes that this run was emitted to its end."""
        self._emitted.append(run_id)

    @property
    def is_lost(self) -> bool:
        """Whether the server could not be reached again in the middle of a run, so that no more is requested of it."""
        return (self.reader.view.terminal or {}).get("code") == Lost.code

    def _next_active(self, runs: ThreadRuns, joins: Callable[[JsonObject], bool]) -> JsonObject | None:
        """Returns the active run, if the reader is to be attached to it."""
        active = runs.active
        return None if active is None or self.has_emitted(str(active["run_id"])) or not joins(active) else active

    async def _options_of(self, run: JsonObject | None) -> Options:
        """Returns the options for this run: those that were passed in, or else those for its assistant's output
        schema."""
        return direct_options(self._options or await self.platform.options((run or {}).get("assistant_id")))

    async def _attachment(self, run: JsonObject, earlier: Collection[str] | None) -> Attachment:
        self.attached_run = str(run["run_id"])
        self.mark_emitted(self.attached_run)
        return Attachment(self.thread, run, self.reader, await self._options_of(run), earlier=earlier)

    def _see_first(self, runs: ThreadRuns, active: JsonObject | None, look: Look | None) -> None:
        """Takes the first look. Of the runs that had ended before it, the reader gets only the last, or those since
        `since`."""
        self._has_looked = True
        ended = [run for run in runs.recent if not _is_active(run)]
        skipped = ended if active is not None else ended[1:]
        if self._since is not None and look is not None:
            skipped = [run for run in ended if _time(run["created_at"]) <= self._since]
            if look.checkpoint_id is not None and _time(look.state["created_at"]) <= self._since:
                self._checkpoint_id = look.checkpoint_id
        self._emitted.extend(str(run["run_id"]) for run in skipped)

    def _missed_runs(self, runs: ThreadRuns) -> list[JsonObject]:
        """Returns the runs that have ended and were not emitted, the oldest first."""
        ended = [run for run in reversed(runs.recent) if not _is_active(run)]
        return [run for run in ended if not self.has_emitted(str(run["run_id"]))]

    async def _past_events(self, look: Look, run: JsonObject) -> list[Event]:
        """Returns the events of a run that has ended; none if it was cancelled before it began and is not the last."""
        outcome = await self.thread.outcome_of(str(run["run_id"]), run, look)
        self.mark_emitted(outcome.run_id)
        if is_of(look.state, outcome.run_id):
            self._checkpoint_id = look.checkpoint_id
        if outcome.values is None:
            if run is not look.last and isinstance(outcome.ending, Cancelled):
                return []
            outcome = replace(outcome, values=look.state.get("values") or {})
        return await self._idle(replace(outcome, run_id=client_run_id(run)), await self._options_of(run))

    async def _written_events(self, look: Look) -> list[Event]:
        """Returns the events of a state that was written without a run."""
        is_written = was_written(look.state.get("metadata"))
        if look.checkpoint_id in (None, self._checkpoint_id) or (look.recent and not is_written):
            return []
        self._checkpoint_id = look.checkpoint_id
        outcome = run_outcome(None, look.state, look.thread, run_id=written_as(str(look.checkpoint_id)))
        return await self._idle(outcome, await self._options_of(look.last or _run_of_writer(look.thread)))

    async def _idle(self, outcome: RunOutcome, options: Options) -> list[Event]:
        outcome = await outcome_with_replaced(outcome, options, self.thread.history())
        return await idle_events_off_loop(self.reader, self.thread.id, outcome, options, self._past_errors)
