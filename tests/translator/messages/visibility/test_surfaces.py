"""A2UI: a model that a tool has asked for a surface is hidden, but for its call of `render_a2ui`, which streams."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, text, tool_call
from langgraph_agui.translator import STREAM_MODES, ClientView, Options, Translator

from fixtures.graphs.subagents import DONE, deep, specialist, task
from fixtures.graphs.toolbox import agent
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.translator_runs import Event, left_open

SURFACE = {"surfaceId": "hotels", "components": [{"id": "root", "component": "Row"}], "data": {"items": [1, 2]}}
PIECES = 7
RENDER = tool_call("render_a2ui", SURFACE, "call-render", fragments=PIECES)
WRITING = [reasoning("A row. "), text("I draw: "), RENDER, tool_call("other", {"x": 1}, "call-other", index=1), end()]
ASKED: Any = {"messages": [("user", "hotels")]}


@tool
async def generate_a2ui(intent: str) -> str:
    """Asks a model for a surface, as A2UI's own tool does."""
    whole: AIMessageChunk | None = None
    async for chunk in ScriptedChatModel(turns=[WRITING]).astream("draw"):
        assert isinstance(chunk, AIMessageChunk)
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return json.dumps({"a2ui_operations": whole.tool_calls[0]["args"]})


@tool
async def generate_whole(intent: str) -> str:
    """Asks a model that does not stream."""
    return (await ScriptedChatModel(turns=[WRITING], disable_streaming=True).ainvoke("draw")).text


def drawing(name: str = "generate_a2ui") -> Any:
    turns = tool_call(name, {"intent": "create"}, "call-generate") + end("tool_calls"), text("Drawn.") + end()
    return agent([generate_a2ui, generate_whole], *turns)(None)


async def run(
    graph: Any, modes: Sequence[str] = (), options: Options | None = None
) -> tuple[list[list[Event]], Translator]:
    """The events of a run, as the translator returns them."""
    options = options or Options()
    translator = Translator("thread", "run", options, ClientView([], {}, options.protocol_version))
    feeds = [translator.start()]
    parts = graph.astream(ASKED, stream_mode=[*STREAM_MODES, *modes], subgraphs=True)
    feeds += [translator.feed(part) async for part in parts]
    return [*feeds, translator.finish()], translator


def begun(feeds: list[list[Event]]) -> dict[str, tuple[str, Any]]:
    """The calls that were begun, with the name of the tool and the call that they belong to, by their ids."""
    return {
        event["toolCallId"]: (event["toolCallName"], event.get("metadata", {}).get("parentToolCallId"))
        for events in feeds
        for event in events
        if event["type"] == "TOOL_CALL_START"
    }


GENERATE = {"call-generate": ("generate_a2ui", None)}
RENDERED = {"call-render": ("render_a2ui", "call-generate")}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("modes", [(), ("tasks",)], ids=str)
async def test_a_surface_streams_while_a_model_inside_a_tool_writes_it(
    modes: Sequence[str], version: str, agui_client: AguiClient
) -> None:
    feeds, translator = await run(drawing(), modes, Options(protocol_version=protocol(version)))
    events = [event for feed in feeds for event in feed]
    assert begun(feeds) == GENERATE | RENDERED
    pieces = [[e["delta"] for e in feed if e.get("toolCallId") == "call-render" and "delta" in e] for feed in feeds]
    assert [len(each) for each in pieces if each] == [1] * PIECES
    assert json.loads("".join(piece for each in pieces for piece in each)) == SURFACE
    texts = [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert texts == ["Drawn."]
    assert not any(event["type"].startswith("REASONING") for event in events)
    assert [message["role"] for message in translator.view.messages] == ["user", "assistant", "tool", "assistant"]
    assert left_open(events) == []
    played = agui_client.play(events, version=version)
    assert played.accepted
    assert played.messages == translator.view.messages


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (drawing(), Options(visibility={"tools": "hide"})),
        (drawing(), Options(hidden_tools=frozenset({"render_a2ui"}))),
        (drawing("generate_whole"), Options()),
    ],
    ids=["visibility", "hidden_tools", "whole"],
)
async def test_a_surface_that_is_hidden_or_does_not_stream_is_in_the_result_of_its_tool(
    graph: Any, options: Options
) -> None:
    feeds, _ = await run(graph, options=options)
    assert list(begun(feeds)) == ["call-generate"]


@pytest.mark.parametrize("subagents", ["attributed", "hidden"])
async def test_a_surface_of_a_subagent_goes_with_the_subagent(subagents: Any) -> None:
    turns = (
        tool_call("generate_a2ui", {"intent": "create"}, "call-generate") + end("tool_calls"),
        text("Drawn.") + end(),
    )
    artist = specialist(*turns, name="artist", tools=[generate_a2ui])
    asking = task("artist", "draw hotels", "call-task") + end("tool_calls")
    graph = deep(asking, DONE, subagents=[artist])(None)
    feeds, translator = await run(graph, ("tasks",), Options(subagents=subagents))
    calls = begun(feeds)
    del calls["call-task"]
    assert calls == (GENERATE | RENDERED if subagents == "attributed" else {})
    held = [call["id"] for message in translator.view.messages for call in message.get("toolCalls", ())]
    assert "call-render" not in held
