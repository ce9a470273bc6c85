"""Reading one step ahead loses nothing, cancels nothing, and leaves nothing behind."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
from langgraph_agui.connect.events.timed_iterator import TIMED_OUT, TimedIterator, TimedOut

from tests.support.clients.batch_readers import turns, until

SOON = 0.001
"""Seconds in which nothing comes."""


class Source:
    """Items that come when a test lets them, and what became of the one who waited for them."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[int | Exception] = asyncio.Queue()
        self.is_waiting = False
        self.is_closed = False
        self.was_cancelled = False
        self.may_close = asyncio.Event()
        self.may_close.set()

    def put(self, *items: int | Exception) -> None:
        for item in items:
            self.queue.put_nowait(item)

    async def items(self) -> AsyncIterator[int]:
        try:
            while True:
                self.is_waiting = True
                item = await self.queue.get()
                self.is_waiting = False
                if isinstance(item, StopAsyncIteration):
                    return
                if isinstance(item, Exception):
                    raise item
                yield item
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        finally:
            await self.may_close.wait()
            self.is_closed = True


@pytest.fixture
def source() -> Source:
    return Source()


def others() -> set[asyncio.Task[object]]:
    """The tasks beside the test's."""
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_items_come_in_order(source: Source) -> None:
    ahead = TimedIterator(source.items())
    source.put(1, 2, 3)
    assert [await ahead.next(None), await ahead.next(10), await ahead.next(None)] == [1, 2, 3]
    await ahead.aclose()


async def test_silence_is_told_and_nothing_is_lost(source: Source) -> None:
    ahead = TimedIterator(source.items())
    silent = [await ahead.next(SOON) for _ in range(3)]
    source.put(1, 2)
    assert (silent, await ahead.next(10), await ahead.next(None)) == ([TIMED_OUT] * 3, 1, 2)
    await ahead.aclose()


async def test_after_an_item_silence_is_told_too(source: Source) -> None:
    ahead = TimedIterator(source.items())
    source.put(1)
    assert [await ahead.next(SOON), await ahead.next(SOON), await ahead.next(SOON)] == [1, TIMED_OUT, TIMED_OUT]
    await ahead.aclose()


async def test_a_shorter_time_than_the_one_before_counts(source: Source) -> None:
    ahead = TimedIterator(source.items())
    source.put(1)
    assert [await ahead.next(60), await ahead.next(SOON)] == [1, TIMED_OUT]
    await ahead.aclose()


async def test_silence_cancels_nothing(source: Source) -> None:
    ahead = TimedIterator(source.items())
    assert isinstance(await ahead.next(SOON), TimedOut)
    assert (source.is_waiting, source.was_cancelled) == (True, False)
    await ahead.aclose()


async def test_no_time_is_silence_unless_it_came_meanwhile(source: Source) -> None:
    ahead = TimedIterator(source.items())
    first = await ahead.next(0)
    source.put(1)
    await turns()
    assert (first, await ahead.next(0)) == (TIMED_OUT, 1)
    await ahead.aclose()


@pytest.mark.parametrize("within", [None, 10])
async def test_the_end_is_the_end(source: Source, within: float | None) -> None:
    ahead = TimedIterator(source.items())
    source.put(StopAsyncIteration())
    for _ in range(2):
        with pytest.raises(StopAsyncIteration):
            await ahead.next(within)


@pytest.mark.parametrize("within", [None, 10])
async def test_an_error_of_the_source_is_raised(source: Source, within: float | None) -> None:
    ahead = TimedIterator(source.items())
    source.put(LookupError("gone"))
    with pytest.raises(LookupError, match="gone"):
        await ahead.next(within)


async def test_closing_cancels_the_step_and_closes_the_source(source: Source) -> None:
    ahead = TimedIterator(source.items())
    await ahead.next(SOON)
    await ahead.aclose()
    assert (source.was_cancelled, source.is_closed, others()) == (True, True, set())


async def test_closing_between_two_steps_closes_the_source(source: Source) -> None:
    ahead = TimedIterator(source.items())
    source.put(1)
    await ahead.next(10)
    await ahead.aclose()
    assert (source.was_cancelled, source.is_closed) == (False, True)


async def test_closing_twice_is_closing(source: Source) -> None:
    ahead = TimedIterator(source.items())
    await ahead.next(SOON)
    await ahead.aclose()
    await ahead.aclose()


async def test_an_error_nobody_asked_for_is_not_reported(source: Source) -> None:
    ahead = TimedIterator(source.items())
    await ahead.next(SOON)
    source.put(LookupError("gone"))
    await until(lambda: source.is_closed)
    await ahead.aclose()
    gc.collect()  # an exception that nobody read would be reported now, which fails the test


async def test_an_iterator_that_can_not_be_closed_is_read() -> None:
    class Bare:
        def __aiter__(self) -> "Bare":
            return self

        async def __anext__(self) -> int:
            return 1

    ahead = TimedIterator(Bare())
    assert await ahead.next(10) == 1
    await ahead.aclose()


async def consumed(source: Source, within: float | None) -> AsyncIterator[int]:
    """One who reads ahead as everybody does."""
    ahead = TimedIterator(source.items())
    try:
        while True:
            item = await ahead.next(within)
            yield 0 if isinstance(item, TimedOut) else item
    finally:
        await ahead.aclose()


@pytest.mark.parametrize("within", [None, 10])
async def test_a_cancelled_consumer_leaves_nothing(source: Source, within: float | None) -> None:
    consumer = asyncio.ensure_future(anext(consumed(source, within)))
    await until(lambda: source.is_waiting)
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    assert (consumer.cancelled(), source.is_closed, others()) == (True, True, set())


async def test_a_consumer_that_is_cancelled_without_end_leaves_nothing(source: Source) -> None:
    source.may_close.clear()
    consumer = asyncio.ensure_future(anext(consumed(source, 10)))
    await until(lambda: source.is_waiting)
    for _ in range(5):  # as a server's cancel scope does until the task is over
        consumer.cancel()
        await turns(1)
    source.may_close.set()
    await asyncio.gather(consumer, return_exceptions=True)
    assert (consumer.cancelled(), source.is_closed, others()) == (True, True, set())


async def test_a_consumer_that_is_closed_leaves_nothing(source: Source) -> None:
    items = consumed(source, SOON)
    await anext(items)
    await items.aclose()  # type: ignore[attr-defined]
    assert (source.is_closed, others()) == (True, set())


async def test_a_consumer_that_is_collected_leaves_nothing(source: Source) -> None:
    items = consumed(source, SOON)
    await anext(items)
    del items
    gc.collect()
    await until(lambda: source.is_closed)
    await until(lambda: not others())
