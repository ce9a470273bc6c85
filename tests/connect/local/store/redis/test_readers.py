"""Readers of a run in all processes, also when messages of Redis are lost."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.events.event_log import MOST
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.followed_run import FollowedRun
from langgraph_agui.connect.local.store.redis import reader
from langgraph_agui.connect.testing import Pause

from tests.support.clients.batch_readers import BatchReader, held, turns, until
from tests.support.redis_processes import SLOW, THREAD, WORDS, Process, Reading, awaited, is_counted, process, steps
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.streams.pausing_graphs import HELLO, on, speaking

pytestmark = pytest.mark.services


@pytest.mark.parametrize("leaves_last", ["here", "there", "its process"])
async def test_a_run_is_stopped_without_readers_when_its_last_reader_in_any_process_has_left(
    one: Process, other: Process, redis: Any, leaves_last: str
) -> None:
    point = Pause()
    run = await one.start(speaking(point, InMemorySaver()), on_disconnect="cancel")
    here, there = await one.reads(run), await other.reads(await other.active())
    await point.reached.wait()
    await awaited(lambda: is_counted(redis, run.number))
    first, last = (there, here) if leaves_last == "here" else (here, there)
    first.task.cancel()
    await asyncio.wait([first.task])
    for _ in range(20):  # the owner has asked by now, many times
        one.store._wake(None)
        assert await redis.ping()
    assert run.status == "running"
    if leaves_last == "its process":
        other.way.close()
    else:
        last.task.cancel()
    assert await run.wait() == "cancelled"


async def test_a_reader_elsewhere_gets_no_event_before_it_counts(one: Process, other: Process, redis: Any) -> None:
    point = Pause()
    run = await one.start(speaking(point, InMemorySaver()), on_disconnect="cancel")
    here, followed = await one.reads(run), await other.active()
    await point.reached.wait()
    assert isinstance(followed, FollowedRun)
    await redis.client_pause(600_000, all=False)  # nothing is written to Redis
    listener = BatchReader()
    async with aclosing(followed.attach(listener.reader)) as batches:
        first = asyncio.create_task(anext(batches))
        await until(followed._has_view.is_set)
        await turns()
        assert not first.done()
        await redis.client_unpause()
        await first
        here.task.cancel()
        await asyncio.wait([here.task])
        for _ in range(20):
            one.store._wake(None)
            assert await redis.ping()
        assert run.status == "running"
    assert await run.wait() == "cancelled"


async def test_a_reader_elsewhere_that_does_not_read_holds_up_nobody_and_is_brought_to_the_view(
    one: Process, other: Process
) -> None:
    points, at_once = [Pause() for _ in range(9)], MOST // 4

    async def emit(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        for turn, point in enumerate(points, 1):
            await point()
            for _ in range(at_once):
                write({"name": "piece", "value": turn})
            write({"name": "turn", "value": turn})
        return {"messages": [AIMessage("All said.", id="all-1")]}

    graph = StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit").compile(InMemorySaver())
    run = await one.start(graph)
    followed = await other.active()
    here, reads, deaf = await one.reads(run), await other.reads(followed), BatchReader()
    async with aclosing(followed.attach(deaf.reader)) as batches:
        deaf.take(await anext(batches))
        for turn, point in enumerate(points, 1):
            point.open.set()
            await until(partial(_has_got, here, {"name": "turn", "value": turn}))
            await until(lambda: _at(reads) >= _at(here))
        whole = await reads.end()
        assert whole.kinds[-1] == "RUN_FINISHED"
        await deaf.hear(batches)
    assert held(deaf.view) == held(whole.view)
    assert len(deaf.events) < MOST


def _has_got(reading: Reading, custom: dict[str, Any]) -> bool:
    """Whether this is the newest custom event that a reader has."""
    return any(custom.items() <= each.event.items() for batch in reading.listener.batches[-10:] for each in batch)


def _at(reading: Reading) -> int:
    """How many events of the run a reader has, or has a snapshot for."""
    return reading.listener.batches[-1][-1].at


async def test_a_reader_elsewhere_gets_every_event_of_a_burst_once(one: Process, other: Process, redis: Any) -> None:
    """Although the log becomes long meanwhile: a snapshot stands only for events that it has got. All readers of a
    process have one connection."""
    count = MOST // 2

    async def emit(state: MessagesState) -> dict[str, Any]:
        await point()
        write = get_stream_writer()
        for number in range(count):
            write({"name": "piece", "value": {"number": number, "text": "x" * 300}})
        return {"messages": [AIMessage("All said.", id="all-1")]}

    point, builder = Pause(), StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit")
    await one.start(builder.compile(InMemorySaver()))
    here, there, also = [await each.reads(await each.active()) for each in (one, other, other)]
    assert len([client for client in await redis.client_list() if client["cmd"] == "xread"]) == 1
    point.open.set()
    for reading in (here, there, also):
        pieces = [event["value"]["number"] for event in (await reading.end()).events if event["type"] == "CUSTOM"]
        assert pieces == [*range(count)]
    assert there.listener.reader.offset == here.listener.reader.offset


@pytest.mark.usefixtures("redis")
async def test_offsets_are_the_same_everywhere_after_a_publisher_was_far_behind(server: RedisServer) -> None:
    async with process(server.url, SLOW) as one, process(server.url, SLOW) as other:
        await _far_behind(one, other)


async def _far_behind(one: Process, other: Process) -> None:
    points = [Pause(), Pause()]

    async def emit(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        await points[0]()
        for number in range(MOST + 10):
            write({"name": "piece", "value": number})
        await points[1]()
        return {"messages": [AIMessage("All said.", id="all-1")]}

    builder = StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit")
    run = await one.start(builder.compile(InMemorySaver()))
    here, there = await one.reads(run), await other.reads(await other.active())
    await points[0].reached.wait()
    one.way.close()
    points[0].open.set()
    await points[1].reached.wait()
    one.way.open()
    points[1].open.set()
    assert held((await there.end()).view) == held((await here.end()).view)
    assert there.listener.reader.offset == here.listener.reader.offset


async def test_a_reader_elsewhere_misses_nothing_when_its_connections_are_lost(one: Process, other: Process) -> None:
    points = [Pause() for _ in range(4)]
    run = await one.start(steps(points, InMemorySaver()))
    here, there = await one.reads(run), await other.reads(await other.active())
    for number, point in enumerate(points):
        await point.reached.wait()
        if number == 1:
            other.way.close()
        elif number == 2:
            other.way.open()
        else:
            other.way.cut()
        point.open.set()
    assert held((await there.end()).view) == held((await here.end()).view)
    assert there.listener.kinds.count("RUN_STARTED") == 1


@pytest.mark.parametrize("most", [0, 1, 200])
async def test_many_runs_are_read_by_one_process_however_it_waits_for_them(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Of a few it waits for the logs, of more for the names of those that have something new."""
    monkeypatch.setattr(reader, "_MOST_BLOCKED", most)
    points = [[Pause() for _ in range(3)] for _ in range(3)]
    graphs = [steps(each, InMemorySaver()) for each in points]
    runs = [
        await one.runs.start(graph, HELLO, on(f"t{number}"), run_id=f"r{number}", agent="chat")
        for number, graph in enumerate(graphs)
    ]
    here, there = [], []
    for number, run in enumerate(runs):
        here.append(await one.reads(run))
        active = await other.store.active(ThreadKey("default", f"t{number}"))
        assert active is not None
        there.append(await other.reads(active))
    for step in range(3):
        for number in (1, 0, 2):
            await points[number][step].reached.wait()
            points[number][step].open.set()
        if step == 1:
            other.way.cut()
    for mine, theirs in zip(here, there, strict=True):
        assert held((await theirs.end()).view) == held((await mine.end()).view)
        assert theirs.listener.kinds.count("RUN_STARTED") == 1


async def test_a_reader_that_leaves_while_it_subscribes_holds_up_no_other(one: Process) -> None:
    first = asyncio.create_task(one.store.started(THREAD))
    await asyncio.sleep(0)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    async with asyncio.timeout(20):
        feed = await one.store.started(THREAD)
    run = await one.start(speaking(Pause(), InMemorySaver()))
    assert await anext(feed) is run


async def test_a_run_that_no_reader_follows_any_more_can_be_read_again(one: Process, other: Process) -> None:
    point = Pause()
    await one.start(speaking(point, InMemorySaver()))
    followed = await other.active()
    assert isinstance(followed, FollowedRun)
    first = await other.reads(followed)
    first.task.cancel()
    async with asyncio.timeout(30):
        await until(lambda: followed._task is None)
    again = await other.reads(followed)
    point.open.set()
    assert ((await again.end()).kinds[-1], again.text) == ("RUN_FINISHED", WORDS)
