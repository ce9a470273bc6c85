"""Streams that are made of other streams: what they give, where errors go, and how they end."""

import asyncio
import inspect
import sys
from contextlib import aclosing
from typing import Any

import pytest
from langgraph_agui.connect.events.encoded import Batch, Batches, to_batch
from langgraph_agui.connect.events.relay import Relayed, relaying


def batch(name: str) -> Batch:
    return to_batch([{"type": "CUSTOM", "name": name}])


async def read(batches: Batches) -> list[str]:
    return [each.event["name"] async for batch in batches for each in batch]


class House:
    """Streams that note what becomes of them."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.waiting = asyncio.Event()

    async def inner(self, *names: str, raises: Exception | None = None, waits: bool = False) -> Batches:
        try:
            for name in names:
                yield batch(name)
            if waits:
                self.waiting.set()
                await asyncio.Event().wait()
            if raises is not None:
                raise raises
        finally:
            self.notes.append("inner is closed")

    @relaying
    async def outer(self, inner: Batches, last: str = "last") -> Relayed:
        try:
            yield batch("first")
            yield inner
            yield batch(last)
        except (ValueError, asyncio.CancelledError) as error:
            self.notes.append(f"outer got {type(error).__name__}")
            if isinstance(error, asyncio.CancelledError):
                raise
            yield batch("instead")
        finally:
            self.notes.append("outer is closed")


async def test_a_stream_that_is_yielded_is_read_in_its_place() -> None:
    house = House()
    assert await read(house.outer(house.outer(house.inner("a", "b"), "c"), "d")) == [
        *("first", "first", "a", "b", "c", "d"),
    ]
    assert house.notes == ["inner is closed", "outer is closed", "outer is closed"]


async def test_what_a_stream_raises_is_raised_where_it_was_yielded() -> None:
    house = House()
    inner = house.inner("a", raises=ValueError("no"))
    assert await read(house.outer(house.outer(inner), "d")) == ["first", "first", "a", "instead", "d"]
    assert house.notes == ["inner is closed", "outer got ValueError", "outer is closed", "outer is closed"]


async def test_what_nobody_takes_is_raised_out_of_all() -> None:
    house = House()
    with pytest.raises(LookupError):
        await read(house.outer(house.inner(raises=LookupError("no"))))
    assert house.notes == ["inner is closed", "outer is closed"]


async def test_a_reader_that_leaves_closes_what_it_reads_first() -> None:
    house = House()
    async with aclosing(house.outer(house.inner("a", "b"))) as batches:
        for _ in range(2):
            await anext(batches)
    assert house.notes == ["inner is closed", "outer is closed"]
    assert await read(batches) == []


async def test_a_reader_that_is_cancelled_ends_all() -> None:
    house = House()
    reading = asyncio.create_task(read(house.outer(house.inner("a", waits=True))))
    await house.waiting.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert house.notes == ["inner is closed", "outer got CancelledError", "outer is closed"]


async def test_a_stream_that_does_not_close_keeps_no_other_open() -> None:
    house = House()

    async def stubborn() -> Batches:
        try:
            yield batch("a")
        finally:
            raise LookupError("not to be closed")

    batches = house.outer(stubborn())
    for _ in range(2):
        await anext(batches)
    with pytest.raises(LookupError):
        await batches.aclose()
    assert house.notes == ["outer is closed"]


async def test_a_batch_takes_one_step_however_many_streams_are_around_it() -> None:
    """Of the frames that lead to where a batch is made, one is that of an asynchronous generator."""
    generators: list[int] = []

    async def innermost() -> Batches:
        frame: Any = sys._getframe()
        generators.append(0)
        while frame is not None:
            generators[-1] += bool(frame.f_code.co_flags & inspect.CO_ASYNC_GENERATOR)
            frame = frame.f_back
        yield batch("a")

    house, batches = House(), innermost()
    for _ in range(9):
        batches = house.outer(batches)
    assert len(await read(batches)) == 9 + 1 + 9
    assert generators == [1]
