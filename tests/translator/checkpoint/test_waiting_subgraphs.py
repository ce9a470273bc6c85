"""Subgraphs that wait at an interrupt: what they have said stays where it is, for the client that saw it and for one
that comes later, and nothing doubles when the run goes on."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, StateSnapshot, interrupt
from langgraph_agui.connect import Local
from langgraph_agui.connect.platform.join.partial_messages import PartialMessageFilter
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import STREAM_MODES, ClientView, Translator
from langgraph_agui.translator.parts.reader import part_of

from fixtures.graphs.speech import said, speaker
from fixtures.graphs.toolbox import add
from fixtures.models import by_tool_results
from fixtures.scripts import end
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat, Event
from tests.support.clients.locally import connected
from tests.support.streams.chats import ON, Graph

APPROVE = {"decisions": [{"type": "approve"}]}


def alice(a: int = 1, name: str = "alice") -> Graph:
    """An agent whose only call needs an approval."""
    turns = (
        text(f"{name} adds. ") + tool_call("add", {"a": a, "b": 2}, f"call_{name}") + end("tool_calls"),
        text("Done."),
    )
    model = ScriptedChatModel(turns=[turns[0], turns[1] + end()], turn_of=by_tool_results)
    graph: Graph = create_agent(model, [add], middleware=[HumanInTheLoopMiddleware({"add": True})], name=name)
    return graph


def graph_of(*edges: tuple[str, str], saver: Any = None, **nodes: Any) -> Graph:
    builder = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for begin, then in edges:
        builder.add_edge(begin, then)
    return builder.compile(checkpointer=saver)


def says(words: str) -> Any:
    return speaker(said(words))


def asks(question: str) -> Callable[[MessagesState], dict[str, Any]]:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{question} {interrupt(question)}", id=f"{question}-1")]}

    return node


def an_agent() -> Graph:
    edges = (START, "child"), ("child", "after")
    return graph_of(*edges, saver=InMemorySaver(), child=alice(), after=says("Up again."))


def an_agent_beside_a_node() -> Graph:
    """The node ends, and its message is saved; it is stored before the agent's, or behind it."""
    edges = (START, "child"), (START, "zoe"), (START, "bob"), ("child", "after")
    nodes = {"zoe": says("Zoe beside."), "bob": says("Bob, who has a bit more to say."), "after": says("Up again.")}
    return graph_of(*edges, saver=InMemorySaver(), child=alice(), **nodes)


def an_agent_two_levels_down() -> Graph:
    inner = graph_of((START, "intro"), ("intro", "agent"), intro=says("Down here."), agent=alice())
    outer = graph_of((START, "first"), ("first", "inner"), first=says("Level one."), inner=inner)
    return graph_of((START, "outer"), ("outer", "end"), saver=InMemorySaver(), outer=outer, end=says("Up again."))


def two_of_which_one_waits() -> Graph:
    left = graph_of((START, "talk"), ("talk", "more"), talk=says("Left says one."), more=says("Left says two."))
    right = graph_of((START, "talk"), ("talk", "ask"), talk=says("Right speaks."), ask=asks("right"))
    return graph_of((START, "right"), (START, "left"), saver=InMemorySaver(), left=left, right=right)


def two_that_wait() -> Graph:
    agents = {"first": alice(1, "first"), "second": alice(3, "second")}
    return graph_of((START, "first"), (START, "second"), saver=InMemorySaver(), **agents)


def two_that_wait_beside_others() -> Graph:
    """Zoe has finished before Alice, and is stored behind her; the run ends with values that have pending writes."""
    alice, zoe = says("Alice, who has a bit more to say."), says("Zoe.")
    child = graph_of((START, "alice"), (START, "zoe"), (START, "ask"), alice=alice, zoe=zoe, ask=asks("inside"))
    edges = (START, "child"), (START, "ask"), (START, "bob")
    return graph_of(*edges, saver=InMemorySaver(), child=child, ask=asks("outside"), bob=says("Bob."))


def a_breakpoint_inside() -> Graph:
    child: Any = StateGraph(MessagesState).add_node("talk", says("Before.")).add_node("stop", says("After."))
    stopping = child.add_edge(START, "talk").add_edge("talk", "stop").compile(interrupt_before=["stop"])
    return graph_of((START, "child"), saver=InMemorySaver(), child=stopping)


CASES: dict[str, tuple[Callable[[], Graph], Any, list[str | None]]] = {
    "an agent": (an_agent, APPROVE, ["call_alice"]),
    "an agent beside a node": (an_agent_beside_a_node, APPROVE, ["call_alice"]),
    "an agent two levels down": (an_agent_two_levels_down, APPROVE, ["call_alice"]),
    "two of which one waits": (two_of_which_one_waits, "yes", [None]),
    "two that wait": (two_that_wait, APPROVE, ["call_first", "call_second"]),
    "two that wait beside others": (two_that_wait_beside_others, "yes", [None, None]),
    "a breakpoint inside": (a_breakpoint_inside, None, [None]),
}


def vanished(held: list[Event], events: list[Event]) -> list[str]:
    """The messages that went away meanwhile, beyond what consecutive snapshots put in order together."""
    view, seen, gone = ClientView(held, {}), {message["id"] for message in held}, []
    for event, following in zip(events, [*events[1:], {}], strict=True):
        view.apply(event)
        if following.get("type") != "MESSAGES_SNAPSHOT":
            gone += sorted(seen.difference(view.order))
            seen |= set(view.order)
    return gone


def asked(interrupts: list[Event]) -> list[Event]:
    return sorted(interrupts, key=lambda item: str(item["id"]))


@pytest.mark.parametrize("one_by_one", [False, True], ids=["all at once", "one by one"])
@pytest.mark.parametrize("case", CASES)
async def test_what_a_waiting_subgraph_said_stays_for_every_client(
    case: str, one_by_one: bool, agui_client: AguiClient
) -> None:
    build, answer, calls = CASES[case]
    graph = build()
    chat = Chat(agui_client, graph)
    held = [{"id": "u1", "role": "user", "content": "go"}]
    events = await chat.says("go", "u1")
    assert sorted(str(item.get("toolCallId")) for item in chat.interrupts) == sorted(map(str, calls))
    while chat.interrupts:
        assert vanished(held, events) == []
        late = await connected(Local(graph))
        assert comparable(late.view.messages) == comparable(chat.messages)
        assert late.view.order == [message["id"] for message in chat.messages]
        assert asked((late.view.outcome or {})["interrupts"]) == asked(chat.interrupts)
        held = chat.messages
        events = await chat.answers(*[answer] * (1 if one_by_one else len(chat.interrupts)))
    assert vanished(held, events) == []
    told = [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert {message["id"] for message in held}.isdisjoint(told)
    assert comparable(chat.messages) == comparable(expected((await graph.aget_state(ON)).values).messages)


@pytest.mark.parametrize("holds", ["nothing", "the conversation"])
async def test_a_client_that_did_not_see_the_question_gets_what_it_is_about_with_its_answer(
    holds: str, agui_client: AguiClient
) -> None:
    """A second tab: the call is there before its result comes."""
    graph = an_agent()
    first = Chat(agui_client, graph)
    await first.says("go", "u1")
    second = Chat(agui_client, graph)
    second.interrupts = first.interrupts
    second.messages = [] if holds == "nothing" else first.messages[:1]
    view = ClientView(second.messages, {}, "1.0")
    events = await second.answers(APPROVE)
    for event in events[: [event["type"] for event in events].index("TOOL_CALL_RESULT")]:
        view.apply(event)
    assert view.messages[-1]["toolCalls"][0]["id"] == "call_alice"
    assert comparable(second.messages) == comparable(expected((await graph.aget_state(ON)).values).messages)


async def streamed(graph: Graph, given: Any, view: ClientView, modes: list[Any]) -> list[Event]:
    """A run by the translator alone, whose client holds `view`."""
    run = Translator("t", "r", view=view)
    events = run.start()
    async for part in graph.astream(given, ON, stream_mode=modes, subgraphs=True):
        events += run.feed(part)
    return events + run.finish()


@pytest.mark.parametrize("modes", [STREAM_MODES, [*STREAM_MODES, "tasks"]], ids=["", "with tasks"])
@pytest.mark.parametrize("build", [an_agent, an_agent_beside_a_node, an_agent_two_levels_down])
async def test_the_stream_alone_says_that_a_run_goes_on_in_a_subgraph(build: Any, modes: list[Any]) -> None:
    """The translator knows of the run before only what the client holds."""
    graph = build()
    view = ClientView([], {})
    await streamed(graph, {"messages": [HumanMessage("go", id="u1")]}, view, modes)
    held = view.messages
    events = await streamed(graph, Command(resume=APPROVE), ClientView(held, view.state), modes)
    assert vanished(held, events) == []


def given_words_of_others() -> Graph:
    """Its input ends with an assistant's message that no client may see."""
    inner = graph_of((START, "talk"), ("talk", "ask"), talk=says("I work."), ask=asks("really"))
    note = HumanMessage("private question", id="p1"), AIMessage("private answer", id="p2")
    builder = StateGraph(MessagesState).add_node("inner", inner)
    builder.add_conditional_edges(START, lambda state: [Send("inner", {"messages": [*note]})], ["inner"])
    return builder.compile(InMemorySaver())


async def test_the_input_of_a_waiting_subgraph_is_not_shown() -> None:
    view = ClientView([], {})
    await streamed(given_words_of_others(), {"messages": [HumanMessage("go", id="u1")]}, view, STREAM_MODES)
    assert [message["content"] for message in view.messages] == ["go", "I work."]


async def test_who_joins_a_subgraph_anywhere_before_it_waits_gets_what_it_said() -> None:
    """The stream from any part on, without what is cut, and at its end the values of the checkpoints."""
    child = graph_of((START, "talk"), ("talk", "ask"), talk=says("I work."), ask=asks("really"))
    graph = graph_of((START, "child"), saver=InMemorySaver(), child=child)
    given = {"messages": [HumanMessage("go", id="u1")]}
    parts = [part async for part in graph.astream(given, ON, stream_mode=STREAM_MODES, subgraphs=True)]
    (task,) = (await graph.aget_state(ON, subgraphs=True)).tasks
    assert isinstance(task.state, StateSnapshot)
    ns = tuple(task.state.config["configurable"]["checkpoint_ns"].split("|"))
    for cut in range(len(parts) + 1):
        latecomer, run = PartialMessageFilter(), Translator("t", "r", view=ClientView([], {}))
        run.start()
        run.apply_checkpoint(given)
        for part in parts[cut:]:
            if latecomer.passes(part_of(part)):
                run.feed(part)
        run.apply_checkpoint(task.state.values, ns, task.interrupts)
        run.finish()
        assert [message["content"] for message in run.view.messages] == ["go", "I work."], parts[cut:]


def a_child_that_edits_and_forgets() -> Graph:
    """What it streams is stored otherwise, or not at all, and then it asks."""

    async def edits(state: MessagesState) -> dict[str, Any]:
        answer = await said("My secret is 42.").ainvoke(state["messages"])
        return {"messages": [AIMessage("My secret is **.", id=answer.id)]}

    async def forgets(state: MessagesState) -> dict[str, Any]:
        await said("Scratch.").ainvoke(state["messages"])
        return {}

    edges = (START, "edits"), ("edits", "forgets"), ("forgets", "ask")
    child = graph_of(*edges, edits=edits, forgets=forgets, ask=asks("really"))
    return graph_of((START, "child"), saver=InMemorySaver(), child=child)


async def test_at_an_interrupt_a_subgraphs_messages_are_as_it_has_them(agui_client: AguiClient) -> None:
    """What it has not stored stays displayed until it goes on: the superstep of the root is not over."""
    graph = a_child_that_edits_and_forgets()
    chat = Chat(agui_client, graph)
    await chat.says("go", "u1")
    assert chat.texts == ["go", "My secret is **.", "Scratch."]
    assert comparable((await connected(Local(graph))).view.messages) == comparable(chat.messages)
    await chat.answers("yes")
    assert chat.texts == ["go", "My secret is **.", "really yes"]


async def test_a_question_that_is_dropped_takes_what_was_said_before_it_along() -> None:
    """A new input forgets the task that waited: its messages will never be stored."""
    graph = an_agent()
    view = ClientView([], {})
    await streamed(graph, {"messages": [HumanMessage("go", id="u1")]}, view, STREAM_MODES)
    events = await streamed(graph, {"messages": [HumanMessage("no", id="u2")]}, view, STREAM_MODES)
    opening = next(event for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    assert [message["id"] for message in opening["messages"]] == ["u1", "u2"]


async def test_a_call_that_was_edited_is_shown_before_its_result(agui_client: AguiClient) -> None:
    """The values of the root graph have it when the subgraph has ended."""

    def edit(state: MessagesState) -> dict[str, Any]:
        asking: Any = state["messages"][-1]
        return {
            "messages": [asking.model_copy(update={"tool_calls": [{**asking.tool_calls[0], "args": interrupt("?")}]})]
        }

    turn = tool_call("add", {"a": 1, "b": 2}, "call_1") + end("tool_calls")
    nodes = {"ask": speaker(ScriptedChatModel(turns=[turn])), "edit": edit, "tools": ToolNode([add])}
    inner = graph_of((START, "ask"), ("ask", "edit"), ("edit", "tools"), **nodes)
    chat = Chat(agui_client, Local(graph_of((START, "inner"), inner=inner, saver=InMemorySaver())))
    await chat.says("Go.")
    events = await chat.answers({"a": 5, "b": 2})
    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [json.loads(call["function"]["arguments"]) for call in calls_of(snapshot["messages"])] == [{"a": 5, "b": 2}]
    assert events.index(snapshot) < [event["type"] for event in events].index("TOOL_CALL_RESULT")
    assert calls_of(chat.messages) == calls_of(snapshot["messages"])


def calls_of(messages: list[Event]) -> list[Event]:
    return [call for message in messages for call in message.get("toolCalls", ())]
