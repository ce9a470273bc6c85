"""Stock clients of both versions talk to agents over HTTP: turns, tools, reasoning, state, and what is refused.

Nothing is on the console of any of them, but what a rejected run is rejected with.
"""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text
from starlette.applications import Starlette
from starlette.routing import Mount

from fixtures.gated import ARGS, CALL_ID, FIRST, FOUND, GATED, SECOND
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import Ended, LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.serving import served
from tests.support.streams.chats import Graph, calling, counting, failing_once

BOTH = pytest.mark.parametrize("version", VERSIONS)
HALF = "One two three four five "
PAINT = {
    "name": "paint",
    "description": "Paints it.",
    "parameters": {"type": "object", "properties": {"color": {"type": "string"}}},
}


def gated(name: str, gate: Gates, **how: Any) -> Agent:
    """A gated graph, as an agent."""
    return Agent(source=GATED[name](InMemorySaver()), intake=Intake(config=gate.config(), **how))


def thinking() -> Graph:
    """Thinks in three words, and says three."""
    thoughts = [
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": each}) for each in ("Let ", "me ", "see.")
    ]
    model = ScriptedChatModel(turns=[[*thoughts, *text("Seen it all."), *end()]])

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node(think).add_edge(START, "think").compile(InMemorySaver())


@BOTH
async def test_what_is_said_comes_word_by_word(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        running = agent.says("hi")
        await agent.shows(HALF)
        assert not running.is_over
        gate.open("first 5")
        assert (await running).texts == ["hi", FIRST, SECOND]


@BOTH
async def test_a_conversation_goes_on_turn_after_turn(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        for question in ("one", "two", "three"):
            ended = await agent.says(question)
    assert ended.texts == ["one", "1: one", "two", "2: two", "three", "3: three"]


@BOTH
async def test_a_single_agent_is_asked_at_the_root(live: LiveClients, version: str) -> None:
    async with served(agui_app(counting())) as server:
        ended = await (await live.agent(f"{server.url}/", version=version)).says("one")
    assert ended.texts == ["one", "1: one"]


@BOTH
async def test_a_mounted_agent_is_asked_under_its_prefix(live: LiveClients, version: str) -> None:
    async with served(Starlette(routes=[Mount("/deep/down", agui_app({"chat": counting()}))])) as server:
        ended = await (await live.agent(f"{server.url}/deep/down/chat", version=version)).says("one")
    assert ended.texts == ["one", "1: one"]


@BOTH
async def test_a_tool_is_called_with_its_arguments_and_gives_its_result(
    gate: Gates, live: LiveClients, version: str
) -> None:
    async with served(agui_app({"agent": gated("gated_agent", gate)})) as server:
        agent = await live.agent(f"{server.url}/agent", version=version)
        ended = await agent.says("how is the weather?")
    calls = [call for message in ended.messages for call in message.get("toolCalls", ())]
    results = [message for message in ended.messages if message["role"] == "tool"]
    assert [(call["id"], json.loads(call["function"]["arguments"])) for call in calls] == [(CALL_ID, ARGS)]
    assert [(result["toolCallId"], result["content"]) for result in results] == [(CALL_ID, FOUND)]


@BOTH
async def test_what_a_model_thinks_is_held_before_what_it_says(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": thinking()})) as server:
        ended = await (await live.agent(f"{server.url}/chat", version=version)).says("hi")
    assert [(message["role"], message["content"]) for message in ended.messages] == [
        ("user", "hi"),
        ("reasoning", "Let me see."),
        ("assistant", "Seen it all."),
    ]


@BOTH
async def test_the_state_is_held_as_the_graph_leaves_it(gate: Gates, live: LiveClients, version: str) -> None:
    async with served(agui_app({"writer": gated("gated_writer", gate)})) as server:
        agent = await live.agent(f"{server.url}/writer", version=version)
        await agent.says("write")
        ended = await agent.says("write more")
    assert ended.state == {"count": 2, "notes": ["note 1", "reported", "note 2", "reported"]}


@BOTH
async def test_a_clients_state_goes_to_the_channel_that_is_open_to_it(live: LiveClients, version: str) -> None:
    chat = Agent(source=counting(), intake=Intake(state={"mood"}))
    async with served(agui_app({"chat": chat})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version, state={"mood": "bright", "turns": ["made up"]})
        ended = await agent.says("one")
    assert ended.state == {"mood": "bright", "turns": ["one"]}


@BOTH
async def test_a_front_ends_tool_is_run_by_the_front_end(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": calling()})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        asked = await agent.says("paint it", tools=[PAINT])
        result = {"id": "r1", "role": "tool", "toolCallId": "call-paint", "content": "painted red"}
        ended = await agent.runs(result, tools=[PAINT])
    assert ("TOOL_CALL_RESULT" in asked.kinds, ended.texts[-1]) == (False, "done: painted red")


@BOTH
async def test_a_front_ends_tool_that_gives_nothing_stops_no_conversation(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": calling()})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        await agent.says("paint it", tools=[PAINT])
        ended = await agent.says("never mind", tools=[PAINT])
    assert ended.texts[-1] == "heard never mind"


@BOTH
async def test_an_edited_question_is_answered_anew(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        first = await live.agent(f"{server.url}/chat", version=version)
        await first.says("one")
        held = (await first.says("two")).messages
        edited = [*held[:2], {**held[2], "content": "other"}]
        second = await live.agent(f"{server.url}/chat", version=version, messages=edited)
        ended = await second.runs()
    assert ended.texts == ["one", "1: one", "other", "2: other"]


@BOTH
async def test_a_graph_that_raises_ends_in_an_error_and_its_thread_goes_on(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": failing_once()})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        failed = await agent.says("one")
        ended = await agent.says("two")
    assert (failed.error, failed.last["type"], ended.texts[-1]) == (None, "RUN_ERROR", "try 2: ['one', 'two']")


@BOTH
async def test_what_was_said_before_a_graph_raised_stays(gate: Gates, live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": gated("gated_raising", gate)})) as server:
        ended = await (await live.agent(f"{server.url}/chat", version=version)).says("hi")
    assert (ended.kinds[-1], ended.texts[:2]) == ("RUN_ERROR", ["hi", FIRST])


async def refused(live: LiveClients, version: str, path: str, thread_id: str = "t", **limits: Any) -> Ended:
    """What comes of a question that is refused, and holds nothing but itself."""
    async with served(agui_app({"chat": counting()}, limits=Limits(**limits))) as server:
        agent = await live.agent(f"{server.url}/{path}", thread_id, version=version)
        return await agent.says("one")


@BOTH
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"path": "nobody"}, 404),
        ({"path": "chat", "thread_id": "a\x00b"}, 422),
        ({"path": "chat", "body": 20}, 413),
    ],
    ids=["an agent that is not there", "an id that can be none", "too much"],
)
async def test_what_is_refused_is_an_error_of_the_clients(
    live: LiveClients, version: str, how: dict[str, Any], status: int
) -> None:
    ended = await refused(live, version, **how)
    assert (ended.status, ended.events, ended.texts) == (status, [], ["one"])
