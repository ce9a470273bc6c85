"""`RunStore`: which run has a thread, as all server processes know it. It knows the runs of this process, and asks a
run database about all others. It never has the tasks of runs: the `runs.Runs` of the process that owns a run has them.

Rules:

1. If several callers claim a thread at the same moment, one of them gets it, and the others get `RunConflictError`. So
   does a caller that read the thread (`revision`) before another run of it: its process may have been frozen since.
2. A run is active from its claim until its owner releases it, which is when its graph has stopped. If a run was not
   stopped, a client that has received its terminal event finds the thread free, in every process.
3. A run of any process is read, cancelled and waited for through its `ActiveRun`.
4. How the last run of a thread with checkpoints ended is still kept while the next run is active.
5. Questions about runs of this process are answered without the database. So these runs accept new readers even while
   the database does not answer.
6. While the database does not answer, questions about other processes raise `StoreUnavailableError`.
7. A run is claimed for one lease, which its publisher renews. A claim that gets no answer may have been granted. Its
   run does not begin, and nobody may continue it, since its sender is told to send it again. So the claim is withdrawn
   as soon as the database answers, and until then the thread is busy. If this process is lost before that, the run is
   lost too, and is continued if it has an input.
8. While it is in doubt whether a run is lost (`run_database`), questions and claims for its thread wait.
9. A lost run that has an input stays active for `run_database.CONTINUED_WITHIN` leases, so that a process can continue
   it. Its readers wait for that.
"""

from __future__ import annotations

import asyncio
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Final, Protocol
from uuid import uuid4
from weakref import WeakSet, WeakValueDictionary

from langgraph.pregel import Pregel

from ... import metrics
from ...errors import RunConflictError, StoreUnavailableError, log_context
from ...events.event_log import EventLog
from ..checkpointers import has_checkpointer
from ..encryption import cipher_of
from .active_run import ActiveRun, LastRun, OwnedRun, ThreadKey, ThreadNow
from .appends import Appends
from .background import PAUSES, Background
from .contact import Contact
from .feed import Feed
from .followed_run import FollowedRun
from .logs import Logs
from .lost_runs import ContinueRun, LostRuns
from .publisher import Publisher
from .recorder import Recorder
from .records import Claim, RunEnd, quoted
from .renewals import Renewals, clock
from .retention import KeptRun, Retention
from .run_database import Lease, Log, Own, RunDatabase, Wake
from .starts import Starts
from .turns import Ticket, TurnNews, turn_if_idle, turn_on

_MOST_DOUBT: Final = 2
"""The longest time, in leases, for which a lease is waited for while it is in doubt. After an outage it is in doubt for
half a lease."""
_LEAST_LEASE: Final = 0.5
"""The shortest lease, in seconds."""
_LOOKS: Final = 20
"""How often in a lease a thread that is in doubt is looked up."""
_TO_PUBLISH: Final = 5.0
"""Seconds for which `aclose` waits until the ends of runs are published."""

_log = logging.getLogger(__name__)


class Hold(Protocol):
    """What a run of this process has from its claim on: its hold on the thread."""

    run: OwnedRun
    number: int
    """Its number among the runs of its thread, and its fence."""
    is_free: bool
    """Whether the run is over for this process."""

    @property
    def last(self) -> RunEnd | None:
        """How the thread's last run ended: the previous run, until this one is over."""

    def wake(self) -> None:
        """Asks the database whether the run is to stop."""

    def confirmation(self) -> Awaitable[None] | None:
        """Checks that the run still has its thread, if another run may have it by now. A run that has lost its thread
        is stopped: then this returns an awaitable, in which the task of the run is cancelled. Returns None, at almost
        no cost, in any other case. Never raises."""

    def last_reader_left(self) -> None:
        """Stops the run, which needs readers and has none left in this process, unless it has readers in another
        one."""

    def release(self, last: LastRun | None, done: Callable[[], None]) -> None:
        """Frees the thread: the run has ended, and its graph has stopped. Never waits and never raises.

        - `last`: how the run ended; None if only its checkpoint says that.
        - `done`: called once, when every process finds the thread free, or a little later if the database does not
          answer."""

    def hand_over(self, stored_input: bytes, done: Callable[[], None]) -> None:
        """Gives the run up, in place of `release`, so that another process continues it at once. The graph has stopped,
        and the run was claimed with an input. Never waits and never raises.

        - `stored_input`: replaces that input, unless it is empty.
        - `done`: called once, when the database knows that the run is lost, or a little later if it does not answer."""

    async def wait_for_end(self, seconds: float) -> None:
        """Waits until the database knows that the run is over, for this many seconds at most."""


class RunStore(ABC):
    """The runs of all processes that share a run database. All methods belong to one event loop. `namespace`: the
    namespace of threads with checkpoints. For the other arguments see `RedisRunStore`; they have no effect if no other
    process shares the database."""

    is_shared: bool = True
    """Whether other processes read and stop the runs of this one."""
    system: str = "other_sql"
    """The name of the database in OpenTelemetry's conventions (`db.system.name`)."""

    def __init__(
        self,
        namespace: str = "",
        *,
        lease: float = 10.0,
        window: float = 0.0,
        timeout: float = 0.0,
        blocked: float = 0.0,
        retention: Retention | None = None,
    ) -> None:
        if lease < _LEAST_LEASE:
            raise ValueError(f"lease: expected at least {_LEAST_LEASE} seconds, got {lease!r}")
        if blocked < 0:
            raise ValueError(f"blocked: expected a number of seconds, got {blocked!r}")
        self._namespace = namespace
        self._lease_seconds = lease
        self._window = window
        self._timeout = timeout
        self._blocked = blocked
        self.retention = retention
        """Which finished runs are kept; None keeps none."""
        self._begin()
        _stores.add(self)

    @abstractmethod
    def _connect(self, process: str, background: Background, wake: Wake) -> RunDatabase:
        """Returns the run database for a process with this id. `background`: the tasks of the store. `wake`: see
        `Wake`."""

    def _begin(self) -> None:
        """Resets the store to that of a new process that is not connected yet: when it is made, after it was closed,
        and in a forked process."""
        self._owner = uuid4().hex
        self._background = Background()
        self._database = self._connect(self._owner, self._background, self._wake)
        if self.is_shared:
            self._database = metrics.measured(self._database, self.system)
        self._appends = Appends(self._database)
        self._logs = Logs(self._database, self._background)
        self._contact = Contact(self._database, self._background)
        self._starts = Starts(self._database, self._run_elsewhere, self._active_elsewhere)
        self._renewals = Renewals(self._database.other_loop, self._database.lease, self._blocked)
        self._lost_runs = LostRuns(self._database, self._background, self._contact, self._namespace)
        self._owned: dict[ThreadKey, Hold] = {}
        """The last run of each thread in this process, until the database knows its end."""
        self._publishers: set[Publisher] = set()
        """All publishers. One may publish the end of its run after the next run of the thread has begun."""
        self._recorders: set[Recorder] = set()
        """The recorders of the runs of this process, until the runs are kept."""
        self._withdrawing: set[asyncio.Task[None]] = set()
        """The tasks that withdraw claims."""
        self._followed: WeakValueDictionary[tuple[ThreadKey, int], FollowedRun] = WeakValueDictionary()

    def key(self, graph: Pregel[Any, Any, Any, Any], agent: str | None, thread_id: str) -> ThreadKey:
        """Returns the key of a thread of a graph. Without a checkpointer, no other agent has the thread. Raises
        `ValueError` if the agent has no name."""
        if agent is None:
            raise ValueError(
                f"{type(self).__name__}: expected the name of an agent (Local(graph, agent=...)), got none"
            )
        if has_checkpointer(graph):
            return ThreadKey(self._namespace, thread_id, cipher_of(graph.checkpointer))
        return ThreadKey(f"{self._namespace}:{quoted(agent)}", thread_id)

    async def claim(
        self,
        thread: ThreadKey,
        run: OwnedRun,
        revision: int | None = None,
        ticket: Ticket | None = None,
        stored_input: bytes = b"",
        continues: int = 0,
    ) -> Hold:
        """Makes a run that has not begun the active run of its thread, and returns its hold on the thread. Waits while
        the thread is closed.

        - `ticket`: that of the run's input, which then leaves the line.
        - `stored_input`: the input with which another process can continue the run if this one is lost; empty if it
          can't be continued. It is stored as it is: the caller encrypts it.
        - `continues`: the number of the lost run that this run continues, with the same id; 0 if there is none.

        Raises `RunConflictError` with the id of the active run, if there is one, if the revision of the thread is not
        `revision`, and if the lost run is continued by another process; and `StoreUnavailableError` if the database
        does not answer."""
        self._database.start()
        if self._background.is_failing:
            raise StoreUnavailableError
        if (before := self._owned.get(thread)) is not None and before.is_free:
            await before.wait_for_end(self._timeout)  # the database may not know yet that the run has ended
        await self._contact.begin()
        agent = run.agent if isinstance(run.agent, str) else type(run.agent).__name__
        claim = Claim(
            run.run_id,
            agent,
            self._owner,
            run.metadata,
            run.needs_readers,
            continues=continues,
            has_input=bool(stored_input),
        )
        token, ticket_id = uuid4().hex, "" if ticket is None else ticket.id
        within, at = self._deadline(), continues or revision
        async with AsyncExitStack() as closed:
            news: TurnNews | None = None
            while True:
                sent = clock()
                try:
                    claimed = await self._database.claim(
                        thread, token, claim, self._contact.now, at, stored_input, ticket=ticket_id
                    )
                except (StoreUnavailableError, asyncio.CancelledError):
                    if not continues:  # if the claim was granted, another process continues the run
                        self._withdraw(thread, token, claim)
                    raise
                if claimed == "closed":
                    if news is None:
                        news = await closed.enter_async_context(TurnNews(self._database, thread))
                    else:
                        await news.next()
                elif claimed == "changed":
                    raise RunConflictError(f"thread {thread.thread_id!r} has had another run meanwhile")
                elif isinstance(claimed, float):
                    await self._in_doubt(claimed, within)
                elif isinstance(claimed, Claim):
                    own = self._owned.get(thread)
                    status = "active" if own is None or own.is_free else own.run.status
                    raise RunConflictError(
                        f"thread {thread.thread_id!r} has a run that is {status}, {claimed.run_id!r}"
                    )
                else:
                    if ticket is not None:
                        ticket.has_left()
                    return self._hold(Own(thread, claimed.fence, token, claim), run, sent, claimed.last)

    def _withdraw(self, thread: ThreadKey, token: str, claim: Claim) -> None:
        """Withdraws a claim that got no answer, in the background."""

        async def withdraw() -> None:
            for pause in chain(PAUSES, repeat(PAUSES[-1])):
                try:
                    await self._database.withdraw(thread, token)
                    return
                except StoreUnavailableError:
                    await asyncio.sleep(min(pause, self._database.lease / 8))
                except Exception:
                    label = log_context(claim.agent, thread.thread_id, claim.run_id)
                    _log.exception("A claim that got no answer could not be withdrawn (%s).", label)
                    return

        task = asyncio.get_running_loop().create_task(withdraw(), name=f"withdrawal of a claim of {thread.thread_id}")
        self._withdrawing.add(task)
        task.add_done_callback(self._withdrawing.discard)

    def on_lost(self, continue_run: ContinueRun) -> Callable[[], None]:
        """Calls `continue_run` from now on with each run of any process that is lost and has an input, as well as all
        others that were given; see `LostRuns`. Returns a function that ends this; whoever continues runs calls it
        before it hands its own runs over. Must be called in the event loop."""
        return self._lost_runs.on_lost(continue_run)

    async def revision(self, thread: ThreadKey) -> int:
        """Returns a number that changes when a run of the thread starts, and when it ends. Raises
        `StoreUnavailableError` if the database does not answer."""
        return (await self._database.lease_of(thread)).fence

    def _hold(self, own: Own, run: OwnedRun, sent: float, last: RunEnd | None) -> Hold:
        """Returns the hold of a run whose claim was granted. `sent`: when the claim was sent. `last`: how the run
        before it ended."""

        def forget() -> None:
            if self._owned.get(own.thread) is hold:
                del self._owned[own.thread]

        hold = self._owned[own.thread] = self._make_holder(own, run, sent, last, forget)
        self._starts.start(own.thread, own.fence, run)
        if self.retention is not None:
            recorder = Recorder(self._database, own.thread, own.fence, run, self.retention)
            self._recorders.add(recorder)
            recorder.task.add_done_callback(lambda _: self._recorders.discard(recorder))
        return hold

    def _make_holder(
        self, own: Own, run: OwnedRun, sent: float, last: RunEnd | None, at_end: Callable[[], None]
    ) -> Hold:
        """Returns the hold of a run, which publishes the run. `at_end`: called when it is done."""

        def ended() -> None:
            self._publishers.discard(publisher)
            at_end()

        def follow(events: EventLog, number: int) -> None:
            follower = self._follower(own.thread, own.fence, own.claim)
            self._followed.setdefault((own.thread, own.fence), follower)
            follower.take_over(events, number)

        publisher = Publisher(
            self._database,
            self._appends,
            own,
            run,
            sent,
            last,
            self._window,
            self._renewals,
            follow=follow,
            at_end=ended,
        )
        self._publishers.add(publisher)
        return publisher

    async def active(self, thread: ThreadKey) -> ActiveRun | None:
        """Returns the run that is running or stopping on a thread."""
        hold = self._owned.get(thread)
        if hold is not None and not hold.is_free:
            return hold.run
        return self._active_at(thread, await self._lease(thread))

    def _active_at(self, thread: ThreadKey, now: Lease) -> ActiveRun | None:
        if self._is_own(now) and (hold := self._owned.get(thread)) is not None:
            return None if hold.is_free else hold.run
        return self._active_run(thread, now)  # perhaps a run of this process whose claim got no answer

    async def now(self, thread: ThreadKey) -> ThreadNow:
        """Returns `active`, `last` and more of a thread, at the price of one of them."""
        here = await self._now_here(thread)
        return await self._now_at(thread, await self._lease(thread)) if here is None else here

    async def _now_here(self, thread: ThreadKey) -> ThreadNow | None:
        """Returns the same as `now` if a run of this process is active on the thread, and None otherwise."""
        hold = self._owned.get(thread)
        if hold is None or hold.is_free:
            return None
        return ThreadNow(hold.run, await self._last_run(thread, hold.last), hold.number, has_inputs=True)

    async def _now_at(self, thread: ThreadKey, now: Lease) -> ThreadNow:
        if now.state == "doubt":
            now = await self._lease(thread)
        active, hold = self._active_at(thread, now), self._owned.get(thread)
        last = await self._last_run(thread, now.last if hold is None else hold.last)
        return ThreadNow(active, last, now.fence, now.waiting > 0)

    async def _active_elsewhere(self, thread: ThreadKey) -> ActiveRun | None:
        """Returns the active run of a thread, if it is one of another process."""
        now = await self._lease(thread)
        return None if self._is_own(now) else self._active_run(thread, now)

    def _is_own(self, now: Lease) -> bool:
        return now.claim is not None and now.claim.owner == self._owner

    def _active_run(self, thread: ThreadKey, now: Lease) -> ActiveRun | None:
        if now.claim is None or not (now.state == "valid" or now.is_continuable):
            return None
        if now.is_continuable:
            self._lost_runs.notice(thread, now)
        run = self._followed_run(thread, now.fence, now.claim)
        run.is_stopping = run.is_stopping or now.is_stopping
        return run

    async def _lease(self, thread: ThreadKey) -> Lease:
        """Returns the lease of a thread, once it is no longer in doubt."""
        await self._contact.begin()
        within = self._deadline()
        while (now := await self._database.lease_of(thread)).state == "doubt":
            await self._in_doubt(now.seconds, within)
        return now

    def _deadline(self) -> float:
        """Returns the time, by `clock`, after which a lease is in doubt only if something fails."""
        return clock() + _MOST_DOUBT * self._database.lease

    async def _in_doubt(self, seconds: float, within: float) -> None:
        """Pauses before the next look at a lease that is in doubt. `seconds`: how long the doubt lasts at most.
        `within`: the deadline, by `clock`. Raises `StoreUnavailableError` after the deadline, and while a background
        task fails."""
        if self._background.is_failing or clock() > within:
            raise StoreUnavailableError
        await asyncio.sleep(min(seconds, self._database.lease / _LOOKS))

    async def last(self, thread: ThreadKey) -> LastRun | None:
        """Returns how the last run on a thread ended, as long as that is kept. Without a checkpointer, the result
        includes the run itself as long as its log exists."""
        hold = self._owned.get(thread)
        stored = (await self._database.lease_of(thread)).last if hold is None else hold.last
        return await self._last_run(thread, stored)

    async def _last_run(self, thread: ThreadKey, stored: RunEnd | None) -> LastRun | None:
        if stored is None:
            return None
        last, claim = stored.last, stored.claim
        if claim is None or not claim.is_readable or not await self._database.has_log(Log(thread, last.number)):
            return last
        return replace(last, run=self._followed_run(thread, last.number, claim))

    async def forget(self, thread: ThreadKey) -> None:
        """Forgets a thread that was deleted: how its last run ended, and the events of all its runs."""
        await self._recorded(thread)
        await self._database.forget(thread)

    async def finished_runs(self, thread: ThreadKey) -> list[KeptRun]:
        """Returns the finished runs of a thread that are kept, the oldest first. A run of this process that has just
        ended is among them."""
        await self._recorded(thread)
        stored = await self._database.finished_runs(thread)
        return [run for each in stored if (run := KeptRun.of(each, thread.cipher)) is not None]

    async def finished_events(self, thread: ThreadKey, number: int) -> bytes:
        """Returns the events of a finished run, for `retention.lines_of`; nothing (`b""`) if they are not kept.
        `number`: its number among the runs of the thread."""
        return await self._database.finished_events(Log(thread, number))

    async def _recorded(self, thread: ThreadKey) -> None:
        """Waits until the runs of this process that have ended on a thread are kept, or can't be."""
        tasks = [each.task for each in self._recorders if each.thread == thread and each.run.outcome is not None]
        if tasks:
            await asyncio.wait(tasks)

    @asynccontextmanager
    async def turn_if_idle(self, thread: ThreadKey) -> AsyncGenerator[tuple[ThreadNow, Ticket | None], None]:
        """Looks at a thread, and has the turn within the block if it is idle; see `turns.turn_if_idle`. The target of
        `as` is what the store knows of the thread at that moment, and the ticket that has the turn, or None."""
        if (here := await self._now_here(thread)) is not None:
            yield here, None
            return
        await self._contact.begin()
        async with turn_if_idle(self._database, thread) as (lease, ticket):
            yield await self._now_at(thread, lease), ticket

    @asynccontextmanager
    async def turn(
        self, thread: ThreadKey, *, closes: bool = False, lock: asyncio.Lock | None = None
    ) -> AsyncGenerator[tuple[ThreadNow, Ticket], None]:
        """Waits for the turn on a thread, and has it within the block; see `turns.turn_on`. The target of `as` is what
        the store knows of the thread at that moment, and the ticket."""
        async with turn_on(self._database, thread, closes=closes, lock=lock) as (lease, ticket):
            yield await self._now_at(thread, lease), ticket

    async def started(self, thread: ThreadKey) -> Feed:
        """Returns a feed of the runs that start on a thread from now on, in any process."""
        return await self._starts.feed(thread)

    def wake(self, thread: ThreadKey) -> None:
        """Makes the feeds of a thread ask again whether it has inputs."""
        self._starts.wake(thread)

    async def has_inputs(self, thread: ThreadKey) -> bool:
        """Returns whether an input of another process has the turn on a thread, or waits for it. If none does, the
        feeds of the thread have every run that has started. Returns False if the database does not answer."""
        with suppress(StoreUnavailableError):
            if (await self._database.lease_of(thread)).waiting > 0:
                return True
            await self._starts.catch_up(thread, self._timeout)
        return False

    async def ping(self) -> None:
        """Raises `StoreUnavailableError` if the database does not answer."""
        await self._contact.begin()
        await self._contact.keep()
        if self._background.is_failing:
            raise StoreUnavailableError

    async def aclose(self) -> None:
        """Waits until the ends of its runs are published and claims without an answer are withdrawn, if the database
        answers, and closes its connections. The store connects again when it is used again."""
        self._starts.close()
        publishing = [*(publisher.task for publisher in self._publishers), *self._withdrawing]
        if publishing:
            _, stuck = await asyncio.wait(publishing, timeout=_TO_PUBLISH)
            for task in stuck:
                task.cancel()
            await asyncio.wait(publishing)
        if self._recorders:
            recording = [recorder.task for recorder in self._recorders]
            _, stuck = await asyncio.wait(recording, timeout=_TO_PUBLISH)
            for task in stuck:
                task.cancel()
            await asyncio.wait(recording)
        for followed in list(self._followed.values()):
            await followed.aclose()
        await self._lost_runs.aclose()
        await self._appends.aclose()
        await self._logs.aclose()
        await self._renewals.aclose()
        await self._background.aclose()
        await self._database.aclose()
        self._begin()

    def _run_elsewhere(self, thread: ThreadKey, fence: int, claim: Claim) -> ActiveRun | None:
        """Returns the run of another process, if it can be read."""
        return None if claim.owner == self._owner or not claim.is_readable else self._followed_run(thread, fence, claim)

    def _followed_run(self, thread: ThreadKey, fence: int, claim: Claim) -> FollowedRun:
        """Returns the `FollowedRun` that all readers of a run in this process share; a new one if the run was lost.
        Readers of a run follow its continuation too."""
        run = self._followed.get((thread, fence))
        if run is None and claim.continues:
            for known in {known for (key, _), known in self._followed.items() if key == thread}:
                if known.is_continued_by(claim):
                    known.continue_in(fence, claim)
            run = self._followed.get((thread, fence))
        if run is None or run.is_lost:
            run = self._followed[thread, fence] = self._follower(thread, fence, claim)
        return run

    def _follower(self, thread: ThreadKey, fence: int, claim: Claim) -> FollowedRun:
        """Returns a new `FollowedRun`."""

        def continued(run: FollowedRun) -> None:
            self._followed.setdefault((thread, run.number), run)

        return FollowedRun(
            self._database,
            self._logs,
            thread,
            fence,
            claim,
            on_lost=self._lost_runs.notice,
            on_continued=continued,
        )

    def _wake(self, fence: int | None) -> None:
        """See `Wake`."""
        for hold in self._owned.values():
            if fence is None or hold.number == fence:
                hold.wake()


_stores: WeakSet[RunStore] = WeakSet()


def _begin_in_fork() -> None:
    for store in _stores:
        store._begin()


os.register_at_fork(after_in_child=_begin_in_fork)
