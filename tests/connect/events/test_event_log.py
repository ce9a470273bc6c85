"""One run's events for many readers: who is told what, who is behind, who goes away, and what is kept."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph_agui.connect.events.encoded import EncodedEvent
from langgraph_agui.connect.events.event_log import BATCH_BYTES, EventLog
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import BatchReader, held, turns, until

Event = dict[str, Any]


class Live:
    """A run that says what a test makes it say."""

    def __init__(self, **bounds: int) -> None:
        self.view = ClientView([], {})
        self.deserted = 0
        self.broadcast = EventLog(self.view, self._desert, **bounds)
        self.tell({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})

    def _desert(self) -> None:
        self.deserted += 1

    def tell(self, *events: Event) -> None:
        for event in events:
            self.view.apply(event)
        self.broadcast.publish(list(events))

    def open(self, message_id: str = "m") -> None:
        self.tell({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})

    def say(self, *words: str, message_id: str = "m") -> None:
        self.tell(*({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": word} for word in words))

    def shut(self, message_id: str = "m") -> None:
        self.tell({"type": "TEXT_MESSAGE_END", "messageId": message_id})

    def end(self) -> None:
        self.tell({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}})
        self.broadcast.close()

    def listen(self) -> tuple[BatchReader, AsyncGenerator[list[EncodedEvent], None]]:
        listener = BatchReader()
        return listener, self.broadcast.read(listener.reader)


async def test_a_reader_that_is_behind_is_handed_little_at_once() -> None:
    live = Live()
    listener, told = live.listen()
    async with aclosing(told):
        listener.take(await anext(told))
        live.open()
        live.say(*["x" * (BATCH_BYTES // 3)] * 9)
        live.end()
        async for batch in told:
            listener.take(batch)
    assert max(sum(each.size for each in batch) for batch in listener.batches) <= BATCH_BYTES
    assert held(listener.view) == held(live.view)


async def test_a_single_event_may_be_larger_than_what_is_handed_out_at_once() -> None:
    live = Live()
    listener, told = live.listen()
    async with aclosing(told):
        listener.take(await anext(told))
        live.open()
        live.say("x" * (BATCH_BYTES + 1), "y")
        live.end()
        await listener.hear(told)
    assert held(listener.view) == held(live.view)


async def test_a_reader_is_told_every_event_that_comes() -> None:
    live = Live()
    listener, told = live.listen()
    hearing = asyncio.create_task(listener.hear(told))
    await until(lambda: live.broadcast.readers == 1)
    live.open()
    await turns()
    live.say("one ", "two")
    await turns()
    live.shut()
    live.end()
    await hearing
    assert listener.kinds[-5:] == [
        "TEXT_MESSAGE_START",
        *["TEXT_MESSAGE_CONTENT"] * 2,
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert held(listener.view) == held(live.view)


async def test_a_late_reader_holds_in_the_end_what_the_first_one_does() -> None:
    live = Live()
    live.open()
    live.say("one ", "two ")
    listener, told = live.listen()
    async with aclosing(told):
        listener.take(await anext(told))
        live.say("three")
        live.shut()
        live.end()
        await listener.hear(told)
    assert held(listener.view) == held(live.view)
    assert listener.view.message("m") == {"id": "m", "role": "assistant", "content": "one two three"}


async def test_what_is_ready_together_is_one_batch() -> None:
    live = Live()
    listener, told = live.listen()
    async with aclosing(told):
        await anext(told)
        live.open()
        live.say("one ", "two ")
        live.say("three")
        listener.take(await anext(told))
    assert len(listener.batches[0]) == 4


async def test_readers_share_each_event() -> None:
    live = Live()
    (_, first), (_, second) = live.listen(), live.listen()
    async with aclosing(first), aclosing(second):
        await anext(first)
        await anext(second)
        live.open()
        assert (await anext(first))[0] is (await anext(second))[0]


async def test_a_reader_of_a_run_that_is_over_is_told_its_end() -> None:
    live = Live()
    live.open()
    live.say("all")
    live.shut()
    live.end()
    listener, told = live.listen()
    await listener.hear(told)
    assert held(listener.view) == held(live.view)
    assert listener.kinds[-1] == "RUN_FINISHED"


async def test_a_reader_holds_the_runs_view_when_all_is_told() -> None:
    live = Live()
    live.open()
    listener, told = live.listen()
    live.shut()
    live.end()
    await listener.hear(told)
    assert held(listener.reader.view) == held(live.view)
    assert listener.reader.view is not live.view


# --- who is behind ----------------------------------------------------------------------------------------------------


async def _behind(live: Live, listener: BatchReader, told: AsyncGenerator[list[EncodedEvent], None]) -> None:
    """The reader has a message open when more is said than is kept, in that message and in the next."""
    live.open()
    listener.take(await anext(told))
    live.say(*("word " for _ in range(30)))
    live.shut()
    live.open("n")
    live.say(*("more " for _ in range(30)), message_id="n")


async def test_a_reader_that_is_behind_is_told_where_the_run_is_in_place_of_what_it_missed(
    agui_client: AguiClient,
) -> None:
    live = Live(most=10)
    listener, told = live.listen()
    async with aclosing(told):
        await _behind(live, listener, told)
        listener.take(await anext(told))
        assert len(listener.batches[-1]) < 10
        live.say("and on", message_id="n")
        live.shut("n")
        live.end()
        await listener.hear(told)
    assert held(listener.view) == held(live.view)
    answer = agui_client.play(listener.events, mode="connect")
    assert answer.accepted
    assert answer.messages == live.view.messages


async def test_a_reader_that_is_behind_the_end_is_told_the_end() -> None:
    live = Live(most=10)
    listener, told = live.listen()
    async with aclosing(told):
        await _behind(live, listener, told)
        live.shut("n")
        live.end()
        await listener.hear(told)
    assert held(listener.view) == held(live.view)
    assert listener.kinds.count("RUN_FINISHED") == 1


async def test_no_reader_holds_up_another() -> None:
    live = Live(most=10)
    (slow, slowly), (quick, quickly) = live.listen(), live.listen()
    async with aclosing(slowly), aclosing(quickly):
        slow.take(await anext(slowly))
        quick.take(await anext(quickly))
        live.open()
        for _ in range(50):
            live.say("word ")
            quick.take(await anext(quickly))
    assert quick.kinds.count("MESSAGES_SNAPSHOT") == 1
    assert held(quick.view) == held(live.view)


# --- what is kept -----------------------------------------------------------------------------------------------------


async def test_events_are_kept_up_to_a_number() -> None:
    live = Live(most=100)
    _, told = live.listen()
    async with aclosing(told):
        await anext(told)
        live.open()
        for _ in range(1_000):
            live.say("word ")
            assert live.broadcast.kept <= 100 * 200


async def test_events_are_kept_up_to_a_size() -> None:
    live = Live(most_bytes=10_000)
    _, told = live.listen()
    async with aclosing(told):
        await anext(told)
        live.open()
        for _ in range(100):
            live.say("x" * 1_000)
            assert live.broadcast.kept <= 10_000


async def test_a_single_event_may_be_larger_than_what_is_kept() -> None:
    live = Live(most_bytes=1_000)
    listener, told = live.listen()
    async with aclosing(told):
        listener.take(await anext(told))
        live.open()
        live.say("x" * 5_000)
        live.shut()
        live.end()
        await listener.hear(told)
    assert held(listener.view) == held(live.view)


async def test_without_readers_nothing_is_kept() -> None:
    live = Live()
    live.open()
    live.say("one ", "two ")
    assert live.broadcast.kept == 0


async def test_the_last_reader_takes_what_was_kept_with_it() -> None:
    live = Live()
    _, told = live.listen()
    async with aclosing(told):
        await anext(told)
        live.open()
        live.say("one ", "two ")
        assert live.broadcast.kept > 0
    assert live.broadcast.kept == 0


# --- who goes away ----------------------------------------------------------------------------------------------------


async def test_a_reader_that_was_closed_is_not_counted() -> None:
    live = Live()
    _, told = live.listen()
    await anext(told)
    await told.aclose()
    assert (live.broadcast.readers, live.deserted) == (0, 1)


async def test_a_reader_that_was_cancelled_while_it_waited_is_not_counted() -> None:
    live = Live()
    listener, told = live.listen()
    hearing = asyncio.create_task(listener.hear(told))
    await until(lambda: live.broadcast.readers == 1)
    await turns()
    hearing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hearing
    assert (live.broadcast.readers, live.deserted) == (0, 1)


async def test_a_reader_that_was_dropped_is_not_counted() -> None:
    live = Live()
    _, told = live.listen()
    await anext(told)
    del told, _
    gc.collect()
    await until(lambda: live.broadcast.readers == 0)
    assert live.deserted == 1


async def test_a_reader_that_never_read_is_not_counted() -> None:
    live = Live()
    live.listen()
    assert (live.broadcast.readers, live.deserted) == (0, 0)


async def test_the_run_is_deserted_when_the_last_reader_goes_away() -> None:
    live = Live()
    (_, first), (_, second) = live.listen(), live.listen()
    await anext(first)
    await anext(second)
    await first.aclose()
    assert live.deserted == 0
    await second.aclose()
    assert live.deserted == 1


async def test_a_run_that_is_over_is_never_deserted() -> None:
    live = Live()
    listener, told = live.listen()
    listener.take(await anext(told))
    live.end()
    await listener.hear(told)
    assert live.deserted == 0
