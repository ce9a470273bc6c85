"""Where a cancelled task is interrupted: where it waits, and nowhere else."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import pytest
from langgraph_agui.connect.events.cancellation import cancelled_at_waits, items_cancelled_at_waits

from tests.support.clients.listening import turns


class Work:
    """What is awaited: it notes how far it came, gives way for some turns, and waits."""

    def __init__(self) -> None:
        self.came_to: list[str] = []
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def gives_way(self, times: int = 3) -> None:
        for _ in range(times):
            await asyncio.sleep(0)
        self.came_to.append("gave way")

    async def waits(self) -> str:
        try:
            answer = await self.answer
        except asyncio.CancelledError:
            self.came_to.append("was interrupted")
            raise
        self.came_to.append("has its answer")
        return answer

    async def gives_way_and_waits(self) -> str:
        await self.gives_way()
        return await self.waits()

    async def gives_way_and_raises(self) -> str:
        await self.gives_way()
        raise ValueError("too late")

    async def never_waits(self) -> None:
        await self.gives_way(10_000)


@pytest.mark.parametrize(
    ("work", "came_to"),
    [
        (Work.waits, ["was interrupted"]),
        (Work.gives_way, ["gave way"]),
        (Work.gives_way_and_waits, ["gave way", "was interrupted"]),
        (Work.gives_way_and_raises, ["gave way"]),
        (Work.never_waits, []),
    ],
)
async def test_what_is_cancelled_after_its_first_turn_goes_on_to_where_it_waits(
    work: Callable[[Work], Coroutine[Any, Any, Any]], came_to: list[str]
) -> None:
    done = Work()
    task = asyncio.create_task(_awaited(work(done)))
    await turns(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.came_to == came_to
    assert done.answer.cancelled() == ("was interrupted" in came_to)


async def test_what_was_waited_for_and_has_come_is_not_lost() -> None:
    done = Work()
    task = asyncio.create_task(_awaited(done.waits()))
    await turns(1)
    done.answer.set_result("here")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.came_to == ["has its answer"]


async def test_a_task_that_is_waited_for_is_cancelled_and_at_its_end_first() -> None:
    order: list[str] = []

    async def inner() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await turns(3)
            order.append("inner")

    task = asyncio.create_task(_awaited(asyncio.create_task(inner())))
    await turns(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert order == ["inner"]


async def test_a_timeout_is_one() -> None:
    done = Work()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await cancelled_at_waits(done.gives_way_and_waits())
    assert done.came_to == ["gave way", "was interrupted"]


async def test_results_and_errors_are_those_of_what_is_awaited() -> None:
    done = Work()
    done.answer.set_result("here")
    assert await cancelled_at_waits(done.gives_way_and_waits()) == "here"
    with pytest.raises(ValueError, match="too late"):
        await cancelled_at_waits(done.gives_way_and_raises())


async def test_items_are_those_of_the_generator_and_it_is_closed_with_them() -> None:
    is_closed = asyncio.Event()

    @items_cancelled_at_waits
    async def counted(last: int) -> AsyncGenerator[int, None]:
        try:
            for number in range(last):
                await turns(1)
                yield number
        finally:
            await turns(1)
            is_closed.set()

    assert [number async for number in counted(3)] == [0, 1, 2]
    is_closed.clear()
    items = counted(3)
    assert await anext(items) == 0
    await items.aclose()
    assert is_closed.is_set()


async def _awaited(awaitable: Any) -> Any:
    return await cancelled_at_waits(awaitable)
