"""Watching a thread of a local graph: its runs here, and what others write to its checkpointer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import Local, Runs, watch_sse
from langgraph_agui.connect.testing import Pause

from fixtures.graphs.speech import said, speaker
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import until
from tests.support.clients.chatting import Chat
from tests.support.clients.locally import state_of
from tests.support.clients.watching import Watchers, ending, streamed, watching
from tests.support.streams.pausing_graphs import HELLO, Graph, asking, on, quick, speaking, waiting

POLL = 0.001


@pytest.fixture
async def runs() -> AsyncIterator[Runs]:
    async with Runs() as runs:
        yield runs


def steps(saver: InMemorySaver) -> Graph:
    """A graph of three nodes that each say something: the test may pull them one by one."""
    graph = StateGraph(MessagesState)
    names = ["one", "two", "three"]
    for name in names:
        graph.add_node(name, speaker(said(f"{name}.")))
    for before, name in zip([START, *names], names, strict=False):
        graph.add_edge(before, name)
    return graph.compile(saver)


async def holds(watchers: Watchers, client: AguiClient, graph: Graph) -> None:
    watchers.assert_holds(client, (await state_of(graph)).values)


def kinds(run: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in run]


# --- runs of this process ---------------------------------------------------------------------------------------------


async def test_runs_are_told_one_after_the_other(runs: Runs, agui_client: AguiClient) -> None:
    graph = quick(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        for number in range(3):
            await runs.start(graph, HELLO, on("t"), run_id=f"r{number}")
            await watchers.told(f"r{number}")
        assert watchers.first.ended == ["r0", "r1", "r2"]
        await holds(watchers, agui_client, graph)


async def test_a_run_that_left_a_new_thread_without_a_checkpoint_is_told_to_who_comes_late(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = quick(InMemorySaver())
    await (await runs.start(graph, HELLO, on("t"), run_id="r")).cancel()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        assert ending(await watchers.told("r")) == "cancelled"
        await runs.start(graph, HELLO, on("t"), run_id="next")
        await watchers.told("next")
        assert watchers.first.ended == ["r", "next"]
        await holds(watchers, agui_client, graph)


async def test_a_run_is_told_while_it_goes_on(runs: Runs, agui_client: AguiClient) -> None:
    graph = speaking(point := Pause(), InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await runs.start(graph, HELLO, on("t"), run_id="r")
        await watchers.says("one two ")
        point.open.set()
        assert streamed(await watchers.told("r")) == "one two three four"
        await holds(watchers, agui_client, graph)


async def test_a_run_that_was_going_on_and_those_that_start_while_others_are_read(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = speaking(point := Pause(), InMemorySaver())
    first = await runs.start(graph, HELLO, on("t"), run_id="r0")
    await point.reached.wait()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await watchers.started("r0")
        point.open.set()
        await first.wait()
        for number in (1, 2, 3):  # nobody gets a turn between an end and the next start but the run itself
            await (await runs.start(graph, HELLO, on("t"), run_id=f"r{number}")).wait()
        await watchers.told("r3")
        assert watchers.first.ended == ["r0", "r1", "r2", "r3"]
        await holds(watchers, agui_client, graph)


async def test_an_interrupt_a_failure_and_a_cancel_are_told_as_they_are(runs: Runs, agui_client: AguiClient) -> None:
    graph = asking(point := Pause(), InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await runs.start(graph, HELLO, on("t"), run_id="asks")
        assert ending(await watchers.told("asks")) == "interrupt"
        point.open.set()
        await runs.start(graph, Command(resume="fail"), on("t"), run_id="fails")
        assert ending(await watchers.told("fails")) == "ValueError"
        await runs.start(graph, HELLO, on("t"), run_id="asks again")
        await watchers.told("asks again")
        point.open.clear()
        point.reached.clear()
        cancelled = await runs.start(graph, Command(resume="yes"), on("t"), run_id="cancelled")
        await point.reached.wait()
        await cancelled.cancel()
        assert ending(await watchers.told("cancelled")) == "cancelled"
        point.open.set()
        await runs.start(graph, None, on("t"), run_id="ends")
        await watchers.told("ends")
        assert watchers.first.ended == ["asks", "fails", "asks again", "cancelled", "ends"]
        await holds(watchers, agui_client, graph)


class HoldsRuns(InMemorySaver):
    """A checkpointer that lets no run read its thread until the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()
        self.answers.set()

    async def aget_tuple(self, config: Any) -> Any:
        if "run_id" in config["configurable"]:
            await self.answers.wait()
        return await super().aget_tuple(config)


@pytest.mark.parametrize(
    "starter", ["a page with an older conversation", "a page that sends its message alone", "start"]
)
async def test_no_message_leaves_a_watcher_while_a_run_begins_that_was_started_without_it(
    runs: Runs, agui_client: AguiClient, starter: str
) -> None:
    saver = HoldsRuns()
    graph = quick(saver)
    page = Chat(agui_client, local := Local(graph, runs=runs))
    await page.says("one")
    older = list(page.messages)
    await page.says("two")
    async with watching(local, "t", poll=POLL) as watchers:
        await watchers.count(1)
        saver.answers.clear()
        if starter == "start":
            began: asyncio.Future[Any] = asyncio.ensure_future(runs.start(graph, HELLO, on("t"), run_id="next"))
        else:
            page.messages = older if starter == "an older conversation" else []
            began = asyncio.ensure_future(page.says("three", "new", runId="next"))
        await watchers.started("next")
        assert [len(watcher.view.messages) for watcher in watchers.each] == [4 if starter == "start" else 5] * 2
        saver.answers.set()
        await began
        await watchers.told("next")
        await holds(watchers, agui_client, graph)
        if starter != "start":
            assert page.texts == [each["content"] for each in watchers.first.view.messages]


async def test_without_a_checkpointer_runs_are_told(runs: Runs) -> None:
    graph = quick()
    await (await runs.start(graph, HELLO, on("t"), run_id="r0")).wait()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await watchers.told("r0")
        for number in (1, 2):
            await runs.start(graph, HELLO, on("t"), run_id=f"r{number}")
            await watchers.told(f"r{number}")
        assert watchers.first.ended == ["r0", "r1", "r2"]


async def test_the_end_of_the_registry_is_the_end_of_the_watch() -> None:
    graph = quick(InMemorySaver())
    runs = Runs()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await runs.start(graph, HELLO, on("t"), run_id="r")
        await watchers.told("r")
        await runs.aclose()
        await watchers.over()


# --- what others write ------------------------------------------------------------------------------------------------


async def test_what_a_scheduler_invokes_is_told_as_a_run(runs: Runs, agui_client: AguiClient) -> None:
    graph = quick(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        for _ in range(2):
            await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
            ids = {message.id for message in (await state_of(graph)).values["messages"]}
            await watchers.until(lambda watcher, ids=ids: ids <= shown(watcher.events), "the messages")  # type: ignore[misc]
        await watchers.until(lambda watcher: watcher.events[-1]["type"] == "RUN_FINISHED", "the end")
        await holds(watchers, agui_client, graph)


async def test_a_write_to_the_state_is_told_as_a_run_named_for_its_checkpoint(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = quick(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await runs.start(graph, HELLO, on("t"), run_id="r")
        await watchers.told("r")
        written = await graph.aupdate_state(on("t"), {"messages": [AIMessage("written", id="w")]})  # type: ignore[arg-type]
        run_id = f"checkpoint-{written['configurable']['checkpoint_id']}"
        assert ending(await watchers.told(run_id)) == "success"
        await runs.start(graph, HELLO, on("t"), run_id="after")
        await watchers.told("after")
        assert watchers.first.ended == ["r", run_id, "after"]
        await holds(watchers, agui_client, graph)


async def test_somebody_elses_run_is_one_run_from_its_first_step_to_its_last(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = steps(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        parts = graph.astream(HELLO, on("t", run_id="theirs"), stream_mode="values", durability="sync")  # type: ignore[call-overload]
        async with aclosing(parts):
            async for values in parts:
                held = len(values["messages"])
                await watchers.until(lambda watcher, held=held: len(shown(watcher.events)) >= held, f"{held} messages")  # type: ignore[misc]
        await watchers.told("theirs")
        assert [kinds(run).count("RUN_STARTED") for run in watchers.first.runs] == [1]
        await holds(watchers, agui_client, graph)


def shown(events: list[dict[str, Any]]) -> set[str]:
    """The ids of the messages that were told."""
    told = {event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"}
    return told.union(
        *({each["id"] for each in event["messages"]} for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    )


async def test_somebody_elses_runs_that_follow_on_each_other_are_two(runs: Runs, agui_client: AguiClient) -> None:
    graph = steps(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        for run_id in ("theirs", "theirs too"):
            await graph.ainvoke(HELLO, on("t", run_id=run_id))  # type: ignore[call-overload]
            await watchers.told(run_id)
        await holds(watchers, agui_client, graph)


async def test_somebody_elses_run_that_ended_unseen_ends_well_when_the_next_is_seen(
    runs: Runs, agui_client: AguiClient
) -> None:
    """Between two looks one ends and another begins."""
    graph = waiting(point := Pause(), saver := Closing())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        theirs = asyncio.create_task(graph.ainvoke(HELLO, on("t", run_id="theirs")))  # type: ignore[call-overload]
        await watchers.started("theirs")
        saver.open.clear()
        point.open.set()
        await theirs
        point.open.clear()
        point.reached.clear()
        next_one = asyncio.create_task(graph.ainvoke(HELLO, on("t", run_id="next")))  # type: ignore[call-overload]
        await point.reached.wait()
        saver.open.set()
        assert ending(await watchers.told("theirs")) == "success"
        point.open.set()
        await next_one
        await watchers.told("next")
        await holds(watchers, agui_client, graph)


class Closing(InMemorySaver):
    """A checkpointer whose watchers a test can hold up: those who look for the newest checkpoint only."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.failing = 0

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        if "checkpoint_ns" in config["configurable"] and set(config["configurable"]) == {"thread_id", "checkpoint_ns"}:
            await self.open.wait()
            if self.failing:
                self.failing -= 1
                raise OSError("the disk is gone")
        return await super().aget_tuple(config)


async def test_an_interrupt_of_somebody_elses_run_is_its_end_and_the_answer_another(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = asking(point := Pause(), InMemorySaver())
    point.open.set()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await graph.ainvoke(HELLO, on("t", run_id="asks"))  # type: ignore[call-overload]
        assert ending(await watchers.told("asks")) == "interrupt"
        await graph.ainvoke(Command(resume="yes"), on("t", run_id="answers"))  # type: ignore[call-overload]
        assert ending(await watchers.told("answers")) == "success"
        await holds(watchers, agui_client, graph)


async def test_a_failure_of_somebody_elses_run_is_its_end(runs: Runs, agui_client: AguiClient) -> None:
    graph = asking(point := Pause(), InMemorySaver())
    point.open.set()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await graph.ainvoke(HELLO, on("t", run_id="asks"))  # type: ignore[call-overload]
        await watchers.told("asks")
        with pytest.raises(ValueError, match="not like this"):
            await graph.ainvoke(Command(resume="fail"), on("t", run_id="fails"))  # type: ignore[call-overload]
        await watchers.until(lambda watcher: watcher.events[-1].get("code") == "ValueError", "the error")
        await graph.ainvoke(HELLO, on("t", run_id="after"))  # type: ignore[call-overload]
        await watchers.until(lambda watcher: "after" in [run[0]["runId"] for run in watcher.runs], "the next")


async def test_what_a_sibling_writes_beside_an_interrupt_is_told(runs: Runs, agui_client: AguiClient) -> None:
    point = Pause()

    async def asks(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"So {interrupt('Really?')}.", id="asked")]}

    async def works(state: MessagesState) -> dict[str, Any]:
        await point()
        return {"messages": [AIMessage("Worked.", id="worked")]}

    built = StateGraph(MessagesState).add_node("asks", asks).add_node("works", works)
    graph = built.add_edge(START, "asks").add_edge(START, "works").compile(InMemorySaver())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        theirs = asyncio.create_task(graph.ainvoke(HELLO, on("t", run_id="theirs")))  # type: ignore[call-overload]
        await watchers.until(lambda watcher: bool(watcher.ended), "an end")
        point.open.set()
        await theirs
        await watchers.until(lambda watcher: "worked" in shown(watcher.events), "the sibling's message")
        assert ending(watchers.first.runs[-1]) == "interrupt"
        await holds(watchers, agui_client, graph)


# --- what was there before --------------------------------------------------------------------------------------------


async def test_what_was_there_is_told_first_and_once(runs: Runs, agui_client: AguiClient) -> None:
    graph = quick(InMemorySaver())
    await (await runs.start(graph, HELLO, on("t"), run_id="before")).wait()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await watchers.told("before")
        await runs.start(graph, HELLO, on("t"), run_id="after")
        await watchers.told("after")
        assert watchers.first.ended == ["before", "after"]
        await holds(watchers, agui_client, graph)


class Slow(InMemorySaver):
    """A checkpointer whose next reads wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = False
        self.waiting = 0
        self.answers = asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        if self.waits:
            self.waiting += 1
            await self.answers.wait()
        return await super().aget_tuple(config)


async def test_runs_that_end_while_the_state_is_read_are_not_told_after_it(runs: Runs, agui_client: AguiClient) -> None:
    saver = Slow()
    graph = quick(saver)
    await (await runs.start(graph, HELLO, on("t"), run_id="before")).wait()
    saver.waits = True
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await until(lambda: saver.waiting >= len(watchers.each))  # the poller may read as well
        saver.waits = False
        for run_id in ("meanwhile-1", "meanwhile-2"):
            await (await runs.start(graph, HELLO, on("t"), run_id=run_id)).wait()
        saver.answers.set()
        await watchers.told("meanwhile-2")
        await runs.start(graph, HELLO, on("t"), run_id="after")
        await watchers.told("after")
        assert [watcher.ended for watcher in watchers.each] == [["meanwhile-2", "after"]] * len(watchers.each)
        await holds(watchers, agui_client, graph)


async def test_what_was_left_unfinished_is_told_as_that_and_goes_on_as_a_run(
    runs: Runs, agui_client: AguiClient
) -> None:
    graph = waiting(point := Pause(), InMemorySaver())
    theirs = asyncio.create_task(graph.ainvoke(HELLO, on("t")))  # type: ignore[call-overload]
    await point.reached.wait()
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await watchers.count(1)
        assert ending(watchers.first.runs[0]) == "unfinished"
        point.open.set()
        await theirs
        await watchers.count(2)
        assert ending(watchers.first.runs[1]) == "success"
        await holds(watchers, agui_client, graph)


# --- silence, failures, going away ------------------------------------------------------------------------------------


async def test_between_runs_there_are_heartbeats(runs: Runs) -> None:
    graph = quick(InMemorySaver())
    async with aclosing(watch_sse(Local(graph, runs=runs), "t", poll=POLL, heartbeat=0.01)) as frames:
        assert [await anext(frames) for _ in range(3)] == [b": heartbeat\n\n"] * 3
        await runs.start(graph, HELLO, on("t"), run_id="r")
        while b"RUN_FINISHED" not in await anext(frames):
            pass
        assert await anext(frames) == b": heartbeat\n\n"


async def test_a_checkpointer_that_fails_now_and_then_is_asked_again(runs: Runs) -> None:
    graph = quick(saver := Closing())
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await runs.start(graph, HELLO, on("t"), run_id="r")
        await watchers.told("r")
        saver.failing = 5
        await graph.ainvoke(HELLO, on("t", run_id="theirs"))  # type: ignore[call-overload]
        await watchers.told("theirs")


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_a_checkpointer_that_goes_on_failing_is_an_error_and_the_end(
    runs: Runs, agui_client: AguiClient, when: str
) -> None:
    graph = quick(saver := Closing())
    if when == "at once":
        saver.failing = 10_000
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        if when == "later":
            await runs.start(graph, HELLO, on("t"), run_id="r")
            await watchers.told("r")
            saver.failing = 10_000
        await watchers.over()
        for watcher in watchers.each:
            assert watcher.events[-1]["code"] == "unreadable_thread"
            assert agui_client.play(watcher.events, version=watcher.version, mode="connect").accepted


async def test_a_reader_that_goes_away_stops_no_run(runs: Runs) -> None:
    graph = speaking(point := Pause(), InMemorySaver())
    run = await runs.start(graph, HELLO, on("t"), run_id="r")
    async with watching(Local(graph, runs=runs), "t", poll=POLL) as watchers:
        await watchers.started("r")
    assert (run.status, run.readers) == ("running", 0)
    point.open.set()
    assert await run.wait() == "finished"
