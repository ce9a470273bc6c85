"""`Run`: one run of this process. It belongs to the process, not to the request that started it or to its readers.

    running --the graph's stream ends------> finished | interrupted
            --the graph raises, a timeout--> failed
            --cancel(), or its task is-----> cancelled
            --hand_over()------------------> another process continues it

This module has the task that passes the graph's stream through a translator to the readers, and the end of the run.
`runs` and the run store know which runs exist, `event_log` serves the readers, and `report` logs and counts.

Rules:
- `RUN_STARTED` is emitted when the run is made, so that a reader that attaches before the task's first turn finds the
  run started.
- When a run is cancelled or exceeds its timeout, its readers get its end at once. It is `stopping` until the graph has
  stopped, and the thread is busy until then: a synchronous node cannot be interrupted, and may still write.
- Any other end is emitted after the store has released the thread, because a client may post its next message at once.
- Whatever happens to the task, even before its first turn, the run ends once, beginning in the task's callback. If
  anything raises there, the thread still becomes free, and `wait` returns.
- If the translator raises, the readers' streams end in an error, and the graph continues to a complete checkpoint.
- A run that is handed over has no end here: its readers connect to another process, which continues the run.
- Before a part is fed, and the graph continues, `confirmation` checks that the run still has its thread, so that a
  graph does not overwrite what another process has written.
- Parts that are ready at once are not all fed in one turn of the event loop: otherwise no reader could keep up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, datetime
from typing import Any, Final, cast

from ag_ui.core import Event

from ....translator import (
    PROTOCOL_VERSION,
    Cancelled,
    ClientView,
    Ending,
    Failed,
    Finished,
    Lost,
    Options,
    Translator,
)
from ...access import Metadata
from ...errors import TIMEOUT, brief, unexpected
from ...events.encoded import Batch
from ...events.event_log import EventLog
from ...events.readers import Reader
from ...events.streams import models
from ...run_outcome import Subgraph
from ..store.active_run import CANCEL_WAIT, LastRun, RunStatus, ThreadKey
from ..store.run_store import Hold
from .control import Control, has_stopped_after_superstep
from .dispatched import parts_of
from .functions import context_for, running_functions
from .report import RunReport
from .summary import Outcome, RunSummary

HAND_OVER_WAIT: Final = 1.0
"""Seconds in which a graph can store its present superstep before its run is handed over."""
_PARTS_PER_TURN: Final = 64
"""Parts after which readers get a turn of the event loop."""

Stream = Callable[[Callable[[Any], bool]], AsyncIterator[Any]]
"""Begins a graph's stream. Takes a function that emits a part from outside the stream, and returns False if the run has
ended."""
Save = Callable[[Translator], Awaitable[None]]
"""Saves the messages that a cancelled run has emitted. Takes the run's translator."""
Leave = Callable[[BaseException | None], None]
"""Leaves the graph of a run. Takes the exception that ended the run, if there was one. Never waits and never raises."""

_log = logging.getLogger(__name__)


class Run:
    """One run, from its start on. `Runs.begin` makes it, claims its thread and begins it, in a running event loop.

    `async for event in run` yields its events as `ag_ui.core` models: first those that bring a new reader up to date,
    then the events of the run until its end. Leaving the loop does not stop the run.

    - `translator`: one that has not been started.
    - `needs_readers`: whether it is stopped when its last reader has left.
    - `waiting`: the subgraphs in which the run continues.
    - `attempt`, `losses`: how often the run has been tried, with this time, and lost; see `RunInput`.
    """

    is_readable: Final = True
    is_lost: Final = False
    _hold: Hold
    _task: asyncio.Task[None]

    def __init__(
        self,
        thread: ThreadKey,
        translator: Translator,
        agent: Hashable,
        *,
        user: Hashable = None,
        has_checkpointer: bool,
        needs_readers: bool = False,
        waiting: Iterable[Subgraph] = (),
        attempt: int = 1,
        losses: int = 0,
    ) -> None:
        self.metadata: Metadata = {}
        """The metadata of its thread that decide who may use the thread. Set before the thread is claimed."""
        self.thread = thread
        """Its thread, as the run store knows it."""
        self.agent = agent
        """The agent's name, or the graph: by this and its thread, the run is found."""
        self.user = user
        """The identity of the user who has started it."""
        self.has_checkpointer = has_checkpointer
        """Whether its graph saves its threads."""
        self.started_at = datetime.now(UTC)
        """When it was started."""
        self.ending: Ending | None = None
        """How it ended; None while it runs."""
        self.is_untranslated = False
        """Whether the translator raised. Then readers got `RUN_ERROR`; only the checkpoint says how the graph ended."""
        self.needs_readers = needs_readers
        """Whether it is stopped when its last reader has left."""
        self._translator = translator
        self._is_over = asyncio.Event()
        self._report = RunReport(agent, attempt, losses)
        self._report.events = len(translator.start(self._report.trace_id))
        self._report.identify(self.thread_id, self.run_id)
        self.label = self._report.label
        """Its agent, thread and id, for a log line."""
        for subgraph in waiting:
            self._report.events += len(translator.apply_checkpoint(subgraph.values, subgraph.ns))
        self._event_log = EventLog(translator.view)
        self._has_given_way = False
        """Whether the event log belongs to the continuation of the run in another process."""
        self._mark = object()
        self._returning: asyncio.Task[None] | None = None
        self._save: Save | None = None
        self._leave: Leave | None = None
        self._error: BaseException | None = None
        """The exception that ended the run, for `Leave`."""
        self._timer: asyncio.TimerHandle | None = None
        self._control: Control | None = None
        self._handed_over: Callable[[], bytes] | None = None
        self.is_leaving = False
        """Whether the run is to be handed over, unless it ends before."""
        self.is_handed_over = False
        """Whether another process is to continue it."""

    def begin(
        self,
        stream: Stream,
        hold: Hold,
        *,
        timeout: float | None = None,
        save: Save | None = None,
        leave: Leave | None = None,
        on_end: Callable[[Run], None] | None = None,
        control: Control | None = None,
        handed_over: Callable[[], bytes] | None = None,
    ) -> None:
        """Begins the run, whose thread has been claimed.

        - `stream`: begins the graph's stream.
        - `hold`: its hold on the thread.
        - `timeout`: seconds after which the run is stopped and fails.
        - `save`: called if the run was cancelled, when its graph has stopped and before the thread is free.
        - `leave`: called when the graph has stopped, after `save`.
        - `on_end`: called when the run has ended, or was handed over, and its thread is free.
        - `control`: that of its graph; None if the run can't be handed over.
        - `handed_over`: called when the run is about to be handed over. Returns what the store keeps of it from then
          on, or nothing if that stays the same."""
        self._control, self._handed_over = control, handed_over
        self._hold, self._save, self._leave, self._on_end = hold, save, leave, on_end
        self._event_log.run = hold.number
        if self.needs_readers:
            self._event_log.on_last_reader_left = hold.last_reader_left
        loop = asyncio.get_running_loop()
        if timeout is not None:
            self._timer = loop.call_later(timeout, self._exceed, timeout)
        context = self._report.within(context_for(self._mark))
        self._task = loop.create_task(self._drain(stream), name=f"run {self.run_id}", context=context)
        self._task.add_done_callback(self._stopped)
        self._report.begin()

    @property
    def number(self) -> int:
        """Its number among the runs of its thread, as in `Offset.run`; 0 before the thread is claimed."""
        return self._event_log.run

    @property
    def thread_id(self) -> str:
        """The id of its thread."""
        return str(self.view.thread_id)

    @property
    def run_id(self) -> str:
        """Its id, as in `RUN_STARTED`."""
        return str(self.view.run_id)

    @property
    def view(self) -> ClientView:
        """The view of a client that has received every event so far. It changes with the run; copy it to keep it."""
        return self._translator.view

    @property
    def outcome(self) -> Outcome | None:
        """How it ended: `interrupted` if it waits for an answer, or at a breakpoint. None while it runs."""
        if self.ending is None:
            return None
        if isinstance(self.ending, Finished) and not self.is_untranslated:
            return "interrupted" if self._translator.interrupted else "finished"
        return "cancelled" if isinstance(self.ending, Cancelled) else "failed"

    @property
    def status(self) -> RunStatus:
        """`running`; `stopping` after its readers have got its end and until its thread is free; or its outcome."""
        if self.outcome is None:
            return "running"
        return self.outcome if self._is_over.is_set() else "stopping"

    @property
    def is_at_breakpoint(self) -> bool:
        """Whether it stopped at a static breakpoint, and no interrupt waits for an answer."""
        return self.outcome == "interrupted" and self._translator.interrupted == "breakpoint"

    @property
    def readers(self) -> int:
        """The number of its readers in this process."""
        return self._event_log.readers

    @property
    def kept(self) -> int:
        """The approximate size, in bytes, of the events that it keeps for readers that are behind."""
        return self._event_log.kept

    @property
    def summary(self) -> RunSummary:
        """The run in numbers. Raises `RuntimeError` while it runs."""
        if self.outcome is None:
            raise RuntimeError(f"the run has not ended ({self.label})")
        return self._report.summary(self.outcome, self.view.terminal or {})

    def as_last(self) -> LastRun | None:
        """Returns how it ended, for the run store to keep; None if only its checkpoint says that."""
        if self.ending is None or (self.has_checkpointer and self.is_untranslated):
            return None
        is_interrupted, is_finished = self.outcome == "interrupted", self.outcome in ("interrupted", "finished")
        return LastRun(
            self.run_id,
            self.started_at,
            _brief(self.ending),
            is_interrupted,
            self.is_at_breakpoint,
            self.number,
            tuple(self._translator.waiting_messages()) if is_finished else (),
            self._translator.asking_calls() if is_finished else {},
            None if self.has_checkpointer else self,
        )

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        """Yields the events for a new reader, as `ag_ui.core` models."""
        reader = Reader(Options(protocol_version=PROTOCOL_VERSION, first_state="delta"))
        return models(self.attach(reader), PROTOCOL_VERSION, lambda: self.label)

    def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """Yields the events that bring `reader` up to date, and then the events of the run until its end. If the
        reader has an offset of this run, it gets the events after that offset unchanged, as long as they are kept.

        The reader joins at the first read. Closing the iterator detaches it.
        """
        _log.info("Reader attached; %d others read (%s).", self.readers, self.label)
        return self._event_log.read(reader)

    def published(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """Yields the same as `attach`, but does not count as a reader: for a store that publishes the events."""
        return self._event_log.read(reader, is_counted=False)

    def outlive_readers(self) -> None:
        """Lets the run continue without readers from now on."""
        self.needs_readers = False
        self._event_log.on_last_reader_left = None

    async def cancel(self, wait: float = CANCEL_WAIT) -> RunStatus:
        """Stops the graph, waits up to `wait` seconds until it has stopped, and returns the status, which is `stopping`
        if it has not. Does nothing if the run has ended."""
        self.stop(Cancelled())
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._is_over.wait()
        return self.status

    async def wait(self) -> RunStatus:
        """Waits until the run has ended and its graph has stopped, and returns its outcome. Cancelling the wait does
        not cancel the run."""
        await self._is_over.wait()
        return self.status

    async def stream_end(self) -> bool:
        """Waits until the graph's stream has ended, but not longer than `cancel` does. Returns whether the thread is
        free: synchronous functions may still be running."""
        await asyncio.wait([self._task], timeout=CANCEL_WAIT)
        return self._is_over.is_set()

    def _exceed(self, timeout: float) -> None:
        if self.ending is None and not self._task.done():
            _log.error("The run exceeded its timeout of %g seconds and is stopped (%s).", timeout, self.label)
        self.stop(Failed({"error": TIMEOUT, "message": f"The run did not end within {timeout:g} seconds."}))

    def stop(self, ending: Ending) -> None:
        """Ends the readers' streams with this ending, and cancels the graph. Does so only once, because a second cancel
        would interrupt the graph while it writes its last checkpoint."""
        if self.ending is not None or self._task.done():
            return
        self._task.cancel()
        self.ending = ending
        self._emit_end()

    async def hand_over(self, wait: float = HAND_OVER_WAIT) -> None:
        """Stops the graph so that another process continues the run, and gives up the thread. The graph has `wait`
        seconds to store its present superstep before it is cancelled. Does nothing if the run has ended, or if no other
        process can continue it."""
        if self._control is None or self.ending is not None:
            return
        self.is_leaving = True
        self._control.stop_after_superstep()
        await asyncio.wait([self._task], timeout=wait)
        if self.ending is None:
            self._task.cancel()
        await self._is_over.wait()

    def give_way(self) -> EventLog | None:
        """See `OwnedRun`."""
        if self.ending is not None or self._task.done():
            return None
        self._task.cancel()
        self.ending = Lost("the lease was lost")
        self.is_handed_over = self._has_given_way = True
        return self._event_log

    async def _drain(self, stream: Stream) -> None:
        fed = 0
        if (confirmed := self._hold.confirmation()) is not None:
            await confirmed
        async with aclosing(cast(Any, stream(self._feed))) as parts:
            async for part in parts:
                if (confirmed := self._hold.confirmation()) is not None:
                    await confirmed
                for each in parts_of(part):
                    self._feed(each)
                fed += 1
                if fed % _PARTS_PER_TURN == 0:
                    await asyncio.sleep(0)

    def _feed(self, part: Any) -> bool:
        """Emits the events of a part of the graph's stream. Returns False after the run's last event."""
        if self._event_log.is_closed or self.ending is not None:
            return False
        try:
            self._emit(self._translator.feed(part))
        except Exception as error:
            self.is_untranslated = True
            _log.exception("Translating the run failed, and its graph continues (%s).", self.label)
            self._emit_end(error)
        return True

    def _emit(self, events: list[dict[str, Any]]) -> None:
        self._report.events += len(events)
        if self._report.waits_to_show:
            self._report.look_at(events)
        self._event_log.publish(events)

    def _emit_end(self, error: Exception | None = None) -> None:
        """Publishes the run's last events, once. If the translator raises, the end is an error without details."""
        if self._event_log.is_closed or self._has_given_way:
            return
        if self.is_handed_over:
            self._event_log.close()
            return
        try:
            self._emit(self._translator.finish(self.ending if error is None else Failed(error)))
        except Exception:
            if self.view.live:
                for event in [*self.view.open.closings(), unexpected()]:
                    self.view.apply(event)
            self._event_log.begin_anew()
            _log.exception("The run's last events could not be made (%s).", self.label)
        finally:
            self._event_log.close()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        """Handles the end of the graph's stream. A synchronous function of the graph may still be running."""
        error = None if task.cancelled() else task.exception()
        if self._leave is not None:
            self._error = asyncio.CancelledError() if task.cancelled() else error
        if self.ending is None and self.is_leaving and (task.cancelled() or has_stopped_after_superstep(error)):
            self.is_handed_over, error = True, None
            self.ending = Lost("handed over")
        if self.ending is None:
            self.ending = Cancelled() if task.cancelled() else Finished() if error is None else Failed(error)
        with ExitStack() as stopped:  # even if logging raises
            stopped.callback(self._free)
            if error is not None:  # readers get fewer details, or there are no readers
                _log.error("The run failed (%s).", self.label, exc_info=error)

    def _free(self) -> None:
        """Ends the run when its last synchronous function has returned."""
        running = [] if isinstance(self.ending, Finished) else running_functions(self._mark)
        save = self._save if isinstance(self.ending, Cancelled) else None
        if not running and save is None:
            self._end()
            return
        self._emit_end()  # the thread waits for the functions, but readers do not
        if running:
            _log.warning("The run has ended, and %d synchronous functions still run (%s).", len(running), self.label)
        self._returning = asyncio.get_running_loop().create_task(self._returned(running, save))
        self._returning.add_done_callback(lambda _: self._end())

    async def _returned(self, functions: list[Future[Any]], save: Save | None) -> None:
        waiting = [asyncio.wrap_future(function) for function in functions]
        for result in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(result, BaseException):
                _log.warning("A synchronous function raised after its run (%s).", self.label, exc_info=result)
        try:
            if save is not None:
                await save(self._translator)
        except Exception:  # a checkpointer, or an edge of the graph, may raise anything
            _log.exception("What the run had emitted could not be saved (%s).", self.label)

    def _end(self) -> None:
        """Releases the thread: the graph has stopped, and its functions have returned."""
        self._report.stop()
        handed_over, self._handed_over = self._handed_over, None  # it has a reference to this run
        if self._timer is not None:
            self._timer.cancel()
        if self._leave is not None:
            self._leave(self._error)
            self._error = None  # it would keep the graph's frames alive
        last = None
        try:
            if self.is_handed_over:
                stored_input = b"" if handed_over is None or self._has_given_way else handed_over()
                self._hold.hand_over(stored_input, self._released)
                return
            try:
                last = self.as_last()
            finally:  # nothing else would ever free the thread
                self._hold.release(last, self._released)
        except Exception:
            _log.exception("Ending the run raised (%s).", self.label)

    def _released(self) -> None:
        """Emits the end of the run: the thread is free."""
        with ExitStack() as over:  # even if something in here raises, since nothing else would end the run
            if self._on_end is not None:
                over.callback(self._on_end, self)
            over.callback(self._is_over.set)
            self._emit_end()
            if self.is_handed_over:
                self._report.hand_over()
            else:
                self._report.end(self.summary)


def _brief(ending: Ending) -> Ending:
    """Returns an ending without its exception, which would keep frames alive."""
    if isinstance(ending, Failed):
        return Failed(brief(ending.error))
    return ending
