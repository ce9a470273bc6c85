"""Nodes that answer tool calls by running a graph: each round shows the same, and the first is no exception."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import STREAM_MODES, ClientView

from fixtures import FIXTURES
from fixtures.graphs.rounds import ROUNDS
from fixtures.graphs.speech import said, speaker
from fixtures.run import MODES, Conversation
from fixtures.scripts import end
from tests.support.streams.translator_runs import Event, TranslatorRun


async def _rounds(modes: Sequence[str]) -> list[list[list[Event]]]:
    """By turn of the fixture, and by round: the events between its calls and the last of their results."""
    conversation, found, view = Conversation(FIXTURES["research_in_rounds"]), [], ClientView([], {})
    for turn in conversation.fixture.turns:
        run = TranslatorRun(view=ClientView([*view.messages, *turn.input["messages"]], view.state))
        async for part in conversation.stream(turn, modes=[*MODES, *modes]):
            run.feed(part)
        run.finish()
        view = run.view
        number, last = 0, 0
        numbered: list[tuple[int, Event]] = []
        for event in run.events:
            if event["type"] == "TOOL_CALL_START" and event["toolCallName"] == "conduct_research":
                number = int(event["toolCallId"].split("_")[1])
            numbered.append((number, event))
            if event["type"] == "TOOL_CALL_RESULT" and event["toolCallId"].startswith(f"call_{number}"):
                last = len(numbered)
        ended = numbered[:last]
        found.append([[event for _, event in each] for key, each in groupby(ended, lambda item: item[0]) if key])
    return found


def _shown(events: Sequence[Event]) -> set[tuple[str, str]]:
    """What of the researchers is shown: steps, texts and calls, without ids."""
    return {
        (event["type"], str(event.get("stepName") or event.get("delta") or event.get("toolCallName")))
        for event in events
        if event["type"] in ("STEP_STARTED", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_START")
        and not str(event.get("toolCallName")).startswith("conduct")
        and event.get("delta") not in ("Round ", "1. ", "2. ", "3. ")
    }


@pytest.mark.parametrize("modes", [(), ("tasks",)], ids=str)
async def test_each_round_shows_the_steps_of_its_researchers_and_nothing_else(modes: Sequence[str]) -> None:
    inner = "research_supervisor/supervisor_tools"
    wanted = {
        ("STEP_STARTED", name)
        for name in (inner, *(f"{inner}/{node}" for node in ("researcher", "researcher_tools", "compress")))
    }
    for rounds in await _rounds(modes):
        assert len(rounds) == ROUNDS
        for events in rounds:
            assert _shown(events) - {("STEP_STARTED", "research_supervisor/supervisor")} == wanted


def _asked(**calls: str) -> AIMessage:
    return AIMessage("", id="asked", tool_calls=[{"name": "ask", "args": {}, "id": name} for name in calls])


async def _texts(graph: Any, *inputs: Any) -> list[set[str]]:
    """By run: the texts that were streamed, with a bar between their pieces."""
    found = []
    for given in inputs:
        run = TranslatorRun()
        config: Any = {"configurable": {"thread_id": "t"}}
        async for part in graph.astream(given, config, stream_mode=STREAM_MODES, subgraphs=True):
            run.feed(part)
        run.finish()
        texts: dict[str, str] = {}
        for event in run.events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                before = texts.get(event["messageId"])
                texts[event["messageId"]] = event["delta"] if before is None else f"{before}|{event['delta']}"
        found.append(set(texts.values()))
    return found


def _agent(words: str) -> Any:
    return StateGraph(MessagesState).add_node("speak", speaker(said(words))).add_edge(START, "speak").compile()


async def test_a_node_that_runs_a_graph_goes_on_answering_a_call_of_an_earlier_run() -> None:
    expert = _agent("Said while the call is answered.")

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [_asked(call_1="")]}

    async def answer(state: MessagesState) -> dict[str, Any]:
        agreed = interrupt("May I?")
        await expert.ainvoke({"messages": state["messages"][:1]})
        return {"messages": [ToolMessage(agreed, tool_call_id="call_1")]}

    nodes = {"ask": ask, "answer": answer, "last": speaker(said("The answer."))}
    graph = StateGraph(MessagesState).add_sequence([*nodes.items()]).add_edge(START, "ask")
    given = {"messages": [{"role": "user", "content": "hi"}]}
    texts = await _texts(graph.compile(checkpointer=InMemorySaver()), given, Command(resume="yes"))
    assert texts == [set(), {"The |answer."}]


async def test_a_graph_beside_one_whose_model_calls_a_tool_is_no_tool() -> None:
    """Two graphs of one node: the second begins while a call of the first waits for its result."""
    calling = ScriptedChatModel(turns=[text("I call. ") + tool_call("ask", {}, "call_1") + end("tool_calls")])
    first = StateGraph(MessagesState).add_node("model", speaker(calling))

    async def other(state: MessagesState) -> dict[str, Any]:
        return {}

    inner: Any = first.add_node("other", other).add_edge(START, "model").add_edge("model", "other").compile()

    async def both(state: MessagesState) -> dict[str, Any]:
        one: Any = await inner.ainvoke({"messages": state["messages"]})
        two: Any = await _agent("The other graph speaks.").ainvoke({"messages": state["messages"]})
        return {"messages": [*one["messages"][1:], *two["messages"][1:]]}

    graph = StateGraph(MessagesState).add_node("both", both).add_edge(START, "both").compile()
    (texts,) = await _texts(graph, {"messages": [{"role": "user", "content": "hi"}]})
    assert texts == {"I |call. ", "The |other |graph |speaks."}
