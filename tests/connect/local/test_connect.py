"""What a client is told that connects to a thread of a local graph: case by case, judged by the real clients."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import Pause
from langgraph_agui.connect.testing.expected import comparable, expected, unattributed

from fixtures import FIXTURES
from fixtures.run import Conversation
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.batch_readers import BatchReader, held, turns
from tests.support.clients.locally import connect_batches, connected, inner_values, played, state_of
from tests.support.streams.pausing_graphs import HELLO, asking, on, quick, speaking, waiting
from tests.support.sweeps import one_each

CHECKPOINTED = [
    fixture
    for fixture in FIXTURES.values()
    if fixture.checkpointed and (not fixture.composed or fixture.turns[0].ends == "interrupt")
]
"""Of composed fixtures those that wait for an answer: what is read of their subgraphs is a matter of its own."""


# --- every kind of run, after it has ended ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "version"), one_each([fixture.name for fixture in CHECKPOINTED], VERSIONS, of=3))
async def test_after_each_run_a_client_that_connects_holds_what_the_thread_does(
    name: str, version: str, agui_client: AguiClient
) -> None:
    """And it sees the end that was seen by who watched."""
    fixture = FIXTURES[name]
    conversation = Conversation(fixture, "t")
    async with Runs() as runs:
        source = Local(conversation.graph, runs=runs)
        options = replace(await source.options(), protocol_version=protocol(version))
        for number, turn in enumerate(fixture.turns):
            given = await conversation.given(turn)
            run = await runs.start(conversation.graph, given, conversation.config, run_id=f"r{number}")
            watched = BatchReader(version=protocol(version))
            await watched.hear(run.attach(watched.reader))
            listener = await connected(source, version=version)
            state = await conversation.graph.aget_state(on("t"), subgraphs=True)  # type: ignore[arg-type]
            values, inner = state.values, inner_values(state)
            answer = played(agui_client, listener, version)
            assert answer.accepted
            assert listener.events[0]["runId"] == f"r{number}"
            assert _end(listener) == _end(watched)
            if isinstance(values, dict) and options.messages_key in values:
                own = [wire for each in inner for wire in expected(each, options).messages if wire["role"] != "user"]
                wanted = [*expected(values, options, waiting=own).messages]
                wanted += _said_in_a_step_that_waits(watched, {message["id"] for message in wanted})
                shown = [each for each in answer.messages if each.get("activityType") != "run_error"]
                assert comparable(shown) == comparable(wanted)
                assert [each["id"] for each in answer.messages if each not in shown] == _failures(listener)
            assert answer.state == (expected(values, options).state if values else {})


def _said_in_a_step_that_waits(watched: BatchReader, stored: set[str]) -> list[Any]:
    """The messages of the main agent, not stored, of who watched a run that waits."""
    if watched.events[-1].get("outcome", {}).get("type") != "interrupt":
        return []
    own = (message for message in unattributed(watched.view.messages) if message["role"] != "activity")
    return [message for message in own if message["id"] not in stored]


def _failures(listener: BatchReader) -> list[str]:
    """The ids of the activities that show failures."""
    last, started = listener.events[-1], listener.events[0]
    return [f"{started['runId']}-error"] if last["type"] == "RUN_ERROR" and last.get("code") != "cancelled" else []


def _end(listener: BatchReader) -> Any:
    """The end, without the subagents that asked: who comes later is told none."""
    last = listener.events[-1]
    outcome = dict(last.get("outcome", {}))
    asked = [{name: item[name] for name in item if name != "subagentRunId"} for item in outcome.get("interrupts", ())]
    return outcome.get("type"), asked, {name: last.get(name) for name in ("type", "code", "message", "result")}


# --- threads on which nothing runs ------------------------------------------------------------------------------------


async def test_a_thread_is_told_as_its_last_run() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"), run_id="r")).wait()
        listener = await connected(Local(graph, runs=runs))
    assert [kind for kind in listener.kinds if kind != "STATE_SNAPSHOT"] == [
        "RUN_STARTED",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert listener.events[0]["runId"] == "r"
    assert listener.events[-1]["outcome"] == {"type": "success"}


async def test_the_state_is_told_before_the_messages() -> None:
    fixture = next(item for item in CHECKPOINTED if item.name == "plain_text")
    graph = fixture.build(InMemorySaver())
    await graph.ainvoke(fixture.turns[0].input, on("t"))  # type: ignore[call-overload]
    listener = await connected(Local(graph))
    assert listener.kinds.index("STATE_SNAPSHOT") < listener.kinds.index("MESSAGES_SNAPSHOT")


async def test_a_thread_that_was_written_by_ainvoke_is_told_under_an_id_of_its_own() -> None:
    graph = quick(InMemorySaver())
    await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    first, second = [await connected(Local(graph)) for _ in range(2)]
    assert first.events[0]["runId"] == second.events[0]["runId"]
    assert held(first.view) == held(second.view)
    assert [message["content"] for message in first.view.messages] == ["hello", "At once."]


@pytest.mark.parametrize("before", ["nothing", "waits", "cancelled"])
async def test_a_thread_that_was_written_by_update_state_has_ended_well(before: str) -> None:
    graph = asking(point := Pause(), InMemorySaver())
    async with Runs() as runs:
        if before != "nothing":
            await (await runs.start(graph, HELLO, on("t"))).wait()
        if before == "cancelled":
            run = await runs.start(graph, Command(resume="yes"), on("t"))
            await point.reached.wait()
            await run.cancel()
        await graph.aupdate_state(on("t"), {"messages": [("user", "written")]}, as_node="ask")  # type: ignore[arg-type]
        listener = await connected(Local(graph, runs=runs))
    assert listener.events[-1]["outcome"] == {"type": "success"}
    assert listener.view.messages[-1]["content"] == "written"


async def test_a_state_that_was_written_in_mid_graph_has_ended_well() -> None:
    graph = waiting(Pause(), InMemorySaver())
    await graph.aupdate_state(on("t"), HELLO, as_node="first")  # type: ignore[arg-type]
    assert (await state_of(graph)).next == ("wait",)
    listener = await connected(Local(graph))
    assert listener.events[-1]["outcome"] == {"type": "success"}


async def test_who_comes_back_with_its_view_is_told_only_what_it_lacks() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        await (await runs.start(graph, HELLO, on("t"), run_id="r")).wait()
        first = await connected(source)
        second = await connected(source, view=first.view)
    assert second.kinds == ["RUN_STARTED", "RUN_FINISHED"]


# --- threads on which a run is going on -------------------------------------------------------------------------------


@pytest.mark.parametrize("checkpointer", [InMemorySaver, lambda: None], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_running_run_is_followed_from_where_it_is_to_its_end(
    version: str, checkpointer: Callable[[], Any], agui_client: AguiClient
) -> None:
    point = Pause()
    graph = speaking(point, checkpointer())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        await turns()
        listener = BatchReader(version=protocol(version))
        async with aclosing(await Local(graph, runs=runs).attach("t", listener.reader, None)) as told:
            listener.take(await anext(told))
            point.open.set()
            await listener.hear(told)
        assert held(listener.view) == held(run.view)
    answer = played(agui_client, listener, version)
    assert answer.accepted
    assert [message["content"] for message in answer.messages] == ["hello", "one two three four"]


async def test_closing_the_stream_stops_no_run() -> None:
    point = Pause()
    graph = speaking(point, InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"))
        listener = BatchReader()
        async with aclosing(await Local(graph, runs=runs).attach("t", listener.reader, None)) as told:
            await anext(told)
        await point.reached.wait()
        assert (run.status, run.readers) == ("running", 0)


async def test_an_ended_run_of_a_graph_without_a_checkpointer_is_told_while_it_lingers() -> None:
    graph = quick()
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"))
        await run.wait()
        assert held((await connected(Local(graph, runs=runs))).view) == held(run.view)


async def test_a_graph_without_a_checkpointer_and_without_a_run_is_an_empty_stream() -> None:
    assert (await connected(Local(quick(), runs=Runs()))).events == []


class Meanwhile(InMemorySaver):
    """A checkpointer during whose first answer something happens."""

    happens: Any = None

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        found = await super().aget_tuple(config)
        happens, self.happens = self.happens, None
        if happens is not None:
            await happens()
        return found


async def test_a_run_that_starts_while_the_thread_is_looked_at_is_followed() -> None:
    graph = quick(saver := Meanwhile())
    async with Runs() as runs:

        async def starts() -> None:
            await runs.start(graph, HELLO, on("t"), run_id="r")

        saver.happens = starts
        listener = await connected(Local(graph, runs=runs))
    assert listener.kinds[-1] == "RUN_FINISHED"
    assert [message["content"] for message in listener.view.messages] == ["hello", "At once."]


async def test_a_run_that_starts_and_ends_while_the_thread_is_looked_at_is_the_last() -> None:
    graph = quick(saver := Meanwhile())
    async with Runs() as runs:

        async def runs_through() -> None:
            await (await runs.start(graph, HELLO, on("t"), run_id="r")).wait()

        saver.happens = runs_through
        listener = await connected(Local(graph, runs=runs))
    assert listener.events[0]["runId"] == "r"
    assert [message["content"] for message in listener.view.messages] == ["hello", "At once."]


# --- asking for one run -----------------------------------------------------------------------------------------------


async def test_the_last_run_and_the_running_one_can_be_asked_for() -> None:
    graph = waiting(point := Pause(), InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
        point.open.set()
        running = await connected(source, run_id="r")
        await run.wait()
        last = await connected(source, run_id="r")
    assert running.kinds[-1] == last.kinds[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("thread", ["unknown", "idle", "running", "without a checkpointer"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_that_is_not_there_is_an_error_with_a_code(
    thread: str, version: str, agui_client: AguiClient
) -> None:
    graph = speaking(point := Pause(), None if thread == "without a checkpointer" else InMemorySaver())
    async with Runs() as runs:
        if thread in ("idle", "running"):
            run = await runs.start(graph, HELLO, on("t"), run_id="r")
            if thread == "idle":
                point.open.set()
                await run.wait()
        listener = await connected(Local(graph, runs=runs), run_id="other", version=version)
    assert [(event["type"], event["code"]) for event in listener.events] == [("RUN_ERROR", "not_found")]
    assert played(agui_client, listener, version).accepted


class Broken(InMemorySaver):
    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        raise OSError("the disk is gone")


@pytest.mark.parametrize("detail", ["none", "code", "message", "full"])
async def test_a_checkpointer_that_raises_is_an_error_with_a_code(detail: Any) -> None:
    graph = quick(Broken())
    source = Local(graph, runs=Runs())
    listener = BatchReader()
    options = replace(await source.options(), error_detail=detail)
    await listener.hear(connect_batches(source, "t", options=options))
    assert [(event["type"], event["code"]) for event in listener.events] == [("RUN_ERROR", "unreadable_thread")]
    assert ("disk" in listener.events[0]["message"]) == (detail in ("message", "full"))
