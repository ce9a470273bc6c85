"""What a model says inside a tool, where `tool` is asked for: live, and as a part of the tool call."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.scripts import tokens
from langgraph_agui.translator import STREAM_MODES, Cancelled, ClientView, Failed, Options, Translator, Visibility

from fixtures.graphs.toolbox import agent
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.event_lines import run_made
from tests.support.streams.translator_runs import Event, left_open

TOOL: dict[str, Visibility] = {"*": "tool"}
FRAGMENT = tool_call_chunk(name="draw", args="{}", id="outer", index=0)
OUTSIDE = {"langgraph_node": "model", "langgraph_checkpoint_ns": "model:2", "lc_internal_call": "token"}


@tool
async def draw(topic: str) -> str:
    """Asks a model that is not marked."""
    return await drawn(topic)


@tool
async def draw_marked(topic: str) -> str:
    """Asks a model that is marked as visible in its tool call."""
    return await drawn(topic, agui_visibility="tool")


@tool
async def draw_named(topic: str, runtime: ToolRuntime) -> str:
    """Asks a model that is marked, and names the tool call."""
    return await drawn(topic, agui_visibility="tool", agui_tool_call_id=runtime.tool_call_id)


@tool
async def silent(topic: str) -> str:
    """Asks no model."""
    return topic


async def drawn(topic: str, **metadata: Any) -> str:
    model = ScriptedChatModel(turns=[text(f"{topic}: The surface grows.") + end()])
    config: RunnableConfig = {"metadata": metadata}
    answer = await model.ainvoke("draw", config)
    return answer.text.upper()


async def run(
    tools: Sequence[BaseTool], *calls: str, modes: Sequence[str] = (), options: Options | None = None
) -> tuple[list[Event], Translator]:
    """The events of an agent that calls each of these tools once, in one message, and ends with a text."""
    turn: Any = []
    for place, name in enumerate(calls):
        turn = turn + tool_call(name, {"topic": str(place)}, f"call-{place}", index=place)
    graph: Any = agent(tools, turn + end("tool_calls"), text("Done.") + end())(None)
    options = options or Options()
    translator = Translator("thread", "run", options, ClientView([], {}, options.protocol_version))
    events = translator.start()
    stream = graph.astream({"messages": [("user", "draw")]}, stream_mode=[*STREAM_MODES, *modes], subgraphs=True)
    async for part in stream:
        events += translator.feed(part)
    return events + translator.finish(), translator


def inside(events: list[Event]) -> dict[str, str]:
    """The texts with a parent call, by it."""
    parents = {
        event["messageId"]: event["metadata"]["parentToolCallId"]
        for event in events
        if event["type"] == "TEXT_MESSAGE_START" and "metadata" in event
    }
    found = dict.fromkeys(parents.values(), "")
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT" and event["messageId"] in parents:
            found[parents[event["messageId"]]] += event["delta"]
    return found


MARKED = {"draw": Options(visibility=TOOL), "draw_marked": Options(), "draw_named": Options()}
TOOLS: list[BaseTool] = [draw, draw_marked, draw_named]


async def test_what_is_not_stored_is_the_text_of_the_run_until_it_is_without_that_inside_a_tool() -> None:
    turns = tool_call("draw_marked", {"topic": "0"}, "call-0") + end("tool_calls"), text("All done.") + end()
    graph: Any = agent(TOOLS, *turns)(None)
    translator = Translator("thread", "run", Options(), ClientView([], {}, "1.0"))
    translator.start()
    found, has_inside = [""], False
    parts = graph.astream({"messages": [("user", "draw")]}, stream_mode=STREAM_MODES, subgraphs=True)
    async for part in parts:
        translator.feed(part)
        has_inside |= any("parentToolCallId" in message.get("metadata", {}) for message in translator.view.messages)
        found += [message["content"] for message in translator.not_stored([]).get("model", ())]
    assert has_inside
    assert list(dict.fromkeys(found)) == ["", "All ", "All done."]
    assert translator.not_stored([]) == {}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MARKED)
async def test_a_model_inside_a_tool_is_emitted_live_as_a_part_of_its_call(
    name: str, version: str, agui_client: AguiClient
) -> None:
    options = replace(MARKED[name], protocol_version=protocol(version))
    events, translator = await run(TOOLS, name, options=options)
    assert inside(events) == {"call-0": "0: The surface grows."}
    kinds = [event["type"] for event in events]
    before = kinds[: kinds.index("TOOL_CALL_RESULT")]
    assert before.count("TEXT_MESSAGE_CONTENT") == len(tokens("0: The surface grows."))
    played = agui_client.play(events, version=version)
    assert played.accepted
    assert left_open(events) == []
    assert [message["role"] for message in played.messages] == ["user", "assistant", "tool", "assistant"]
    assert played.messages == translator.view.messages


async def test_who_joins_while_a_model_inside_a_tool_speaks_gets_its_message_with_the_call() -> None:
    events, translator = await run(TOOLS, "draw_marked")
    view, joined_inside = ClientView([], {}), 0
    for cut, event in enumerate(events, 1):
        view.apply(event)
        late = ClientView([], {})
        for each in view.catch_up(None):
            late.apply(each)
        assert late.messages == view.messages
        joined_inside += any("parentToolCallId" in message.get("metadata", {}) for message in late.messages)
        for each in events[cut:]:
            late.apply(each)
        assert late.messages == translator.view.messages
    assert joined_inside > len(tokens("0: The surface grows."))


async def test_calls_in_parallel_are_told_apart_by_their_tasks_or_by_the_metadata(
    caplog: pytest.LogCaptureFixture,
) -> None:
    both = {"call-0": "0: The surface grows.", "call-1": "1: The surface grows."}
    assert inside((await run(TOOLS, "draw_named", "draw_named"))[0]) == both
    assert inside((await run(TOOLS, "draw_marked", "draw_marked", modes=["tasks"]))[0]) == both
    assert caplog.records == []
    events, _ = await run(TOOLS, "draw_marked", "draw_marked")
    assert inside(events) == {}
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Done."]
    (record,) = caplog.records
    assert record.getMessage().startswith("A model call inside a tool is hidden, because it is not known which tool")


async def test_outside_tools_nothing_changes() -> None:
    for visibility in (TOOL, None):
        events, _ = await run([silent], "silent", options=Options(visibility=visibility))
        assert inside(events) == {}
        assert "Done." in [event.get("delta") for event in events]


@pytest.mark.parametrize("form", ["objects", "JSON"])
def test_all_that_begins_inside_a_tool_names_the_call(form: str) -> None:
    """Reasoning, text, a tool call, an empty text with a finish reason; streamed or whole. An internal call outside of
    tools stays hidden."""
    node = {
        "langgraph_node": "tools",
        "langgraph_checkpoint_ns": "tools:1",
        "ls_model_type": "chat",
        "ls_provider": "p",
    }
    marked = {**node, "agui_visibility": "tool", "agui_tool_call_id": "outer"}
    thought: list[str | dict[Any, Any]] = [{"type": "reasoning", "reasoning": "Hm."}]
    fragment, other = (tool_call_chunk(name="look", args="{}", id=name, index=0) for name in ("inner", "other"))
    finish = {"finish_reason": "length"}
    whole = AIMessage("Whole.", id="whole", tool_calls=[{"id": "in whole", "name": "look", "args": {}}])
    parts: list[Any] = [
        ("messages", (AIMessageChunk(content=thought, id="lc_run--1"), marked)),
        ("messages", (AIMessageChunk(content="A ", id="lc_run--1"), marked)),
        ("messages", (AIMessageChunk(content="text.", id="lc_run--1"), marked)),
        ("messages", (AIMessageChunk(content="", id="lc_run--1", tool_call_chunks=[fragment]), marked)),
        ("messages", (AIMessageChunk(content="", id="lc_run--2", tool_call_chunks=[other]), second := {**marked})),
        ("messages", (AIMessageChunk(content="", id="lc_run--2", response_metadata=finish), second)),
        ("messages", (AIMessageChunk(content="", id="lc_run--2", chunk_position="last"), second)),
        ("messages", (whole, {**marked})),
        ("messages", (AIMessageChunk(content="Hidden.", id="lc_run--3"), {**marked, **OUTSIDE})),
    ]
    if form == "JSON":
        parts = [(mode, [message.model_dump(), metadata]) for mode, (message, metadata) in parts]
    told = run_made(parts)
    begun = told.kinds("TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START")
    assert len(begun) == 7
    assert [event["metadata"]["parentToolCallId"] for event in begun] == ["outer"] * 7
    assert list(told.texts.values()) == ["A text.", "", "Whole."]


def half(run: Translator) -> list[Event]:
    """The events of a run in which a model calls a tool, and one inside the tool has begun to speak."""
    calling = {"langgraph_node": "model", "langgraph_checkpoint_ns": "model:1", "ls_model_type": "chat"}
    inner = {"langgraph_node": "tools", "langgraph_checkpoint_ns": "tools:1", "ls_model_type": "chat"}
    made = AIMessageChunk(content="", id="a", tool_call_chunks=[FRAGMENT])
    events = run.start() + run.feed(("messages", (made, calling)))
    return events + run.feed(("messages", (AIMessageChunk(content="Half", id="b"), inner)))


@pytest.mark.parametrize("ending", [Failed("no"), Cancelled()])
def test_what_is_open_inside_a_tool_is_closed_however_the_run_ends(ending: Any) -> None:
    run = Translator("thread", "run", Options(visibility=TOOL), ClientView([], {}))
    events = half(run) + run.finish(ending)
    assert inside(events) == {"outer": "Half"}
    assert left_open(events) == []


def test_a_model_inside_a_call_that_the_client_cannot_tell_from_another_is_hidden() -> None:
    call = {"id": "outer", "type": "function", "function": {"name": "draw", "arguments": "{}"}}
    before = {"id": "before", "role": "assistant", "toolCalls": [call]}
    events = half(Translator("thread", "run", Options(visibility=TOOL), ClientView([before], {})))
    assert [event["type"] for event in events if event["type"].startswith("TEXT")] == []
