"""What a node said that waits at an interrupt: a page that is loaded then shows it as the page does that watched. No
checkpoint has it, so the run store keeps it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.active_run import LastRun
from langgraph_agui.connect.local.store.records import RunEnd
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, text, tool_call
from langgraph_agui.translator import Finished

from fixtures.graphs.speech import said
from fixtures.scripts import end
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat
from tests.support.clients.locally import connected, played
from tests.support.streams.pausing_graphs import Graph, on

JSON = '{"ask": "the user"}'


def asking(*models: Any) -> Graph:
    """A node in which models speak, and that waits then; it saves only what it says after the answer."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        for model in models:
            await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(f"You said {interrupt('Sure?')}.", id="answer")]}

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(InMemorySaver())


def structured() -> Any:
    return ScriptedChatModel(turns=[JSON]).bind(response_format={"type": "json_schema", "json_schema": {"schema": {}}})


async def reloaded(client: AguiClient, source: Local) -> list[dict[str, Any]]:
    """The messages of a page that is loaded now, in the real client."""
    return list(played(client, await connected(source)).messages)


async def test_a_page_that_is_loaded_shows_the_prose_of_a_node_that_waits_and_no_json(agui_client: AguiClient) -> None:
    source = Local(asking(structured(), said("Let me ask."), structured()), runs=Runs())
    chat = Chat(agui_client, source)
    events = await chat.says("Go.")
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert JSON not in "".join(str(event.get("delta", "")) for event in events)
    assert chat.texts == ["Go.", "Let me ask."]
    assert await reloaded(agui_client, source) == chat.messages


async def test_an_answer_of_the_page_that_was_loaded_takes_the_prose_along(agui_client: AguiClient) -> None:
    source = Local(asking(said("Let me ask.")), runs=Runs())
    chat = Chat(agui_client, source)
    await chat.says("Go.")
    later = Chat(agui_client, source)
    later.hears((await connected(source)).frames.decode())
    assert later.texts == ["Go.", "Let me ask."]
    await later.answers("yes")
    assert later.texts == ["Go.", "You said yes."]
    assert await reloaded(agui_client, source) == later.messages


async def test_reasoning_and_calls_of_a_node_that_waits_are_there_after_a_reload(agui_client: AguiClient) -> None:
    speech = reasoning("Hm.") + text("Let me look.") + tool_call("look", {}, "call_look") + end("tool_calls")
    source = Local(asking(ScriptedChatModel(turns=[speech])), runs=Runs())
    chat = Chat(agui_client, source)
    await chat.says("Go.")
    assert [message["role"] for message in chat.messages] == ["user", "reasoning", "assistant"]
    assert await reloaded(agui_client, source) == chat.messages


async def test_an_interrupt_names_the_call_of_a_message_that_is_not_stored(agui_client: AguiClient) -> None:
    """A node makes a call, and asks before it saves it."""
    delete = {"action_requests": [{"name": "delete", "args": {"path": "notes"}}]}

    async def ask(state: MessagesState) -> dict[str, Any]:
        turn = text("May I?") + tool_call("delete", {"path": "notes"}, "call_delete") + end("tool_calls")
        await ScriptedChatModel(turns=[turn]).ainvoke(state["messages"])
        return {"messages": [AIMessage(str(interrupt(delete)), id="answer")]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(InMemorySaver())
    source = Local(graph, runs=Runs())
    asked = (await Chat(agui_client, source).says("Go."))[-1]["outcome"]
    assert [item["toolCallId"] for item in asked["interrupts"]] == ["call_delete"]
    assert (await connected(source)).events[-1]["outcome"] == asked


async def test_prose_before_a_breakpoint_inside_a_node_is_there_after_a_reload(agui_client: AguiClient) -> None:
    inner = StateGraph(MessagesState).add_node("stop", lambda _: None).add_edge(START, "stop")
    stopping = inner.compile(interrupt_before=["stop"])

    async def run(state: MessagesState) -> dict[str, Any]:
        await said("Let me look.").ainvoke(state["messages"])
        await stopping.ainvoke(state)
        return {"messages": [AIMessage("Done.", id="done")]}

    graph = StateGraph(MessagesState).add_node("run", run).add_edge(START, "run").compile(InMemorySaver())
    source = Local(graph, runs=Runs())
    chat = Chat(agui_client, source)
    await chat.says("Go.")
    assert chat.texts == ["Go.", "Let me look."]
    assert await reloaded(agui_client, source) == chat.messages


def saying(*texts: str, waits: bool, after: asyncio.Event | None = None, done: asyncio.Event | None = None) -> Any:
    """A node that says something and then waits, or saves it."""

    async def say(state: MessagesState) -> dict[str, Any]:
        if after is not None:
            await after.wait()
        spoken = [await said(words).ainvoke(state["messages"]) for words in texts]
        if done is not None:
            done.set()
        return {"messages": interrupt("Sure?") if waits else spoken}

    return say


def side_by_side(**nodes: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)
    return builder


def in_a_row(first: Any, second: Any) -> Graph:
    builder: Any = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    return cast("Graph", builder.add_edge(START, "first").add_edge("first", "second").compile())


def next_to_a_node_that_ends() -> Any:
    spoken = asyncio.Event()
    waiting, ending = saying("Z.", waits=True, done=spoken), saying("A.", "B.", waits=False, after=spoken)
    return side_by_side(z=waiting, a=ending)


def next_to_a_subgraph_that_waits() -> Any:
    spoken = asyncio.Event()
    subgraph = in_a_row(saying("A.", waits=False, after=spoken), saying("B.", waits=True))
    return side_by_side(a=subgraph, z=saying("Z.", waits=True, done=spoken))


def subgraphs_that_wait() -> Any:
    spoken = asyncio.Event()
    first = in_a_row(saying("Y.", waits=False), saying("Z.", waits=True, done=spoken))
    second = in_a_row(saying("A.", waits=False, after=spoken), saying("B.", waits=True))
    return side_by_side(z=first, a=second)


@pytest.mark.parametrize(
    ("build", "texts"),
    [
        (next_to_a_node_that_ends, ["Go.", "Z.", "A.", "B."]),
        (next_to_a_subgraph_that_waits, ["Go.", "Z.", "A.", "B."]),
        (subgraphs_that_wait, ["Go.", "A.", "B.", "Y.", "Z."]),  # stored messages are in the order of the nodes' names
    ],
)
async def test_a_page_that_is_loaded_shows_what_was_said_in_parallel_in_the_same_order(
    build: Callable[[], Any], texts: list[str], agui_client: AguiClient
) -> None:
    source = Local(build().compile(InMemorySaver()), runs=Runs())
    chat = Chat(agui_client, source)
    await chat.says("Go.")
    assert chat.texts == texts
    assert await reloaded(agui_client, source) == chat.messages


@pytest.mark.parametrize("waits", [True, False])
async def test_prose_is_kept_only_while_its_node_waits(waits: bool) -> None:
    """The thread may go on without us: its checkpoint then says that nothing waits."""
    graph, runs = asking(said("Let me ask.")), Runs()
    await (await runs.start(graph, {"messages": [("user", "Go.")]}, on("t"), run_id="run")).wait()
    if not waits:
        await graph.ainvoke(Command(resume="yes"), on("t"))  # type: ignore[call-overload]
    view = (await connected(Local(graph, runs=runs))).view
    assert [message["content"] for message in view.messages] == ["Go.", "Let me ask." if waits else "You said yes."]


def test_prose_and_the_calls_of_interrupts_are_as_they_were_in_a_shared_store() -> None:
    said_last = ({"id": "m", "role": "assistant", "content": "Let me ask."},)
    last = LastRun("run", datetime.now(UTC), Finished(), True, False, 7, said_last, {"i": "call_1", "j": None})
    assert RunEnd.from_json(RunEnd(last).to_json(None), None) == RunEnd(last)
