"""Lists of threads: they have what the checkpointer has, whoever has written it, and cost what their page costs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Local, Runs
from langgraph_agui.connect.testing import Pause

from tests.support.streams.pausing_graphs import speaking
from tests.support.sweeps import SWEEP

from .places import KINDS, at_random, conversation, filled, listed, opened, said

TABLE = "agui_threads_1"


@asynccontextmanager
async def statements(saver: Any) -> AsyncIterator[list[str]]:
    """The statements that a saver's connection carries out in a block."""
    seen: list[str] = []
    await saver.conn.set_trace_callback(seen.append)
    try:
        yield seen
    finally:
        await saver.conn.set_trace_callback(None)


def reads(seen: list[str]) -> int:
    """How many of these statements read a whole checkpoint."""
    return sum("type, checkpoint, metadata" in each for each in seen)


def cost(seen: list[str]) -> int:
    """How many statements there are. Of a comparison that took long, on a busy machine, the threads are counted too."""
    return sum("SELECT count(*) FROM agui_threads" not in each for each in seen)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SWEEP)])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_list_has_what_its_checkpointer_has(kind: str, seed: int, tmp_path: Path) -> None:
    await at_random(kind, tmp_path / "threads.sqlite", seed, steps=60)


async def test_a_list_costs_its_page_whatever_else_is_stored(tmp_path: Path) -> None:
    """Also after a restart, and of a user who has few threads of many."""
    costs = []
    for count, long in ((31, 2), (200, 1_000)):
        async with opened("SQLite", tmp_path / f"{count}.sqlite", 2) as (saver, elsewhere):
            await filled(saver, 3, "mine", user="ann")
            await filled(saver, count, long=long, user="bob")
            source = Local(conversation(saver), runs=Runs())
            while len(await listed(source, 20)) < count:  # the index is made
                pass
            async with statements(saver) as poll:
                page = await source.threads.search(limit=20)
            async with statements(saver) as few:
                own = await source.for_user("ann", {"user": "ann"}).threads.search(limit=20)
            assert ([len(page.threads), len(own.threads)], [reads(poll), reads(few)]) == ([20, 3], [0, 0])
            await conversation(elsewhere).ainvoke({"messages": [("user", "a")]}, {"configurable": {"thread_id": "new"}})
            async with statements(saver) as after_a_run:
                assert (await source.threads.search(limit=20)).threads[0].thread_id == "new"
            again = Local(conversation(elsewhere), runs=Runs())
            async with statements(elsewhere) as restarted:
                await again.threads.search(limit=20)
            assert reads(restarted) == 0
            costs.append([cost(each) for each in (poll, few, after_a_run, restarted)])
    assert costs[0] == costs[1]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_index_of_an_older_database_is_made_page_by_page(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path / "threads.sqlite") as (saver,):
        ids = await filled(saver, 150)
        source = Local(conversation(saver), runs=Runs())
        first = await source.threads.search(limit=100)
        assert len(first.threads) < 100
        assert first.next is not None
        assert [info.thread_id for info in first.threads] == ids[: len(first.threads)]
        assert [each[0] for each in await listed(source, 100)] == ids
        assert [info.thread_id for info in (await source.threads.search(limit=100)).threads] == ids[:100]


async def test_the_thread_of_a_run_is_read_at_its_end_and_not_by_lists(tmp_path: Path) -> None:
    async with opened("SQLite", tmp_path / "threads.sqlite") as (saver,), Runs() as runs:
        source = Local(conversation(saver), agent="chat", runs=runs)
        await said(source, "before", "hello", "run-1")
        async with statements(saver) as without_lists:
            await runs.indexing.settled(60.0)
        assert without_lists == []  # nobody has asked for one
        await source.threads.search()
        await said(source, "t", "hello", "run-2")
        await runs.indexing.settled(60.0)
        async with statements(saver) as seen:
            assert await listed(source, 20) == [("t", "idle", "hello"), ("before", "idle", "hello")]
        assert reads(seen) == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_a_thread_runs_from_the_start_of_its_run_to_its_end(kind: str, tmp_path: Path) -> None:
    point = Pause()
    async with opened(kind, tmp_path / "threads.sqlite") as (saver,), Runs() as runs:
        source = Local(speaking(point, saver), agent="chat", runs=runs)
        point.open.set()
        await said(source, "t", "hello", "run-1")
        assert [each[1] for each in await listed(source, 20)] == ["idle"]
        point.open.clear()
        point.reached.clear()
        running = asyncio.create_task(said(source, "t", "hello", "run-2"))
        await point.reached.wait()
        for status, ids in (("running", ["t"]), ("idle", [])):
            found = await source.threads.search(status=status)  # type: ignore[arg-type]
            assert [info.thread_id for info in found.threads] == ids
        point.open.set()
        await running
        for status, ids in (("running", []), ("idle", ["t"])):
            found = await source.threads.search(status=status)  # type: ignore[arg-type]
            assert [info.thread_id for info in found.threads] == ids


@pytest.mark.parametrize("kind", KINDS)
async def test_a_thread_that_cannot_be_read_is_marked_and_deleted_and_costs_no_other(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(kind, tmp_path / "threads.sqlite") as (saver,), Runs() as runs:
        graph = conversation(saver)
        source = Local(graph, agent="chat", runs=runs)
        for number, thread_id in enumerate(("whole", "broken")):
            await said(source, thread_id, "hello", f"run-{number}")
        broken: Any = {"configurable": {"thread_id": "broken"}}
        newest = await saver.aget_tuple(broken)
        assert newest is not None
        nobody = "00000000-0000-0000-0000-000000000000"
        await saver.aput_writes(newest.config, [("messages", "one"), ("messages", {"no": "message"})], nobody)
        with pytest.raises(Exception, match="message"):
            await graph.aget_state(broken)
        assert await listed(source, 1) == [("broken", "unreadable", "hello"), ("whole", "idle", "hello")]
        assert await listed(source, 1, status="unreadable") == [("broken", "unreadable", "hello")]
        assert "The state of a thread can't be read (agent 'chat', thread 'broken')." in caplog.text
        assert await listed(Local(graph, agent="other", runs=runs), 5) == []
        await source.threads.delete("broken")
        assert await listed(source, 1) == [("whole", "idle", "hello")]
        assert await saver.aget_tuple(broken) is None


@pytest.mark.parametrize("has_table", [False, True])
async def test_a_database_that_can_only_be_read_is_listed_as_well(
    has_table: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "threads.sqlite"
    async with opened("SQLite", path) as (saver,):
        ids = await filled(saver, 70)
        if has_table:
            await listed(Local(conversation(saver), runs=Runs()), 1)
    async with aiosqlite.connect(f"file:{path}?mode=ro", uri=True) as connection:
        source = Local(conversation(AsyncSqliteSaver(connection)), runs=Runs())
        for _ in range(2):
            assert [each[0] for each in await listed(source, 30)] == ids
    lines = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert ["can't be created" in each.getMessage() for each in lines] == [True]


async def test_two_processes_make_the_table_at_once(tmp_path: Path) -> None:
    async with opened("SQLite", tmp_path / "threads.sqlite", 2) as (one, other):
        ids = await filled(one, 5)
        sources = [Local(conversation(each), runs=Runs()) for each in (one, other)]
        found = await asyncio.gather(*(listed(each, 2) for each in sources))
        assert [[each[0] for each in one] for one in found] == [ids, ids]


async def test_a_checkpointer_that_is_gone_keeps_no_index() -> None:
    import gc
    import weakref

    saver = InMemorySaver()
    await filled(saver, 2)
    source = Local(conversation(saver, InMemoryStore()), runs=Runs())
    assert len(await listed(source, 2)) == 2
    gone = weakref.ref(saver)
    del saver, source
    gc.collect()
    assert gone() is None
