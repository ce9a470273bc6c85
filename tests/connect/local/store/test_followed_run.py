"""What a run of another process makes of the entries of its log."""

from typing import Any

from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.background import Background
from langgraph_agui.connect.local.store.followed_run import FollowedRun
from langgraph_agui.connect.local.store.logs import Logs
from langgraph_agui.connect.local.store.memory_database import MemoryData, MemoryRunDatabase
from langgraph_agui.connect.local.store.records import MORE, SNAPSHOT, Claim, Entry
from langgraph_agui.translator import encode, events

PIECES = [events.text_content("m", text) for text in ("one ", "two ", "three ")]


def entry(number: int, *given: dict[str, Any], kind: str = MORE) -> Entry:
    return Entry(7, number, kind, number + 1, b"".join(map(encode, given)))


async def test_events_are_applied_once_and_not_before_those_that_are_missing() -> None:
    database = MemoryRunDatabase(MemoryData(), "p", lambda _: None)
    thread, claim, logs = ThreadKey("n", "t"), Claim("r", "chat", "p", {}), Logs(database, Background())
    run = FollowedRun(database, logs, thread, 7, claim, on_lost=lambda *_: None, on_continued=lambda *_: None)
    begun = entry(1, events.run_started("t", "r", "1.0"), events.text_start("m"), kind=SNAPSHOT)
    first, second, third = (entry(number, piece) for number, piece in enumerate(PIECES, 2))
    texts = []
    for entries in ([second], [begun], [third], [first, first], [third], [begun, second], [second, third, first]):
        run._take(entries)
        texts.append(run._view.messages[-1]["content"] if run._view.messages else None)
    assert texts == [None, "", "", "one ", "one ", "one two ", "one two three "]
