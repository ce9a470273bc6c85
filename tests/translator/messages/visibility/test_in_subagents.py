"""What a model says inside a tool of a subagent, marked as visible in the tool call: live, for readers that join, and
after a reload."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.expected import comparable, expected, unattributed
from langgraph_agui.connect.testing.scripts import tokens
from langgraph_agui.translator import STREAM_MODES, ClientView, Options, Translator

from fixtures.fixture import Graph
from fixtures.graphs.subagents import DONE, deep, specialist, task
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol

Event = dict[str, Any]
SPOKEN = "The surface grows."
ASKED: Mapping[str, Any] = {"messages": [("user", "draw")]}
CONFIG: Any = {"configurable": {"thread_id": "thread"}}


async def spoken() -> str:
    model = ScriptedChatModel(turns=[text(SPOKEN) + end()])
    answer = await model.ainvoke("draw", {"metadata": {"agui_visibility": "tool"}})
    return answer.text.upper()


@tool
async def draw(topic: str) -> str:
    """Asks a marked model."""
    return await spoken()


@tool
async def draw_and_ask(topic: str) -> str:
    """Asks a marked model, then a person; begins anew when the person has answered."""
    drawn = await spoken()
    return f"{drawn}: {interrupt('Is that right?')}"


DRAWING = text("I draw. ") + tool_call("draw", {"topic": "bird"}, "call_draw") + end("tool_calls")
ASKING = text("I draw. ") + tool_call("draw_and_ask", {"topic": "bird"}, "call_draw") + end("tool_calls")
DRAWN = text("Drawn.") + end()
ONE = text("I delegate. ") + task("artist", "draw a bird", "call_task") + end("tool_calls")
TWO = task("artist", "draw a bird", "call_a") + task("artist", "draw a fish", "call_b", 1) + end("tool_calls")
OUTER = text("I ask the lead. ") + task("lead", "have it drawn", "call_outer") + end("tool_calls")
ARTIST = specialist(DRAWING, DRAWN, name="artist", tools=[draw])
LEAD = {"name": "lead", "description": "A lead.", "runnable": deep(ONE, DONE, subagents=[ARTIST])(None)}
CAREFUL = specialist(ASKING, DRAWN, name="artist", tools=[draw_and_ask])


class Case(NamedTuple):
    """A graph, and how many subagents of it draw."""

    build: Callable[[Any], Graph]
    drawings: int


CASES = {
    "one": Case(deep(ONE, DONE, subagents=[ARTIST]), 1),
    "two in parallel": Case(deep(TWO, DONE, subagents=[ARTIST]), 2),
    "nested": Case(deep(OUTER, DONE, subagents=[LEAD]), 1),
}


async def parts_of(graph: Graph, given: Any, modes: Sequence[str] = ("tasks",)) -> list[Any]:
    """What a graph streams."""
    all_modes: Any = [*STREAM_MODES, *modes]
    return [part async for part in graph.astream(given, CONFIG, stream_mode=all_modes, subgraphs=True)]


def feed(run: Translator, parts: Sequence[Any]) -> list[Event]:
    """The events of a whole run."""
    events = run.start()
    for part in parts:
        events += run.feed(part)
    return events + run.finish()


async def events_of(case: Case, options: Options, modes: Sequence[str] = ()) -> tuple[list[Event], Translator]:
    run = Translator("thread", "run", options, ClientView([], {}, options.protocol_version))
    return feed(run, await parts_of(case.build(None), ASKED, modes)), run


def texts(events: Sequence[Event]) -> list[str]:
    """The texts that were streamed, by message."""
    found: dict[str, str] = {}
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            found[event["messageId"]] = found.get(event["messageId"], "") + event["delta"]
    return list(found.values())


def parents(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str | None, str]]:
    """The messages that are visible as parts of a tool call: their subagent, and the call."""
    inside = [message for message in messages if "parentToolCallId" in message.get("metadata", {})]
    return [(message.get("subagentRunId"), message["metadata"]["parentToolCallId"]) for message in inside]


@pytest.mark.parametrize("modes", [(), ("tasks",)])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CASES)
async def test_it_is_emitted_live_as_a_part_of_the_subagents_call_until_the_step_ends(
    name: str, version: str, modes: Sequence[str], agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    case = CASES[name]
    events, translator = await events_of(case, Options(protocol_version=protocol(version)), modes)
    view, deltas = ClientView([], {}), 0
    for event in events:
        view.apply(event)
        calls = {(m.get("subagentRunId"), call["id"]) for m in view.messages for call in m.get("toolCalls", ())}
        assert calls.issuperset(parents(view.messages))
        message = view.message(event.get("messageId", "")) or {}
        deltas += event["type"] == "TEXT_MESSAGE_CONTENT" and bool(parents([message]))
        answered = {(m.get("subagentRunId"), m["toolCallId"]) for m in view.messages if m["role"] == "tool"}
        if event["type"] == "TEXT_MESSAGE_START" and (of := parents([message])):
            assert answered.isdisjoint(of)
    assert deltas == case.drawings * len(tokens(SPOKEN))
    played = agui_client.play(events, version=version)
    assert (played.accepted, played.messages) == (True, translator.view.messages)
    assert parents(played.messages) == []
    assert comparable(unattributed(played.messages)) == comparable(expected(translator.values).messages)
    assert caplog.records == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CASES)
async def test_a_reader_that_joins_at_any_cut_ends_as_one_that_stayed(
    name: str, version: str, agui_client: AguiClient
) -> None:
    events, translator = await events_of(CASES[name], Options(protocol_version=protocol(version)))
    view, joined_inside, stale = ClientView([], {}, protocol(version)), 0, ClientView([], {}, protocol(version))
    for cut, event in enumerate(events, 1):
        view.apply(event)
        for reader in (None, stale):
            caught_up = view.catch_up(reader)
            late = ClientView([], {}, protocol(version)) if reader is None else reader.copy()
            for each in caught_up:
                late.apply(each)
            assert late.messages == view.messages
            for each in events[cut:]:
                late.apply(each)
            assert late.messages == translator.view.messages
        if "messageId" in event and parents([view.message(event["messageId"]) or {}]):
            joined_inside += 1
            assert agui_client.play([*view.catch_up(None), *events[cut:]], version=version, mode="connect").accepted
            stale = view.copy()
    assert joined_inside > CASES[name].drawings * len(tokens(SPOKEN))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("subagents", ["attributed", "inline", "hidden"])
async def test_a_client_that_stayed_and_one_that_was_reloaded_while_the_tool_asks_end_with_the_checkpoint(
    subagents: Any, version: str
) -> None:
    """The tool begins anew when it is answered, and its model is visible once more where the client has the call: no
    checkpoint has that of a subagent. At the end nothing is left of either."""
    options = Options(subagents=subagents, protocol_version=protocol(version))
    graph = deep(ONE, DONE, subagents=[CAREFUL])(InMemorySaver())
    stayed = Translator("thread", "run-1", options, ClientView([], {}, options.protocol_version))
    feed(stayed, await parts_of(graph, ASKED))
    asking = [call_id for _, call_id in parents(stayed.view.messages)]
    assert asking == ([] if subagents == "hidden" else ["call_draw"])
    state = await graph.aget_state(CONFIG)
    reloaded = Translator("thread", "run-1", options, ClientView(version=options.protocol_version))
    feed(reloaded, [("values", state.values), ("updates", {"__interrupt__": state.interrupts})])
    parts = await parts_of(graph, Command(resume="yes"))
    stored = expected((await graph.aget_state(CONFIG)).values).messages
    for before, visible in ((stayed, subagents == "attributed"), (reloaded, False)):
        after = Translator("thread", "run-2", options, before.view)
        assert texts(feed(after, parts)).count(SPOKEN) == visible
        assert parents(after.view.messages) == []
        beside = {message["id"] for message in after.view.messages} - {message["id"] for message in stored}
        assert bool(beside) == (subagents != "hidden")  # what the subagent itself has emitted
        own = [message for message in after.view.messages if message["id"] not in beside]
        assert comparable(own) == comparable(stored)
