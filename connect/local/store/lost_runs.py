"""`LostRuns`: passes the lost runs that have an input on to all who continue them in this process, if anybody does.

A lost run is noticed by

- a reader that follows it, as soon as it is lost (`followed_run`);
- an input or a reader that comes to its thread (`run_store`);
- a sweep over all threads of the namespace: several times in a lease, and when an owner has handed a run over. Its
  intervals differ, so that not all processes ask at the same moment.

The same run may be passed on several times, as long as it is lost. In all processes together one claim continues it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ...errors import StoreUnavailableError, log_context
from .active_run import ThreadKey
from .background import Background
from .contact import Contact
from .records import LostRun
from .run_database import Lease, Log, RunDatabase

_TASK: Final = "sweep for lost runs"
_SHORTEST, _LONGEST = 1 / 4, 1 / 2
"""The shortest and the longest time between two sweeps, in leases."""

ContinueRun = Callable[[LostRun], None]
"""Continues a lost run, if this process can. It must not block, and is called again as long as the run is lost."""

_log = logging.getLogger(__name__)


class LostRuns:
    """The lost runs of one namespace. `background`, `contact`: those of the store."""

    def __init__(self, database: RunDatabase, background: Background, contact: Contact, namespace: str) -> None:
        self._database = database
        self._background = background
        self._contact = contact
        self._namespace = namespace
        self._continuing: list[ContinueRun] = []
        """All who have called `on_lost`."""
        self._asking: dict[ThreadKey, asyncio.Task[None]] = {}
        """The tasks that read the inputs of runs."""
        self._is_subscribed = False
        self._is_due = asyncio.Event()
        """Set when the next sweep must not wait."""

    def on_lost(self, continue_run: ContinueRun) -> Callable[[], None]:
        """See `RunStore.on_lost`."""

        def leave() -> None:
            with suppress(ValueError):
                self._continuing.remove(continue_run)

        self._continuing.append(continue_run)
        self._is_due.set()
        self._background.begin(_TASK, self._sweep)
        return leave

    def notice(self, thread: ThreadKey, lease: Lease) -> None:
        """Passes on the lost run of a thread, if it has an input. `lease`: that of the thread."""
        if not self._continuing or lease.claim is None or not lease.claim.has_input or thread in self._asking:
            return
        task = asyncio.get_running_loop().create_task(self._pass_on(thread, lease))
        self._asking[thread] = task
        task.add_done_callback(lambda _: self._asking.pop(thread, None))

    async def aclose(self) -> None:
        """Ends the tasks that read inputs. The background ends the sweep."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _pass_on(self, thread: ThreadKey, lease: Lease) -> None:
        assert lease.claim is not None
        try:
            with suppress(StoreUnavailableError):
                stored_input = await self._database.input_of(Log(thread, lease.fence))
                if stored_input:
                    is_stopping, is_handed_over = lease.is_stopping, lease.is_handed_over
                    lost = LostRun(thread, lease.fence, lease.claim, stored_input, is_stopping, is_handed_over)
                    for continue_run in list(self._continuing):
                        continue_run(lost)
        except Exception:
            label = log_context(lease.claim.agent, thread.thread_id, lease.claim.run_id)
            _log.exception("The lost run could not be continued (%s).", label)

    async def _sweep(self) -> None:
        if not self._is_subscribed:
            self._is_subscribed = True
            await self._database.subscribe_lost(self._namespace, self._is_due.set)
        while True:
            self._is_due.clear()  # first, so that a run that is handed over from now on causes another sweep
            if self._continuing:
                with suppress(StoreUnavailableError):
                    await self._contact.begin()
                    for thread, lease in await self._database.lost_threads(self._namespace):
                        self.notice(thread, lease)
            self._background.works(_TASK)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._database.lease * random.uniform(_SHORTEST, _LONGEST)):
                    await self._is_due.wait()
