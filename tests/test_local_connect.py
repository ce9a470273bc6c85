"""What a client is told that connects to a thread of a local graph: case by case, judged by the real clients."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from langgraph_agui.connect.local import cancel_local, connect_local
from langgraph_agui.connect.runs import RunNotFoundError, Runs
from langgraph_agui.connect.sources import Local
from langgraph_agui.translator import ClientView

from fixtures import FIXTURES, Fixture
from fixtures.run import Conversation

from . import fidelity
from .agui_client import VERSIONS, AguiClient, Answer, protocol
from .listening import Listener, held, turns
from .paced import HELLO, Graph, Point, asking, on, quick, speaking, waiting

CHECKPOINTED = [fixture for fixture in FIXTURES.values() if fixture.checkpointed]


async def connected(
    source: Local, thread_id: str = "t", *, view: ClientView | None = None, version: str = VERSIONS[0], **asked: Any
) -> Listener:
    """Connects, and reads to the end."""
    listener = Listener(view, protocol(version))
    options = replace(await source.options(), protocol_version=protocol(version))
    return await listener.hear(connect_local(source, thread_id, listener.reader, options, **asked))


def played(client: AguiClient, listener: Listener, version: str = VERSIONS[0], **holding: Any) -> Answer:
    return client.play(frames=listener.frames, version=version, mode="connect", **holding)


async def state_of(graph: Graph, thread_id: str = "t") -> Any:
    return await graph.aget_state(on(thread_id))  # type: ignore[arg-type]


def failed(code: str, message: str) -> dict[str, Any]:
    return {"type": "RUN_ERROR", "code": code, "message": message}


# --- every kind of run, after it has ended ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fixture", CHECKPOINTED, ids=lambda fixture: fixture.name)
async def test_after_each_run_a_client_that_connects_holds_what_the_thread_does(
    fixture: Fixture, version: str, agui_client: AguiClient
) -> None:
    """And it sees the end that was seen by who watched."""
    conversation = Conversation(fixture, "t")
    async with Runs() as runs:
        source = Local(conversation.graph, runs=runs)
        options = replace(await source.options(), protocol_version=protocol(version))
        for number, turn in enumerate(fixture.turns):
            given = await conversation.given(turn)
            run = runs.start(conversation.graph, given, conversation.config, run_id=f"r{number}")
            watched = Listener(version=protocol(version))
            await watched.hear(run.attach(watched.reader))
            listener = await connected(source, version=version)
            values = (await state_of(conversation.graph)).values
            answer = played(agui_client, listener, version)
            assert answer.accepted
            assert listener.events[0]["runId"] == f"r{number}"
            assert _end(listener) == _end(watched)
            if isinstance(values, dict) and options.messages_key in values:
                assert fidelity.conversation(answer.messages) == fidelity.stored(values, options)
            assert answer.state == (fidelity.state(values, options) if values else {})


def _end(listener: Listener) -> Any:
    """The end, without the subagents that asked: who comes later is told none."""
    last = listener.events[-1]
    outcome = dict(last.get("outcome", {}))
    asked = [{name: item[name] for name in item if name != "subagentRunId"} for item in outcome.get("interrupts", ())]
    return outcome.get("type"), asked, {name: last.get(name) for name in ("type", "code", "message", "result")}


# --- threads on which nothing runs ------------------------------------------------------------------------------------


async def test_an_unknown_thread_is_an_empty_stream() -> None:
    async with Runs() as runs:
        assert (await connected(Local(quick(InMemorySaver()), runs=runs))).events == []


async def test_a_thread_is_told_as_its_last_run() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        await runs.start(graph, HELLO, on("t"), run_id="r").wait()
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
    graph = asking(point := Point(), InMemorySaver())
    async with Runs() as runs:
        if before != "nothing":
            await runs.start(graph, HELLO, on("t")).wait()
        if before == "cancelled":
            run = runs.start(graph, Command(resume="yes"), on("t"))
            await point.reached.wait()
            await run.cancel()
        await graph.aupdate_state(on("t"), {"messages": [("user", "written")]}, as_node="ask")  # type: ignore[arg-type]
        listener = await connected(Local(graph, runs=runs))
    assert listener.events[-1]["outcome"] == {"type": "success"}
    assert listener.view.messages[-1]["content"] == "written"


async def test_a_state_that_was_written_in_mid_graph_has_ended_well() -> None:
    graph = waiting(Point(), InMemorySaver())
    await graph.aupdate_state(on("t"), HELLO, as_node="first")  # type: ignore[arg-type]
    assert (await state_of(graph)).next == ("wait",)
    listener = await connected(Local(graph))
    assert listener.events[-1]["outcome"] == {"type": "success"}


async def test_who_comes_back_with_its_view_is_told_only_what_it_lacks() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        await runs.start(graph, HELLO, on("t"), run_id="r").wait()
        first = await connected(source)
        second = await connected(source, view=first.view)
    assert second.kinds == ["RUN_STARTED", "RUN_FINISHED"]


# --- how it ended, as far as it can be known --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "name", ["interrupt_in_node", "interrupts_in_parallel", "interrupt_in_subgraph", "review_approved"]
)
async def test_interrupts_of_a_run_elsewhere_wait_for_their_answers(
    name: str, version: str, agui_client: AguiClient
) -> None:
    fixture = FIXTURES[name]
    graph = fixture.build(InMemorySaver())
    await graph.ainvoke(fixture.turns[0].input, on("t"))  # type: ignore[call-overload]
    answer = played(agui_client, await connected(Local(graph, runs=Runs()), version=version), version)
    assert answer.accepted
    pending = {item["id"] for item in answer.pending_interrupts}
    assert pending == {interrupt.id for interrupt in (await state_of(graph)).interrupts}


@pytest.mark.parametrize("name", ["breakpoint_before", "breakpoint_after"])
async def test_a_breakpoint_of_a_run_elsewhere_is_known_by_the_graph(name: str) -> None:
    graph = FIXTURES[name].build(InMemorySaver())
    await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    listener = await connected(Local(graph, runs=Runs()))
    assert [item["reason"] for item in listener.events[-1]["outcome"]["interrupts"]] == ["langgraph:breakpoint"]


def _stops_inside(**stops: Any) -> Graph:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "done")]}

    child = StateGraph(MessagesState).add_node("one", node).add_node("two", node)
    compiled = child.add_edge(START, "one").add_edge("one", "two").compile(**stops)
    return StateGraph(MessagesState).add_node("child", compiled).add_edge(START, "child").compile(InMemorySaver())


@pytest.mark.parametrize(
    "stops", [{"interrupt_before": ["two"]}, {"interrupt_after": ["one"]}, {"interrupt_after": "*"}]
)
async def test_a_breakpoint_inside_a_subgraph_is_known_by_the_subgraph(stops: Any) -> None:
    graph = _stops_inside(**stops)
    await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    listener = await connected(Local(graph, runs=Runs()))
    assert listener.events[-1]["outcome"]["type"] == "interrupt"


async def test_a_breakpoint_that_was_asked_for_with_the_run_is_not_known_elsewhere() -> None:
    graph = waiting(Point(), InMemorySaver())
    await graph.ainvoke(HELLO, on("t"), interrupt_before=["wait"])  # type: ignore[call-overload]
    listener = await connected(Local(graph, runs=Runs()))
    assert listener.events[-1]["code"] == "unfinished"


async def test_an_error_of_a_run_elsewhere_is_told() -> None:
    graph = FIXTURES["node_raises"].build(InMemorySaver())
    async with Runs() as elsewhere:
        await elsewhere.start(graph, HELLO, on("t"), run_id="r").wait()
    listener = await connected(Local(graph, runs=Runs()))
    assert listener.events[-1] == failed("LookupError", "nothing here")


async def test_an_error_text_that_is_no_exceptions_is_told_as_it_is() -> None:
    class OddError(Exception):
        def __repr__(self) -> str:
            return "it is odd"

    async def node(state: MessagesState) -> None:
        raise OddError

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(InMemorySaver())
    async with Runs() as elsewhere:
        await elsewhere.start(graph, HELLO, on("t")).wait()
    assert (await connected(Local(graph, runs=Runs()))).events[-1] == {"type": "RUN_ERROR", "message": "it is odd"}


async def _killed(graph: Graph, point: Point, given: Any = HELLO) -> None:
    """A run of another process that is killed at the point."""
    invoking = asyncio.create_task(graph.ainvoke(given, on("t")))  # type: ignore[call-overload]
    await point.reached.wait()
    invoking.cancel()
    await asyncio.wait([invoking])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_elsewhere_that_was_killed_is_unfinished(version: str, agui_client: AguiClient) -> None:
    point = Point()
    graph = waiting(point, InMemorySaver())
    await _killed(graph, point)
    listener = await connected(Local(graph, runs=Runs()), version=version)
    assert listener.events[-1]["code"] == "unfinished"
    answer = played(agui_client, listener, version)
    assert answer.accepted
    assert [message["content"] for message in answer.messages] == ["hello", "At once."]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_cancelled_run_is_told_as_cancelled(version: str, elsewhere: bool, agui_client: AguiClient) -> None:
    point = Point()
    graph = waiting(point, InMemorySaver())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        await run.cancel()
        listener = await connected(Local(graph, runs=Runs() if elsewhere else runs), version=version)
    answer = played(agui_client, listener, version)
    assert answer.accepted
    assert listener.events[0]["runId"] == "r"
    assert [message["content"] for message in answer.messages] == ["hello", "At once."]
    last = listener.events[-1]
    assert last["code" if protocol(version) is None else "outcome"] in ("cancelled", {"type": "cancelled"})


@pytest.mark.parametrize("how", ["failed", "cancelled"])
async def test_a_run_that_ended_before_it_wrote_a_checkpoint_is_the_last_one_all_the_same(how: str) -> None:
    point = Point()
    graph = asking(point, InMemorySaver())
    async with Runs() as runs:
        await runs.start(graph, HELLO, on("t"), run_id="first").wait()
        run = runs.start(graph, Command(resume="fail"), on("t"), run_id="second")
        await point.reached.wait()
        if how == "failed":
            point.open.set()
            await run.wait()
        else:
            await run.cancel()
        assert ((await state_of(graph)).metadata or {})["run_id"] == "first"
        listener = await connected(Local(graph, runs=runs))
    assert listener.events[0]["runId"] == "second"
    last = listener.events[-1]
    # an answer that was cancelled can be given again
    assert last.get("code") == "ValueError" if how == "failed" else last["outcome"]["type"] == "interrupt"


async def test_what_is_remembered_does_not_count_when_the_thread_went_on_elsewhere() -> None:
    graph = FIXTURES["node_raises"].build(checkpointer := InMemorySaver())
    async with Runs() as runs:
        await runs.start(graph, HELLO, on("t"), run_id="failed", agent="chat").wait()
        mended = quick(checkpointer)
        await mended.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
        listener = await connected(Local(mended, runs=runs, agent="chat"))
    assert listener.events[-1]["outcome"] == {"type": "success"}
    assert listener.events[0]["runId"] != "failed"


@pytest.mark.parametrize("how", ["failed", "cancelled"])
async def test_a_past_failure_can_be_told_as_an_event_of_a_finished_run(how: str, agui_client: AguiClient) -> None:
    point = Point()
    graph = waiting(point, InMemorySaver()) if how == "cancelled" else FIXTURES["node_raises"].build(InMemorySaver())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"))
        if how == "cancelled":
            await point.reached.wait()
            await run.cancel()
        await run.wait()
        listener = await connected(Local(graph, runs=runs), past_errors="custom")
    assert listener.kinds[-2:] == ["CUSTOM", "RUN_FINISHED"]
    assert listener.events[-2]["value"]["code"] == {"failed": "LookupError", "cancelled": "cancelled"}[how]
    assert played(agui_client, listener).accepted


# --- threads on which a run is going on -------------------------------------------------------------------------------


@pytest.mark.parametrize("checkpointer", [InMemorySaver, lambda: None], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_running_run_is_followed_from_where_it_is_to_its_end(
    version: str, checkpointer: Callable[[], Any], agui_client: AguiClient
) -> None:
    point = Point()
    graph = speaking(point, checkpointer())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        await turns()
        listener = Listener(version=protocol(version))
        async with aclosing(connect_local(Local(graph, runs=runs), "t", listener.reader, None)) as told:  # type: ignore[type-var]
            listener.take(await anext(told))
            point.open.set()
            await listener.hear(told)
        assert held(listener.view) == held(run.view)
    answer = played(agui_client, listener, version)
    assert answer.accepted
    assert [message["content"] for message in answer.messages] == ["hello", "one two three four"]


async def test_closing_the_stream_stops_no_run() -> None:
    point = Point()
    graph = speaking(point, InMemorySaver())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"))
        listener = Listener()
        async with aclosing(connect_local(Local(graph, runs=runs), "t", listener.reader, None)) as told:  # type: ignore[type-var]
            await anext(told)
        await point.reached.wait()
        assert (run.status, run.readers) == ("running", 0)


async def test_an_ended_run_of_a_graph_without_a_checkpointer_is_told_while_it_lingers() -> None:
    graph = quick()
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"))
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
            runs.start(graph, HELLO, on("t"), run_id="r")

        saver.happens = starts
        listener = await connected(Local(graph, runs=runs))
    assert listener.kinds[-1] == "RUN_FINISHED"
    assert [message["content"] for message in listener.view.messages] == ["hello", "At once."]


async def test_a_run_that_starts_and_ends_while_the_thread_is_looked_at_is_the_last() -> None:
    graph = quick(saver := Meanwhile())
    async with Runs() as runs:

        async def runs_through() -> None:
            await runs.start(graph, HELLO, on("t"), run_id="r").wait()

        saver.happens = runs_through
        listener = await connected(Local(graph, runs=runs))
    assert listener.events[0]["runId"] == "r"
    assert [message["content"] for message in listener.view.messages] == ["hello", "At once."]


# --- asking for one run -----------------------------------------------------------------------------------------------


async def test_the_last_run_and_the_running_one_can_be_asked_for() -> None:
    graph = waiting(point := Point(), InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        run = runs.start(graph, HELLO, on("t"), run_id="r")
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
    graph = speaking(point := Point(), None if thread == "without a checkpointer" else InMemorySaver())
    async with Runs() as runs:
        if thread in ("idle", "running"):
            run = runs.start(graph, HELLO, on("t"), run_id="r")
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
    listener = Listener()
    options = replace(await source.options(), error_detail=detail)
    await listener.hear(connect_local(source, "t", listener.reader, options))
    assert [(event["type"], event["code"]) for event in listener.events] == [("RUN_ERROR", "unreadable_thread")]
    assert ("disk" in listener.events[0]["message"]) == (detail in ("message", "full"))


# --- stopping a run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", [None, "r"])
async def test_cancelling_stops_the_threads_run(run_id: str | None) -> None:
    graph = waiting(point := Point(), InMemorySaver())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        await cancel_local(Local(graph, runs=runs), "t", run_id)
        assert run.status == "cancelled"
        assert point.left


async def test_cancelling_another_run_than_the_one_that_is_running_is_refused() -> None:
    graph = waiting(Point(), InMemorySaver())
    async with Runs() as runs:
        run = runs.start(graph, HELLO, on("t"), run_id="r")
        with pytest.raises(RunNotFoundError, match="'other' is not going on on thread 't'; 'r' is"):
            await cancel_local(Local(graph, runs=runs), "t", "other")
        assert run.status == "running"


async def test_cancelling_where_nothing_runs_is_refused() -> None:
    graph = quick()
    async with Runs() as runs:
        await runs.start(graph, HELLO, on("t")).wait()
        with pytest.raises(RunNotFoundError, match="no run"):
            await cancel_local(Local(graph, runs=runs), "t")
