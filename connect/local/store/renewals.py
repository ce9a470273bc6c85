"""`Renewals` renews the leases of this process, even while its event loop is blocked. `HeldLease`: one lease.

A publisher renews the lease of its run with each entry, and after a third of a lease without one. It can't while a
synchronous call blocks the event loop. Then a thread renews the lease; it has its own event loop and its own
connections to the run database.

| the process | its leases |
|---|---|
| has a blocked event loop | are renewed by the thread, for `blocked` seconds at most |
| is frozen | expire |
| gets no answer from the database | expire, and its runs continue |

After a process was frozen, or blocked for too long, its leases may have expired, and other runs may have the threads.
The first turn of the event loop notices this, and blocks until the database has answered: otherwise the graph could
write meanwhile. A run that has lost its thread is stopped, and so is a run about which the database does not answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ...errors import StoreUnavailableError
from .run_database import LeaseRenewer, Own

_LOOKS: Final = 6
"""How often in a lease the thread looks at the leases, and the event loop shows that it is alive."""
_DUE: Final = 0.4
"""The part of a lease after which the thread renews it. A publisher does so earlier."""
_SILENCE: Final = 2 / 3
"""The part of a lease for which neither thread may attend to the leases. After a longer silence they are checked.
Another run may have the thread one and a half leases after the last renewal, and that was less than 1.5 - 2/3 leases
before the silence began."""
_FIRST_PAUSE: Final = 0.1
"""Seconds before the thread begins again after its first failure. The pause doubles each time, up to a lease."""
TAKEN: Final = "The run lost its lease to another one of its thread, and is stopped"
"""Why a run is stopped, for the log."""
_UNKNOWN: Final = "Its process stood still, and it cannot be asked whether the run still has its thread: it is stopped"

_log = logging.getLogger(__name__)


def clock() -> float:
    """Returns seconds on a clock that can't be set, and that continues while the process is frozen or the machine
    sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class HeldLease:
    """The lease of one run, as this process knows it.

    - `sent`: when the claim was sent, by `clock`.
    - `seconds`: the length of the lease.
    - `lose`: stops the run, for the reason given; called in the run's event loop.
    """

    def __init__(self, own: Own, sent: float, seconds: float, lose: Callable[[str], None]) -> None:
        self.own = own
        self.lose = lose
        self.is_taken = False
        """Whether the database has answered that another run has the thread."""
        self.is_doubtful = False
        """Whether another run may have the thread."""
        self._seconds = seconds
        self._renewed = sent
        self.doubt()

    def is_due(self) -> bool:
        """Returns whether the thread has to renew the lease."""
        return clock() > self._renewed + _DUE * self._seconds

    def doubt(self) -> None:
        """Marks the lease as doubtful if it has expired. Called after nobody has attended to it for a while."""
        self.is_doubtful = self.is_doubtful or clock() > self._renewed + self._seconds

    def renewed(self, sent: float) -> None:
        """Notes that a command which was sent at this time, by `clock`, has renewed the lease."""
        self._renewed = max(self._renewed, sent)
        if clock() < self._renewed + self._seconds:
            self.is_doubtful = False


class _Running(NamedTuple):
    """The thread's event loop, the renewer of leases that it uses, and the event that ends it."""

    loop: asyncio.AbstractEventLoop
    renewer: LeaseRenewer
    stopped: asyncio.Event


class Renewals:
    """The leases of one store, and the thread that renews them, which begins with the first run.

    - `connect`: makes the renewer that the thread uses; called in the thread.
    - `lease`, `blocked`: in seconds; see `RedisRunStore`.
    """

    def __init__(self, connect: Callable[[], LeaseRenewer], lease: float, blocked: float) -> None:
        self._connect = connect
        self._lease = lease
        self._blocked = blocked
        self._leases: set[HeldLease] = set()
        self._lock = threading.Lock()
        """Guards the set of leases."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beat = 0.0
        """When the event loop last showed that it is alive, by `clock`."""
        self._attended = clock()
        """When one of the two threads last attended to the leases, by `clock`."""
        self._thread: threading.Thread | None = None
        self._running: _Running | None = None
        """None while the thread does not run."""
        self._is_loop_known_alive = True
        self._has_begun, self._is_closed = threading.Event(), threading.Event()

    # --- in the event loop of the runs ------------------------------------------------------------------------------

    def hold(self, lease: HeldLease) -> None:
        """Begins to renew a lease."""
        with self._lock:
            self._leases.add(lease)
        if self._timer is None:
            self._beat = self._attended = clock()
            self._begin_timer()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="leases of langgraph-agui", daemon=True)
            self._thread.start()

    def leave(self, lease: HeldLease) -> None:
        """Stops renewing a lease."""
        with self._lock:
            self._leases.discard(lease)
        if not self._leases and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self, lease: HeldLease) -> None:
        """Stops the run of a lease if it has lost its thread while this process stood still, or if the database does
        not answer whether it has. Blocks the event loop until the database has answered, for a lease at most: half of
        it until the thread has begun, and half until the answer is there."""
        self._attend()
        if lease.is_doubtful:
            self._settle()

    async def aclose(self) -> None:
        """Ends the thread."""
        self._is_closed.set()
        if self._thread is not None:
            if (running := self._running) is not None:
                with suppress(RuntimeError):  # the thread has ended meanwhile
                    running.loop.call_soon_threadsafe(running.stopped.set)
            await asyncio.to_thread(self._thread.join, self._lease)

    def _show_life(self) -> None:
        self._begin_timer()  # first, so that it runs even if something below raises
        self._attend()
        self._settle()
        self._beat = clock()

    def _begin_timer(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._lease / _LOOKS, self._show_life)

    def _settle(self) -> None:
        """Asks the database about doubtful leases, and stops the runs that no longer have their threads."""
        if not (doubtful := [lease for lease in self._held() if lease.is_doubtful]):
            return
        if self._has_begun.wait(self._lease / 2) and (running := self._running) is not None:
            self._wait_for(running.loop, self._renew(running.renewer, doubtful))
        for lease in doubtful:
            if lease.is_taken or lease.is_doubtful:
                lease.lose(TAKEN if lease.is_taken else _UNKNOWN)

    def _wait_for(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
        """Blocks until the thread has done this work, for half a lease at most."""
        try:
            asked = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # the thread is about to begin again
            work.close()
            return
        with suppress(TimeoutError, CancelledError):
            asked.result(self._lease / 2)
        asked.cancel()

    # --- in either thread -------------------------------------------------------------------------------------------

    def _held(self) -> list[HeldLease]:
        with self._lock:
            return list(self._leases)

    def _attend(self) -> None:
        now = clock()
        if now > self._attended + _SILENCE * self._lease:
            for lease in self._held():
                lease.doubt()
        self._attended = now  # last, so that the other thread too sees the silence until the leases are doubtful

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._is_closed.is_set():
            try:
                asyncio.run(self._keep())
            except Exception:
                _log.exception("The thread that renews the leases of this process failed, and begins again.")
                self._is_closed.wait(pause)
                pause = min(2 * pause, self._lease)

    async def _keep(self) -> None:
        renewer, renewing = self._connect(), None
        try:
            stopped = asyncio.Event()
            self._running = _Running(asyncio.get_running_loop(), renewer, stopped)
            self._has_begun.set()
            while not self._is_closed.is_set():
                if self._loop is None or self._loop.is_closed():
                    return self._is_closed.set()  # nobody closed the store
                if self._is_loop_alive():
                    self._attend()  # even while the database does not answer
                    if renewing is None or renewing.done():
                        renewing = asyncio.create_task(self._renew_due(renewer))
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._lease / _LOOKS):
                        await stopped.wait()
                if renewing is not None and renewing.done():
                    renewing.result()
        finally:
            self._has_begun.clear()
            self._running = None
            if renewing is not None:
                renewing.cancel()
                await asyncio.wait([renewing])
            await renewer.aclose()

    def _is_loop_alive(self) -> bool:
        """Whether the event loop of the runs has been blocked for less than `blocked` seconds."""
        is_alive = clock() <= self._beat + self._blocked
        if not is_alive and self._is_loop_known_alive and self._leases:
            _log.error(
                "The event loop has stood still for more than %g seconds: a synchronous call blocks it. The leases of "
                "its runs are not renewed any more.",
                self._blocked,
            )
        self._is_loop_known_alive = is_alive
        return is_alive

    async def _renew_due(self, renewer: LeaseRenewer) -> None:
        due = [lease for lease in self._held() if lease.is_due()]
        await self._renew(renewer, due)
        for lease in due:
            if lease.is_taken and self._loop is not None:
                with suppress(RuntimeError):  # the event loop is closed
                    self._loop.call_soon_threadsafe(lease.lose, TAKEN)

    async def _renew(self, renewer: LeaseRenewer, leases: list[HeldLease]) -> None:
        """Renews these leases, if the database answers."""
        sent = clock()
        try:
            answers = await renewer.renew([lease.own for lease in leases]) if leases else ()
        except StoreUnavailableError:
            return
        for lease, is_ours in zip(leases, answers, strict=True):
            if is_ours:
                lease.renewed(sent)
            else:
                lease.is_taken = lease.is_doubtful = True
