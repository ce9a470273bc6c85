"""How a run is told to have ended to who connects afterwards, as far as a checkpoint and this process know."""

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import run
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import Pause

from fixtures import FIXTURES
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.asking import asked
from tests.support.clients.locally import connected, failed, played, state_of
from tests.support.streams.pausing_graphs import HELLO, Graph, asking, on, quick, waiting

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


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_question_that_was_answered_before_a_breakpoint_in_its_subgraph_does_not_wait(depth: int) -> None:
    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", interrupt("Sure?"))]}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_node("go", lambda _: None)
    builder.add_edge(START, "ask").add_edge("ask", "go")
    graph: Any = builder.compile(interrupt_before=["go"])
    for level in range(depth):
        saver = InMemorySaver() if level == depth - 1 else None
        graph = StateGraph(MessagesState).add_node("child", graph).add_edge(START, "child").compile(saver)
    runs = Runs()
    for number, given in enumerate((HELLO, Command(resume="yes"))):
        await (await runs.start(graph, given, on("t"), run_id=f"r{number}")).wait()
        for kept in (runs, Runs()):  # the process that ran it, and another one
            items = (await connected(Local(graph, runs=kept))).events[-1]["outcome"]["interrupts"]
            assert [item["reason"] for item in items] == ["langgraph:breakpoint" if number else "input_required"]


async def test_a_breakpoint_that_was_asked_for_with_the_run_is_not_known_elsewhere() -> None:
    graph = waiting(Pause(), InMemorySaver())
    await graph.ainvoke(HELLO, on("t"), interrupt_before=["wait"])  # type: ignore[call-overload]
    listener = await connected(Local(graph, runs=Runs()))
    assert listener.events[-1]["code"] == "unfinished"


async def test_an_error_of_a_run_elsewhere_is_told() -> None:
    graph = FIXTURES["node_raises"].build(InMemorySaver())
    async with Runs() as elsewhere:
        await (await elsewhere.start(graph, HELLO, on("t"), run_id="r")).wait()
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
        await (await elsewhere.start(graph, HELLO, on("t"))).wait()
    assert (await connected(Local(graph, runs=Runs()))).events[-1] == {"type": "RUN_ERROR", "message": "it is odd"}


async def _killed(graph: Graph, point: Pause, given: Any = HELLO) -> None:
    """A run of another process that is killed at the point."""
    invoking = asyncio.create_task(graph.ainvoke(given, on("t")))  # type: ignore[call-overload]
    await point.reached.wait()
    invoking.cancel()
    await asyncio.wait([invoking])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_elsewhere_that_was_killed_is_unfinished(
    version: str, agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    point = Pause()
    graph = waiting(point, InMemorySaver())
    await _killed(graph, point)
    source = Local(graph, runs=Runs(), agent="a")
    listener = await connected(source, version=version)
    assert listener.events[-1]["code"] == "unfinished"
    await connected(source, version=version)
    point.open.set()
    assert [event async for event in run(source, asked("again", "r2"))]
    [line] = [record.getMessage() for record in caplog.records if "It is not known how" in record.getMessage()]  # once
    assert "its process was killed, or the run is active in another process" in line
    assert line.endswith(f"(agent 'a', thread 't', run '{listener.events[0]['runId']}').")
    answer = played(agui_client, listener, version)
    assert answer.accepted
    *conversation, failure = answer.messages
    assert [message["content"] for message in conversation] == ["hello", "At once."]
    assert (failure["activityType"], failure["content"]["code"]) == ("run_error", "unfinished")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_cancelled_run_is_told_as_cancelled(version: str, elsewhere: bool, agui_client: AguiClient) -> None:
    point = Pause()
    graph = waiting(point, InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r")
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
    point = Pause()
    graph = asking(point, InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"), run_id="first")).wait()
        run = await runs.start(graph, Command(resume="fail"), on("t"), run_id="second")
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


@pytest.mark.parametrize("how", ["failed", "cancelled"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_that_left_a_new_thread_without_a_checkpoint_is_told_all_the_same(
    how: str, version: str, agui_client: AguiClient
) -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, {**on("t"), "recursion_limit": -1 if how == "failed" else 25}, run_id="r")
        await (run.wait() if how == "failed" else run.cancel())
        listener = await connected(Local(graph, runs=runs), run_id="r", version=version)
    assert played(agui_client, listener, version).accepted
    last = listener.events[-1]
    wanted = "ValueError" if how == "failed" else "cancelled"
    assert wanted in (last.get("code"), last.get("outcome", {}).get("type"))


async def test_a_deleted_thread_is_unknown_again() -> None:
    graph = quick(saver := InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"))).wait()
        await saver.adelete_thread("t")
        assert not (await connected(Local(graph, runs=runs))).events


async def test_what_is_remembered_does_not_count_when_the_thread_went_on_elsewhere() -> None:
    graph = FIXTURES["node_raises"].build(checkpointer := InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"), run_id="failed", agent="chat")).wait()
        mended = quick(checkpointer)
        await mended.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
        listener = await connected(Local(mended, runs=runs, agent="chat"))
    assert listener.events[-1]["outcome"] == {"type": "success"}
    assert listener.events[0]["runId"] != "failed"


@pytest.mark.parametrize("how", ["failed", "cancelled"])
async def test_a_past_failure_can_be_told_as_an_event_of_a_finished_run(how: str, agui_client: AguiClient) -> None:
    point = Pause()
    graph = waiting(point, InMemorySaver()) if how == "cancelled" else FIXTURES["node_raises"].build(InMemorySaver())
    async with Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"))
        if how == "cancelled":
            await point.reached.wait()
            await run.cancel()
        await run.wait()
        listener = await connected(Local(graph, runs=runs), past_errors="custom")
    assert listener.kinds[-2:] == ["CUSTOM", "RUN_FINISHED"]
    assert listener.events[-2]["value"]["code"] == {"failed": "LookupError", "cancelled": "cancelled"}[how]
    assert played(agui_client, listener).accepted
