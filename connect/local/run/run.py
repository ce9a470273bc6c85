"""One run of this process: `Run`. It belongs to the process, not to the request that started it or to its readers.

    running --the graph's stream ends------> finished | interrupted
            --the graph raises, a timeout--> failed
            --cancel(), or its task is-----> cancelled

Here: the task that drains the graph's stream through a translator to the readers, and its end. Which runs there are is
`runs`' and the run store's; how readers are served, `event_log`'s; what is reported of the run, `report`'s.

Rules:
- `RUN_STARTED` is emitted when the run is made: a reader that comes before the task had a turn finds the run started.
- When a run is cancelled or exceeds its timeout, its readers get its end at once. It is `stopping` until the graph has
  stopped, and so long the thread is busy: a synchronous node cannot be interrupted, and may write what it likes.
- Any other end is emitted when the store has released the thread: a client may post its next message in that moment.
- Whatever becomes of the task, also before its first turn, the run ends once, beginning in the task's callback. If
  anything raises there, the thread is free afterwards, and `wait` returns.
- If translating raises, the readers' streams end in an error, and the graph continues to a complete checkpoint.
- Before a part is fed, and the graph continues, the thread is the run's (`confirmation`): a graph does not write over
  what another process has written.
- Parts that are ready at once are not all fed in one turn of the event loop, or no reader could keep up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, cast

from ag_ui.core import Event

from ....translator import (
    PROTOCOL_VERSION,
    Cancelled,
    ClientView,
    Ending,
    Failed,
    Finished,
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
from .dispatched import parts_of
from .functions import context_for, running_functions
from .report import RunReport
from .summary import Outcome, RunSummary

_PARTS_PER_TURN: Final = 64
"""Parts after which readers get a turn of the event loop."""

Stream = Callable[[Callable[[Any], bool]], AsyncIterator[Any]]
"""Begins a graph's stream. It is given what emits a part that comes beside the stream: False if it is too late."""
Save = Callable[[Translator], Awaitable[None]]
"""Saves what was emitted of a run that was cancelled; given its translator."""
Leave = Callable[[BaseException | None], None]
"""Leaves the graph of a run; given what ended the run, if it did not end well. Never waits and never raises."""
Release = Callable[["Run", Callable[[], None]], None]
"""Frees the thread of a run, and calls what it is given when that is done."""
Confirmation = Callable[["Run"], Awaitable[None] | None]
"""What the run waits for before it continues: see `RunStore.confirmation`."""

_log = logging.getLogger(__name__)


class Run:
    """One run, from its start on. `Runs.begin` makes it, claims its thread and begins it, in a running event loop.

    `async for event in run` gives its events as `ag_ui.core` models: first those that bring a new reader to where the
    run is, then the run's own, to its end. Leaving the loop stops no run.

    `translator`: not yet started. `waiting`: the subgraphs in which it continues. `release`: called once, when its
    graph has stopped. `confirmation`: see `Confirmation`. `on_last_reader_left`: called when its last reader has left
    before the end.
    """

    is_readable: Final = True
    is_lost: Final = False
    _task: asyncio.Task[None]

    def __init__(
        self,
        thread: ThreadKey,
        translator: Translator,
        agent: Hashable,
        *,
        user: Hashable = None,
        has_checkpointer: bool,
        release: Release,
        confirmation: Confirmation,
        on_last_reader_left: Callable[[Run], None] | None = None,
        waiting: Iterable[Subgraph] = (),
    ) -> None:
        self.metadata: Metadata = {}
        """The metadata of its thread by which it is decided who may use it; set before the thread is claimed."""
        self.thread = thread
        """Its thread, as the run store knows it."""
        self.agent = agent
        """What it is found by, beside its thread: the agent's name, or the graph."""
        self.user = user
        """The identity of the user who has started it."""
        self.has_checkpointer = has_checkpointer
        """Whether its graph saves its threads."""
        self.started_at = datetime.now(UTC)
        """When it was started."""
        self.ending: Ending | None = None
        """How it ended; None while it runs."""
        self.is_untranslated = False
        """Whether translating it raised: readers got `RUN_ERROR`, and only the checkpoint says how the graph ended."""
        self.needs_readers = on_last_reader_left is not None
        """Whether it is stopped when its last reader has left."""
        self._translator = translator
        self._release = release
        self._confirmation = confirmation
        self._is_over = asyncio.Event()
        self._report = RunReport(agent)
        self._report.events = len(translator.start(self._report.trace_id))
        self._report.identify(self.thread_id, self.run_id)
        self.label = self._report.label
        """Its agent, thread and id, for a log line."""
        for subgraph in waiting:
            self._report.events += len(translator.apply_checkpoint(subgraph.values, subgraph.ns))
        self._event_log = EventLog(
            translator.view, None if on_last_reader_left is None else partial(on_last_reader_left, self)
        )
        self._mark = object()
        self._returning: asyncio.Task[None] | None = None
        self._save: Save | None = None
        self._leave: Leave | None = None
        self._error: BaseException | None = None
        """What ended the run, for who leaves its graph."""
        self._timer: asyncio.TimerHandle | None = None

    def begin(
        self,
        stream: Stream,
        number: int,
        timeout: float | None = None,
        save: Save | None = None,
        leave: Leave | None = None,
    ) -> None:
        """Begins the run, whose thread is claimed. `stream`: begins the graph's stream. `number`: see `number`.
        `timeout`: seconds after which the run is stopped and fails. `save`: called when it was cancelled and its graph
        has stopped, before the thread is free. `leave`: called when the graph has stopped, and nothing is saved any
        more."""
        self._save, self._leave = save, leave
        self._event_log.run = number
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
        """The thread it runs on."""
        return str(self.view.thread_id)

    @property
    def run_id(self) -> str:
        """Its id, as in `RUN_STARTED`."""
        return str(self.view.run_id)

    @property
    def view(self) -> ClientView:
        """What a client has that got every event so far. It changes with the run; copy it to keep it."""
        return self._translator.view

    @property
    def outcome(self) -> Outcome | None:
        """How it ended: `interrupted` waits for an answer, or is at a breakpoint. None while it runs."""
        if self.ending is None:
            return None
        if isinstance(self.ending, Finished) and not self.is_untranslated:
            return "interrupted" if self._translator.interrupted else "finished"
        return "cancelled" if isinstance(self.ending, Cancelled) else "failed"

    @property
    def status(self) -> RunStatus:
        """`running`; `stopping`, when readers have its end and its graph has not stopped yet; or its outcome."""
        if self.outcome is None:
            return "running"
        return self.outcome if self._is_over.is_set() else "stopping"

    @property
    def is_at_breakpoint(self) -> bool:
        """Whether it stopped at a static breakpoint, without an interrupt that wants an answer."""
        return self.outcome == "interrupted" and self._translator.interrupted == "breakpoint"

    @property
    def readers(self) -> int:
        """How many readers it has."""
        return self._event_log.readers

    @property
    def kept(self) -> int:
        """About how many bytes of events it keeps for readers that are behind."""
        return self._event_log.kept

    @property
    def summary(self) -> RunSummary:
        """The run in numbers; raises `RuntimeError` while it runs."""
        if self.outcome is None:
            raise RuntimeError(f"the run has not ended ({self.label})")
        return self._report.summary(self.outcome, self.view.terminal or {})

    def as_last(self) -> LastRun | None:
        """How it ended, to be kept when it is gone; None where only its checkpoint says that."""
        if self.ending is None or (self.has_checkpointer and self.is_untranslated):
            return None
        is_interrupted = self.outcome == "interrupted"
        return LastRun(
            self.run_id,
            self.started_at,
            _brief(self.ending),
            is_interrupted,
            self.is_at_breakpoint,
            self.number,
            tuple(self._translator.waiting_messages()) if is_interrupted else (),
            self._translator.asking_calls() if is_interrupted else {},
            None if self.has_checkpointer else self,
        )

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        """The events for a new reader, from where the run is to its end."""
        reader = Reader(Options(protocol_version=PROTOCOL_VERSION, first_state="delta"))
        return models(self.attach(reader), PROTOCOL_VERSION, lambda: self.label)

    def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """The events that bring `reader` to where the run is, then the run's own, to its end. Of a reader whose offset
        is one of this run, what it is missing is emitted as it was, where that is still known.

        The reader joins at the first read. Closing the iterator detaches it.
        """
        _log.info("Reader attached; %d others read (%s).", self.readers, self.label)
        return self._event_log.read(reader)

    def published(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """As `attach`, for a store that publishes the events to other processes: it does not count as a reader."""
        return self._event_log.read(reader, is_counted=False)

    def outlive_readers(self) -> None:
        """From now on its last reader may leave, in any process."""
        self.needs_readers = False
        self._event_log.on_last_reader_left = None

    async def cancel(self, wait: float = CANCEL_WAIT) -> RunStatus:
        """Stops the graph and waits up to `wait` seconds until it has stopped; returns the status then: `stopping` if
        it has not yet. Does nothing to a run that has ended."""
        self.stop(Cancelled())
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._is_over.wait()
        return self.status

    async def wait(self) -> RunStatus:
        """Waits until the run has ended and its graph has stopped; returns its outcome. Cancelling the wait cancels
        nothing else."""
        await self._is_over.wait()
        return self.status

    async def stream_end(self) -> bool:
        """Waits until the graph's stream has ended, as long as `cancel` does. Returns whether the thread is free then:
        synchronous functions may still run."""
        await asyncio.wait([self._task], timeout=CANCEL_WAIT)
        return self._is_over.is_set()

    def _exceed(self, timeout: float) -> None:
        if self.ending is None and not self._task.done():
            _log.error("The run exceeded its timeout of %g seconds and is stopped (%s).", timeout, self.label)
        self.stop(Failed({"error": TIMEOUT, "message": f"The run did not end within {timeout:g} seconds."}))

    def stop(self, ending: Ending) -> None:
        """Ends the readers' streams with this ending, and cancels the graph. Once: a second cancel would interrupt the
        graph in writing its last checkpoint."""
        if self.ending is not None or self._task.done():
            return
        self._task.cancel()
        self.ending = ending
        self._emit_end()

    async def _drain(self, stream: Stream) -> None:
        fed = 0
        if (confirmed := self._confirmation(self)) is not None:
            await confirmed
        async with aclosing(cast(Any, stream(self._feed))) as parts:
            async for part in parts:
                if (confirmed := self._confirmation(self)) is not None:
                    await confirmed
                for each in parts_of(part):
                    self._feed(each)
                fed += 1
                if fed % _PARTS_PER_TURN == 0:
                    await asyncio.sleep(0)

    def _feed(self, part: Any) -> bool:
        """Emits what a part of the graph's stream becomes; False after the run's last event."""
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
        self._event_log.publish(events)

    def _emit_end(self, error: Exception | None = None) -> None:
        """Publishes the run's last events, once; where they can't be made, the end is an error without details."""
        if self._event_log.is_closed:
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
        """The graph's stream has ended. A synchronous function of it may not have."""
        error = None if task.cancelled() else task.exception()
        if self._leave is not None:
            self._error = asyncio.CancelledError() if task.cancelled() else error
        if self.ending is None:
            self.ending = Cancelled() if task.cancelled() else Finished() if error is None else Failed(error)
        with ExitStack() as stopped:  # also where the log raises
            stopped.callback(self._free)
            if error is not None:  # readers get less of it, or there are none
                _log.error("The run failed (%s).", self.label, exc_info=error)

    def _free(self) -> None:
        """Ends the run when its last synchronous function has returned."""
        running = [] if isinstance(self.ending, Finished) else running_functions(self._mark)
        save = self._save if isinstance(self.ending, Cancelled) else None
        if not running and save is None:
            self._end()
            return
        self._emit_end()  # the thread waits for functions, readers do not
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
        except Exception:  # whatever the checkpointer raises, or an edge of the graph
            _log.exception("What the run had emitted could not be saved (%s).", self.label)

    def _end(self) -> None:
        """The graph has stopped, and its functions have returned."""
        self._report.stop()
        if self._timer is not None:
            self._timer.cancel()
        if self._leave is not None:
            self._leave(self._error)
            self._error = None  # it keeps the graph's frames
        try:
            self._release(self, self._released)
        except Exception:
            _log.exception("The end of the run raised (%s).", self.label)

    def _released(self) -> None:
        """The thread is free."""
        with ExitStack() as over:  # whatever raises in here: nothing else would ever end the run
            over.callback(self._is_over.set)
            self._emit_end()
            self._report.end(self.summary)


def _brief(ending: Ending) -> Ending:
    """How it ended, without what an exception keeps alive."""
    if isinstance(ending, Failed):
        return Failed(brief(ending.error))
    return ending
