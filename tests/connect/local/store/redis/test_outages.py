"""Runs while Redis is away and after it, and commands that are carried out late."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, connect, run, watch
from langgraph_agui.connect.errors import RunConflictError, StoreUnavailableError
from langgraph_agui.connect.local.store.active_run import LastRun, ThreadKey
from langgraph_agui.connect.local.store.records import Claim, Entry, RunEnd
from langgraph_agui.connect.local.store.redis.keys import Keys, contact_key
from langgraph_agui.connect.local.store.run_database import Append, Claimed, Log, Own
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import Cancelled, Finished

from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.batch_readers import held, until
from tests.support.clients.reader_clients import ending
from tests.support.clients.watching import Watcher
from tests.support.redis_processes import (
    SLOW,
    THREAD,
    WORDS,
    Process,
    awaited,
    is_counted,
    is_idle,
    process,
    steps,
    texts_in,
)
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.serving import posted
from tests.support.streams.pausing_graphs import HELLO, on, quick, speaking

pytestmark = pytest.mark.services


async def test_a_command_that_is_carried_out_again_or_late_changes_nothing(one: Process) -> None:
    await one.store.ping()
    database, claim, contact = one.store._database, Claim("r", "a", "p", {}), one.store._contact.now
    claimed = await database.claim(THREAD, "token", claim, contact)
    assert isinstance(claimed, Claimed)
    assert await database.claim(THREAD, "token", claim, contact) == claimed
    own = Own(THREAD, claimed.fence, "token", claim)
    first, second = (Entry(own.fence, number, kind, 1, b"") for number, kind in ((1, "snapshot"), (2, "more")))
    for entry in (first, second, second, first):
        assert (await database.append([Append(own, "running", entry, 0)]))[0].answer == "ok"
    assert [entry.number for entry in await database.entries(Log(THREAD, own.fence), 0)] == [1, 2]
    assert [await database.release(own, _end("first")), await database.release(own, _end("late"))] == [True, True]
    await database.claim(THREAD, "token", claim, contact)
    await database.claim(THREAD, "sent before an outage", claim, b"another")
    assert (await database.append([Append(own, "running", second, 2)]))[0].answer == "taken"
    await database.request_cancel(THREAD, own.fence, "p")
    assert ((await database.lease_of(THREAD)).state, (await database.lease_of(THREAD)).last) == ("free", _end("first"))


async def test_a_claim_that_is_carried_out_after_it_was_withdrawn_does_nothing(one: Process) -> None:
    """Redis carries out the commands of several connections in any order."""
    await one.store.ping()
    database, claim, contact = one.store._database, Claim("r", "a", "p", {}), one.store._contact.now
    await database.withdraw(THREAD, "token")
    assert await database.claim(THREAD, "token", claim, contact) == "closed"
    assert isinstance(await database.claim(THREAD, "another", claim, contact), Claimed)


def _end(run_id: str) -> RunEnd:
    return RunEnd(LastRun(run_id, datetime(2026, 1, 1, tzinfo=UTC), Finished(), False, False, 1))


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


async def test_a_page_that_watches_an_idle_thread_goes_on_after_an_outage(
    one: Process, caplog: pytest.LogCaptureFixture
) -> None:
    graph, watcher = quick(saver := Counted()), Watcher(VERSIONS[0])
    reading = asyncio.create_task(watcher.hear(watch(Local(graph, agent="chat", runs=one.runs), "t", poll=0.001)))
    await one.start(graph)
    await watcher.until(lambda it: "r" in it.ended, "the run")
    one.way.close()
    await graph.ainvoke(HELLO, on("t", run_id="theirs"))  # type: ignore[call-overload]
    await one.way.refused.wait()
    seen = saver.reads
    await until(lambda: saver.reads > seen + 100 or watcher.is_over)
    one.way.open()
    await watcher.until(lambda it: "theirs" in it.ended, "the run that Redis does not know")
    reading.cancel()
    await asyncio.wait([reading])
    assert "The checkpointer raised" not in caplog.text
    assert "Redis does not answer" in caplog.text


class Counted(InMemorySaver):
    """A checkpointer that counts how often it was read."""

    reads = 0

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        self.reads += 1
        return await super().aget_tuple(config)


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
    assert await texts_in(saver) == ["hello", WORDS]


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
        await awaited(lambda: is_counted(redis, run.number))
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
    """The answer to its claim was lost. Nobody asks again and again for its thread, and its feeds do not have it: those
    of a process get its own runs when they begin."""
    await one.store.ping()
    database, claim = one.store._database, Claim("never", "chat", one.store._owner, {})
    assert isinstance(await database.claim(THREAD, "token", claim, one.store._contact.now), Claimed)
    feed = await one.store.started(THREAD)
    active = await one.store.active(THREAD)
    assert active is not None
    source = Local(quick(InMemorySaver()), agent="chat", runs=one.runs)
    [refused] = await _events_of(run(source, posted("t", "hello")))
    assert (active.run_id, active.status, refused.code) == ("never", "running", "conflict")
    queued = await _events_of(run(source, posted("t", "hello"), intake=Intake(busy="queue")))
    assert (await active.wait(), queued[-1].type.value) == ("failed", "RUN_FINISHED")
    first = await anext(feed)
    assert first is not None
    assert first.run_id == queued[0].run_id


async def test_a_run_whose_log_cannot_be_written_delays_no_other(one: Process, other: Process, redis: Any) -> None:
    """Their entries go to Redis in one command."""
    points, runs = {name: [Pause(), Pause()] for name in "abc"}, {}
    for name in points:
        graph = steps(points[name], InMemorySaver())
        runs[name] = await one.runs.start(graph, HELLO, on(name), run_id=name, agent="chat")
        await points[name][0].reached.wait()
    logs = {name: Keys(ThreadKey("default", name)).log(run.number) for name, run in runs.items()}
    for log in logs.values():
        await awaited(partial(redis.exists, log))
    await redis.set(logs["b"], "not a log")
    readings = {}
    for name in "ac":
        active = await other.store.active(ThreadKey("default", name))
        assert active is not None
        readings[name] = await other.reads(active)
    for step in range(2):
        for each in points.values():
            each[step].open.set()
        for each in points.values():
            await each[-1].reached.wait()
    for reading in readings.values():
        assert (await reading.end()).kinds[-1] == "RUN_FINISHED"
    assert [await run.wait() for run in runs.values()] == ["finished"] * 3
    await redis.delete(logs["b"])


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
