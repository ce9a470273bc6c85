"""One run of this process: `Run`. It belongs to the process, not to whoever asked for it or reads it.

    running --the graph's stream ends--> finished | interrupted
            --the graph raises---------> failed
            --cancel(), or its task is--> cancelled

Here: the task that drains the graph's stream through a translator to the readers, and its end. Never here: which runs
there are (`runs`), and how readers are served (`broadcast`).

Rules:
- The run is told from the moment it is made: a reader that comes before its task had a turn finds it started.
- Whatever becomes of the task, even if it never had a turn, the stream is ended once, by the task's callback. Even if
  something raises in there, the thread is free afterwards, and those who wait for the run's end continue.
- If translating raises, the readers' stream ends in an error, and the graph runs on to a complete checkpoint.
- Many parts that are ready at once are not fed all in one turn, or no reader could keep up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable
from contextlib import ExitStack, aclosing
from datetime import UTC, datetime
from typing import Any, Literal, cast

from ...translator import Cancelled, ClientView, Ending, Failed, Finished, Translator, error_event
from ..encoded import Batch
from ..errors import INTERNAL, log_context
from ..inputs.intake import OnDisconnect
from ..readers import Reader
from .event_log import EventLog

RunStatus = Literal["running", "finished", "interrupted", "failed", "cancelled"]
_log = logging.getLogger(__name__)

_TURN = 64
"""Parts after which readers get a turn."""


class Run:
    """One run, from its start on. Made by `Runs.start`, in a running event loop.

    `parts`: the graph's stream, not yet begun. `translator`: not yet started. `over`: called once, when it has ended.
    """

    def __init__(
        self,
        parts: AsyncIterator[Any],
        translator: Translator,
        agent: Hashable,
        on_disconnect: OnDisconnect,
        *,
        has_checkpointer: bool,
        over: Callable[[Run, Ending], None],
    ) -> None:
        self.agent = agent
        """What it is found by, beside its thread: the agent's name, or the graph."""
        self.has_checkpointer = has_checkpointer
        """Whether its graph keeps its threads by itself."""
        self.started_at = datetime.now(UTC)
        self.ending: Ending | None = None
        """How it ended; None while it runs."""
        self.is_untranslated = False
        """Whether translating it raised: readers got `RUN_ERROR`, and only the checkpoint says how the graph ended."""
        self._translator = translator
        self._over = over
        self._is_over = asyncio.Event()
        translator.start()
        deserted = self._stop if on_disconnect == "cancel" else None
        self._broadcast = EventLog(translator.view, deserted)
        self._task = asyncio.get_running_loop().create_task(self._drain(parts), name=f"run {self.run_id}")
        self._task.add_done_callback(self._ended)

    @property
    def thread_id(self) -> str:
        """The thread it runs on."""
        return str(self.view.thread_id)

    @property
    def run_id(self) -> str:
        """Its id, as `RUN_STARTED` tells it."""
        return str(self.view.run_id)

    @property
    def place(self) -> str:
        """Its agent, thread and id, for a log line."""
        return log_context(self.agent, self.thread_id, self.run_id)

    @property
    def view(self) -> ClientView:
        """What a client holds that was told all of it so far. It goes on with the run; copy it to keep it."""
        return self._translator.view

    @property
    def status(self) -> RunStatus:
        """Where it is: `interrupted` has stopped for an answer, or at a breakpoint."""
        if self.ending is None:
            return "running"
        if isinstance(self.ending, Finished) and not self.is_untranslated:
            return "interrupted" if self._translator.interrupted else "finished"
        return "cancelled" if isinstance(self.ending, Cancelled) else "failed"

    @property
    def is_stopped(self) -> bool:
        """Whether it stopped at a static breakpoint, with no question asked."""
        return self.status == "interrupted" and self._translator.interrupted == "breakpoint"

    @property
    def readers(self) -> int:
        """How many read it."""
        return self._broadcast.readers

    @property
    def kept(self) -> int:
        """About how many bytes of events it keeps for readers that are behind."""
        return self._broadcast.kept

    def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """What `reader` is told: what brings it to where the run is, then all that comes, to the run's end.

        It joins at the first read. Closing the iterator detaches it.
        """
        return self._broadcast.told(reader)

    async def cancel(self) -> None:
        """Stops the graph, and returns when it has stopped. Of a run that has ended, nothing."""
        self._stop()
        await self._is_over.wait()

    async def wait(self) -> RunStatus:
        """Waits for the end, and gives how it ended. Cancelling the waiting cancels nothing else."""
        await self._is_over.wait()
        return self.status

    def _stop(self) -> None:
        # once: a second cancel would tear the graph out of writing its last checkpoint
        if not self._task.done() and not self._task.cancelling():
            self._task.cancel()

    async def _drain(self, parts: AsyncIterator[Any]) -> None:
        fed = 0
        async with aclosing(cast(Any, parts)):
            async for part in parts:
                self._publish(part)
                fed += 1
                if fed % _TURN == 0:
                    await asyncio.sleep(0)

    def _publish(self, part: Any) -> None:
        if self.is_untranslated:
            return
        try:
            self._broadcast.publish(self._translator.feed(part))
        except Exception as error:
            self.is_untranslated = True
            _log.exception("Translating the run failed, and its graph runs on (%s).", self.place)
            try:
                self._publish_end(Failed(error))
            except Exception:
                _log.exception("The run's last events could not be made (%s).", self.place)
            self._broadcast.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        ending: Ending = Cancelled() if task.cancelled() else Finished() if error is None else Failed(error)
        self.ending = ending
        try:
            with ExitStack() as released:  # whatever raises in here: nothing else would ever free the thread
                released.callback(self._is_over.set)
                released.callback(self._over, self, ending)
                released.callback(self._broadcast.close)
                if not self.is_untranslated:
                    self._publish_end(ending)
                if error is not None:  # readers get less of it, or there are none
                    _log.error("The run failed (%s).", self.place, exc_info=error)
        except Exception:
            _log.exception("The run ended, and something raised at its end (%s).", self.place)

    def _publish_end(self, ending: Ending) -> None:
        """Publishes the run's last events; where they can't be made, the end is an error that says no more."""
        try:
            self._broadcast.publish(self._translator.finish(ending))
        except Exception:
            if self.view.live:
                for event in [*self.view.open.closings(), error_event(None, "none", code=INTERNAL)]:
                    self.view.apply(event)
            self._broadcast.begin_anew()
            raise
