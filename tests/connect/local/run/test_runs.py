"""The registry of runs: who is found in it, what it keeps of ended runs, and who is told of new ones."""

import asyncio
import gc
import logging
import weakref

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langgraph_agui.connect import InvalidRunIdError, InvalidThreadIdError
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.run.runs import Runs, default_runs, start
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import ClientView, Failed

from fixtures import FIXTURES
from tests.support.clients.batch_readers import BatchReader, held, turns
from tests.support.streams.cleaning import Cleaning
from tests.support.streams.pausing_graphs import HELLO, Graph, asking, on, quick, speaking, waiting


async def run_of(runs: Runs, graph: Graph, thread_id: str, agent: str | None = None) -> object:
    """The run that is active on a thread, or an ended one that is kept."""
    thread = runs.store.key(graph, agent, thread_id)
    last = await runs.store.last(thread)
    return await runs.store.active(thread) or (None if last is None else last.run)


async def listened(run: Run, view: ClientView | None = None) -> BatchReader:
    listener = BatchReader(view)
    return await listener.hear(run.attach(listener.reader))


# --- the registry -----------------------------------------------------------------------------------------------------


async def test_runs_of_other_threads_and_agents_do_not_get_in_the_way() -> None:
    graph, other = speaking(Pause()), speaking(Pause())
    async with Runs() as runs:
        found = [
            await runs.start(graph, HELLO, on("t")),
            await runs.start(graph, HELLO, on("u")),
            await runs.start(other, HELLO, on("t")),
            await runs.start(other, HELLO, on("t"), agent="named"),
        ]
        assert [
            await run_of(runs, *key) for key in ((graph, "t"), (graph, "u"), (other, "t"), (other, "t", "named"))
        ] == found


async def test_a_run_is_found_by_its_agents_name_whichever_object_the_graph_is() -> None:
    async with Runs() as runs:
        run = await runs.start(speaking(Pause()), HELLO, on("t"), agent="chat")
        assert await run_of(runs, quick(), "t", "chat") is run


async def test_an_ended_run_of_a_graph_without_a_checkpointer_can_still_be_read() -> None:
    graph = quick()
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"))
        await run.wait()
        found = await run_of(runs, graph, "t")
        assert found is run
        listener = await listened(run)
        assert held(listener.view) == held(run.view)


async def test_an_ended_run_lingers_for_its_time_only() -> None:
    graph = quick()
    async with Runs(MemoryRunStore(linger=0.0)) as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        await turns(2)
        assert await run_of(runs, graph, "t") is None


async def test_only_so_many_ended_runs_linger() -> None:
    graph = quick()
    async with Runs(MemoryRunStore(lingering=2)) as runs:
        for thread_id in "abc":
            await (await runs.start(graph, HELLO, on(thread_id))).wait()
        assert [await run_of(runs, graph, thread_id) is not None for thread_id in "abc"] == [False, True, True]


async def test_the_next_run_on_a_thread_takes_the_place_of_one_that_lingers() -> None:
    graph = quick()
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        second = await runs.start(graph, HELLO, on("t"))
        await second.wait()
        assert await run_of(runs, graph, "t") is second


async def test_of_an_ended_run_with_a_checkpointer_only_its_end_is_remembered() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
        await run.wait()
        gone = weakref.ref(run)
        del run
        await turns()
        gc.collect()
        assert gone() is None
        last = await runs.store.last(runs.store.key(graph, None, "t"))
        assert last is not None
        assert last.run_id == "r"


async def test_only_so_many_ends_are_remembered() -> None:
    graph = quick(InMemorySaver())
    async with Runs(MemoryRunStore(remembered=2)) as runs:
        for thread_id in "abc":
            await (await runs.start(graph, HELLO, on(thread_id))).wait()
        assert [await runs.store.last(runs.store.key(graph, None, thread_id)) is not None for thread_id in "abc"] == [
            False,
            True,
            True,
        ]


async def test_what_is_remembered_keeps_no_graph_and_no_exception_alive(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # the log keeps what was raised
    graph = FIXTURES["node_raises"].build(InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        last = await runs.store.last(runs.store.key(graph, None, "t"))
        assert last is not None
        assert last.ending == Failed({"error": "LookupError", "message": "nothing here"})
        gone = weakref.ref(graph)
        del graph
        await turns()
        gc.collect()
        assert gone() is None


async def test_an_interrupted_run_can_be_followed_by_its_answer() -> None:
    point = Pause()
    point.open.set()
    graph = asking(point, InMemorySaver())
    async with Runs() as runs:
        assert await (await runs.start(graph, HELLO, on("t"))).wait() == "interrupted"
        assert await (await runs.start(graph, Command(resume="yes"), on("t"))).wait() == "finished"


async def test_closing_the_registry_cancels_what_runs() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(waiting(point), HELLO, on("t"))
        await point.reached.wait()
    assert run.status == "cancelled"
    assert runs.run_on(run.thread) is None


async def test_start_uses_the_default_registry_where_none_is_given() -> None:
    graph = quick()
    run = await start(graph, HELLO, on("t"))
    try:
        assert await run_of(default_runs(), graph, "t") is run
    finally:
        await default_runs().aclose()


def test_an_event_loop_that_ends_with_a_run_in_it_ends_the_run() -> None:
    async def leave() -> Run:
        point = Pause()
        run = await Runs().start(speaking(point), HELLO, on("t"))
        await point.reached.wait()
        return run

    assert asyncio.run(leave()).status == "cancelled"


# --- runs that start --------------------------------------------------------------------------------------------------


async def test_a_watcher_is_told_of_each_run_that_starts() -> None:
    graph = quick()
    async with Runs() as runs:
        feed = await runs.feed(runs.store.key(graph, None, "t"))
        coming = asyncio.create_task(anext(feed))
        await turns()
        first = await runs.start(graph, HELLO, on("t"))
        assert await coming is first
        await first.wait()
        second = await runs.start(graph, HELLO, on("t"))
        assert await anext(feed) is second


async def test_a_watcher_is_not_told_of_runs_of_other_threads() -> None:
    graph = quick()
    async with Runs() as runs:
        feed = await runs.feed(runs.store.key(graph, None, "t"))
        await runs.start(graph, HELLO, on("other"))
        mine = await runs.start(graph, HELLO, on("t"))
        assert await anext(feed) is mine


async def test_a_watcher_that_was_not_waiting_misses_no_run() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        feed = await runs.feed(runs.store.key(graph, None, "t"))
        started = []
        for _ in range(2):
            started.append(await runs.start(graph, HELLO, on("t")))
            await started[-1].wait()
        assert [await anext(feed), await anext(feed)] == started


async def test_a_watcher_that_has_gone_away_is_forgotten() -> None:
    graph = quick()
    async with Runs() as runs:
        feed = await runs.feed(runs.store.key(graph, None, "t"))
        gone = weakref.ref(feed)
        waiting_for_one = asyncio.create_task(anext(feed))
        await turns()
        waiting_for_one.cancel()
        await asyncio.wait([waiting_for_one])
        del feed, waiting_for_one
        gc.collect()
        assert gone() is None


async def test_watching_ends_with_the_registry() -> None:
    runs = Runs()
    feed = await runs.feed(runs.store.key(quick(), None, "t"))
    coming = asyncio.create_task(anext(feed, None))
    await turns()
    await runs.aclose()
    assert await coming is None


def test_each_event_loop_has_a_default_registry_of_its_own() -> None:
    async def registries() -> tuple[Runs, bool]:
        return default_runs(), default_runs() is default_runs()

    one, other = asyncio.run(registries()), asyncio.run(registries())
    assert (one[1], other[1], one[0] is other[0]) == (True, True, False)


def test_an_event_loop_that_has_ended_is_not_kept_by_what_lingers_in_its_registry() -> None:
    graph = quick()

    async def ran() -> weakref.ref[asyncio.AbstractEventLoop]:
        await (await start(graph, HELLO, on("t"))).wait()
        return weakref.ref(asyncio.get_running_loop())

    ended = [asyncio.run(ran()) for _ in range(2)]
    gc.collect()
    assert ended[0]() is None


async def test_closing_the_registry_stops_all_runs_at_once() -> None:
    points = [Cleaning(), Cleaning()]
    runs = Runs()
    for name, point in zip("tu", points, strict=True):
        await runs.start(point.graph(), HELLO, on(name))
        await point.reached.wait()
    closing = asyncio.create_task(runs.aclose())
    for point in points:
        await point.stopping.wait()  # none has cleaned up yet
    for point in points:
        point.cleaned.set()
    await closing


async def test_a_run_that_starts_while_the_registry_closes_is_stopped_too() -> None:
    point, late = Cleaning(), speaking(Pause())
    runs = Runs()
    await runs.start(point.graph(), HELLO, on("t"))
    await point.reached.wait()
    closing = asyncio.create_task(runs.aclose())
    await point.stopping.wait()
    run = await runs.start(late, HELLO, on("t"))
    point.cleaned.set()
    await closing
    assert run.status == "cancelled"


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ({"thread_id": "\ud800"}, InvalidThreadIdError),
        ({"thread_id": "x" * 513}, InvalidThreadIdError),
        ({"thread_id": "t", "run_id": "\ud800"}, InvalidRunIdError),
    ],
)
async def test_an_id_that_connect_would_refuse_is_refused_by_start(
    ids: dict[str, str], error: type[ValueError]
) -> None:
    with pytest.raises(error):
        await start(quick(), HELLO, {"configurable": ids})


async def test_a_run_id_that_is_empty_is_none_to_connect_to_and_is_refused() -> None:
    with pytest.raises(InvalidRunIdError):
        await start(quick(), HELLO, on("t"), run_id="")
