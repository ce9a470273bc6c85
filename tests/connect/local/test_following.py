"""Following a thread of this process: the runs queued behind the active one, and one poller for all watchers."""

import asyncio
import weakref
from contextlib import aclosing, suppress
from typing import Any, ClassVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs, watch
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.feed import Feed
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.connect.local.store.poller import Pollers

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.asking import Asker, asked, held_up
from tests.support.clients.batch_readers import BatchReader, turns, until
from tests.support.clients.locally import connected, played
from tests.support.streams.pausing_graphs import HELLO, on, quick


@pytest.mark.parametrize("run_id", [None, "first"])
async def test_a_connection_follows_the_runs_that_are_queued_behind_the_active_one(
    run_id: str | None, agui_client: AguiClient
) -> None:
    async with held_up() as (source, point, _):
        queued = [Asker(source, asked(name, name), Intake(busy="queue")) for name in ("second", "third")]
        await until(lambda: source.runs.queue.on(source.key("t")) == 2)
        connection = asyncio.create_task(connected(source, run_id=run_id))
        await turns()
        point.open.set()
        await asyncio.gather(*(each.task for each in queued))
        listener = await connection
        started = [event["runId"] for event in listener.events if event["type"] == "RUN_STARTED"]
        assert started == (["first"] if run_id else ["first", "second", "third"])
        assert played(agui_client, listener).accepted


async def test_a_connection_ends_when_a_queued_input_does_not_run() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue", on_disconnect="cancel"))
        await until(lambda: source.runs.queue.on(source.key("t")) == 1)
        connection = asyncio.create_task(connected(source))
        await turns()
        leaving = asyncio.create_task(second.leave())
        point.open.set()
        await asyncio.gather(first.task, leaving)
        listener: BatchReader = await connection
        assert listener.kinds.count("RUN_STARTED") == 1


class Counting(InMemorySaver):
    """A checkpointer that counts the reads of newest checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.reads += 1
        return await super().aget_tuple(config)


async def test_all_watchers_of_a_thread_have_one_poller_which_ends_with_the_last() -> None:
    saver = Counting()
    graph = quick(saver)
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        streams = [watch(Local(graph, runs=runs), "t", poll=0.001) for _ in range(5)]
        coming = [asyncio.create_task(_read(stream)) for stream in streams]
        await until(lambda: saver.reads >= 80)  # the first reads are the watchers' own
        (poller,) = [task for task in asyncio.all_tasks() if "Poller._poll" in repr(task.get_coro())]
        for task in coming:
            assert not poller.done()
            task.cancel()
            await asyncio.wait([task])
        with suppress(asyncio.CancelledError):
            await poller


async def _read(stream: Any) -> None:
    async with aclosing(stream):
        async for _ in stream:
            pass


async def test_a_poller_backs_off_until_the_thread_changes() -> None:
    marks: list[Any] = ["one"]
    reads = 0

    async def read() -> Any:
        nonlocal reads
        reads += 1
        if isinstance(marks[-1], Exception):
            raise marks[-1]
        return marks[-1]

    feed, second, pollers = Feed(), Feed(), Pollers()
    with pollers.watching(ThreadKey("place", "t"), feed, 0.001, read, lambda: False) as poller:
        assert await anext(feed) is None  # the first read
        assert poller.interval == pytest.approx(0.001)
        await until(lambda: reads == 4)
        assert poller.interval == pytest.approx(0.001 * 1.5**3)
        await until(lambda: reads == 10)
        assert poller.interval == pytest.approx(0.01)
        marks.append("two")
        assert await anext(feed) is None
        assert poller.interval == pytest.approx(0.001)
        await until(lambda: poller.interval > 0.001)
        with pollers.watching(ThreadKey("place", "t"), second, 60, read, lambda: False) as same:
            assert same is poller
            assert poller.interval == pytest.approx(0.001)
        marks.append(ValueError("unreadable"))
        for _ in range(3):  # the watchers are to see that it can't be read
            assert await anext(feed) is None


class Compared(ThreadKey):
    """A thread that counts with how many others it is compared."""

    others: ClassVar = 0

    def __eq__(self, other: object) -> bool:
        type(self).others += self is not other
        return super().__eq__(other)

    __hash__ = ThreadKey.__hash__


async def test_the_feeds_of_a_thread_are_found_without_those_of_others_and_gone_when_nothing_uses_them() -> None:
    store = MemoryRunStore()
    feeds = [await store.started(Compared("memory", str(number))) for number in range(100)]
    feeds.append(await store.started(Compared("memory", "7")))
    for feed in feeds:
        feed._news.clear()
    Compared.others = 0
    store.wake(Compared("memory", "7"))
    store.wake(Compared("memory", "none"))
    assert [number for number, feed in enumerate(feeds) if feed._news.is_set()] == [7, 100]
    assert Compared.others < 10
    gone = [weakref.ref(feed) for feed in feeds]
    del feed, feeds
    assert [ref() for ref in gone] == [None] * 101
    await store.aclose()
