"""Events that nodes and tools send with `adispatch_custom_event`: in the stream of a run that was asked for them."""

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from ag_ui.core import CustomEvent, TextMessageContentEvent
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph_agui.connect import Intake, Local, Platform, run
from langgraph_agui.connect.serve import Agent
from langgraph_sdk import get_client

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat, Event
from tests.support.streams.chats import Graph

SENDS = Intake(dispatched_events=True)
CALL: Any = {"name": "look", "args": {}, "id": "c1", "type": "tool_call"}


class Work(MessagesState):
    progress: int


@tool
async def look() -> str:
    """Looks."""
    await adispatch_custom_event("in a tool", {"n": 1})
    await adispatch_custom_event("copilotkit_manually_emit_message", {"message_id": "m2", "message": "Looking."})
    return "Seen."


def working(sent: list[tuple[str, Any]]) -> Graph:
    """Sends these events from a node; one from a synchronous node, from a tool and from a subgraph."""

    async def work(state: Work) -> dict[str, Any]:
        for name, data in sent:
            await adispatch_custom_event(name, data)
        return {"messages": [AIMessage("Done.", id="done", tool_calls=[CALL])], "progress": 9}

    def inner(state: Work, config: RunnableConfig) -> None:
        dispatch_custom_event("in a subgraph", 2, config=config)

    below = StateGraph(Work).add_node("inner", inner).add_edge(START, "inner").compile()
    graph = StateGraph(Work).add_node("work", work).add_node("tools", ToolNode([look])).add_node("below", below)
    graph.add_edge(START, "work").add_edge("work", "tools").add_edge("tools", "below")
    return graph.compile(InMemorySaver())


def brief(event: Event) -> Any:
    """An event in a word, and what it says."""
    kind = event["type"]
    if kind == "CUSTOM":
        return event["name"], event["value"]
    if kind.startswith("STATE"):
        return "state", event.get("snapshot") or [each["value"] for each in event["delta"]]
    said = event.get("delta") or event.get("toolCallName") or event.get("messageId") or event.get("toolCallId")
    return kind.removeprefix("TEXT_MESSAGE_").removeprefix("TOOL_"), said


def until_done(events: list[Event]) -> list[Any]:
    """What comes before the node's own message, in short."""
    last = next(place for place, event in enumerate(events) if event.get("messageId") == "done")
    return [brief(event) for event in events[:last] if event["type"] not in ("RUN_STARTED", "STEP_STARTED")]


TEXT, ARGS = {"message_id": "m1", "message": "Working."}, {"id": "t1", "name": "show", "args": {"x": 1}}
SAID = [("START", "m1"), ("CONTENT", "Working."), ("END", "m1")]
CALLED = [("CALL_START", "show"), ("CALL_ARGS", '{"x":1}'), ("CALL_END", "t1")]
NUMBERED = {"message_id": 7, "message": "m"}
AS_TEXT, BROKEN, STATE = {**ARGS, "args": '{"x": 1}'}, {**ARGS, "args": '{"x'}, {"progress": 5}


@pytest.mark.parametrize(
    ("sent", "emitted"),
    [
        (("any name", {"a": [1]}), [("any name", {"a": [1]})]),
        (("manually_emit_message", TEXT), [*SAID, ("manually_emit_message", TEXT)]),
        (("copilotkit_manually_emit_message", TEXT), [*SAID, ("copilotkit_manually_emit_message", TEXT)]),
        (("manually_emit_tool_call", ARGS), [*CALLED, ("manually_emit_tool_call", ARGS)]),
        (("copilotkit_manually_emit_tool_call", ARGS), [*CALLED, ("copilotkit_manually_emit_tool_call", ARGS)]),
        (("manually_emit_tool_call", AS_TEXT), [*CALLED, ("manually_emit_tool_call", AS_TEXT)]),
        (("manually_emit_state", STATE), [("state", STATE), ("manually_emit_state", STATE)]),
        (("copilotkit_manually_emit_intermediate_state", STATE), [("state", STATE)]),
        (("copilotkit_exit", {}), [("Exit", True)]),
        (("manually_emit_message", {"message": 7}), [("manually_emit_message", {"message": 7})]),
        (("manually_emit_message", {"message": "m"}), [("manually_emit_message", {"message": "m"})]),
        (("manually_emit_message", NUMBERED), [("manually_emit_message", NUMBERED)]),
        (("manually_emit_tool_call", {"id": "t"}), [("manually_emit_tool_call", {"id": "t"})]),
        (("manually_emit_tool_call", BROKEN), [("manually_emit_tool_call", BROKEN)]),
        (("manually_emit_state", 7), [("manually_emit_state", 7)]),
    ],
)
async def test_a_dispatched_event_is_emitted(
    sent: tuple[str, Any], emitted: list[Any], agui_client: AguiClient
) -> None:
    chat = Chat(agui_client, Local(working([sent])), intake=SENDS)
    events = await chat.says("Go.")
    assert until_done(events) == emitted


async def test_events_come_from_tools_and_subgraphs_and_in_their_order(agui_client: AguiClient) -> None:
    sent = [("manually_emit_message", TEXT), ("manually_emit_state", STATE), ("manually_emit_state", {"progress": 6})]
    chat = Chat(agui_client, Local(working(sent)), intake=SENDS)
    events = await chat.says("Go.")
    assert until_done(events)[3:] == [
        ("manually_emit_message", TEXT),
        ("state", STATE),
        ("manually_emit_state", STATE),
        ("state", [6]),
        ("manually_emit_state", {"progress": 6}),
    ]
    named = [event["name"] for event in events if event["type"] == "CUSTOM"]
    assert named[-3:] == ["in a tool", "copilotkit_manually_emit_message", "in a subgraph"]
    assert "Looking." in [event.get("delta") for event in events]
    assert chat.state == {"progress": 9}
    assert [message["id"] for message in chat.messages if message["role"] == "assistant"] == ["done"]


async def test_events_come_from_threads_that_have_no_context_of_the_node(caplog: pytest.LogCaptureFixture) -> None:
    """At once: the node ends only after the client has what its threads sent."""
    seen, late = asyncio.Event(), asyncio.Event()
    configs: list[RunnableConfig] = []

    async def work(state: Work, config: RunnableConfig) -> None:
        configs.append(config)
        send = partial(dispatch_custom_event, config=config)
        await adispatch_custom_event("own", 1)
        await asyncio.get_running_loop().run_in_executor(None, send, "executor", 2)
        thread = threading.Thread(target=send, args=("manually_emit_message", TEXT))
        thread.start()
        thread.join()
        await seen.wait()

    below = StateGraph(Work).add_node("work", work).add_edge(START, "work").compile()
    graph = StateGraph(Work).add_node("below", below).add_edge(START, "below").compile(InMemorySaver())
    given = {"threadId": "t", "runId": "r", "messages": [], "state": {}, "tools": [], "context": []}
    source = Local(graph, agent="a")
    named: list[str] = []
    deltas: list[str] = []
    async with asyncio.timeout(10):
        async for event in run(source, {**given, "forwardedProps": {}}, intake=SENDS):
            named += [event.name] if isinstance(event, CustomEvent) else []
            deltas += [event.delta] if isinstance(event, TextMessageContentEvent) else []
            if "manually_emit_message" in named:
                seen.set()
    assert sorted(named) == ["executor", "manually_emit_message", "own"]
    assert named.index("executor") < named.index("manually_emit_message")
    assert deltas == ["Working."]
    assert not caplog.records
    await asyncio.to_thread(threading.Thread(target=partial(dispatch_custom_event, "late", 3, config=configs[0])).run)
    asyncio.get_running_loop().call_soon(late.set)
    await late.wait()
    assert [record.getMessage() for record in caplog.records] == [
        "The event 'late' was sent after the end of its run (agent 'a', thread 't', run 'r')."
    ]


async def test_dispatched_events_are_asked_for() -> None:
    given = {"threadId": "t", "runId": "r", "messages": [], "state": {}, "tools": [], "context": []}
    events = run(Local(working([("any name", 1)])), {**given, "forwardedProps": {}})
    assert "CUSTOM" not in [event.type.value async for event in events]
    with pytest.raises(ValueError, match="dispatched_events: only a run of this process"):
        run(Platform(get_client(url="http://localhost:1"), "a"), {**given, "forwardedProps": {}}, intake=SENDS)
    with pytest.raises(ValueError, match="on_cancel='save': only a run of this process"):
        Agent(get_client(url="http://localhost:1"), intake=Intake(on_cancel="save"))
