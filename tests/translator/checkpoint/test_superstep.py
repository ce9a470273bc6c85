"""Supersteps that write nothing, so that LangGraph yields no `values` for them: their messages are removed when the
tasks that emitted them have returned."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from langgraph_agui.translator import STREAM_MODES, ClientView, Options
from langgraph_agui.translator.options import UnsavedMode

from fixtures.graphs.speech import said
from tests.support.streams.chats import ON, Graph
from tests.support.streams.translator_runs import TranslatorRun

MODES = pytest.mark.parametrize("modes", [STREAM_MODES, [*STREAM_MODES, "tasks"]], ids=["", "with tasks"])
EXACT = pytest.mark.parametrize("modes", [[*STREAM_MODES, "tasks"]], ids=["with tasks"])


def texts(run: TranslatorRun) -> list[str]:
    """What the client shows."""
    return [str(message.get("content")) for message in run.view.messages]


async def first_run(graph: Graph, modes: list[Any]) -> TranslatorRun:
    """The graph's first run, for a client that has nothing."""
    run = TranslatorRun(view=ClientView([], {}))
    given = {"messages": [HumanMessage("go", id="u")]}
    async for part in graph.astream(given, ON, stream_mode=modes, subgraphs=True):
        run.feed(part)
    run.finish()
    return run


async def thinks(state: Any) -> dict[str, Any]:
    await said("Thinking.").ainvoke("go")
    return {}


def asks(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(interrupt("Sure?"), id="answer")]}


def routing(node: Any) -> Graph:
    """A node that writes nothing, and one that waits."""
    builder = StateGraph(MessagesState).add_node("route", node).add_node("ask", asks)
    return builder.add_edge(START, "route").add_edge("route", "ask").compile(InMemorySaver())


async def going(state: MessagesState) -> Command[Any]:
    await said("Thinking.").ainvoke("go")
    return Command(goto="ask")


def commanding() -> Graph:
    """A router that goes on by a `Command`."""
    builder = StateGraph(MessagesState).add_node("route", going, destinations=("ask",)).add_node("ask", asks)
    return builder.add_edge(START, "route").compile(InMemorySaver())


@MODES
@pytest.mark.parametrize("build", [lambda: routing(thinks), commanding], ids=["returns nothing", "a command"])
async def test_at_an_interrupt_the_messages_of_a_step_that_wrote_nothing_are_gone(build: Any, modes: list[Any]) -> None:
    run = await first_run(build(), modes)
    assert (run.end, texts(run)) == ("interrupt", ["go"])


@task
async def aside(words: str) -> None:
    await said(words).ainvoke("go")


def subgraph() -> Graph:
    return StateGraph(MessagesState).add_node("inner", thinks).add_edge(START, "inner").compile()


async def calling_a_graph(state: Any) -> dict[str, Any]:
    await subgraph().ainvoke({"messages": []})
    return {}


def sending() -> Graph:
    """A node that is sent to twice."""
    builder = StateGraph(MessagesState).add_node("route", thinks).add_node("ask", asks).add_edge("route", "ask")
    builder.add_conditional_edges(START, lambda _: [Send("route", {}), Send("route", {})], ["route"])
    return builder.compile(InMemorySaver())


@EXACT
@pytest.mark.parametrize(
    "build", [lambda: routing(calling_a_graph), sending], ids=["in a graph", "in tasks of a `Send`"]
)
async def test_tasks_say_when_what_ran_within_or_beside_them_has_ended(build: Any, modes: list[Any]) -> None:
    run = await first_run(build(), modes)
    assert (run.end, texts(run)) == ("interrupt", ["go"])


async def test_a_task_of_a_node_that_waits_keeps_its_messages() -> None:
    async def asks_after_tasks(state: MessagesState) -> dict[str, Any]:
        await aside("Thinking.")
        return asks(state)

    builder = StateGraph(MessagesState).add_node("ask", asks_after_tasks).add_edge(START, "ask")
    run = await first_run(builder.compile(InMemorySaver()), [*STREAM_MODES, "tasks"])
    assert (run.end, texts(run)) == ("interrupt", ["go", "Thinking."])


# --- part by part -----------------------------------------------------------------------------------------------------

VALUES = ("values", {"messages": [{"type": "human", "content": "go", "id": "u"}]})
ASKED = ("updates", {"__interrupt__": [{"id": "i", "value": "Sure?"}]})


def says(words: str, task: str, kind: str = "pull") -> Any:
    path = [f"__pregel_{kind}", task.partition(":")[0]]
    where = {"langgraph_node": path[1], "langgraph_checkpoint_ns": task, "langgraph_path": path}
    message = {"type": "AIMessageChunk", "content": words, "id": f"lc_run--{task}"}
    return "messages", (message, {**where, "ls_model_type": "chat"})


def returns(node: str, output: Any = None) -> Any:
    return "updates", {node: output}


def starts(task: str) -> Any:
    name, _, number = task.partition(":")
    return "tasks", {"name": name, "id": number, "input": {}}


def result(task: str, **more: Any) -> Any:
    name, _, number = task.partition(":")
    return "tasks", {"name": name, "id": number, "error": None, "result": {}, "interrupts": [], **more}


STAYS = {
    "its task has not returned": [says("A", "a:1"), returns("b")],
    "another task that spoke has not returned": [says("A", "a:1"), says("B", "b:1"), returns("b")],
    "the step has written": [says("A", "a:1"), returns("b", {"count": 1}), returns("a")],
    "the task itself has written": [says("A", "a:1"), returns("a", {"count": 1})],
    "another task of its node has returned": [says("A", "a:1", "push"), returns("a")],
    "a task that was sent to its node has returned": [says("A", "a:1"), starts("a:2"), returns("a"), result("a:2")],
    "an attempt has failed": [says("A", "a:1"), result("a:1", error="ValueError()")],
    "its task waits": [says("A", "a:1"), result("a:1", interrupts=[{"id": "i", "value": "Sure?"}])],
    "another task waits": [says("A", "a:1"), ASKED, returns("a")],
    "a subgraph spoke": [says("A", "a:1|b:1"), returns("a")],
    "a graph that another thread runs spoke": [says("A", "inner:1"), returns("a")],
}
GOES = {
    "its task has returned": [says("A", "a:1"), returns("a")],
    "all who spoke have returned": [says("A", "a:1"), says("B", "b:1"), returns("b"), returns("a", {})],
    "its task has a result": [says("A", "a:1", "push"), result("a:1")],
    "another node still runs in silence": [says("A", "a:1"), starts("b:1"), returns("a"), result("a:1")],
}


@pytest.mark.parametrize(
    ("parts", "stays"),
    [*((parts, True) for parts in STAYS.values()), *((parts, False) for parts in GOES.values())],
    ids=[*(f"stays: {name}" for name in STAYS), *(f"goes: {name}" for name in GOES)],
)
def test_messages_go_when_nothing_was_written_and_all_who_emitted_them_have_returned(
    parts: list[Any], stays: bool
) -> None:
    run = TranslatorRun(view=ClientView([{"id": "u", "role": "user", "content": "go"}], {}), source="local")
    for part in [VALUES, *parts]:
        run.feed(part)
    assert ("A" in texts(run)) is stays


def test_messages_stay_while_a_platform_shows_no_messages_channel() -> None:
    """Its `updates` have only the channels of the output schema: what a node wrote elsewhere cannot be known."""
    run = TranslatorRun(view=ClientView([], {}), source="platform")
    for part in [("values", {"count": 1}), says("A", "a:1"), returns("a")]:
        run.feed(part)
    assert texts(run) == ["A"]


def test_messages_that_are_kept_stay_when_their_step_has_written_nothing() -> None:
    run = TranslatorRun(Options(unsaved="run"), ClientView([], {}), source="local")
    for part in [VALUES, says("A", "a:1"), returns("a")]:
        run.feed(part)
    assert texts(run) == ["go", "A"]
    run.finish()
    assert texts(run) == ["go"]


def test_a_stored_message_whose_id_came_again_is_as_it_is_stored() -> None:
    stored = ("values", {"messages": [*VALUES[1]["messages"], {"type": "ai", "content": "A", "id": "lc_run--a:1"}]})
    run = TranslatorRun(view=ClientView([], {}), source="local")
    for part in [stored, says("B", "a:1"), returns("a")]:
        run.feed(part)
    assert texts(run) == ["go", "A"]


@pytest.mark.parametrize(("unsaved", "shown"), [("step", []), ("run", ["Slow. Late."]), ("keep", ["Slow. Late."])])
@pytest.mark.parametrize("writes", [None, {"topic": "tea"}], ids=["writes nothing", "writes"])
def test_text_that_stays_goes_on_after_a_superstep_of_a_graph_without_a_conversation(
    unsaved: UnsavedMode, shown: list[str], writes: dict[str, str] | None
) -> None:
    run = TranslatorRun(Options(unsaved=unsaved), ClientView([], {}))
    metadata: dict[str, Any] = {"langgraph_node": "route", "langgraph_checkpoint_ns": "route:1", "ls_provider": "p"}
    metadata |= {"langgraph_path": ("__pregel_pull", "route")}
    run.feed(("values", {"topic": "food"}))
    run.feed(("messages", (AIMessageChunk(content="Slow.", id="m"), metadata)))
    run.feed(("updates", {"route": writes}))
    if writes:
        run.feed(("values", writes))
    run.feed(("messages", (AIMessageChunk(content=" Late.", id="m"), metadata)))
    assert texts(run) == shown
