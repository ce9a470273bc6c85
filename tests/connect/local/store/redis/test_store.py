"""What becomes of runs when processes and Redis lose each other: two scopes of runs stand for two processes, each with
a way of its own to a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, cast

import pytest
from ag_ui.core import RunErrorEvent, RunStartedEvent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, connect, run
from langgraph_agui.connect.errors import RunConflictError, StoreUnavailableError
from langgraph_agui.connect.events.event_log import MOST
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.active_run import ActiveRun, ThreadKey
from langgraph_agui.connect.local.store.redis import RedisRunStore
from langgraph_agui.connect.local.store.redis.database import Claimed, Own
from langgraph_agui.connect.local.store.redis.followed_run import FollowedRun
from langgraph_agui.connect.local.store.redis.keys import (
    EMPTIED,
    FORMAT,
    OUTCOMES,
    SNAPSHOT,
    Claim,
    Entry,
    Keys,
    contact_key,
)
from langgraph_agui.connect.local.store.redis.scripts import CLAIM
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import Cancelled
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from tests.support.clients.guests import ending
from tests.support.clients.listening import Listener, held, turns, until
from tests.support.servers.databases.redis_server import RedisServer, running_redis
from tests.support.servers.processes.server_process import free_port
from tests.support.servers.proxy import Way, proxied
from tests.support.servers.serving import posted
from tests.support.streams.paced import HELLO, Graph, on, quick, speaking

pytestmark = pytest.mark.services

LEASE = 1.0
SLOW = 20.0
"""A lease that is not over by itself."""
THREAD = ThreadKey("default", "t")
WORDS = "one two three four"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
async def redis(server: RedisServer) -> AsyncIterator[Any]:
    async with Redis.from_url(server.url) as client:
        await client.flushall()
        yield client


class Process:
    """One process: its way to Redis, its store and its runs."""

    def __init__(self, way: Way, lease: float, timeout: float) -> None:
        self.way = way
        self.store = RedisRunStore(way.url.replace("http", "redis"), lease=lease, timeout=timeout)
        self.runs = Runs(self.store)

    async def start(self, graph: Graph, run_id: str = "r", **more: Any) -> Any:
        return await self.runs.start(graph, HELLO, on("t"), run_id=run_id, agent="chat", **more)

    async def active(self) -> ActiveRun:
        """The thread's active run, as soon as there is one."""
        while (run := await self.store.active(THREAD)) is None:  # noqa: ASYNC110 - another process may claim it
            await asyncio.sleep(0)
        return run

    async def reads(self, run: ActiveRun) -> "Reading":
        """A reader that has the beginning of the run."""
        reading = Reading(run)
        await reading.has("RUN_STARTED")
        return reading


class Reading:
    """A reader of a run, which reads to the end."""

    def __init__(self, run: ActiveRun) -> None:
        self.listener = Listener()
        self.task = asyncio.create_task(self.listener.hear(run.attach(self.listener.reader)))

    async def has(self, kind: str) -> None:
        await until(lambda: kind in self.listener.kinds or self.task.done())
        assert kind in self.listener.kinds

    async def has_text(self, text: str) -> None:
        await until(lambda: self.text == text or self.task.done())
        assert self.text == text

    @property
    def text(self) -> Any:
        messages = self.listener.view.messages
        return messages[-1].get("content") if messages and messages[-1]["role"] == "assistant" else None

    async def end(self) -> Listener:
        return await self.task


@asynccontextmanager
async def process(url: str, lease: float = LEASE, within: float = 0.5) -> AsyncIterator[Process]:
    async with proxied(url) as way:
        one = Process(way, lease, within)
        yield one
        await one.runs.aclose()
        await one.store.aclose()


@pytest.fixture
async def one(server: RedisServer, redis: Any) -> AsyncIterator[Process]:
    async with process(server.url) as made:
        yield made


@pytest.fixture
async def other(server: RedisServer, redis: Any) -> AsyncIterator[Process]:
    async with process(server.url) as made:
        yield made


def steps(points: list[Pause], saver: InMemorySaver) -> Graph:
    """A graph that adds a message in each of its nodes, and waits before it."""
    graph = StateGraph(MessagesState)
    for number, point in enumerate(points):

        async def step(state: MessagesState, number: int = number, point: Pause = point) -> dict[str, Any]:
            await point()
            return {"messages": [AIMessage(f"Step {number + 1}.", id=f"step-{number}")]}

        graph.add_node(f"n{number}", step)
        graph.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    return graph.compile(saver)


async def awaited(holds: Callable[[], Awaitable[bool]]) -> None:
    """Asks until something holds."""
    while not await holds():  # noqa: ASYNC110 - it is asked of Redis
        await asyncio.sleep(0)


async def is_idle(process: Process) -> bool:
    return await process.store.active(THREAD) is None


# --- an owner that is lost --------------------------------------------------------------------------------------------


async def test_a_run_whose_owner_is_lost_ends_for_its_readers_and_is_stopped_once_another_has_its_thread(
    one: Process, other: Process
) -> None:
    saver, point, next_point = InMemorySaver(), Pause(), Pause()
    run = await one.start(speaking(point, saver), "first")
    here, there = await one.reads(run), await other.reads(await other.active())
    await there.has_text("one two ")
    one.way.close()
    lost = await there.end()
    assert (lost.kinds[-3:-1], lost.events[-1]["code"]) == (["TEXT_MESSAGE_END", "STEP_FINISHED"], "unfinished")
    second = await other.start(speaking(next_point, saver), "second")
    await next_point.reached.wait()
    one.way.open()
    assert await run.wait() == "failed"
    assert ((await here.end()).events[-1]["code"], point.is_cancelled) == ("unfinished", True)
    next_point.open.set()
    assert await second.wait() == "finished"
    late = await other.reads(second)
    assert {event.get("runId") for event in (await late.end()).events} <= {"second", None}


async def test_a_lease_that_nobody_took_is_the_owners_again(one: Process, other: Process) -> None:
    point = Pause()
    run = await one.start(speaking(point, InMemorySaver()))
    await point.reached.wait()
    followed = await other.active()
    lost = await other.reads(followed)
    one.way.close()
    assert (await lost.end()).events[-1]["code"] == "unfinished"
    one.way.open()
    again = await other.active()
    assert (again is followed, again.number) == (False, run.number)
    reading = await other.reads(again)
    point.open.set()
    assert ((await reading.end()).kinds[-1], reading.text) == ("RUN_FINISHED", WORDS)
    assert await run.wait() == "finished"
    await awaited(lambda: is_idle(other))


async def test_a_stalled_owner_writes_no_checkpoint_over_that_of_another_run(one: Process, server: RedisServer) -> None:
    saver = InMemorySaver()

    async def stalls(state: MessagesState) -> dict[str, Any]:
        _stall(server.url)
        return {"messages": [AIMessage("Late.", id="late-1")]}

    builder = StateGraph(MessagesState).add_node("stalls", stalls).add_edge(START, "stalls")
    graph = builder.compile(saver)
    run = await one.start(graph)
    assert await run.wait() == "failed"
    config: Any = on("t")
    newest = await saver.aget_tuple(config)
    assert newest is not None
    assert [message.id for message in newest.checkpoint["channel_values"]["messages"]] == ["user-1"]


@pytest.mark.parametrize("has_answer", [False, True])
@pytest.mark.usefixtures("redis")
async def test_an_owner_that_is_stalled_before_its_graph_begins_writes_nothing(
    server: RedisServer, has_answer: bool
) -> None:
    """Before or after it has the answer to its claim."""
    saver = InMemorySaver()
    async with process(server.url, within=60.0) as one:
        starting = asyncio.create_task(one.start(quick(saver)))
        with SyncRedis.from_url(server.url) as client:
            while not (starting.done() if has_answer else client.exists(Keys(THREAD).thread)):  # noqa: ASYNC110
                await asyncio.sleep(0)
        _stall(server.url)
        assert await (await starting).wait() == "failed"
    config: Any = on("t")
    assert await saver.aget_tuple(config) is None


def _stall(url: str) -> None:
    """Blocks this process until its run counts as lost, and another one has the thread."""
    keys, contact = Keys(THREAD), contact_key("another")
    given = (0, "another", 60_000, 60_000, Claim("second", "chat", "p", {}).to_json(), keys.channel, 0, "")
    with SyncRedis.from_url(url) as client:
        client.set(contact, 0)
        while client.eval(CLAIM, 4, keys.thread, contact, EMPTIED, keys.closed, *given)[0] != b"claimed":
            pass


async def test_a_waiting_input_whose_process_is_gone_delays_the_next_for_a_lease(one: Process, other: Process) -> None:
    async def takes(process: Process) -> bool:
        async with process.store.turn(THREAD).taken() as has_waited:
            return has_waited

    async with one.store.turn(THREAD).taken() as has_waited:
        waiting = asyncio.create_task(takes(other))
        one.way.close()
        assert [has_waited, await waiting] == [False, True]
        one.way.open()
    assert not await other.store.turn(THREAD).is_taken()


async def test_a_connection_follows_the_inputs_that_are_queued_in_another_process(one: Process, other: Process) -> None:
    saver, point = InMemorySaver(), Pause()
    asked, read = (Local(quick(saver), agent="chat", runs=process.runs) for process in (one, other))
    await one.start(speaking(point, saver), "first")
    await point.reached.wait()
    seen: list[str] = []

    async def connects() -> None:
        async for event in connect(read, "t"):
            if isinstance(event, RunStartedEvent):
                seen.append(event.run_id)  # noqa: PERF401 - it is looked at meanwhile

    async def posts(*said: str) -> None:
        given = posted("t", "hello", *said, run_id=f"queued-{len(said)}")
        assert [event async for event in run(asked, given, intake=Intake(busy="queue"))]

    async with asyncio.TaskGroup() as group:
        group.create_task(connects())
        await until(lambda: seen == ["first"])
        for count in (1, 2, 3):
            group.create_task(posts(*"abc"[:count]))
            await awaited(partial(_are_waiting, other, count))
        point.open.set()
    assert seen == ["first", "queued-1", "queued-2", "queued-3"]
    async with one.store.turn(THREAD).taken():
        connection = asyncio.create_task(connects())
        await until(lambda: len(seen) == 5)  # how the last run ended
        one.way.close()  # a process that is gone is waited for as long as its ticket counts
        await connection
        one.way.open()


async def test_what_another_process_carried_out_while_its_input_waited_is_not_run_again(
    one: Process, other: Process
) -> None:
    """What came after it stays."""
    saver, point = InMemorySaver(), Pause()
    first, again = (Local(speaking(point, saver), agent="chat", runs=process.runs) for process in (one, other))

    async def posts(source: Local, run_id: str, *said: str) -> list[Any]:
        given = posted("t", "hello", *said, run_id=run_id)
        return [event async for event in run(source, given, intake=Intake(busy="queue"))]

    async with asyncio.TaskGroup() as group:
        group.create_task(posts(first, "first"))
        await point.reached.wait()
        for count, sent in enumerate((("second", "a"), ("third", "a", "b")), 1):
            group.create_task(posts(first, *sent))
            await awaited(partial(_are_waiting, other, count))
        late = group.create_task(posts(again, "late", "a"))
        await awaited(partial(_are_waiting, other, 3))
        point.open.set()
    assert await _said(saver) == ["hello", WORDS, "a", WORDS, "b", WORDS]
    assert (late.result()[0].run_id, late.result()[-1].type.value) == ("late", "RUN_FINISHED")


@pytest.mark.parametrize("busy", ["reject", "cancel"])
async def test_what_another_process_carried_out_while_redis_did_not_answer_is_not_run_again(
    redis_server: RedisServer, busy: Any
) -> None:
    saver, config = InMemorySaver(), cast(RunnableConfig, on("t"))
    graph = quick(saver)
    async with process(redis_server.url, within=60.0) as one:
        source = Local(graph, agent="chat", runs=one.runs)
        await one.store.ping()
        redis_server.pause()

        async def posts() -> list[Any]:
            given = posted("t", "hello", run_id="late")
            return [event async for event in run(source, given, intake=Intake(busy=busy))]

        late = asyncio.create_task(posts())
        await turns(100)
        for said in posted("t", "hello", "more")["messages"]:
            await graph.ainvoke({"messages": [said]}, config)
        redis_server.resume()
        assert (await late)[-1].type.value == "RUN_FINISHED"
    assert await _said(saver) == ["hello", "At once.", "more", "At once."]


async def _said(saver: InMemorySaver) -> list[str]:
    newest = await saver.aget_tuple(cast(RunnableConfig, on("t")))
    assert newest is not None
    return [str(message.content) for message in newest.checkpoint["channel_values"]["messages"]]


async def _are_waiting(process: Process, count: int) -> bool:
    return await process.store._database.waiting(THREAD) == count


# --- readers of all processes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaves_last", ["here", "there", "its process"])
async def test_a_run_is_stopped_without_readers_when_its_last_reader_in_any_process_has_left(
    one: Process, other: Process, redis: Any, leaves_last: str
) -> None:
    point = Pause()
    run = await one.start(speaking(point, InMemorySaver()), on_disconnect="cancel")
    here, there = await one.reads(run), await other.reads(await other.active())
    await point.reached.wait()
    await awaited(lambda: _is_counted(redis, run.number))
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
    listener = Listener()
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
    here, reads, deaf = await one.reads(run), await other.reads(followed), Listener()
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


async def _is_counted(redis: Any, number: int) -> bool:
    return bool(await redis.exists(Keys(THREAD).readers(number)))


async def test_a_reader_elsewhere_gets_every_event_of_a_burst_once(one: Process, other: Process, redis: Any) -> None:
    """Although the log becomes long meanwhile: a snapshot stands only for events that it has got. All readers of a
    process have one subscription."""
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
    assert (await redis.pubsub_numsub(Keys(THREAD).channel))[0][1] == 1
    point.open.set()
    for reading in (here, there, also):
        pieces = [event["value"]["number"] for event in (await reading.end()).events if event["type"] == "CUSTOM"]
        assert pieces == [*range(count)]
    assert there.listener.reader.offset == here.listener.reader.offset


async def test_offsets_are_the_same_everywhere_after_a_publisher_was_far_behind(one: Process, other: Process) -> None:
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


# --- messages that are lost -------------------------------------------------------------------------------------------


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


async def test_an_entry_whose_message_is_lost_is_read_from_the_log(one: Process, server: RedisServer) -> None:
    async with process(server.url, lease=60.0) as other:  # nothing is looked for without a message
        await _without_a_message(one, other)


async def _without_a_message(one: Process, other: Process) -> None:
    points = [Pause() for _ in range(3)]
    run = await one.start(steps(points, InMemorySaver()))
    feed, followed = await other.store.started(THREAD), await other.active()
    assert isinstance(followed, FollowedRun)
    here, there = await one.reads(run), await other.reads(followed)
    for number, point in enumerate(points):
        await point.reached.wait()
        if number == 1:  # the channel stays subscribed, by the feed
            await other.store._subscriber.unsubscribe(Keys(THREAD).channel, followed._take)
        elif number == 2:
            await awaited(lambda: _has_text(other, run.number, "Step 2."))
            await other.store._subscriber.subscribe(Keys(THREAD).channel, followed._take)
        point.open.set()
    assert held((await there.end()).view) == held((await here.end()).view)
    assert (there.listener.kinds.count("RUN_STARTED"), feed is None) == (1, False)


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


async def _has_text(process: Process, number: int, text: str) -> bool:
    entries = await process.store._database.entries(THREAD, number, 0)
    return any(text.encode() in entry.frames for entry in entries)


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


# --- commands that are carried out late -------------------------------------------------------------------------------


async def test_a_command_that_is_carried_out_again_or_late_changes_nothing(one: Process) -> None:
    await one.store.ping()
    database, claim, contact = one.store._database, Claim("r", "a", "p", {}).to_json(), one.store._contact.now
    claimed = await database.claim(THREAD, "token", claim, contact)
    assert isinstance(claimed, Claimed)
    assert await database.claim(THREAD, "token", claim, contact) == claimed
    own = Own(THREAD, claimed.fence, "token", claim)
    first, second = (Entry(own.fence, number, kind, 1, b"") for number, kind in ((1, "snapshot"), (2, "more")))
    for entry in (first, second, second, first):
        assert (await database.append(own, "running", entry, 0)).answer == "ok"
    assert [entry.number for entry in await database.entries(THREAD, own.fence, 0)] == [1, 2]
    assert [await database.end(own, b"first"), await database.end(own, b"late")] == [True, True]
    await database.claim(THREAD, "token", claim, contact)
    await database.claim(THREAD, "sent before an outage", claim, b"another")
    assert (await database.append(own, "running", second, 2)).answer == "taken"
    await database.request_cancel(THREAD, own.fence, "p")
    assert ((await database.lease_of(THREAD)).state, await database.last(THREAD)) == ("free", b"first")


# --- Redis away -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_emptied", [False, True])
async def test_a_run_goes_on_while_redis_is_away_and_readers_elsewhere_end_as_it_does(
    redis_server: RedisServer, is_emptied: bool
) -> None:
    saver, points = InMemorySaver(), [Pause(), Pause(), Pause()]
    async with process(redis_server.url) as one, process(redis_server.url) as other:
        run = await one.start(steps(points, saver))
        here, there = await one.reads(run), await other.reads(await other.active())
        await points[0].reached.wait()
        redis_server.kill() if is_emptied else redis_server.pause()
        points[0].open.set()
        await points[1].reached.wait()
        await until(lambda: "Step 1." in str(here.listener.view.messages))
        for asked in (other.store.active(THREAD), other.start(quick(saver)), other.store.last(THREAD)):
            with pytest.raises(StoreUnavailableError):
                await asked
        late = await one.reads(run)  # a new reader of this process needs no Redis
        redis_server.start() if is_emptied else redis_server.resume()
        points[1].open.set()
        await points[2].reached.wait()
        later = await other.reads(await other.active())
        points[2].open.set()
        assert await run.wait() == "finished"
        views = [held((await each.end()).view) for each in (here, there, late, later)]
        assert views == [views[0]] * 4
        await awaited(lambda: is_idle(other))
        last = await other.store.last(THREAD)
        assert last is not None
        assert last.run_id == "r"


async def test_a_run_that_ends_while_redis_is_away_ends_for_its_readers_and_for_others_later(
    redis_server: RedisServer,
) -> None:
    point = Pause()
    async with process(redis_server.url) as one, process(redis_server.url) as other:
        run = await one.start(speaking(point, InMemorySaver()))
        here, there = await one.reads(run), await other.reads(await other.active())
        await point.reached.wait()
        redis_server.pause()
        point.open.set()
        async with asyncio.timeout(30):
            assert await run.wait() == "finished"
        assert (await here.end()).kinds[-1] == "RUN_FINISHED"
        redis_server.resume()
        assert held((await there.end()).view) == held(here.listener.view)
        await awaited(lambda: is_idle(other))
        assert await (await other.start(quick(InMemorySaver()), "next")).wait() == "finished"


async def outage(redis: Any, *processes: Process, is_emptied: bool) -> None:
    """Redis does not answer these processes for longer than a lease, and perhaps comes back empty: their ways are
    closed, and the lease and their contacts are over."""
    for each in processes:
        each.way.close()
    for each in processes:
        await each.way.refused.wait()
    if is_emptied:
        await redis.flushall()
    else:
        await redis.hset(Keys(THREAD).thread, "until", 0)
        await redis.delete(*await redis.keys(contact_key("*")))


@pytest.mark.parametrize("comes", ["again", "again, and Redis is empty", "for the first time"])
async def test_after_an_outage_no_process_takes_a_thread_before_its_owner_could_renew_its_lease(
    server: RedisServer, redis: Any, comes: str
) -> None:
    saver, point = InMemorySaver(), Pause()
    async with process(server.url, SLOW) as one, process(server.url, SLOW) as other, process(server.url, SLOW) as third:
        run = await one.start(speaking(point, saver), "first")
        await point.reached.wait()
        await other.store.ping()
        await outage(redis, one, other, is_emptied="empty" in comes)
        asked = third if comes == "for the first time" else other
        asked.way.open()
        takes = asyncio.create_task(asked.start(quick(saver), "second"))
        reads = asyncio.create_task(asked.store.active(THREAD))
        await awaited(lambda: redis.exists(contact_key(asked.store._owner)))
        for _ in range(20):
            assert await redis.ping()
        assert [takes.done(), reads.done()] == [False, False]
        one.way.open()
        with pytest.raises(RunConflictError):
            await takes
        assert getattr(await reads, "run_id", None) == "first"
        point.open.set()
        assert await run.wait() == "finished"
    assert await _said(saver) == ["hello", WORDS]


@pytest.mark.parametrize("is_emptied", [False, True])
async def test_after_an_outage_all_processes_have_the_end_that_a_run_had_in_its_own(
    server: RedisServer, redis: Any, is_emptied: bool
) -> None:
    """It was stopped when its last checkpoint was written, which says that it had ended well."""
    saver = SavingLast()
    async with process(server.url, SLOW) as one, process(server.url, SLOW) as other:
        run = await one.start(quick(saver))
        here = await one.reads(run)
        await saver.point.reached.wait()
        await other.store.ping()
        await outage(redis, one, other, is_emptied=is_emptied)
        run.stop(Cancelled())
        other.way.open()
        elsewhere = asyncio.create_task(_events_of(connect(Local(quick(saver), agent="chat", runs=other.runs), "t")))
        assert ending((await here.end()).events[-1]) == "cancelled"
        one.way.open()
        assert ending((await elsewhere)[-1].model_dump(by_alias=True)) == "cancelled"


class SavingLast(InMemorySaver):
    """Waits when the last checkpoint of a run is written."""

    def __init__(self) -> None:
        super().__init__()
        self.point = Pause()

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        put = await super().aput(config, checkpoint, metadata, versions)
        if metadata["step"] == 1:
            await self.point()
        return put


async def _events_of(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


async def test_after_an_outage_a_run_is_not_stopped_before_its_readers_elsewhere_could_be_counted_again(
    server: RedisServer, redis: Any
) -> None:
    point = Pause()
    async with process(server.url, SLOW) as one, process(server.url, SLOW) as other:
        run = await one.start(speaking(point, InMemorySaver()), on_disconnect="cancel")
        here, there = await one.reads(run), await other.reads(await other.active())
        await point.reached.wait()
        await awaited(lambda: _is_counted(redis, run.number))
        here.task.cancel()
        await asyncio.wait([here.task])
        await outage(redis, one, other, is_emptied=True)
        one.way.open()
        await awaited(lambda: redis.exists(Keys(THREAD).log(run.number)))
        for _ in range(20):
            one.store._wake(None)
            assert await redis.ping()
        assert run.status == "running"
        other.way.open()
        point.open.set()
        assert ((await there.end()).kinds[-1], await run.wait()) == ("RUN_FINISHED", "finished")


async def test_a_run_that_was_claimed_and_never_began_is_active_until_it_counts_as_lost(one: Process) -> None:
    """The answer to its claim was lost. Nobody asks again and again for its thread."""
    await one.store.ping()
    database, claim = one.store._database, Claim("never", "chat", one.store._owner, {})
    assert isinstance(await database.claim(THREAD, "token", claim.to_json(), one.store._contact.now), Claimed)
    active = await one.store.active(THREAD)
    assert active is not None
    source = Local(quick(InMemorySaver()), agent="chat", runs=one.runs)
    [refused] = await _events_of(run(source, posted("t", "hello")))
    assert (active.run_id, active.status, refused.code) == ("never", "running", "conflict")
    queued = await _events_of(run(source, posted("t", "hello"), intake=Intake(busy="queue")))
    assert (await active.wait(), queued[-1].type.value) == ("failed", "RUN_FINISHED")


@pytest.mark.usefixtures("redis")
async def test_the_next_run_waits_until_redis_knows_the_end_of_the_one_before(server: RedisServer) -> None:
    """Which its client has, for Redis did not answer."""
    point, saver = Pause(), InMemorySaver()
    async with process(server.url, lease=60.0, within=5.0) as one:
        run = await one.start(speaking(point, saver))
        await point.reached.wait()
        one.way.close()
        point.open.set()
        assert await run.wait() == "finished"
        one.way.open()
        assert await (await one.start(quick(saver), "next")).wait() == "finished"


# --- the end of a run -------------------------------------------------------------------------------------------------


async def test_a_client_that_got_the_end_of_a_run_finds_the_thread_free_everywhere(
    one: Process, other: Process
) -> None:
    saver = InMemorySaver()
    for number in range(20):
        owner, reader = (one, other) if number % 2 else (other, one)
        point = Pause()
        run = await owner.start(speaking(point, saver), f"run-{number}")
        reading = await (owner.reads(run) if number < 10 else reader.reads(await reader.active()))
        point.open.set()
        assert (await reading.end()).kinds[-1] == "RUN_FINISHED"
        assert await reader.store.active(THREAD) is None


BATCH, BATCHES, TEXT = 50, 20, "x" * 1_000


async def test_what_redis_keeps_of_a_run_is_bounded_at_any_moment_and_expires(one: Process, redis: Any) -> None:
    points = [Pause() for _ in range(BATCHES)]

    async def emit(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        for point in points:
            for _ in range(BATCH):
                write({"name": "large", "value": TEXT})
            await point()
        return {"messages": [AIMessage("All said.", id="all-1")]}

    graph = StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit").compile(InMemorySaver())
    async with redis.pubsub() as published:
        await published.subscribe(Keys(THREAD).channel)
        run = await one.start(graph)
        log = Keys(THREAD).log(run.number)
        for number, point in enumerate(points):
            await awaited(partial(_has_logged, redis, log, BATCH * (number + 1)))
            point.open.set()
        entries = [entry async for entry in _entries_to_the_end(published)]  # each as it was written: none is missed
    sizes: list[int] = []
    most = 0
    for entry in entries:
        sizes = [*([] if entry.kind == SNAPSHOT else sizes), len(entry.frames)]
        # the snapshot; what may follow it; the batch that was too much, and the one that was ready by the next snapshot
        assert sum(sizes) <= sizes[0] + max(64_000, 2 * sizes[0]) + 2 * BATCH * 1_200
        most = max(most, sum(sizes))
    assert most > 64_000
    assert [len(fields[b"frames"]) for _, fields in await redis.xrange(log)] == sizes
    names = await redis.keys("*")
    assert names
    assert [name for name in names if await redis.pttl(name) == -1] == []


async def _entries_to_the_end(published: PubSub) -> AsyncIterator[Entry]:
    """The entries of a run."""
    async for message in published.listen():
        entry = Entry.of_message(message["data"]) if message["type"] == "message" else None
        if entry is not None and entry.number:
            yield entry
            if entry.kind in OUTCOMES:
                return


async def _has_logged(redis: Any, log: str, events: int) -> bool:
    """Whether the newest entry is of so many events."""
    newest = await redis.xrevrange(log, count=1)
    return bool(newest) and int(newest[0][1][b"at"]) >= events


# --- versions ---------------------------------------------------------------------------------------------------------


async def test_a_run_of_an_unknown_format_is_read_from_its_checkpoint_and_can_be_stopped(
    one: Process, other: Process, redis: Any
) -> None:
    points, keys = [Pause(), Pause()], Keys(THREAD)
    graph = steps(points, InMemorySaver())
    local = Local(graph, agent="chat", runs=other.runs)
    run = await one.start(graph, "first")
    points[0].open.set()
    await points[1].reached.wait()
    claim = Claim.from_json(await redis.hget(keys.thread, "claim"))
    await redis.hset(keys.thread, "claim", replace(claim, format=FORMAT + 1).to_json())
    read = [event async for event in connect(local, "t")]
    assert [each.code for each in read if isinstance(each, RunErrorEvent)] == ["unfinished"]
    assert "Step 1." in str(read)
    active = await other.active()
    assert (active.is_readable, active.status) == (False, "running")
    with pytest.raises(RunConflictError):
        await other.start(graph, "second")
    reading = Reading(active)
    assert (await reading.end()).events[-1]["code"] == "unfinished"
    await active.cancel()
    assert await run.wait() == "cancelled"
    await awaited(lambda: is_idle(other))
    last = await redis.hget(keys.thread, "last")
    await redis.hset(keys.thread, "last", last.replace(b'"format":1', b'"format":2'))
    assert await other.store.last(THREAD) is None


# --- arguments --------------------------------------------------------------------------------------------------------


async def test_arguments_that_are_none_are_refused(server: RedisServer) -> None:
    given: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (TypeError, "expected a URL or a redis.asyncio.Redis, got int", {"redis": 7}),
        (ValueError, "decode_responses=False", {"redis": Redis(decode_responses=True)}),
        (ValueError, "namespace: expected a name", {"redis": server.url, "namespace": ""}),
        (ValueError, "lease: expected at least 0.5 seconds, got 0.1", {"redis": server.url, "lease": 0.1}),
    ]
    for kind, message, arguments in given:
        with pytest.raises(kind, match=message):
            RedisRunStore(**arguments)
    with pytest.raises(ValueError, match="expected the name of an agent"):
        RedisRunStore(server.url).key(quick(), None, "t")


async def test_a_client_that_was_given_is_used_and_not_closed(server: RedisServer, redis: Any) -> None:
    store = RedisRunStore(redis, lease=LEASE)
    async with Runs(store) as runs:
        run = await runs.start(quick(InMemorySaver()), HELLO, on("t"), agent="chat")
        assert await run.wait() == "finished"
    await store.aclose()
    assert await redis.ping()


async def test_ids_may_be_anything_and_threads_never_meet(one: Process) -> None:
    ids = ["{t}", "t:lease", "}:", "t} {", "ü/ü", "a b", "%7Bt%7D"]
    points = {name: Pause() for name in ids}
    graph = {name: speaking(points[name], InMemorySaver()) for name in ids}
    runs = [await one.runs.start(graph[name], HELLO, on(name), agent="chat") for name in ids]
    for name in ids:
        with pytest.raises(RunConflictError):
            await one.runs.start(graph[name], HELLO, on(name), agent="chat")
        points[name].open.set()
    assert [await run.wait() for run in runs] == ["finished"] * len(ids)


async def test_a_redis_is_reached_by_its_socket(server: RedisServer) -> None:
    async with aclosing(RedisRunStore(server.unix_url)) as store:
        await store.ping()


async def test_a_redis_is_reached_by_tls_with_a_password(redis_server: RedisServer, tmp_path: Path) -> None:
    key, certificate, port = tmp_path / "key", tmp_path / "certificate", free_port()
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=redis -addext subjectAltName=IP:127.0.0.1"
    openssl = await asyncio.create_subprocess_exec(*made.split(), "-keyout", key, "-out", certificate, stderr=DEVNULL)
    assert await openssl.wait() == 0
    tls = {"tls-auth-clients": "no", "tls-key-file": key, "tls-cert-file": certificate, "tls-port": port}
    async with Redis.from_url(redis_server.url) as client:
        await client.config_set(*(str(each) for pair in tls.items() for each in pair))
        await client.config_set("requirepass", "secret")
    url = f"rediss://:%s@127.0.0.1:{port}/0?ssl_ca_certs=%s"
    for unknown in (url % ("wrong", certificate), url % ("secret", ""), redis_server.url):
        async with aclosing(RedisRunStore(unknown, timeout=5.0)) as store:
            with pytest.raises(StoreUnavailableError):
                await store.ping()
    point, known = Pause(), url % ("secret", certificate)
    async with aclosing(RedisRunStore(known)) as store, aclosing(RedisRunStore(known)) as other, Runs(store) as runs:
        await runs.start(speaking(point, InMemorySaver()), HELLO, on("t"), agent="chat")
        followed = await other.active(THREAD)
        assert followed is not None
        reading = Reading(followed)
        await reading.has_text("one two ")
        point.open.set()
        assert ((await reading.end()).kinds[-1], reading.text) == ("RUN_FINISHED", WORDS)
