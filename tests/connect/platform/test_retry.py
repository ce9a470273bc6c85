"""Who waits for a server that is gone: how long, and when no more."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from langgraph_agui.connect.errors import ConnectionLost
from langgraph_agui.connect.platform.calls import Contact, Retries, RetryPolicy

MANY = 200


class Sleeps:
    """Pauses that take no time, written down."""

    def __init__(self) -> None:
        self.all: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.all.append(seconds)


def reached(policy: RetryPolicy) -> Contact:
    """The contact with a server that has answered, of a caller who has a stream."""
    contact = Contact(policy)
    contact.begin_stream()
    contact.answered()
    return contact


async def pauses(policy: RetryPolicy) -> list[float]:
    """The pauses until nothing is tried any more."""
    sleeps = Sleeps()
    retry = Retries(reached(policy), sleeps)
    with suppress(ConnectionLost):
        while True:
            await retry.pause(ConnectionLost("gone"))
    return sleeps.all


async def test_pauses_double_up_to_the_most_and_half_of_each_is_random() -> None:
    for pause, most in zip(
        await pauses(RetryPolicy(initial_delay=1.0, max_delay=5.0, max_attempts=6)),
        [1.0, 2.0, 4.0, 5.0, 5.0],
        strict=True,
    ):
        assert most / 2 <= pause <= most


async def test_no_two_wait_alike() -> None:
    assert len({(await pauses(RetryPolicy(max_attempts=2)))[0] for _ in range(MANY)}) > MANY / 2


async def test_after_the_last_try_the_last_cut_is_raised() -> None:
    retry = Retries(reached(RetryPolicy(max_attempts=3)), Sleeps())
    await retry.pause(ConnectionLost("first"))
    await retry.pause(ConnectionLost("second"))
    with pytest.raises(ConnectionLost, match="third"):
        await retry.pause(ConnectionLost("third"))


async def test_one_try_waits_for_nothing() -> None:
    assert await pauses(RetryPolicy(max_attempts=1)) == []


async def test_progress_begins_anew() -> None:
    sleeps = Sleeps()
    retry = Retries(reached(RetryPolicy(initial_delay=1.0, max_attempts=2)), sleeps)
    for _ in range(MANY):
        await retry.pause(ConnectionLost("gone"))
        retry.progressed()
    assert max(sleeps.all) <= 1.0


async def test_waiting_can_be_cancelled() -> None:
    policy = RetryPolicy(initial_delay=3600, max_delay=3600)
    waiting = asyncio.create_task(Retries(reached(policy)).pause(ConnectionLost("gone")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_unless_told_otherwise_it_waits_half_a_minute_at_most() -> None:
    assert 15 < sum(await pauses(RetryPolicy())) < 35


async def test_a_server_that_has_not_answered_yet_is_not_waited_for_longer_than_its_first_answer_may_take() -> None:
    retry = Retries(Contact(RetryPolicy(initial_delay=60.0, max_delay=60.0, max_attempts=1_000)))
    with pytest.raises(ConnectionLost, match="gone"):
        await retry.pause(ConnectionLost("gone"))


class Clock:
    """The time of the event loop, which passes only when a call takes some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: self.now)

    def answer(self, seconds: float) -> Callable[[], Awaitable[str]]:
        """A call that is answered after so long."""

        async def call() -> str:
            self.now += seconds
            await asyncio.sleep(0)  # for a limit that is over by then
            await asyncio.sleep(0)
            return "here"

        return call


async def test_the_requests_before_a_stream_have_the_time_of_the_first_answer_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of a server that is paused, and goes on now and then: it answers each of them, and late."""
    clock, contact = Clock(monkeypatch), Contact(RetryPolicy(first_answer=5.0))
    began = clock.now
    await contact.retried(clock.answer(3.0))
    with pytest.raises(ConnectionLost, match="no answer came for 5 seconds"):
        await contact.retried(clock.answer(3.0))
    assert clock.now - began == pytest.approx(6.0)  # the second one was not made again


async def test_what_is_answered_promptly_takes_no_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long history is read page by page."""
    clock, contact = Clock(monkeypatch), Contact(RetryPolicy(first_answer=5.0))
    for _ in range(20):
        assert await contact.retried(clock.answer(0.9)) == "here"
    assert await contact.retried(clock.answer(4.9)) == "here"


async def test_requests_at_the_same_time_take_its_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, contact = Clock(monkeypatch), Contact(RetryPolicy(first_answer=5.0))
    async with contact.attempt(), contact.attempt():
        clock.now += 3.0
    assert await contact.retried(clock.answer(1.9)) == "here"


async def test_a_stream_that_has_begun_gives_a_server_its_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, contact = Clock(monkeypatch), Contact(RetryPolicy(first_answer=5.0))
    await contact.retried(clock.answer(4.0))
    contact.begin_stream()
    for _ in range(2):
        assert await contact.retried(clock.answer(4.0)) == "here"


async def test_that_a_server_is_lost_and_back_is_reported_once() -> None:
    reports: list[str | None] = []
    contact = Contact(RetryPolicy(initial_delay=0), reports.append)
    contact.begin_stream()
    retries = [Retries(contact), Retries(contact)]
    for retry in retries:
        await retry.pause(ConnectionLost("away from the beginning"))
    contact.answered()
    for _ in range(2):
        for retry in retries:
            await retry.pause(ConnectionLost("gone"))
        contact.answered()
        contact.answered()
    assert reports == ["gone", None] * 2


@pytest.mark.parametrize(
    "wrong", [{"initial_delay": -1.0}, {"max_delay": -1.0}, {"max_attempts": 0}, {"initial_delay": float("nan")}]
)
def test_a_policy_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected initial_delay >= 0"):
        RetryPolicy(**wrong)  # type: ignore[arg-type]
