"""Who waits for a server that is gone: how long, and when no more."""

import asyncio
from contextlib import suppress

import pytest
from langgraph_agui.connect.platform.http import Cut
from langgraph_agui.connect.platform.retry import Patience, Policy

MANY = 200


class Sleeps:
    """Pauses that take no time, written down."""

    def __init__(self) -> None:
        self.all: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.all.append(seconds)


async def pauses(policy: Policy) -> list[float]:
    """The pauses until nothing is tried any more."""
    sleeps = Sleeps()
    patience = Patience(policy, sleeps)
    with suppress(Cut):
        while True:
            await patience.pause(Cut("gone"))
    return sleeps.all


async def test_pauses_double_up_to_the_most_and_half_of_each_is_random() -> None:
    for pause, most in zip(await pauses(Policy(first=1.0, most=5.0, tries=6)), [1.0, 2.0, 4.0, 5.0, 5.0], strict=True):
        assert most / 2 <= pause <= most


async def test_no_two_wait_alike() -> None:
    assert len({(await pauses(Policy(tries=2)))[0] for _ in range(MANY)}) > MANY / 2


async def test_after_the_last_try_the_last_cut_is_raised() -> None:
    patience = Patience(Policy(tries=3), Sleeps())
    await patience.pause(Cut("first"))
    await patience.pause(Cut("second"))
    with pytest.raises(Cut, match="third"):
        await patience.pause(Cut("third"))


async def test_one_try_waits_for_nothing() -> None:
    assert await pauses(Policy(tries=1)) == []


async def test_progress_begins_anew() -> None:
    sleeps = Sleeps()
    patience = Patience(Policy(first=1.0, tries=2), sleeps)
    for _ in range(MANY):
        await patience.pause(Cut("gone"))
        patience.progressed()
    assert max(sleeps.all) <= 1.0


async def test_waiting_can_be_cancelled() -> None:
    waiting = asyncio.create_task(Patience(Policy(first=3600, most=3600)).pause(Cut("gone")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_unless_told_otherwise_it_waits_half_a_minute_at_most() -> None:
    assert 15 < sum(await pauses(Policy())) < 35


@pytest.mark.parametrize("wrong", [{"first": -1.0}, {"most": -1.0}, {"tries": 0}, {"first": float("nan")}])
def test_a_policy_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected first >= 0"):
        Policy(**wrong)  # type: ignore[arg-type]
