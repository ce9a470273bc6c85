"""What a page sends and no graph takes is said in the log, once for each agent and kind, and in `/info`."""

import json
import logging
from typing import Any

import pytest
from ag_ui.core import RunAgentInput, StateSnapshotEvent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, run
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, agui_app
from typing_extensions import TypedDict

from tests.support.clients.copilotkit import JSON
from tests.support.servers.serving import posted, served
from tests.support.streams.chats import Graph

TOOLS = [{"name": "paint", "description": "Paints."}]
CONTEXT = [{"description": "where", "value": "here"}]


class FrontEnd(MessagesState):
    copilotkit: dict[str, Any]
    mood: str


class Where(TypedDict):
    context: list[Any]


def answering(schema: Any = MessagesState, **how: Any) -> Graph:
    def answer(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("well")], **({"mood": "gay"} if schema is FrontEnd else {})}

    return StateGraph(schema, **how).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())


def of_dropped(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "reaches no graph" in record.getMessage()]


async def test_what_has_no_place_is_said_once_in_the_log_and_in_the_info(caplog: pytest.LogCaptureFixture) -> None:
    sent = {
        "tools": TOOLS,
        "context": CONTEXT,
        "state": {"mood": "grim"},
        "forwardedProps": {"tone": "dry"},
    }
    agents = {name: Agent(source=Local(answering(), agent=name)) for name in ("chat", "other", "bare")}
    async with served(agui_app(agents)) as server, server.client() as client:
        for thread_id in ("t", "u"):
            for name in ("chat", "other"):
                await client.post(f"/{name}", json={**posted(thread_id, "hi"), **sent})
        await client.post("/bare", json=posted("t", "hi"))
        info = (await client.get("/info", headers=JSON)).json()["agents"]
    assert {name: each.get("dropped") for name, each in info.items()} == {
        "chat": sorted(sent),
        "other": sorted(sent),
        "bare": None,
    }
    lines = of_dropped(caplog)
    assert sorted(line.split()[4] for line in lines) == sorted([*sent] * 2)
    assert all("agent 'chat', thread 't', run " in line or "agent 'other', thread 't', run " in line for line in lines)
    assert not [line for line in lines if "grim" in line or "dry" in line or "Paints" in line]


async def test_who_may_write_what_is_said_at_the_start_and_a_page_that_writes_more_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    agents = {
        "shared": Agent(answering(FrontEnd), intake=Intake(state={"mood"})),
        "closed": Agent(answering(FrontEnd)),
        "open": Agent(answering(FrontEnd), intake=Intake(state="all")),
        "asked": Agent(answering(FrontEnd), intake=lambda request: Intake()),
    }
    sent = {"state": {"mood": "grim", "colour": "red"}}
    told: dict[str, list[Any]] = {}
    async with served(agui_app(agents)) as server, server.client() as client:
        for name in agents:
            answer = await client.post(f"/{name}", json={**posted("t", "hi"), **sent})
            events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
            told[name] = [event["value"] for event in events if event.get("name") == "state_unused"]
        info = (await client.get("/info", headers=JSON)).json()["agents"]
    assert told == {
        "shared": [{"channels": ["colour"]}],
        "closed": [{"channels": ["colour", "mood"]}],
        "open": [{"channels": ["colour"]}],
        "asked": [{"channels": ["colour", "mood"]}],
    }
    writable = {name: each.get("writable") for name, each in info.items()}
    assert writable == {"shared": ["mood"], "closed": [], "open": ["mood"], "asked": None}
    lines = [record.getMessage() for record in caplog.records if "Pages may write" in record.getMessage()]
    assert lines == [
        "Pages may write these channels of agent 'shared': mood.",
        "Pages may write these channels of agent 'closed': none.",
        "Pages may write these channels of agent 'open': mood.",
    ]


@pytest.mark.parametrize(
    ("graph", "sent", "intake"),
    [
        (answering(FrontEnd), {"tools": TOOLS, "context": CONTEXT, "state": {"copilotkit": {"a": 1}}}, Intake()),
        (answering(FrontEnd), {"state": {"mood": "grim"}}, Intake(state={"mood"})),
        (answering(FrontEnd), {"state": {"mood": "gay", "messages": [1]}}, Intake()),
        (answering(context_schema=Where), {"context": CONTEXT}, Intake()),
        (answering(), {"forwardedProps": {"tone": "dry"}}, Intake(prepare=lambda given: Prepared())),
        (answering(), {"forwardedProps": {"command": {"resume": "yes"}}, "state": {}}, Intake()),
    ],
)
async def test_what_has_a_place_or_says_nothing_new_is_not_logged(
    graph: Graph, sent: dict[str, Any], intake: Intake, caplog: pytest.LogCaptureFixture
) -> None:
    source = Local(graph)
    for count, more in enumerate(({}, sent)):
        said = {"id": f"u{count}", "role": "user", "content": "hi"}
        given = RunAgentInput.model_validate({"threadId": "t", "runId": f"r{count}", "messages": [said], **more})
        async for event in run(source, given, intake=intake):
            assert event.type != "RUN_ERROR"
    assert of_dropped(caplog) == []


async def test_only_a_users_new_message_is_said_to_reach_no_graph(caplog: pytest.LogCaptureFixture) -> None:
    class Topic(TypedDict):
        topic: str

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage("Which topic?", id="written")]}

    builder = StateGraph(MessagesState, input_schema=Topic).add_node("ask", ask).add_edge(START, "ask")
    source, written = (
        Local(builder.compile(InMemorySaver())),
        {"id": "written", "role": "user", "content": "Which topic?"},
    )
    lines: list[int] = []
    for count, messages in enumerate(([], [written], [written, {"id": "new", "role": "user", "content": "hi"}])):
        sent = {"threadId": "t", "runId": f"r{count}", "messages": messages, "state": {"topic": str(count)}}
        async for event in run(source, RunAgentInput.model_validate(sent), intake=Intake(state={"topic"})):
            assert event.type != "RUN_ERROR"
        lines.append(len(of_dropped(caplog)))
    assert lines == [0, 0, 1]


async def test_a_front_ends_own_channels_are_not_shown_unless_they_are_named() -> None:
    given = RunAgentInput.model_validate(
        {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hi"}], "tools": TOOLS}
    )
    graph = answering(FrontEnd)
    states = [event.snapshot async for event in run(graph, given) if isinstance(event, StateSnapshotEvent)]
    assert [set(state) for state in states] == [set()]
    assert (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["copilotkit"]["actions"]
