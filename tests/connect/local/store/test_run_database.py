"""What every run database does: two processes, which share one. Time passes for the database by `SharedRuns.advance`.
What a store does in an outage is in `redis/`, and what is in a file in `sqlite/`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from langgraph_agui.connect.local.store.active_run import LastRun, ThreadKey
from langgraph_agui.connect.local.store.appends import Appends
from langgraph_agui.connect.local.store.background import Background
from langgraph_agui.connect.local.store.records import MORE, SNAPSHOT, Claim, Entry, RunEnd
from langgraph_agui.connect.local.store.retention import Retention
from langgraph_agui.connect.local.store.run_database import (
    LOG_KEPT,
    Append,
    Appended,
    Claimed,
    Log,
    News,
    Own,
    RunDatabase,
)
from langgraph_agui.translator import Cancelled, Failed, Finished

from tests.support.clients.batch_readers import turns, until
from tests.support.servers.databases.run_databases import LEASE, OF_PROCESSES, RUN_DATABASES, SharedRuns, on_each

THREAD, OTHER = ThreadKey("n", "t"), ThreadKey("n", "u")
DAY = 86_400.0
WHERE_TIME_PASSES = pytest.mark.parametrize("processes", on_each(OF_PROCESSES), indirect=True)
"""A test of what expires: in a database of one process no lease does."""


class Process:
    """One process, with a run database."""

    def __init__(self, shared: SharedRuns, name: str) -> None:
        self.shared = shared
        self.woken = list[int | None]()
        self._background = Background()
        self.database = shared.database(name, self._background, self.woken.append)
        self._contact: bytes | None = None

    async def claims(
        self,
        run_id: str = "r",
        thread: ThreadKey = THREAD,
        *,
        continues: int = 0,
        has_input: bool = False,
        **more: Any,
    ) -> Own:
        """A claim that is granted."""
        process, token = self.database.process, uuid4().hex
        claim = Claim(run_id, "chat", process, {}, continues=continues, has_input=has_input)
        claimed = await self.asks(thread, token, claim, **more)
        assert isinstance(claimed, Claimed)
        return Own(thread, claimed.fence, token, claim)

    async def asks(self, thread: ThreadKey, token: str, claim: Claim, **more: Any) -> Any:
        """The answer to a claim."""
        self._contact = self._contact or await self.database.keep_contact(is_first=True)
        return await self.database.claim(thread, token, claim, self._contact, **more)

    async def appends(self, own: Own, number: int, kind: str = MORE, status: str = "running") -> Appended:
        [answer] = await self.database.append([Append(own, status, entry(own, number, kind), number - 1)])
        return answer

    async def lives(self, leases: float) -> None:
        """So many leases pass, in which this process keeps in contact, and others do nothing."""
        for _ in range(round(leases * 4)):
            await self.returns_after(LEASE / 4)

    async def returns_after(self, seconds: float) -> None:
        """So much time passes, and then this process makes contact, or keeps it."""
        is_first = self._contact is None
        await self.shared.advance(seconds)
        self._contact = await self.database.keep_contact(is_first=is_first)

    async def state(self, thread: ThreadKey = THREAD) -> str:
        """That of the lease of a thread."""
        return (await self.database.lease_of(thread)).state

    async def hears(self) -> None:
        """Returns when the process can be woken."""
        if self.shared.says_when_it_wakes:
            await until(lambda: None in self.woken)
            self.woken.clear()

    async def aclose(self) -> None:
        await self._background.aclose()
        await self.database.aclose()


def log_of(own: Own) -> Log:
    return Log(own.thread, own.fence)


def entry(own: Own, number: int, kind: str = MORE) -> Entry:
    return Entry(own.fence, number, kind, number, b"data: {}\n\n")


def end(own: Own, ending: Any = None) -> RunEnd:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    waiting = ({"id": "m", "role": "assistant", "content": "Let me ask."},)
    return RunEnd(LastRun(own.claim.run_id, at, ending or Finished(), True, False, own.fence, waiting))


@pytest.fixture(params=on_each(RUN_DATABASES))
async def processes(
    request: pytest.FixtureRequest, running: Callable[[str], SharedRuns]
) -> AsyncIterator[tuple[Process, Process]]:
    shared = running(request.param)
    await shared.empty()

    both = Process(shared, "one"), Process(shared, "other")
    yield both
    for each in both:
        await each.aclose()


@pytest.fixture
def one(processes: tuple[Process, Process]) -> Process:
    return processes[0]


@pytest.fixture
def other(processes: tuple[Process, Process]) -> Process:
    return processes[1]


# --- who has a thread -------------------------------------------------------------------------------------------------


async def test_a_thread_has_one_run_until_it_is_released(one: Process, other: Process) -> None:
    first = await one.claims("first")
    assert await other.asks(THREAD, "token", Claim("second", "chat", "other", {})) == first.claim
    for process in (one, other):
        lease = await process.database.lease_of(THREAD)
        assert (lease.state, lease.fence, lease.claim, lease.is_stopping) == ("valid", first.fence, first.claim, False)
        assert (await process.database.lease_of(THREAD)).fence == first.fence
    assert await one.database.renew([first]) == [True]
    assert await one.database.release(first, end(first))
    assert (await other.database.lease_of(THREAD)).state == "free"
    assert first.fence < (await other.database.lease_of(THREAD)).fence < (await other.claims("second")).fence


async def test_claims_and_ends_that_come_again_or_late_change_nothing(one: Process, other: Process) -> None:
    claim = Claim("first", "chat", "one", {"person": "ada"}, needs_readers=True)
    claimed = await one.asks(THREAD, "token", claim)
    assert isinstance(claimed, Claimed)
    assert await one.asks(THREAD, "token", claim) == claimed
    own = Own(THREAD, claimed.fence, "token", claim)
    assert await one.database.release(own, end(own))
    assert await one.database.release(own, end(own, Cancelled()))
    assert not isinstance(await one.asks(THREAD, "token", claim), Claimed)
    assert (await other.database.lease_of(THREAD)).state == "free"
    assert (await other.database.lease_of(THREAD)).last == end(own)
    await other.database.request_cancel(THREAD, own.fence, "one")
    second = await other.claims("second")
    assert await other.appends(second, 1, SNAPSHOT) == Appended("ok", False, 0)
    assert await one.database.renew([own, second]) == [False, True]
    assert not await one.database.release(replace(own, token="another"), end(own, Cancelled()))
    assert (await one.appends(own, 1, SNAPSHOT)).answer == "taken"
    assert (await other.database.lease_of(THREAD)).last == end(own)


async def test_a_claim_that_was_withdrawn_leaves_no_run(one: Process, other: Process) -> None:
    own = await one.claims(run_input=b"the input")
    await one.database.withdraw(THREAD, "of another run")
    assert (await other.database.lease_of(THREAD)).state == "valid"
    await one.database.withdraw(THREAD, own.token)
    lease = await other.database.lease_of(THREAD)
    assert (lease.state, lease.claim, lease.fence > own.fence) == ("free", None, True)
    assert not await other.database.lost_threads(THREAD.namespace)
    assert not isinstance(await one.asks(THREAD, own.token, own.claim), Claimed)
    second = await other.claims("second")
    await one.database.withdraw(THREAD, own.token)
    assert await other.database.renew([second]) == [True]


async def test_a_claim_is_refused_for_a_thread_that_has_had_another_run(one: Process, other: Process) -> None:
    revision = (await other.database.lease_of(THREAD)).fence
    own = await one.claims(revision=revision)
    await one.database.release(own, None)
    assert await other.asks(THREAD, "late", Claim("late", "chat", "other", {}), revision=revision) == "changed"
    await other.claims(revision=(await other.database.lease_of(THREAD)).fence)


async def test_a_claim_with_a_contact_that_is_over_is_refused(one: Process, other: Process) -> None:
    """Rule 2 of `run_database.py`. Only data of this process are always there."""
    contact = await one.database.keep_contact(is_first=True)
    if one.shared.is_of_one_process:
        assert contact is None
        return
    assert contact is not None
    assert await one.database.keep_contact(is_first=False) == contact  # there was no pause
    claim = Claim("first", "chat", "one", {})
    assert isinstance(await one.database.claim(THREAD, "token", claim, contact + b"0"), float)
    assert (await other.database.lease_of(THREAD)).state == "free"
    assert isinstance(await one.database.claim(THREAD, "token", claim, contact), Claimed)


@pytest.mark.parametrize("ending", [Finished(), Cancelled(), Failed({"error": "LookupError", "message": "nothing"})])
async def test_how_the_last_run_ended_is_kept_until_the_next_has_ended(
    one: Process, other: Process, ending: Any
) -> None:
    assert (await other.database.lease_of(THREAD)).last is None
    first = await one.claims("first")
    await one.database.release(first, end(first, ending))
    claimed = await other.asks(THREAD, "token", Claim("second", "chat", "other", {}))
    assert claimed.last == (await one.database.lease_of(THREAD)).last == end(first, ending)
    second = Own(THREAD, claimed.fence, "token", Claim("second", "chat", "other", {}))
    await other.database.release(second, None)  # only its checkpoint says how it ended
    assert (await one.database.lease_of(THREAD)).last == end(first, ending)


async def test_what_starts_a_run_again_is_kept_until_it_has_ended(one: Process, other: Process) -> None:
    run = await one.claims(run_input=b"\0input")
    log = Log(THREAD, run.fence)
    assert await other.database.input_of(log) == b"\0input"
    assert await other.database.input_of(Log(THREAD, run.fence + 1)) == b""
    assert await one.database.renew([run]) == [True]
    assert await one.database.input_of(log) == b"\0input"
    await one.database.release(run, end(run))
    assert await other.database.input_of(log) == b""
    without = await other.claims("without")
    assert await one.database.input_of(Log(THREAD, without.fence)) == b""
    await one.database.forget(THREAD)
    deleted = await other.claims("deleted", run_input=b"input")
    await one.database.forget(THREAD)
    for fence in (deleted.fence, (await one.database.lease_of(THREAD)).fence):
        assert await one.database.input_of(Log(THREAD, fence)) == b""


async def test_a_run_that_was_handed_over_is_lost_at_once_and_its_owner_has_it_no_more(
    one: Process, other: Process
) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    await one.appends(run, 1, SNAPSHOT)
    assert [await one.database.hand_over(run), await one.database.hand_over(run)] == [True, True]
    for process in (one, other):
        lease = await process.database.lease_of(THREAD)
        assert (lease.state, lease.fence, lease.claim, lease.is_continuable) == ("lost", run.fence, run.claim, True)
        assert await process.database.input_of(Log(THREAD, run.fence)) == b"input"
    assert await one.database.renew([run]) == [False]
    assert (await one.appends(run, 2)).answer == "taken"
    assert not await one.database.release(run, end(run))
    assert [each.kind for each in await other.database.entries(Log(THREAD, run.fence), 0)] == [SNAPSHOT]
    next_one = await other.claims(continues=run.fence, run_input=b"input", has_input=True)
    assert not await one.database.hand_over(run)
    await other.database.release(next_one, end(next_one))
    assert not await other.database.hand_over(next_one)


async def test_an_input_is_replaced_when_its_run_is_handed_over(one: Process, other: Process) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    assert await one.database.hand_over(run, b"more \x00\xff")
    assert await other.database.input_of(Log(THREAD, run.fence)) == b"more \x00\xff"
    continued = await other.claims(continues=run.fence, run_input=b"again", has_input=True)
    assert not await one.database.hand_over(run, b"late")
    assert await one.database.input_of(Log(THREAD, continued.fence)) == b"again"
    assert await other.database.hand_over(continued)
    assert await one.database.input_of(Log(THREAD, continued.fence)) == b"again"


async def test_a_lost_run_is_continued_by_one_claim_and_nobody_else_gets_its_thread(
    one: Process, other: Process
) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    await one.database.hand_over(run)
    for more in ({}, {"revision": run.fence}, {"continues": run.fence - 1}):
        wanted = Claim("other", "chat", "other", {}, continues=more.pop("continues", 0))
        assert await other.asks(THREAD, uuid4().hex, wanted, **more) == run.claim
    lease, has_turn = await other.database.enter(THREAD, "ticket")
    assert (lease.state, lease.claim, has_turn) == ("lost", run.claim, False)
    continued = await other.claims(continues=run.fence, revision=run.fence, run_input=b"again", has_input=True)
    assert continued.fence > run.fence
    late = Claim("r", "chat", "one", {}, continues=run.fence)
    assert await one.asks(THREAD, "late", late, revision=run.fence) == continued.claim
    lease = await one.database.lease_of(THREAD)
    assert (lease.state, lease.claim, lease.is_continuable) == ("valid", continued.claim, False)
    assert await one.database.input_of(Log(THREAD, continued.fence)) == b"again"


async def test_lost_runs_that_have_an_input_are_listed_until_they_are_continued(one: Process, other: Process) -> None:
    async def listed() -> list[tuple[ThreadKey, int, bool]]:
        lost = await other.database.lost_threads("n")
        return [(each.thread, each.lease.fence, each.lease.is_stopping) for each in lost]

    odd = ThreadKey("n", "a:b {c} \ud800")
    runs = [await one.claims(thread=thread, run_input=b"input", has_input=True) for thread in (THREAD, OTHER, odd)]
    apart = await one.claims(thread=ThreadKey("m", "t"), run_input=b"input", has_input=True)
    assert await listed() == []
    await other.database.request_cancel(OTHER, runs[1].fence, "one")
    for run in (*runs, apart):
        await one.database.hand_over(run)
    lost = await listed()
    assert len(lost) == 3
    assert set(lost) == {
        (run.thread, run.fence, is_stopping) for run, is_stopping in zip(runs, (False, True, False), strict=True)
    }
    continued = await other.claims(continues=runs[0].fence, run_input=b"input", has_input=True)
    await other.database.forget(odd)
    assert [thread for thread, _, _ in await listed()] == [OTHER]
    await other.database.release(continued, end(continued))
    for each in (OTHER, apart.thread, odd):
        await other.database.forget(each)
    assert await listed() == []


@pytest.mark.parametrize("wanted", ["by a request", "by its owner"])
async def test_the_continuation_of_a_run_that_was_to_stop_is_asked_to_stop(
    one: Process, other: Process, wanted: str
) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    await one.appends(run, 1, SNAPSHOT, status="stopping" if wanted == "by its owner" else "running")
    if wanted == "by its owner" and not one.shared.is_of_one_process:
        await other.lives(1.75)
    else:
        await one.database.hand_over(run)
        await other.database.request_cancel(THREAD, run.fence, "one")
    continued = await other.claims(continues=run.fence)
    assert (await other.appends(continued, 1, SNAPSHOT)).is_cancelled
    await other.database.release(continued, None)
    next_one = await other.claims("next")
    assert not (await other.appends(next_one, 1, SNAPSHOT)).is_cancelled


async def test_a_thread_has_one_place_among_the_lost_ones_however_often_its_run_was_lost(
    one: Process, other: Process
) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    await one.database.hand_over(run)
    again = await other.claims(continues=run.fence, run_input=b"input", has_input=True)
    await other.database.hand_over(again)
    for process in (one, other):
        lost = await process.database.lost_threads("n")
        assert [(each.thread, each.lease.fence) for each in lost] == [(THREAD, again.fence)]


async def test_who_continues_runs_is_told_of_one_that_was_handed_over(one: Process, other: Process) -> None:
    heard, apart = list[None](), list[None]()
    await other.database.subscribe_lost("n", lambda: heard.append(None))
    await other.database.subscribe_lost("m", lambda: apart.append(None))
    await turns(20)
    run = await one.claims(run_input=b"input", has_input=True)
    await one.database.release(await one.claims("u", OTHER), None)
    before = len(heard), len(apart)
    await one.database.hand_over(run)
    await until(lambda: len(heard) > before[0])
    assert len(apart) == before[1]


async def test_a_run_of_a_deleted_thread_does_not_have_it_any_more(one: Process, other: Process) -> None:
    ended = await one.claims("ended", OTHER)
    await one.appends(ended, 1, SNAPSHOT)
    await one.database.release(ended, end(ended))
    run = await one.claims()
    await one.appends(run, 1, SNAPSHOT)
    for own in (ended, run):
        await other.database.forget(own.thread)
        assert (await other.database.lease_of(own.thread)).state == "free"
        assert (await other.database.lease_of(own.thread)).last is None
        assert not await other.database.has_log(Log(own.thread, own.fence))
    assert (await one.appends(run, 2)).answer == "taken"
    assert (await one.appends(ended, 2, "finished", status="free")).answer == "ok"
    assert not await one.database.has_log(Log(OTHER, ended.fence))
    assert (await other.claims("next")).fence > run.fence


# --- what expires -----------------------------------------------------------------------------------------------------


@WHERE_TIME_PASSES
async def test_a_lease_is_valid_until_it_expires_then_in_doubt_and_lost_after_half_a_lease(
    one: Process, other: Process
) -> None:
    run = await one.claims("first")
    await other.lives(0.75)
    assert await one.database.renew([run]) == [True]
    await other.lives(0.75)
    assert (await one.appends(run, 1, SNAPSHOT)).answer == "ok"
    await other.lives(0.75)
    lease = await other.database.lease_of(THREAD)
    assert (lease.state, lease.claim, 0 < lease.seconds <= LEASE / 4) == ("valid", run.claim, True)
    claim = Claim("second", "chat", "other", {})
    assert await other.asks(THREAD, "token", claim) == run.claim
    await other.lives(0.5)
    lease = await other.database.lease_of(THREAD)
    assert (lease.state, lease.claim, 0 < lease.seconds <= LEASE / 4) == ("doubt", run.claim, True)
    assert 0 < await other.asks(THREAD, "token", claim) <= LEASE / 4
    await other.lives(0.5)
    lease = await other.database.lease_of(THREAD)
    assert (lease.state, lease.claim, lease.is_continuable, lease.is_idle) == ("lost", run.claim, False, True)
    second = await other.claims("second")
    assert second.fence > run.fence
    assert await one.database.renew([run]) == [False]
    assert (await one.appends(run, 2)).answer == "taken"
    assert [await one.database.release(run, end(run)), await one.database.hand_over(run)] == [False, False]
    assert (await other.database.lease_of(THREAD)).claim == second.claim
    assert [each.number for each in await other.database.entries(Log(THREAD, run.fence), 0)] == [1]


@WHERE_TIME_PASSES
@pytest.mark.parametrize("by", ["renew", "append", "release"])
async def test_a_run_that_nobody_took_has_its_thread_again_and_its_owner_is_back(
    one: Process, other: Process, by: str
) -> None:
    run, news = await one.claims(), list[News | None]()
    await other.database.subscribe(THREAD, news.append)
    await other.lives(2)
    assert await other.state() == "lost"
    if by == "renew":
        assert await one.database.renew([run]) == [True]
    elif by == "append":
        assert (await one.appends(run, 1, SNAPSHOT)).answer == "ok"
    else:
        assert await one.database.release(run, end(run))
    assert await other.state() == ("free" if by == "release" else "valid")
    await until(lambda: News("back", run.fence, run.claim) in news)
    assert await one.database.renew([run]) == [by != "release"]
    await other.database.publish_mark(THREAD, "mark")
    await until(lambda: News("mark", mark="mark") in news)
    assert news.count(News("back", run.fence, run.claim)) == 1
    await other.database.unsubscribe(THREAD, news.append)


@WHERE_TIME_PASSES
async def test_a_process_that_was_away_waits_half_a_lease_before_it_takes_a_thread(
    one: Process, other: Process
) -> None:
    """Rule 2 of `run_database.py`: its owner may have been away too."""
    run = await one.claims()
    claim, before = Claim("next", "chat", "other", {}), await other.database.keep_contact(is_first=True)
    await other.returns_after(3 * LEASE)
    assert await other.database.keep_contact(is_first=False) != before
    assert isinstance(await other.database.claim(THREAD, "token", claim, before), float)
    await other.lives(0.25)
    assert await other.state() == "doubt"
    assert isinstance(await other.asks(THREAD, "token", claim), float)
    await other.lives(0.5)
    assert await other.state() == "lost"
    assert await one.state() == "doubt"  # it has been away for longer
    assert isinstance(await other.database.claim(THREAD, "token", claim, before), float)
    assert isinstance(await other.asks(THREAD, "token", claim, revision=run.fence), Claimed)


@WHERE_TIME_PASSES
async def test_a_thread_waits_for_the_continuation_of_its_run_for_some_leases(one: Process, other: Process) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    for leases, is_continuable in ((1.25, None), (0.5, True), (2.5, True), (0.5, False)):
        await other.lives(leases)
        lease = await other.database.lease_of(THREAD)
        assert (lease.state == "doubt", lease.is_continuable) == (is_continuable is None, bool(is_continuable))
        assert len(await other.database.lost_threads("n")) == (is_continuable is not None)
        answer = await other.asks(THREAD, "token", Claim("next", "chat", "other", {}), revision=run.fence)
        assert type(answer) is {None: float, True: Claim, False: Claimed}[is_continuable]
    assert await other.database.lost_threads("n") == []
    assert await one.database.renew([run]) == [False]


@WHERE_TIME_PASSES
async def test_the_input_of_a_lost_run_is_kept_for_a_day(one: Process, other: Process) -> None:
    run = await one.claims(run_input=b"input", has_input=True)
    await one.returns_after(0.75 * DAY)
    await one.database.renew([run])
    assert await other.database.lost_threads("n") == []
    await other.returns_after(0.75 * DAY)
    await other.lives(1)
    assert await other.database.input_of(Log(THREAD, run.fence)) == b"input"
    assert [each.lease.fence for each in await other.database.lost_threads("n")] == [run.fence]
    await other.returns_after(1.25 * DAY)
    assert await other.database.input_of(Log(THREAD, run.fence)) == b""
    assert await other.database.lost_threads("n") == []


@WHERE_TIME_PASSES
async def test_how_a_run_ended_is_kept_for_a_day(one: Process, other: Process) -> None:
    for run_id in ("first", "second"):  # the second day begins with the end of the second run
        run = await one.claims(run_id)
        await one.database.release(run, end(run))
        await one.returns_after(0.75 * DAY)
        assert (await other.database.lease_of(THREAD)).last == end(run)
    await one.returns_after(0.5 * DAY)
    lease = await other.database.lease_of(THREAD)
    assert (lease.state, lease.fence, lease.last) == ("free", 0, None)
    assert (await other.claims("third")).fence > run.fence


@WHERE_TIME_PASSES
async def test_a_log_is_kept_for_as_long_as_its_last_entry_says(one: Process, other: Process) -> None:
    run = await one.claims()
    log = Log(THREAD, run.fence)

    async def kept(seconds: float) -> bool:
        await other.returns_after(seconds)
        has_log = await other.database.has_log(log)
        assert (
            has_log == bool(await other.database.entries(log, 0)) == (await other.database.logs(THREAD) == [log.fence])
        )
        return has_log

    await one.appends(run, 1, SNAPSHOT)
    assert await kept(LOG_KEPT)
    assert (await one.database.append([Append(run, "running", None, 1)]))[0].answer == "ok"
    assert await kept(LOG_KEPT + LEASE - 10)
    await one.database.release(run, end(run))
    await one.database.append([Append(run, "free", entry(run, 2, "finished"), 1, kept=3_600.0)])
    assert await kept(3_600.0)
    assert not await kept(LEASE + 1)


@WHERE_TIME_PASSES
async def test_a_process_has_readers_for_a_lease_after_its_last_note(one: Process, other: Process) -> None:
    run = await one.claims()
    for number, (leases, readers) in enumerate(((0.75, 1), (0.75, 1), (0.5, 0)), 1):
        if readers:
            await other.database.note_readers(THREAD, run.fence, "one", has_readers=True)
        await other.returns_after(leases * LEASE)
        assert await one.appends(run, number, SNAPSHOT) == Appended("ok", False, readers)


@WHERE_TIME_PASSES
async def test_a_ticket_has_its_place_for_a_lease_after_it_was_last_asked_for(one: Process, other: Process) -> None:
    async def have_turn(*tickets: str) -> list[bool]:
        return [await other.database.turn(THREAD, ticket, closes=False) is not None for ticket in tickets]

    await one.database.keep_contact(is_first=True)
    assert (await one.database.enter(THREAD, "a"))[1]
    assert await have_turn("b", "c") == [False, False]
    await other.returns_after(0.75 * LEASE)
    assert await have_turn("b", "c") == [False, False]  # "a" is still valid
    await other.returns_after(0.5 * LEASE)
    assert (await one.database.lease_of(THREAD)).waiting == 2
    assert await have_turn("c", "b", "a") == [False, True, False]
    await other.database.leave(THREAD, "b")
    assert await have_turn("a", "c") == [False, True]  # "a" has come again, after "c"
    await one.returns_after(2 * LEASE)
    assert (await one.database.lease_of(THREAD)).waiting == 0
    assert (await one.database.enter(THREAD, "d"))[1]


@WHERE_TIME_PASSES
async def test_a_ticket_closes_a_thread_for_a_lease_at_most(one: Process, other: Process) -> None:
    claim = Claim("r", "chat", "one", {})
    assert await other.database.turn(THREAD, "a", closes=True)
    await one.lives(0.75)
    assert await one.asks(THREAD, "token", claim) == "closed"
    assert await other.database.turn(THREAD, "a", closes=True)
    await one.lives(0.75)
    assert await one.asks(THREAD, "token", claim) == "closed"
    await one.lives(0.5)
    assert isinstance(await one.asks(THREAD, "token", claim), Claimed)


@WHERE_TIME_PASSES
async def test_a_thread_of_a_database_that_has_lost_its_data_may_have_a_run_for_half_a_lease(
    one: Process, other: Process
) -> None:
    run = await one.claims()
    await other.lives(0.5)
    await one.appends(run, 1, SNAPSHOT)
    await one.shared.empty()
    await other.lives(0.25)
    assert [await other.state(), await other.state(OTHER)] == ["doubt", "doubt"]
    assert isinstance(await other.asks(THREAD, "token", Claim("next", "chat", "other", {})), float)
    assert (await one.appends(run, 2)).answer == "gap"
    assert (await one.appends(run, 2, SNAPSHOT)).answer == "ok"
    assert [await other.state(), await other.state(OTHER)] == ["valid", "doubt"]
    await other.lives(0.75)
    assert [await other.state(), await other.state(OTHER)] == ["valid", "free"]
    assert await other.database.entries(Log(THREAD, run.fence), 0) == [entry(run, 2, SNAPSHOT)]


# --- the events of runs -----------------------------------------------------------------------------------------------


async def test_an_entry_follows_the_one_before_or_is_a_snapshot(one: Process, other: Process) -> None:
    own = await one.claims()
    log = Log(THREAD, own.fence)
    assert (await one.appends(own, 1)).answer == "ok"
    assert [(await one.appends(own, number)).answer for number in (2, 2, 1, 4)] == ["ok", "ok", "ok", "gap"]
    assert await other.database.entries(log, 0) == [entry(own, 1), entry(own, 2)]
    assert (await one.appends(own, 4, SNAPSHOT)).answer == "ok"
    assert await other.database.entries(log, 1) == [entry(own, 4, SNAPSHOT)]
    answers = await one.database.append([Append(own, "running", None, number) for number in (4, 5)])
    assert [each.answer for each in answers] == ["ok", "gap"]
    assert await other.database.entries(log, 4) == []


async def test_logs_of_runs_that_have_ended_are_listed_and_dropped_one_by_one(one: Process, other: Process) -> None:
    fences = []
    for run_id in ("first", "second", "third"):
        run = await one.claims(run_id)
        fences.append(run.fence)
        await one.appends(run, 1, SNAPSHOT)
        await one.database.release(run, end(run))
        await one.database.append([Append(run, "free", entry(run, 2, "finished"), 1, kept=3_600.0)])
    assert await other.database.logs(THREAD) == fences
    assert await other.database.logs(OTHER) == []
    await other.database.drop_log(Log(THREAD, fences[1]))
    assert await one.database.logs(THREAD) == [fences[0], fences[2]]
    assert await one.database.entries(Log(THREAD, fences[1]), 0) == []
    assert [each.kind for each in await one.database.entries(Log(THREAD, fences[2]), 0)] == [SNAPSHOT, "finished"]
    await one.database.forget(THREAD)
    assert await other.database.logs(THREAD) == []


async def test_a_finished_run_is_kept_with_its_events_until_its_thread_is_deleted(one: Process, other: Process) -> None:
    first = await one.claims("first")
    assert await one.database.release(first, end(first))
    second = await one.claims("second")
    apart = await one.claims("apart", OTHER)
    for own, events in ((first, b"events of the first"), (second, b""), (apart, b"events of another thread")):
        for _ in range(2):  # a command may be carried out twice
            await one.database.keep(log_of(own), own.claim.run_id.encode(), events, Retention())
    kept = await other.database.finished_runs(THREAD)
    assert [(run.fence, run.about, run.size) for run in kept] == [
        (first.fence, b"first", len(b"events of the first")),
        (second.fence, b"second", 0),
    ]
    assert await other.database.finished_events(log_of(first)) == b"events of the first"
    assert await other.database.finished_events(log_of(second)) == b""
    assert await one.database.release(second, end(second))
    await one.database.forget(THREAD)
    await one.database.keep(log_of(second), b"second", b"late", Retention())
    assert await other.database.finished_runs(THREAD) == []
    assert await other.database.finished_events(log_of(first)) == b""
    assert [run.about for run in await other.database.finished_runs(OTHER)] == [b"apart"]


async def test_of_finished_runs_the_oldest_are_dropped_first_when_a_limit_is_reached(
    one: Process, other: Process
) -> None:
    async def keeps(name: str, events: bytes = b"", **limits: Any) -> str:
        """The names of the runs that are kept after this one, of all threads. Its number comes after theirs."""
        log = Log(OTHER if name in "bej" else THREAD, ord(name))
        await one.database.keep(log, name.encode(), events, Retention(age=2 * DAY, **limits))
        return await kept()

    async def kept() -> str:
        names = []
        for thread in (THREAD, OTHER):
            for run in await other.database.finished_runs(thread):
                assert len(await other.database.finished_events(Log(thread, run.fence))) == run.size
                names.append(run.about.decode())
        return "".join(sorted(names))

    for thread in (THREAD, OTHER):
        await one.claims(thread=thread)
    assert [await keeps(name, b"12345", runs=3) for name in "abcd"] == ["a", "ab", "abc", "bcd"]
    assert await keeps("e", b"12345", bytes=15) == "cde"
    assert await keeps("f", bytes=15) == "cdef"
    await one.shared.advance(DAY)
    assert await keeps("g", b"1234567890", bytes=15) == "efg"
    assert await keeps("g", b"1234567890", bytes=15) == "efg"
    await one.shared.advance(1.5 * DAY)
    assert await kept() == "g"
    assert await other.database.finished_events(Log(OTHER, ord("e"))) == b""
    assert await keeps("h", b"12345", runs=2, bytes=15) == "gh"
    await one.shared.advance(DAY)
    assert await keeps("i", b"1234567890", runs=2, bytes=15) == "hi"
    await one.database.forget(THREAD)
    assert await keeps("j", b"123456789012345", bytes=15) == "j"


async def test_entries_of_many_runs_are_appended_at_once_and_each_gets_its_own_answer(
    one: Process, other: Process
) -> None:
    mine, theirs = await one.claims("mine"), await other.claims("theirs", OTHER)
    lost = replace(mine, fence=mine.fence - 1)
    appended = [Append(own, "running", entry(own, 1, SNAPSHOT), 0) for own in (mine, lost, theirs)]
    assert [answer.answer for answer in await one.database.append(appended)] == ["ok", "taken", "ok"]
    for own in (mine, theirs):
        assert await one.database.entries(Log(own.thread, own.fence), 0) == [entry(own, 1, SNAPSHOT)]


async def test_entries_that_are_ready_together_are_one_command(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = await one.claims("mine"), await other.claims("theirs", OTHER)
    appends, append, sizes = Appends(one.database), one.database.append, list[int]()

    async def appended(entries: Sequence[Append]) -> Sequence[Appended]:
        sizes.append(len(entries))
        return await append(entries)

    monkeypatch.setattr(one.database, "append", appended)
    for number in (1, 2):
        wanted = [Append(own, "running", entry(own, number), number - 1) for own in (mine, theirs)]
        answers = await asyncio.gather(*map(appends.append, wanted))
        assert [answer.answer for answer in answers] == ["ok", "ok"]
    assert sizes == [2, 2]


async def test_a_reader_gets_what_is_there_then_what_comes_of_all_logs(one: Process, other: Process) -> None:
    mine, also = await one.claims("mine"), await one.claims("also", OTHER)
    logs = [Log(own.thread, own.fence) for own in (mine, also)]
    await one.appends(mine, 1, SNAPSHOT)
    positions, got = dict.fromkeys(logs, 0), {log: list[Entry]() for log in logs}

    async def reads() -> None:
        while sum(map(len, got.values())) < 5:
            for log, entries in (await other.database.read(positions)).items():
                got[log].extend(entries)
                positions[log] = entries[-1].number

    reading = asyncio.create_task(reads())
    await until(lambda: any(got.values()))
    for number in (1, 2):
        await one.appends(also, number)
    await one.appends(mine, 2)
    await one.appends(mine, 3, "finished")
    await reading
    assert list(got.values()) == [
        [entry(mine, 1, SNAPSHOT), entry(mine, 2), entry(mine, 3, "finished")],
        [entry(also, 1), entry(also, 2)],
    ]


async def test_a_reader_that_waits_is_interrupted(one: Process, other: Process) -> None:
    own = await one.claims()
    reading = asyncio.create_task(_read(other.database, {Log(THREAD, own.fence): 0}))
    await turns(20)
    assert not reading.done()
    while not reading.done():  # it may begin to wait only now
        await other.database.interrupt_read()
        await asyncio.sleep(0)
    assert reading.result() == {}


async def _read(database: RunDatabase, logs: dict[Log, int]) -> dict[Log, Any]:
    return dict(await database.read(logs))


async def test_an_owner_is_told_of_a_request_to_stop_and_of_readers_elsewhere(one: Process, other: Process) -> None:
    one.database.start()
    own = await one.claims()
    await one.hears()
    assert await one.appends(own, 1, SNAPSHOT) == Appended("ok", False, 0)
    await other.database.note_readers(THREAD, own.fence, "one", has_readers=True)
    assert await one.appends(own, 2) == Appended("ok", False, 1)
    await other.database.note_readers(THREAD, own.fence, "one", has_readers=False)
    await until(lambda: own.fence in one.woken)
    assert await one.appends(own, 3) == Appended("ok", False, 0)
    one.woken.clear()
    await other.database.request_cancel(THREAD, own.fence - 1, "one")
    await other.database.request_cancel(THREAD, own.fence, "one")
    await until(lambda: one.woken == [own.fence])
    assert await one.appends(own, 4, status="stopping") == Appended("ok", True, 0)
    assert (await other.database.lease_of(THREAD)).is_stopping
    await one.database.release(own, None)
    assert await one.appends(own, 5, "cancelled", status="free") == Appended("ok", False, 0)


# --- queued inputs, notifications -------------------------------------------------------------------------------------


async def test_tickets_have_their_turn_in_their_order(one: Process, other: Process) -> None:
    async def have_turn(*tickets: tuple[Process, str]) -> list[bool]:
        return [await process.database.turn(THREAD, ticket, closes=False) is not None for process, ticket in tickets]

    order = (one, "a"), (other, "b"), (one, "c")
    assert await have_turn(*order, *order) == [True, False, False] * 2
    assert (await other.database.lease_of(THREAD)).waiting == 3
    await other.database.leave(THREAD, "b")
    await one.database.leave(THREAD, "a")
    assert await have_turn((one, "c")) == [True]
    await one.database.leave(THREAD, "c")
    assert (await one.database.lease_of(THREAD)).waiting == 0


async def test_a_new_ticket_has_the_turn_at_once_if_the_thread_is_idle(one: Process, other: Process) -> None:
    await one.database.keep_contact(is_first=True)
    assert (await one.database.enter(THREAD, "a"))[1]
    assert (await one.database.enter(THREAD, "a"))[1]  # the first answer was lost
    lease, has_turn = await other.database.enter(THREAD, "b")
    assert (lease.state, lease.waiting, has_turn) == ("free", 1, False)
    assert await other.database.turn(THREAD, "c", closes=False) is None
    assert (await one.database.enter(THREAD, "a"))[1]
    await one.database.leave(THREAD, "a")
    assert await other.database.turn(THREAD, "c", closes=False)  # "b" did not join the line
    await other.database.leave(THREAD, "c")
    own = await one.claims()
    lease, has_turn = await other.database.enter(THREAD, "d")
    assert (lease.state, lease.claim, has_turn) == ("valid", own.claim, False)
    await one.database.release(own, end(own))
    lease, has_turn = await other.database.enter(THREAD, "d")
    assert (lease.state, lease.last, has_turn) == ("free", end(own), True)
    await other.database.leave(THREAD, "d")
    assert (await one.database.lease_of(THREAD)).waiting == 0


async def test_a_claim_that_is_granted_takes_its_ticket_out_of_the_line(one: Process, other: Process) -> None:
    news = list[News | None]()
    await other.database.subscribe(THREAD, news.append)
    first = await one.claims("first")
    await one.database.turn(THREAD, "a", closes=False)
    await other.database.turn(THREAD, "b", closes=False)
    claim = Claim("second", "chat", "one", {})
    assert await one.asks(THREAD, "second", claim, ticket="a") == first.claim
    assert await other.database.turn(THREAD, "b", closes=False) is None
    await one.database.release(first, None)
    claimed = await one.asks(THREAD, "second", claim, ticket="a")
    assert isinstance(claimed, Claimed)
    assert await one.asks(THREAD, "second", claim, ticket="a") == claimed
    lease = await other.database.turn(THREAD, "b", closes=False)
    assert lease is not None
    assert (lease.claim, lease.waiting) == (claim, 1)
    await other.database.publish_mark(THREAD, "mark")
    await until(lambda: News("mark", mark="mark") in news)
    happened = [each for each in news if each is not None]
    assert happened[1:-1] == [News("started", claimed.fence, claim), News("turn")]
    await other.database.unsubscribe(THREAD, news.append)
    await other.database.leave(THREAD, "b")


async def test_no_run_is_claimed_while_a_ticket_closes_the_thread(one: Process, other: Process) -> None:
    assert await one.database.turn(THREAD, "a", closes=False)
    assert not await other.database.turn(THREAD, "b", closes=True)
    own = await one.claims()
    await one.database.release(own, None)
    await one.database.leave(THREAD, "a")
    assert await other.database.turn(THREAD, "b", closes=True)
    assert await one.asks(THREAD, "token", Claim("r", "chat", "one", {})) == "closed"
    await other.database.leave(THREAD, "b")
    await one.claims()


async def test_what_happens_on_a_thread_is_notified_in_its_order(one: Process, other: Process) -> None:
    news, again = list[News | None](), list[News | None]()
    await other.database.subscribe(THREAD, news.append)
    await other.database.subscribe(THREAD, again.append)
    own = await one.claims()
    await one.database.turn(THREAD, "a", closes=False)
    await one.database.leave(THREAD, "a")
    await one.claims("apart", OTHER)
    await other.database.publish_mark(THREAD, "mark")
    await until(lambda: News("mark", mark="mark") in news)
    happened = [each for each in news if each is not None]
    assert happened == [News("started", own.fence, own.claim), News("turn"), News("mark", mark="mark")]
    await until(lambda: News("mark", mark="mark") in again)
    assert [each for each in again if each is not None] == happened
    await other.database.unsubscribe(THREAD, news.append)
    await other.database.publish_mark(THREAD, "next")
    await until(lambda: News("mark", mark="next") in again)
    assert News("mark", mark="next") not in news
    await other.database.unsubscribe(THREAD, again.append)
