"""What every run store does: two scopes of runs stand for two processes. They share a store, or each has one and they
share its database."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, RunNotFoundError, cancel, connect, run, threads
from langgraph_agui.connect.errors import RunConflictError
from langgraph_agui.connect.events.readers import Offset
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.active_run import LastRun, ThreadKey
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.connect.local.store.run_store import Hold, RunStore
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import Cancelled, Failed, Finished

from fixtures import FIXTURES
from tests.support.clients.batch_readers import BatchReader, held, turns
from tests.support.servers.databases.run_databases import RUN_DATABASES, SharedRuns, on_each
from tests.support.servers.serving import posted
from tests.support.streams.pausing_graphs import HELLO, Graph, asking, on, quick, speaking, waiting

ALONE = "one process"
"""The store of a process that shares its runs with no other."""
LEASE = 2.0
"""Seconds. Nothing waits for it, but for the tests of lost leases."""


class Processes:
    """Two processes: what `one` runs, with the store `owner`, `other` reads, stops and waits for, with `store`."""

    def __init__(self, owner: RunStore, store: RunStore) -> None:
        self.owner, self.store = owner, store
        self.one, self.other = Runs(owner), Runs(store)

    def local(self, runs: Runs, graph: Graph) -> Local:
        return Local(graph, agent="chat", runs=runs)

    def thread(self, graph: Graph, thread_id: str = "t") -> ThreadKey:
        return self.store.key(graph, "chat", thread_id)

    async def start(self, graph: Graph, given: Any = HELLO, run_id: str = "r", **more: Any) -> Any:
        return await self.one.start(graph, given, on("t"), run_id=run_id, agent="chat", **more)

    async def ended(self, graph: Graph) -> LastRun:
        """How the last run ended, when the thread is free."""
        if (active := await self.store.active(self.thread(graph))) is not None:
            await active.wait()
        assert await self.store.active(self.thread(graph)) is None
        last = await self.store.last(self.thread(graph))
        assert last is not None
        return last


@pytest.fixture(params=[ALONE, *on_each(RUN_DATABASES)])
async def processes(request: pytest.FixtureRequest, running: Callable[[str], SharedRuns]) -> AsyncIterator[Processes]:
    owner: RunStore
    store: RunStore
    if request.param == ALONE:
        owner = store = MemoryRunStore()
    else:
        shared = running(request.param)
        await shared.empty()
        owner, store = shared.store(lease=LEASE), shared.store(lease=LEASE)
    processes = Processes(owner, store)
    async with processes.one, processes.other:
        yield processes
    for each in {owner, store}:
        await each.aclose()


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


# --- claims -----------------------------------------------------------------------------------------------------------


async def test_of_all_that_claim_a_thread_at_once_one_gets_it(processes: Processes, saver: InMemorySaver) -> None:
    graph = speaking(Pause(), saver)
    starts = [runs.start(graph, HELLO, on("t"), agent="chat") for runs in (processes.one, processes.other) * 3]
    started = await asyncio.gather(*starts, return_exceptions=True)
    runs = [each for each in started if not isinstance(each, BaseException)]
    assert len(runs) == 1
    assert {type(each) for each in started if isinstance(each, BaseException)} == {RunConflictError}
    texts = [str(each) for each in started if isinstance(each, BaseException)]
    assert all(repr("t") in text and repr(runs[0].run_id) in text for text in texts)
    assert processes.one.running + processes.other.running == 1


async def test_agents_of_one_checkpointer_share_its_threads_and_no_others(saver: InMemorySaver) -> None:
    graph, same, apart, bare = quick(saver), quick(saver), quick(InMemorySaver()), quick()
    key = MemoryRunStore().key
    assert key(graph, "a", "t") == key(same, "b", "t") == key(graph, None, "t")
    assert len({key(graph, "a", "t"), key(graph, "a", "u"), key(apart, "a", "t"), key(bare, "a", "t")}) == 4
    assert key(bare, "a", "t") == key(quick(), "a", "t") != key(bare, "b", "t")
    assert key(bare, None, "t") != key(quick(), None, "t")


async def test_a_key_does_not_keep_its_checkpointer_and_is_never_anothers() -> None:
    store = MemoryRunStore()
    graphs = [quick(InMemorySaver()) for _ in range(50)]
    keys = {store.key(graph, "a", "t") for graph in graphs}
    gone = weakref.ref(graphs[0].checkpointer)
    del graphs
    gc.collect()
    assert gone() is None
    assert keys.isdisjoint(store.key(quick(InMemorySaver()), "a", "t") for _ in range(50))


async def test_numbers_of_runs_rise(processes: Processes, saver: InMemorySaver) -> None:
    numbers = []
    for name in "abc":
        started = await processes.start(quick(saver), run_id=name)
        await started.wait()
        numbers.append(started.number)
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


async def test_a_run_that_is_cancelled_before_it_had_a_turn_frees_its_thread(
    processes: Processes, saver: InMemorySaver
) -> None:
    graph = speaking(Pause(), saver)
    started = await processes.start(graph)
    started._task.cancel()
    assert isinstance((await processes.ended(graph)).ending, Cancelled)


async def test_the_same_request_that_comes_again_elsewhere_gets_the_active_run(
    processes: Processes, saver: InMemorySaver
) -> None:
    point = Pause()
    local = processes.local(processes.other, speaking(point, saver))
    await processes.start(local.graph, run_id="run-1")
    await point.reached.wait()
    events = run(local, posted("t", "hello", run_id="run-1"))
    first = await anext(events)
    point.open.set()
    kinds = [first.type.value, *[event.type.value async for event in events]]
    assert (kinds[0], kinds[-1], processes.other.running) == ("RUN_STARTED", "RUN_FINISHED", 0)


async def test_an_input_is_planned_again_when_its_thread_has_had_a_run_since(
    processes: Processes, saver: InMemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was frozen before its claim. The thread has a question by now, which a new message would discard."""
    graph, frozen, claim = asking(Pause(), saver), Pause(), processes.store.claim

    async def claim_late(*given: Any, **more: Any) -> Hold:
        monkeypatch.undo()
        await frozen()
        return await claim(*given, **more)

    monkeypatch.setattr(processes.store, "claim", claim_late)
    events = run(processes.local(processes.other, graph), posted("t", "hello", run_id="late"))
    coming = asyncio.create_task(anext(events))
    await frozen.reached.wait()
    assert await (await processes.start(graph, run_id="first")).wait() == "interrupted"
    state = await graph.aget_state(on("t"))  # type: ignore[arg-type]
    frozen.open.set()
    await coming
    assert [event.type.value async for event in events][-1] == "RUN_FINISHED"
    assert await graph.aget_state(on("t")) == state  # type: ignore[arg-type]


# --- who may use a thread ---------------------------------------------------------------------------------------------


class NeverSaving(InMemorySaver):
    """A checkpointer that has not stored anything yet when the run is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = asyncio.Event()

    async def aput(self, *given: Any) -> Any:
        await self.saves.wait()
        return await super().aput(*given)


@pytest.mark.parametrize("checkpointer", [None, NeverSaving, InMemorySaver])
async def test_an_active_run_belongs_to_its_user_and_agent_in_every_process(
    processes: Processes, checkpointer: type[InMemorySaver] | None
) -> None:
    point = Pause()
    graph = speaking(point, None if checkpointer is None else checkpointer())
    mine = processes.local(processes.one, graph).for_user("ada", {"person": "ada"})
    own = asyncio.create_task(anext(connected := run(mine, posted("t", "hello"))))
    assert (await own).type == "RUN_STARTED"
    if checkpointer is not NeverSaving:
        await point.reached.wait()
    for runs in (processes.one, processes.other):
        local = processes.local(runs, graph)
        others = [local.for_user("bob", {"person": "bob"})]
        if checkpointer is not None:
            others.append(Local(graph, agent="another", runs=runs))
        for other in others:
            assert await anext(connect(other, "t"), None) is None
            assert await other.thread("t") is None
            with pytest.raises(RunNotFoundError):
                await cancel(other, "t")
            assert (await anext(run(other, posted("t", "mine"), intake=Intake(busy="queue")))).type == "RUN_ERROR"
        same = connect(local.for_user("ada", {"person": "ada"}), "t")
        assert (await anext(same)).type == "RUN_STARTED"
        await same.aclose()
    await connected.aclose()
    if isinstance(graph.checkpointer, NeverSaving):
        graph.checkpointer.saves.set()


class Slow(InMemorySaver):
    """A checkpointer that deletes a thread when `goes_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.deleting, self.goes_on = asyncio.Event(), asyncio.Event()

    async def adelete_thread(self, thread_id: str) -> None:
        self.deleting.set()
        await self.goes_on.wait()
        await super().adelete_thread(thread_id)


async def test_a_run_starts_when_its_thread_was_deleted(processes: Processes) -> None:
    local = processes.local(processes.one, quick(saver := Slow()))
    await (await processes.start(local.graph)).wait()
    deleting = asyncio.create_task(threads(local).delete("t"))
    await saver.deleting.wait()
    starting = asyncio.create_task(processes.start(local.graph))
    await turns(20)
    assert not starting.done()
    saver.goes_on.set()
    await deleting
    assert await (await starting).wait() == "finished"
    state = await local.graph.aget_state(on("t"))  # type: ignore[arg-type]
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]
    run = await processes.start(speaking(point := Pause(), saver), run_id="next")
    await point.reached.wait()
    with pytest.raises(RunConflictError):
        await threads(local).delete("t")
    point.open.set()
    assert await run.wait() == "finished"


async def test_inputs_wait_while_a_thread_is_deleted(processes: Processes) -> None:
    local = processes.local(processes.one, quick(saver := Slow()))
    await (await processes.start(local.graph)).wait()
    deleting = asyncio.create_task(threads(local).delete("t"))
    await saver.deleting.wait()
    coming = asyncio.create_task(anext(events := run(local, posted("t", "anew", run_id="second"))))
    await turns(20)
    assert not coming.done()
    saver.goes_on.set()
    await deleting
    assert (await coming).type == "RUN_STARTED"
    assert [event.type.value async for event in events][-1] == "RUN_FINISHED"
    state = await local.graph.aget_state(on("t"))  # type: ignore[arg-type]
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]


# --- readers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joins", range(12))
async def test_a_reader_elsewhere_ends_with_the_runs_view_whenever_it_joins(
    processes: Processes, saver: InMemorySaver, joins: int
) -> None:
    graph = speaking(point := Pause(), saver)
    await processes.start(graph)
    active = await processes.store.active(processes.thread(graph))
    assert active is not None
    point.open.set()
    await turns(joins)
    reader = BatchReader()
    await reader.hear(active.attach(reader.reader))
    assert reader.kinds[0] == "RUN_STARTED"
    assert reader.kinds[-1] == "RUN_FINISHED"
    assert reader.view.messages[-1]["content"] == "one two three four"


async def test_a_reader_that_does_not_read_delays_neither_the_run_nor_other_readers(
    processes: Processes, saver: InMemorySaver
) -> None:
    point = Pause()
    graph = speaking(point, saver)
    started = await processes.start(graph)
    active = await processes.store.active(processes.thread(graph))
    assert active is not None
    slow, quick_one = BatchReader(), BatchReader()
    async with aclosing(active.attach(slow.reader)) as slowly:
        slow.take(await anext(slowly))
        point.open.set()
        await quick_one.hear(active.attach(quick_one.reader))
        assert await started.wait() == "finished"
        await slow.hear(slowly)
    assert held(slow.view) == held(quick_one.view)


@pytest.mark.parametrize("has_another_reader", [True, False])
async def test_a_reader_that_comes_back_with_its_offset_gets_every_event_once(
    processes: Processes, saver: InMemorySaver, has_another_reader: bool
) -> None:
    point = Pause()
    graph = speaking(point, saver)
    await processes.start(graph)
    active = await processes.store.active(processes.thread(graph))
    assert active is not None
    first, whole = BatchReader(), BatchReader()
    async with aclosing(active.attach(whole.reader)) as others:
        if has_another_reader:
            await whole.hear_text(others, "one two ")
        before = len(whole.events)
        async with aclosing(active.attach(first.reader)) as batches:
            await first.hear_text(batches, "one two ")
        offset = first.reader.offset
        assert offset == Offset(active.number, offset.event if offset else -1)
        point.open.set()
        await active.wait()
        back = BatchReader()
        back.reader.offset = Offset.parse(str(offset))
        await back.hear(active.attach(back.reader))
        if has_another_reader:
            await whole.hear(others)
    if has_another_reader:
        assert "RUN_STARTED" not in back.kinds
        assert back.events == whole.events[before:]
    else:  # nothing was kept meanwhile: the reader is caught up instead
        assert back.kinds[0] == "RUN_STARTED"
        assert back.view.messages[-1]["content"] == "one two three four"


@pytest.mark.parametrize("other", [Offset(0, 1), Offset(2**60, 1)])
async def test_an_offset_of_another_run_is_caught_up(processes: Processes, saver: InMemorySaver, other: Offset) -> None:
    point = Pause()
    point.open.set()
    started = await processes.start(speaking(point, saver))
    reader = BatchReader()
    reader.reader.offset = other
    await reader.hear(started.attach(reader.reader))
    assert reader.kinds[0] == "RUN_STARTED"


@pytest.mark.parametrize("text", ["", "7", "7-", "-7", "7-8-9", "a-b", "7-8 ", "٣-٤", "1-" + "9" * 19])
def test_what_is_no_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected two numbers"):
        Offset.parse(text)


def test_offsets_are_in_the_order_of_events() -> None:
    assert Offset.parse("7-42") == Offset(7, 42)
    assert sorted([Offset(8, 0), Offset(7, 10), Offset(7, 9)]) == [Offset(7, 9), Offset(7, 10), Offset(8, 0)]


# --- stops, turns, starts ---------------------------------------------------------------------------------------------


async def test_a_run_is_stopped_from_elsewhere_and_the_thread_is_free_then(
    processes: Processes, saver: InMemorySaver
) -> None:
    point = Pause()
    local = processes.local(processes.other, waiting(point, saver))
    started = await processes.start(local.graph)
    await point.reached.wait()
    with pytest.raises(RunNotFoundError):
        await cancel(local, "t", "another")
    assert await cancel(local, "t", "r") == "stopped"
    assert started.status == "cancelled"
    assert isinstance((await processes.ended(local.graph)).ending, Cancelled)
    with pytest.raises(RunNotFoundError):
        await cancel(local, "t")


async def test_inputs_of_all_processes_take_turns_in_the_order_in_which_they_came(
    processes: Processes, saver: InMemorySaver
) -> None:
    point = Pause()
    graph = speaking(point, saver)
    await processes.start(graph)
    await point.reached.wait()

    async def posts(runs: Runs, name: str) -> None:
        local = processes.local(runs, quick(saver))
        given = posted("t", run_id=name, messages=[{"id": name, "role": "user", "content": "and this"}])
        kinds = [event.type.value async for event in run(local, given, intake=Intake(busy="queue"))]
        assert kinds[-1] == "RUN_FINISHED"

    async with asyncio.TaskGroup() as group:
        for number, runs in enumerate([processes.one, processes.other, processes.other, processes.one]):
            group.create_task(posts(runs, f"queued-{number}"))
            await _are_queued(processes, graph, number + 1)
        point.open.set()
    state = await graph.aget_state(on("t"))  # type: ignore[arg-type]
    ids = [message.id for message in state.values["messages"] if message.type == "human"]
    assert ids[1:] == [f"queued-{number}" for number in range(4)]


async def _are_queued(processes: Processes, graph: Graph, count: int) -> None:
    """Returns when the store has so many inputs that wait: a process counts its own before it has asked the store."""
    thread = processes.thread(graph)
    while (await processes.store._database.lease_of(thread)).waiting < count:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_turn_that_is_given_up_holds_nobody_up(processes: Processes) -> None:
    thread, order = ThreadKey("n", "t"), list[str]()

    async def takes(name: str) -> None:
        async with processes.store.turn(thread):
            order.append(name)

    async with processes.store.turn(thread):
        assert await processes.owner.has_inputs(thread)
        tasks = [asyncio.create_task(takes(name)) for name in "abc"]
        await turns()
        tasks[1].cancel()
        await turns()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (order, await processes.owner.has_inputs(thread)) == (["a", "c"], False)


async def test_who_follows_a_thread_gets_each_run_that_starts_once_and_can_read_it_to_its_end(
    processes: Processes, saver: InMemorySaver
) -> None:
    graph = quick(saver)
    feed, others = [await processes.other.feed(processes.thread(graph, name)) for name in "tu"]
    for name in "ab":
        await (await processes.start(graph, run_id=name)).wait()
    followed = []
    for _ in range(2):
        started = await anext(feed)
        assert started is not None
        reader = BatchReader()
        await reader.hear(started.attach(reader.reader))
        followed.append((started.run_id, reader.kinds[-1]))
    assert followed == [("a", "RUN_FINISHED"), ("b", "RUN_FINISHED")]
    await processes.other.aclose()
    for ended in (feed, others):
        with pytest.raises(StopAsyncIteration):
            await anext(ended)


# --- what is kept of a run that has ended -----------------------------------------------------------------------------


async def test_how_the_last_run_ended_is_the_same_for_all_processes(processes: Processes) -> None:
    async def last_of(graph: Graph) -> LastRun:
        await processes.start(graph)
        return await processes.ended(graph)

    finished = await last_of(quick(InMemorySaver()))
    assert (type(finished.ending), finished.is_interrupted, finished.run_id) == (Finished, False, "r")
    failed = await last_of(FIXTURES["node_raises"].build(InMemorySaver()))
    assert failed.ending == Failed({"error": "LookupError", "message": "nothing here"})
    waits = await last_of(asking(Pause(), InMemorySaver()))
    assert (waits.is_interrupted, waits.is_at_breakpoint) == (True, False)
    assert finished.run is failed.run is waits.run is None


async def test_the_last_end_is_kept_until_the_next_run_has_ended(processes: Processes, saver: InMemorySaver) -> None:
    point = Pause()
    await (await processes.start(quick(saver), run_id="first")).wait()
    graph = speaking(point, saver)
    second = await processes.start(graph, run_id="second")
    await point.reached.wait()
    last = await processes.store.last(processes.thread(graph))
    assert last is not None
    assert last.run_id == "first"
    point.open.set()
    await second.wait()
    assert (await processes.ended(graph)).run_id == "second"


async def test_a_run_without_a_checkpointer_can_be_read_after_its_end_from_elsewhere(processes: Processes) -> None:
    graph = quick()
    started = await processes.start(graph)
    await started.wait()
    last = await processes.ended(graph)
    assert last.run is not None
    reader = BatchReader()
    await reader.hear(last.run.attach(reader.reader))
    assert held(reader.view) == held(started.view)


async def test_an_ended_run_that_is_released_again_does_not_free_the_next_ones_thread(
    processes: Processes, saver: InMemorySaver
) -> None:
    first = await processes.start(quick(saver), run_id="first")
    await first.wait()
    graph = speaking(Pause(), saver)
    second = await processes.start(graph, run_id="second")
    first._hold.release(None, lambda: None)
    assert await processes.owner.active(processes.thread(graph)) is second
    active = await processes.store.active(processes.thread(graph))
    assert active is not None
    assert active.run_id == "second"
