"""What a run of another process makes of the entries of its log."""

import asyncio
from typing import Any

import pytest
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.background import Background
from langgraph_agui.connect.local.store.followed_run import FollowedRun
from langgraph_agui.connect.local.store.logs import Logs
from langgraph_agui.connect.local.store.memory_database import MemoryData, MemoryRunDatabase
from langgraph_agui.connect.local.store.records import MORE, SNAPSHOT, Claim, Entry
from langgraph_agui.connect.local.store.run_database import Append, Claimed, Log, Own
from langgraph_agui.translator import encode, events, to_model

from tests.support.clients.batch_readers import until
from tests.support.counting import count_calls

PIECES = [events.text_content("m", text) for text in ("one ", "two ", "three ")]


def entry(number: int, *given: dict[str, Any], kind: str = MORE) -> Entry:
    return Entry(7, number, kind, number + 1, b"".join(map(encode, given)))


BEGUN = entry(1, events.run_started("t", "r", "1.0"), events.text_start("m"), kind=SNAPSHOT)


@pytest.fixture
async def run() -> FollowedRun:
    database = MemoryRunDatabase(MemoryData(), "p", lambda _: None)
    thread, claim, logs = ThreadKey("n", "t"), Claim("r", "chat", "p", {}), Logs(database, Background())
    return FollowedRun(database, logs, thread, 7, claim, on_lost=lambda *_: None, on_continued=lambda _: None)


async def test_events_are_applied_once_and_not_before_those_that_are_missing(run: FollowedRun) -> None:
    first, second, third = (entry(number, piece) for number, piece in enumerate(PIECES, 2))
    texts = []
    for entries in ([second], [BEGUN], [third], [first, first], [third], [BEGUN, second], [second, third, first]):
        run._take(entries)
        texts.append(run._view.messages[-1]["content"] if run._view.messages else None)
    assert texts == [None, "", "", "one ", "one ", "one two ", "one two three "]


async def test_events_that_another_process_has_checked_are_not_checked_again(run: FollowedRun) -> None:
    entries = [BEGUN, *(entry(number, piece) for number, piece in enumerate(PIECES, 2))]
    assert count_calls(lambda: run._take(entries)).of(to_model) == 0
    assert run._view.messages[-1]["content"] == "one two three "


async def test_an_event_of_a_type_that_only_later_versions_have_is_passed_on(run: FollowedRun) -> None:
    run._take([BEGUN, entry(2, {"type": "LATER", "value": 1}), entry(3, PIECES[0])])
    assert (run._view.messages[-1]["content"], run.is_over) == ("one ", False)


async def test_all_that_follow_one_log_get_its_entries_from_where_they_are() -> None:
    """Such as readers of an owner that has lost its run, and readers of the run in the same process."""
    database, background = MemoryRunDatabase(MemoryData(), "p", lambda _: None), Background()
    thread, claim = ThreadKey("n", "t"), Claim("r", "chat", "p", {})
    claimed = await database.claim(thread, "token", claim, None)
    assert isinstance(claimed, Claimed)
    own, logs, log = Own(thread, claimed.fence, "token", claim), Logs(database, background), Log(thread, claimed.fence)
    given: dict[str, set[int]] = {"first": set(), "late": set()}

    def follow(name: str) -> None:
        logs.follow(log, lambda entries: given[name].update(each.number for each in entries))

    async def append(*entries: Entry) -> None:
        await database.append([Append(own, "running", each, each.number - 1) for each in entries])

    follow("first")
    await append(BEGUN, entry(2, PIECES[0]))
    await until(lambda: given["first"] == {1, 2})
    follow("late")
    await append(entry(3, PIECES[1]))
    async with asyncio.timeout(10):
        await until(lambda: given["late"] == given["first"] == {1, 2, 3})
    await logs.aclose()
    await background.aclose()
