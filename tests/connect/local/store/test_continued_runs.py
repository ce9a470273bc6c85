"""What the readers of a run get whose owner is lost or hands it over, while another process continues it. Three stores
stand for three processes: that of the owner, one that continues the run, and one that only reads."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Local, watch
from langgraph_agui.connect.errors import RunConflictError, StoreUnavailableError
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.run_database import Append, Appended
from langgraph_agui.connect.testing import Pause

from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.batch_readers import held, turns, until
from tests.support.clients.watching import Watcher
from tests.support.continued_runs import KEPT, Server, servers
from tests.support.redis_processes import WORDS, Reading
from tests.support.servers.databases.run_databases import OF_PROCESSES, RUN_DATABASES, SharedRuns, on_each
from tests.support.streams.pausing_graphs import quick, speaking

LEASE = 20.0
"""Seconds. Nothing waits for it."""
SHORT_LEASE = 0.5


class Processes(NamedTuple):
    """The owner, the process that continues its run, and one that only reads. `points`: where the graphs of the runs
    wait in mid-sentence, one for each run."""

    owner: Server
    next_owner: Server
    other: Server
    points: list[Pause]
    shared: SharedRuns


@asynccontextmanager
async def sharing(shared: SharedRuns, lease: float) -> AsyncGenerator[Processes, None]:
    await shared.empty()
    saver, points = InMemorySaver(), [Pause() for _ in range(4)]
    graph, graphs = quick(saver), (speaking(point, saver) for point in points)
    made = [Server(shared.store(lease=lease), graph, lambda: next(graphs)) for _ in range(3)]
    async with servers(*made):
        yield Processes(made[0], made[1], made[2], points, shared)


@pytest.fixture(params=on_each(RUN_DATABASES))
async def processes(request: pytest.FixtureRequest, running: Callable[[str], SharedRuns]) -> AsyncIterator[Processes]:
    async with sharing(running(request.param), LEASE) as made:
        yield made


@pytest.fixture(params=on_each(OF_PROCESSES))
async def impatient(request: pytest.FixtureRequest, running: Callable[[str], SharedRuns]) -> AsyncIterator[Processes]:
    """Their leases end soon."""
    async with sharing(running(request.param), SHORT_LEASE) as made:
        yield made


async def begun(processes: Processes) -> tuple[Reading, Reading]:
    """The run of the owner has begun to speak, and a reader in each of the other processes has heard that."""
    await processes.owner.start()
    readings = await processes.next_owner.reads(), await processes.other.reads()
    for reading in readings:
        await reading.has_text("one two ")
    return readings


async def test_readers_of_a_run_that_is_handed_over_get_its_continuation_on_the_same_stream(
    processes: Processes,
) -> None:
    readings = await begun(processes)
    processes.next_owner.continues()
    await processes.owner.hand_over().wait()
    continued = await processes.next_owner.continuation()
    await processes.points[1].reached.wait()
    processes.points[1].open.set()
    for reading in readings:
        heard = await reading.end()
        assert (heard.kinds[0], heard.kinds[-1], reading.text) == ("RUN_STARTED", "RUN_FINISHED", WORDS)
        assert [heard.kinds.count(kind) for kind in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR")] == [1, 1, 0]
        assert held(heard.view) == held(continued.view)
        assert heard.reader.offset is not None
        assert heard.reader.offset.run == continued.number
    lost = processes.next_owner.lost[0]
    assert (lost.stored_input, lost.claim.run_id, lost.claim.agent, lost.is_stopping) == (KEPT, "r", "chat", False)


async def test_what_a_lost_run_said_and_did_not_store_is_taken_back_by_one_snapshot(processes: Processes) -> None:
    readings = await begun(processes)
    before = [len(reading.listener.events) for reading in readings]
    processes.next_owner.continues()
    await processes.owner.hand_over().wait()
    await processes.points[1].reached.wait()
    for reading, count in zip(readings, before, strict=True):
        await until(partial(_has_snapshot, reading, count))
    processes.points[1].open.set()
    for reading, count in zip(readings, before, strict=True):
        kinds = [event["type"] for event in (await reading.end()).events[count:]]
        assert kinds.count("MESSAGES_SNAPSHOT") == 1
        assert kinds.count("TEXT_MESSAGE_START") == 1


def _has_snapshot(reading: Reading, after: int) -> bool:
    return "MESSAGES_SNAPSHOT" in reading.listener.kinds[after:]


async def test_a_lost_run_that_may_be_continued_is_active_meanwhile(processes: Processes) -> None:
    await begun(processes)
    await processes.owner.hand_over().wait()
    number = processes.owner.runs[0].number
    for server in (processes.next_owner, processes.other):
        run = await server.active()
        assert (run.run_id, run.number, run.status, run.is_lost) == ("r", number, "running", False)
        late = await server.reads()
        await late.has_text("one two ")
        with pytest.raises(RunConflictError, match="'r'"):
            await server.start()
    now = await processes.other.store.now(processes.other.thread)
    assert (now.active is not None, now.revision) == (True, number)


async def test_a_run_is_continued_without_readers_and_when_a_process_begins(processes: Processes) -> None:
    await processes.owner.start()
    await processes.points[0].reached.wait()
    await processes.owner.hand_over().wait()
    processes.next_owner.continues()
    continued = await processes.next_owner.continuation()
    assert continued.number > processes.owner.runs[0].number
    assert (await processes.other.active()).number == continued.number


async def test_of_all_that_continue_a_run_one_does(processes: Processes) -> None:
    await begun(processes)
    processes.next_owner.continues()
    processes.other.continues()
    await processes.owner.hand_over().wait()
    await processes.points[1].reached.wait()
    await turns(50)
    assert len(processes.next_owner.holds) + len(processes.other.holds) == 1


async def test_a_run_is_continued_more_than_once(processes: Processes) -> None:
    readings = await begun(processes)
    processes.next_owner.continues()
    await processes.owner.hand_over().wait()
    await processes.points[1].reached.wait()
    processes.other.continues()
    await processes.next_owner.hand_over().wait()
    await processes.points[2].reached.wait()
    processes.points[2].open.set()
    for reading in readings:
        heard = await reading.end()
        assert (heard.kinds.count("RUN_STARTED"), heard.kinds[-1], reading.text) == (1, "RUN_FINISHED", WORDS)
        assert heard.reader.offset is not None
        assert heard.reader.offset.run == processes.other.runs[0].number


async def test_all_who_continue_the_runs_of_a_store_are_asked(processes: Processes) -> None:
    """As long as they have not left."""
    await begun(processes)
    asked = list[str]()

    def on_lost(name: str) -> Callable[[], None]:
        return processes.other.store.on_lost(lambda _: asked.append(name))

    on_lost("first")
    leave = on_lost("second")
    on_lost("third")
    leave()
    await processes.owner.hand_over().wait()
    await until(lambda: len(asked) >= 2)
    assert asked[:2] == ["first", "third"]
    assert "second" not in asked


async def test_a_lost_run_that_is_stopped_ends_for_its_readers_as_stopped(processes: Processes) -> None:
    _, reading = await begun(processes)
    await processes.owner.hand_over().wait()
    stopping = asyncio.create_task((await processes.other.active()).cancel())
    while not (await processes.other.store._database.lease_of(processes.other.thread)).is_stopping:  # noqa: ASYNC110
        await asyncio.sleep(0)
    processes.next_owner.continues()
    assert await stopping == "cancelled"
    assert (await reading.end()).events[-1]["outcome"]["type"] == "cancelled"
    assert processes.next_owner.lost[0].is_stopping


async def test_a_stop_that_comes_before_the_news_of_a_continuation_stops_the_continuation(processes: Processes) -> None:
    """Nobody in this process reads the run, so it does not know yet that another process has continued it."""
    _, next_owner, other, points, _ = processes
    await processes.owner.start()
    await points[0].reached.wait()
    run = await other.active()
    await processes.owner.hand_over().wait()
    next_owner.continues()
    await points[1].reached.wait()
    assert await run.cancel() == "cancelled"
    assert (await (await next_owner.continuation()).wait(), points[1].is_cancelled) == ("cancelled", True)


async def test_a_continuation_that_ends_at_once_is_not_missed(processes: Processes) -> None:
    readings = await begun(processes)
    processes.points[1].open.set()
    processes.next_owner.continues()
    await processes.owner.hand_over().wait()
    assert await (await processes.next_owner.continuation()).wait() == "finished"
    for reading in readings:
        heard = await reading.end()
        assert (heard.kinds.count("RUN_STARTED"), heard.kinds[-1], reading.text) == (1, "RUN_FINISHED", WORDS)


async def test_a_run_whose_claim_got_no_answer_is_not_continued(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender is told to send it again, so it must not run as well."""
    owner, next_owner, other, points, _ = processes
    claim = owner.store._database.claim

    async def lose_answer(*args: Any, **more: Any) -> None:
        await claim(*args, **more)
        raise StoreUnavailableError

    monkeypatch.setattr(owner.store._database, "claim", lose_answer)
    next_owner.continues()
    with pytest.raises(StoreUnavailableError):
        await owner.start()
    while await other.store.active(other.thread) is not None:  # noqa: ASYNC110 - the claim is about to be withdrawn
        await asyncio.sleep(0)
    points[0].open.set()
    assert await (await other.start()).wait() == "finished"
    assert next_owner.lost == []


async def test_a_page_that_watches_gets_a_continued_run_once(processes: Processes) -> None:
    async with AsyncExitStack() as stack:
        pages = []
        for server in (processes.next_owner, processes.other):
            runs = await stack.enter_async_context(Runs(server.store))
            watcher = Watcher(VERSIONS[0])
            events = watch(Local(server.graph, agent="chat", runs=runs), "t", poll=0.001)
            task = asyncio.create_task(watcher.hear(events))
            pages.append((watcher, task))
        await processes.owner.start()
        for watcher, _ in pages:
            await watcher.until(lambda it: it.text == "one two ", "the beginning")
        processes.next_owner.continues()
        await processes.owner.hand_over().wait()
        await processes.points[1].reached.wait()
        processes.points[1].open.set()
        for watcher, task in pages:
            await watcher.until(lambda it: it.ended == ["r"], "the end")
            await turns(50)
            assert (watcher.text, watcher.ended) == (WORDS, ["r"])
            task.cancel()
            await asyncio.wait([task])


async def test_a_run_is_not_stopping_for_others_while_it_is_handed_over(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of its graph still runs. If the process is killed now, the continuation must not be stopped."""
    owner, reached, returns, statuses = processes.owner, threading.Event(), threading.Event(), list[str]()

    def block(state: MessagesState) -> dict[str, Any]:
        reached.set()
        returns.wait()
        return {}

    graph = StateGraph(MessagesState).add_node("block", block).add_edge(START, "block").compile(InMemorySaver())
    owner.made = lambda: graph
    run, append = await owner.start(), owner.store._appends.append
    await until(reached.is_set)

    async def note(entry: Append) -> Appended:
        statuses.append(entry.status)
        return await append(entry)

    monkeypatch.setattr(owner.store._appends, "append", note)
    handing_over = asyncio.create_task(run.hand_over(0))
    await until(lambda: run.is_handed_over)
    statuses.clear()
    owner.holds[0].wake()
    await until(lambda: bool(statuses))
    returns.set()
    await handing_over
    assert statuses[0] == "running"


# --- owners that come back --------------------------------------------------------------------------------------------


async def test_readers_of_an_owner_that_comes_back_get_the_continuation_of_its_run_on_the_same_stream(
    processes: Processes,
) -> None:
    owner, next_owner, other, points, _ = processes
    run = await owner.start()
    here, more = await owner.reads(run), await owner.reads(run)
    await here.has_text("one two ")
    await _loses_its_lease(processes)
    next_owner.continues()
    await points[1].reached.wait()
    owner.holds[0].wake()
    assert (await run.wait(), points[0].is_cancelled) == ("failed", True)
    late, there = await owner.reads(), await other.reads()
    points[1].open.set()
    for reading in (here, more, late, there):
        heard = await reading.end()
        assert (heard.kinds.count("RUN_STARTED"), heard.kinds[-1], reading.text) == (1, "RUN_FINISHED", WORDS)
        assert "RUN_ERROR" not in heard.kinds
        assert heard.reader.offset is not None
        assert heard.reader.offset.run == next_owner.runs[0].number
    assert held(here.listener.view) == held(there.listener.view)


async def test_readers_of_an_owner_that_has_lost_its_thread_to_no_continuation_get_an_error(
    impatient: Processes,
) -> None:
    owner, _, other, points, _ = impatient
    run = await owner.start()
    reading = await owner.reads(run)
    await points[0].reached.wait()
    await other.store.forget(other.thread)
    assert (await run.wait(), points[0].is_cancelled) == ("failed", True)
    heard = await reading.end()
    assert (heard.kinds[-1], heard.events[-1]["code"]) == ("RUN_ERROR", "unfinished")


async def _loses_its_lease(processes: Processes) -> None:
    """The owner was frozen for longer than its lease, and does not know that yet."""
    owner, next_owner, other, _, shared = processes
    reading = await other.reads()
    await reading.has_text("one two ")  # everything is published, so nothing renews the lease for a while
    reading.task.cancel()
    await asyncio.wait([reading.task])
    await next_owner.store.ping()
    await shared.expire(owner.thread, next_owner.store._owner, 1)


# --- owners that are lost ---------------------------------------------------------------------------------------------


async def test_readers_of_a_run_whose_owner_is_lost_get_its_continuation_on_the_same_stream(
    impatient: Processes,
) -> None:
    readings = await begun(impatient)
    impatient.next_owner.continues()
    await impatient.owner.die()
    await impatient.points[1].reached.wait()
    impatient.points[1].open.set()
    for reading in readings:
        heard = await reading.end()
        assert (heard.kinds.count("RUN_STARTED"), heard.kinds[-1], reading.text) == (1, "RUN_FINISHED", WORDS)


async def test_a_run_whose_owner_is_lost_is_continued_without_readers(impatient: Processes) -> None:
    await impatient.owner.start()
    await impatient.points[0].reached.wait()
    await impatient.owner.die()
    impatient.next_owner.continues()
    await impatient.points[1].reached.wait()
    assert impatient.next_owner.lost[0].number == impatient.owner.runs[0].number


async def test_a_lost_run_that_nobody_continues_ends_for_its_readers_and_its_thread_is_free(
    impatient: Processes,
) -> None:
    readings = await begun(impatient)
    await impatient.owner.die()
    for reading in readings:
        heard = await reading.end()
        assert (heard.kinds[-1], heard.events[-1]["code"]) == ("RUN_ERROR", "unfinished")
    assert await impatient.other.store.active(impatient.other.thread) is None
    impatient.points[1].open.set()
    assert await (await impatient.other.start()).wait() == "finished"


async def test_a_lost_run_that_has_no_input_is_lost_as_soon_as_its_lease_is(impatient: Processes) -> None:
    await impatient.owner.start(stored_input=b"")
    reading = await impatient.other.reads()
    impatient.next_owner.continues()
    await impatient.owner.die()
    assert (await reading.end()).kinds[-1] == "RUN_ERROR"
    assert impatient.next_owner.lost == []
