"""What becomes of runs and queued inputs whose owner is lost, stalled or gone. Two scopes of runs stand for two
processes, each with a way of its own to a real Redis."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from ag_ui.core import RunStartedEvent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, connect, run, watch
from langgraph_agui.connect.local.store.active_run import LastRun
from langgraph_agui.connect.local.store.publisher import Publisher
from langgraph_agui.connect.local.store.records import Claim
from langgraph_agui.connect.local.store.redis.keys import EMPTIED, Keys, contact_key
from langgraph_agui.connect.local.store.redis.scripts import CLAIM
from langgraph_agui.connect.testing import Pause
from redis import Redis as SyncRedis

from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.batch_readers import turns, until
from tests.support.clients.watching import Watcher
from tests.support.continued_runs import Server
from tests.support.redis_processes import THREAD, WORDS, Process, awaited, is_idle, process, texts_in
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.serving import posted
from tests.support.streams.pausing_graphs import on, quick, speaking

pytestmark = pytest.mark.services


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


async def test_readers_of_a_run_that_may_be_continued_stay_if_its_owner_comes_back_first(
    one: Process, other: Process
) -> None:
    async def is_lost() -> bool:
        return (await other.store._database.lease_of(THREAD)).is_continuable

    saver, point = InMemorySaver(), Pause()
    run = await Server(one.store, quick(saver), lambda: speaking(point, saver)).start()
    there = await other.reads(await other.active())
    await there.has_text("one two ")
    one.way.close()
    await awaited(is_lost)
    late = await other.reads(await other.active())
    one.way.open()
    point.open.set()
    assert await run.wait() == "finished"
    for reading in (there, late):
        heard = await reading.end()
        assert (heard.kinds.count("RUN_STARTED"), heard.kinds[-1], reading.text) == (1, "RUN_FINISHED", WORDS)


async def test_a_run_that_comes_back_after_its_thread_was_deleted_is_stopped(one: Process, other: Process) -> None:
    saver, point = InMemorySaver(), Pause()
    run = await one.start(speaking(point, saver))
    await point.reached.wait()
    one.way.close()
    await awaited(lambda: is_idle(other))
    await other.store.forget(THREAD)
    one.way.open()
    assert (await run.wait(), point.is_cancelled) == ("failed", True)
    assert await is_idle(other)


async def test_what_a_run_emits_at_its_end_is_not_kept_of_a_deleted_thread(
    one: Process, other: Process, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Publisher.release

    def released(publisher: Publisher, last: LastRun | None, done: Callable[[], None]) -> None:
        def cut() -> None:
            one.way.close()  # Redis knows that the run is over, and has none of its last events
            done()

        release(publisher, last, cut)

    monkeypatch.setattr(Publisher, "release", released)
    run = await one.start(quick(InMemorySaver()))
    assert await run.wait() == "finished"
    await one.way.refused.wait()
    await other.store.forget(THREAD)
    one.way.open()
    await one.store.aclose()
    assert [key for key in await redis.keys("agui:{*") if b":thread" not in key] == []


async def test_a_watcher_gets_the_end_of_a_run_that_came_back_while_its_own_process_could_not_reach_redis(
    one: Process, other: Process
) -> None:
    saver, point, watcher = InMemorySaver(), Pause(), Watcher(VERSIONS[0])
    graph = speaking(point, saver)
    source = Local(graph, agent="chat", runs=other.runs)
    reading = asyncio.create_task(watcher.hear(watch(source, "t", poll=0.001)))
    run = await one.start(graph)
    await watcher.until(lambda it: it.text == "one two ", "the beginning")
    one.way.close()
    await watcher.until(lambda it: it.ended == ["r"], "the loss")
    other.way.close()
    one.way.open()
    point.open.set()
    assert await run.wait() == "finished"
    await awaited(lambda: is_idle(one))
    other.way.open()
    await watcher.until(lambda it: it.ended == ["r", "r"], "the end")
    assert (watcher.text, watcher.events[-1]["type"]) == (WORDS, "RUN_FINISHED")
    reading.cancel()
    await asyncio.wait([reading])


@pytest.mark.usefixtures("redis")
async def test_a_stalled_owner_writes_no_checkpoint_over_that_of_another_run(server: RedisServer) -> None:
    saver = InMemorySaver()

    async def stalls(state: MessagesState) -> dict[str, Any]:
        _stall(server.url)
        return {"messages": [AIMessage("Late.", id="late-1")]}

    builder = StateGraph(MessagesState).add_node("stalls", stalls).add_edge(START, "stalls")
    async with process(server.url, blocked=0.0) as one:
        run = await one.start(builder.compile(saver))
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
    async with process(server.url, within=60.0, blocked=0.0) as one:
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
    given = (0, "another", 60_000, 60_000, Claim("second", "chat", "p", {}).to_json(), keys.channel, 0, "", "", 0, "")
    names = (keys.thread, contact, EMPTIED, keys.line, keys.alive, keys.closed)
    with SyncRedis.from_url(url) as client:
        client.set(contact, 0)
        while client.eval(CLAIM, len(names), *names, *given)[0] != b"claimed":
            pass


async def test_a_waiting_input_whose_process_is_gone_delays_the_next_for_a_lease(one: Process, other: Process) -> None:
    async def takes(process: Process) -> None:
        async with process.store.turn(THREAD):
            order.append("other")

    order: list[str] = []
    async with one.store.turn(THREAD):
        order.append("one")
        waiting = asyncio.create_task(takes(other))
        one.way.close()
        await waiting
        assert order == ["one", "other"]
        one.way.open()
    assert not await other.store.has_inputs(THREAD)


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
    async with one.store.turn(THREAD):
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
    assert await texts_in(saver) == ["hello", WORDS, "a", WORDS, "b", WORDS]
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
    assert await texts_in(saver) == ["hello", "At once.", "more", "At once."]


async def _are_waiting(process: Process, count: int) -> bool:
    return (await process.store._database.lease_of(THREAD)).waiting == count
