"""`compatible_with="ag-ui-langgraph"`: what pages do that were written for it, with the real client, by one setting.

The graphs are the kinds that its documentation shows: a chat with tools of the page, state that page and agent share,
a question to the user, a surface that a tool's arguments make, and a document that is seen while it is written.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import ClientView, Options
from starlette.requests import Request

from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import served
from tests.support.streams.chats import Graph

PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
CHOICE = {"name": "write", "description": "Writes."}
STEPS = ("Digging", "Planting", "Watering")


class WithTools(MessagesState):
    tools: list[Any]


class Cooking(MessagesState):
    recipe: dict[str, Any]
    steps: list[str]


class Writing(MessagesState):
    document: str


def painting() -> Graph:
    """A chat that calls a tool of the page, and speaks when it has the result."""
    model = ScriptedChatModel(
        turns=[text("Painting. ") + tool_call("paint", {"colour": "red"}, "call_1") + end(), text("Red.")]
    )

    async def chat(state: WithTools) -> dict[str, Any]:
        assert [tool["name"] for tool in state["tools"]] == ["paint"]
        return {"messages": [await model.bind_tools(state["tools"]).ainvoke(state["messages"])]}

    return StateGraph(WithTools).add_node("chat", chat).add_edge(START, "chat").compile(InMemorySaver())


def cooking() -> Graph:
    """Adds salt to the recipe that the page shows, and emits what it does on the way."""

    async def cook(state: Cooking) -> dict[str, Any]:
        await adispatch_custom_event("manually_emit_state", {"steps": ["salting"]})
        recipe = {**state["recipe"], "salt": state["recipe"].get("salt", 0) + 1}
        return {"messages": [AIMessage(f"Salted {recipe['name']}.")], "recipe": recipe, "steps": ["salted"]}

    return StateGraph(Cooking).add_node("cook", cook).add_edge(START, "cook").compile(InMemorySaver())


def asking() -> Graph:
    """Asks which steps to take."""

    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"steps": ["boil", "bake"]})
        return {"messages": [AIMessage(f"Doing {answer}.")]}

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(InMemorySaver())


def writing() -> Graph:
    """Writes a document by a tool call, whose argument is state while it grows."""
    script = tool_call("write", {"document": "Once upon a time."}, "call_w", fragments=6) + end()
    model = ScriptedChatModel(turns=[script, text("There.")])

    async def draft(state: Writing, config: RunnableConfig) -> Command[Any]:
        predicts = [{"state_key": "document", "tool": "write", "tool_argument": "document"}]
        marked: RunnableConfig = {**config, "metadata": {**config["metadata"], "predict_state": predicts}}
        answer = await model.bind_tools([CHOICE]).ainvoke(state["messages"], marked)
        if not answer.tool_calls:
            return Command(goto=END, update={"messages": [answer]})
        found = answer.tool_calls[0]
        result = ToolMessage("Written.", tool_call_id=found["id"])
        return Command(goto="draft", update={"messages": [answer, result], "document": found["args"]["document"]})

    return StateGraph(Writing).add_node("draft", draft).add_edge(START, "draft").compile(InMemorySaver())


class Doing(MessagesState):
    steps: list[dict[str, str]]
    tools: list[Any]


def doing() -> Graph:
    """Plans steps, which are state while they are written, and emits on the way how far it is with them; then a message
    and a call by hand. Its model is called in the node's own config, and its state is one object all the time."""
    steps = [{"description": name, "status": "pending"} for name in STEPS]
    script = tool_call("plan", {"steps": steps}, "call_p", fragments=12) + end()
    model = ScriptedChatModel(turns=[script, text("All done.")])

    def begin(state: Doing) -> Command[Any]:
        return Command(goto="work", update={"messages": state["messages"], "steps": state.get("steps", [])})

    async def work(state: Doing, config: RunnableConfig) -> Command[Any]:
        config["metadata"]["predict_state"] = [{"state_key": "steps", "tool": "plan", "tool_argument": "steps"}]
        answer = await model.bind_tools([*state.get("tools", []), CHOICE]).ainvoke(state["messages"], config)
        if not answer.tool_calls:
            return Command(goto=END, update={"messages": [*state["messages"], answer], "steps": state["steps"]})
        state["steps"] = [dict(step) for step in answer.tool_calls[0]["args"]["steps"]]
        for step in state["steps"]:
            step["status"] = "completed"
            await adispatch_custom_event("manually_emit_state", state, config=config)
        call = {"id": "cheer", "name": "cheer", "args": {"loud": True}}
        await adispatch_custom_event("manually_emit_tool_call", call, config=config)
        message = {"message_id": "nearly", "message": "Nearly there."}
        await adispatch_custom_event("manually_emit_message", message, config=config)
        result = {"role": "tool", "content": "Steps executed.", "tool_call_id": answer.tool_calls[0]["id"]}
        return Command(goto="begin", update={"messages": [*state["messages"], answer, result], "steps": state["steps"]})

    graph = StateGraph(Doing).add_node("begin", begin).add_node("work", work).add_edge(START, "begin")
    return graph.add_edge("begin", "work").add_edge("work", END).compile(InMemorySaver())


def resting(begun: asyncio.Event, stopped: asyncio.Event) -> Graph:
    """Answers `rest` never, unless it is stopped, and anything else at once."""

    async def rest(state: MessagesState) -> dict[str, Any]:
        if state["messages"][-1].content == "rest":
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
        return {"messages": [AIMessage("Rested.")]}

    return StateGraph(MessagesState).add_node("rest", rest).add_edge(START, "rest").compile(InMemorySaver())


@asynccontextmanager
async def serving(graph: Graph) -> AsyncIterator[str]:
    app = agui_app({"it": graph}, compatible_with="ag-ui-langgraph")
    async with served(app) as server:
        yield f"{server.url}/it"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_of_the_page_is_called_and_answered(live: LiveClients, version: str) -> None:
    async with serving(painting()) as url:
        page = await live.agent(url, version=version)
        ended = await page.says("Paint it.", tools=[PAINT])
        (asked,) = [each for message in ended.messages for each in message.get("toolCalls", ())]
        assert (asked["function"]["name"], json.loads(asked["function"]["arguments"])) == ("paint", {"colour": "red"})
        ended = await page.runs(
            {"id": "result-1", "role": "tool", "toolCallId": asked["id"], "content": "done"}, tools=[PAINT]
        )
        assert [message["role"] for message in ended.messages] == ["user", "assistant", "tool", "assistant"]
        assert ended.texts[-1] == "Red."


@pytest.mark.parametrize("version", VERSIONS)
async def test_page_and_agent_share_their_state(live: LiveClients, version: str) -> None:
    async with serving(cooking()) as url:
        page = await live.agent(url, version=version, state={"recipe": {"name": "soup"}})
        ended = await page.says("Salt it.")
        assert ended.state == {"recipe": {"name": "soup", "salt": 1}, "steps": ["salted"]}
        states = [event for event in ended.events if event["type"].startswith("STATE")]
        assert states[0]["type"] == "STATE_SNAPSHOT"
        assert [event["name"] for event in ended.events if event["type"] == "CUSTOM"] == ["manually_emit_state"]
        assert ended.texts[-1] == "Salted soup."
        changed = {"recipe": {"name": "stew", "salt": 7}, "steps": []}
        other = await live.agent(url, version=version, state=changed, messages=ended.messages)
        ended = await other.says("More.")
        assert (ended.texts[-1], ended.state["recipe"]["salt"]) == ("Salted stew.", 8)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_question_is_a_custom_event_and_its_answer_a_command(live: LiveClients, version: str) -> None:
    async with serving(asking()) as url:
        page = await live.agent(url, version=version)
        ended = await page.says("Cook.")
        (question,) = [event for event in ended.events if event["type"] == "CUSTOM"]
        assert (question["name"], json.loads(question["value"])) == ("on_interrupt", {"steps": ["boil", "bake"]})
        assert ended.last.get("outcome") is None
        assert ended.interrupts == []
        ended = await page.runs(forwardedProps={"command": {"resume": "boil", "interruptEvent": question["value"]}})
        assert ended.texts == ["Cook.", "Doing boil."]


async def test_what_an_owner_has_chosen_stays_also_if_it_is_the_default(live: LiveClients) -> None:
    chosen = Options(interrupts="outcome", subagents="attributed")
    async with served(agui_app({"a": Agent(asking(), options=chosen, compatible_with="ag-ui-langgraph")})) as server:
        ended = await (await live.agent(f"{server.url}/a")).says("Cook.")
        assert [question["metadata"]["value"] for question in ended.interrupts] == [{"steps": ["boil", "bake"]}]
        assert "CUSTOM" not in ended.kinds
    adjusted = Agent(asking(), compatible_with="ag-ui-langgraph").adjusted(chosen)
    assert (adjusted.interrupts, adjusted.subagents) == ("outcome", "attributed")


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_document_is_seen_while_it_is_written(live: LiveClients, version: str) -> None:
    async with serving(writing()) as url:
        page = await live.agent(url, version=version)
        ended = await page.says("Write.")
        (predicted,) = [event for event in ended.events if event["type"] == "CUSTOM"]
        assert predicted["name"] == "PredictState"
        kinds = ended.kinds
        grown = [place for place, kind in enumerate(kinds) if kind == "STATE_DELTA"]
        assert len([place for place in grown if place < kinds.index("TOOL_CALL_END")]) > 1
        assert ended.state == {"document": "Once upon a time."}
        assert ended.texts[-1] == "There."


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_is_seen_while_it_is_made_and_carried_out(live: LiveClients, version: str) -> None:
    async with serving(doing()) as url:
        page = await live.agent(url, version=version)
        ended = await page.says("Plant a garden.")
        view, seen = ClientView([], {}), []
        for event in ended.events:
            view.apply(event)
            if event["type"].startswith("STATE"):
                seen.append([step.get("status", "") for step in view.state.get("steps", [])])
        planned, done = ["pending"] * 3, ["completed"] * 3
        assert seen[-4:] == [planned, [*done[:1], *planned[1:]], [*done[:2], *planned[2:]], done]
        assert list(map(len, seen)) == sorted(map(len, seen))
        assert ended.state["steps"] == [{"description": each, "status": "completed"} for each in STEPS]
        assert "messages" not in ended.state
        assert [event["name"] for event in ended.events if event["type"] == "CUSTOM"] == [
            "PredictState",
            *["manually_emit_state"] * 3,
            "manually_emit_tool_call",
            "manually_emit_message",
        ]
        emitted = {event.get("toolCallId") or event.get("messageId") for event in ended.events}
        assert {"cheer", "nearly"} <= emitted
        assert [message["role"] for message in ended.messages] == ["user", "assistant", "tool", "assistant"]
        assert ended.texts[-1] == "All done."
        loaded = await (await live.agent(f"{url}/connect", version=version)).runs()
        assert (loaded.messages, loaded.state) == (ended.messages, ended.state)


async def test_what_an_owner_chose_stays() -> None:
    graph = cooking()
    chosen = Options(interrupts="both", subagents="hidden", error_detail="none")
    agent = Agent(graph, options=chosen, intake=Intake(state={"recipe"}), compatible_with="ag-ui-langgraph")
    assert await agent.options_for(agent.backend, "1.0") == chosen
    request = Request({"type": "http", "headers": [(b"origin", b"http://localhost:5173")]})
    assert await agent.intake_for(request) == Intake(state={"recipe"}, dispatched_events=True)
    app = agui_app({"new": Agent(graph), "old": agent}, compatible_with="ag-ui-langgraph")
    served_agents = app.state.service.agents
    assert served_agents["new"].adjusted(Options()) == Options(interrupts="legacy", subagents="inline")
    assert await served_agents["new"].intake_for(request) == Intake(state="all", dispatched_events=True)
    with pytest.raises(ValueError, match="compatible_with"):
        Agent(graph, compatible_with="another")  # type: ignore[arg-type]


@pytest.mark.parametrize("from_page", [False, True])
async def test_a_server_in_between_stops_a_run_by_aborting_its_request_and_a_page_does_not(
    live: LiveClients, from_page: bool
) -> None:
    """CopilotKit's Node runtime does so when a user presses stop. A browser sends `Origin`."""
    begun, stopped = asyncio.Event(), asyncio.Event()
    headers = {"Origin": "http://localhost:5173"} if from_page else {}
    async with serving(resting(begun, stopped)) as url:
        client = await live.agent(url, headers=headers)
        running = client.says("rest")
        await begun.wait()
        await client.aborts()
        await running
        if not from_page:
            await stopped.wait()
        else:
            refused = await client.says("anything")
            assert refused.status == 409
            assert not stopped.is_set()
            return
        ended = await client.says("hello")
    assert ended.texts[-1] == "Rested."
