"""A model that calls tools of the server and of the page in one message, in graphs that continue without the page's
results: each tool runs once, and the page's results are stored next to their calls."""

from collections.abc import Sequence
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import ToolCallResultEvent
from copilotkit import CopilotKitMiddleware
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Local, Platform, run
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call
from langgraph_agui.connect.testing.expected import comparable

from fixtures.gated import GATED
from fixtures.page_agents import page_agent
from tests.support.clients.asking import asked
from tests.support.clients.live_client import LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import served

TOOLS = [{"name": name, "description": name, "parameters": {"type": "object"}} for name in ("locate", "mark")]
CALLS = [tool_call(name, {}, f"call_{name}", index=index) for index, name in enumerate(("weather", "locate", "mark"))]
PLACEHOLDER = '{"status": "forwarded_to_frontend"}'
"""What CopilotKit's middleware gives to the model in place of a page's result."""


class Listening(ScriptedChatModel):
    """A scripted model that keeps what it was given: per call, what every tool call in it was answered with."""

    heard: list[dict[str, str]] = []  # noqa: RUF012 - a field of pydantic, one list for each model

    def script(self, messages: Sequence[BaseMessage]) -> Any:
        """Keeps the results, which follow their calls directly, as providers want it."""
        answered: dict[str, str] = {}
        for place, message in enumerate(messages):
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            results = messages[place + 1 : place + 1 + len(calls)]
            by_id = {each.tool_call_id: str(each.content) for each in results if isinstance(each, ToolMessage)}
            assert by_id.keys() == {call["id"] for call in calls}
            answered |= by_id
        self.heard.append(answered)
        return super().script(messages)


def result(name: str, content: str) -> dict[str, Any]:
    return {"id": str(uuid4()), "role": "tool", "toolCallId": f"call_{name}", "content": content}


@pytest.mark.newest
@pytest.mark.parametrize("route", ["/a", "/agent/a/run"])
async def test_under_copilotkits_middleware_each_tool_runs_once_and_every_later_call_sees_true_results(
    route: str, live: LiveClients
) -> None:
    ran: list[str] = []

    @tool
    def weather() -> str:
        """Says how the weather is."""
        ran.append("weather")
        return "sunny"

    model = Listening(turns=[["Let me see.", *CALLS], "I looked.", "You are in Lisbon.", "You are welcome."])
    graph = create_agent(model, [weather], middleware=[CopilotKitMiddleware()], checkpointer=InMemorySaver())
    true = {"call_weather": "sunny", "call_locate": "Lisbon", "call_mark": "marked"}
    async with served(agui_app({"a": graph})) as server:
        page = await live.agent(f"{server.url}{route}", "t")
        ended = await page.says("where am I?", tools=TOOLS)
        called = [call["id"] for message in ended.messages for call in message.get("toolCalls", [])]
        assert called == [*true]
        assert [message["toolCallId"] for message in ended.messages if message["role"] == "tool"] == ["call_weather"]
        assert model.heard[-1] == {"call_weather": "sunny", "call_locate": PLACEHOLDER, "call_mark": PLACEHOLDER}
        results = [result("locate", "Lisbon"), result("mark", "marked")]
        ended = await page.runs(*results, tools=TOOLS)
        assert ended.texts[-1] == "You are in Lisbon."
        assert model.heard[-1] == true
        late = await live.agent(f"{server.url}{route}", "t", messages=ended.messages)
        await late.runs(result("locate", "Porto"), tools=TOOLS)  # another tab has run the tool too
        assert len(model.heard) == 3
        ended = await page.says("thanks", tools=TOOLS)
    assert ended.texts[-1] == "You are welcome."
    assert model.heard[-1] == true
    assert ran == ["weather"]
    stored = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    kinds = [message.type for message in stored]
    assert kinds == ["human", "ai", "tool", "tool", "tool", "ai", "ai", "human", "ai"]
    assert [message.id for message in stored[3:5]] == [message["id"] for message in results]
    assert [(message["id"], message.get("toolCallId")) for message in ended.messages] == [
        (message.id, getattr(message, "tool_call_id", None)) for message in stored
    ]


def asking(model: ScriptedChatModel, ran: list[str]) -> Any:
    """An agent whose tool `refund` asks a person, with CopilotKit's middleware. If the answer is "later", it fails
    once."""
    failed: list[str] = []

    @tool
    def refund() -> str:
        """Pays money back."""
        if interrupt("Pay back?") == "later" and not failed:
            failed.append("once")
            raise RuntimeError("no money")
        ran.append("refund")
        return "paid"

    return create_agent(model, [refund], middleware=[CopilotKitMiddleware()], checkpointer=InMemorySaver())


@pytest.mark.newest
async def test_under_copilotkits_middleware_an_agent_that_a_tool_calls_gets_no_tools_of_the_page() -> None:
    graph = page_agent(InMemorySaver(), middleware=CopilotKitMiddleware)
    declared = [{"name": "ask", "description": "Asks.", "parameters": {"type": "object", "properties": {}}}]
    given = asked("research(ask)", "r", tools=declared, state={}, context=[], forwardedProps={})
    [said] = [event async for event in run(Local(graph), given) if isinstance(event, ToolCallResultEvent)]
    assert "ask is not a valid tool" in said.content


@pytest.mark.newest
async def test_under_copilotkits_middleware_a_page_answers_next_to_a_question(live: LiveClients) -> None:
    """The page has its call while the question is open, also after a reload, and its result comes with the answer, or
    before it, or after it; or when a run is tried again that has failed after the answer."""
    calls = [tool_call(name, {}, f"call_{name}", index=index) for index, name in enumerate(("refund", "locate"))]
    true = {"call_refund": "paid", "call_locate": "Lisbon"}
    for comes in ("with", "before", "after", "again"):
        ran: list[str] = []
        model = Listening(turns=[["Let me see.", *calls], "It is paid.", "You are in Lisbon."], heard=[])
        async with served(agui_app({"a": asking(model, ran)})) as server:
            url = f"{server.url}/a"
            page = await live.agent(url, "t")
            ended = await page.says("pay, and where am I?", tools=TOOLS)
            assert [each["toolCallId"] for each in ended.interrupts] == ["call_refund"]
            again = await (await live.agent(url, "t")).connects()
            for shown in (ended, again):
                assert [call["id"] for call in shown.messages[-1]["toolCalls"]] == [*true]
            assert "MESSAGES_SNAPSHOT" not in ended.kinds
            located = result("locate", "Lisbon")
            (question,) = ended.interrupts
            if comes == "before":  # an older client may run a thread whose question it does not know
                page = await live.agent(url, "t", messages=ended.messages)
                ended = await page.runs(located, tools=TOOLS)
                assert (ended.interrupts, ended.messages[-1]["content"]) == ([question], "Lisbon")
            said = "later" if comes == "again" else "yes"
            resume = [{"interruptId": question["id"], "status": "resolved", "payload": said}]
            ended = await page.runs(*([located] if comes == "with" else []), resume=resume, tools=TOOLS)
            if comes == "again":
                assert (ended.last["type"], model.heard) == ("RUN_ERROR", [{}])
                ended = await page.runs(located, resume=resume, tools=TOOLS)
            if comes == "after":
                ended = await page.runs(located, tools=TOOLS)
        assert ended.texts[-1] == "You are in Lisbon.", comes
        assert (model.heard[-1], ran) == (true, ["refund"])


async def test_results_come_one_by_one_from_any_tab_and_the_graph_runs_when_it_has_all(
    gate: Gates, backend: Backend, live: LiveClients
) -> None:
    """Those that have come are stored, also in a thread whose graph has continued without them. If the user says
    something else, nothing more is waited for."""
    async with backend.client() as client:
        graph = GATED["gated_fronted"](InMemorySaver())
        agents = {
            "here": Agent(graph, intake=Intake(config=gate.config())),
            "there": Agent(Platform(client, "gated_fronted"), intake=Intake(config=gate.config())),
        }
        async with served(agui_app(agents)) as server:
            for name, begins in product(agents, ("itself", "continued", "left")):
                url, thread_id = f"{server.url}/{name}", str(uuid4())
                if begins == "continued":
                    messages = continued("locate", "mark")
                    await graph.aupdate_state(
                        {"configurable": {"thread_id": thread_id}}, {"messages": messages}, "front"
                    )
                    await client.threads.create(thread_id=thread_id, graph_id="gated_fronted")
                    values = {"messages": [message.model_dump() for message in messages]}
                    await client.threads.update_state(thread_id, values, as_node="front")
                    page = await live.agent(url, thread_id)
                    held = await page.connects()
                else:
                    page = await live.agent(url, thread_id)
                    held = await page.says("where?", tools=TOOLS)
                first, second = [call["id"] for each in held.messages for call in each.get("toolCalls", ())][-2:]
                marked = {**result("mark", "marked"), "toolCallId": second}
                half = await page.runs(marked, tools=TOOLS)
                assert (half.kinds[0], half.last["outcome"]["type"]) == ("RUN_STARTED", "success")
                assert not [kind for kind in half.kinds if kind.startswith(("STEP", "TEXT"))]
                page = await live.agent(url, thread_id)
                half = await page.connects()
                assert [each["content"] for each in half.messages if each["role"] == "tool"][-1] == "marked"
                again = await page.runs(tools=TOOLS)
                assert (again.messages, "TEXT_MESSAGE_START" in again.kinds) == (half.messages, False)
                if begins == "left":
                    ended = await page.says("never mind", tools=TOOLS)
                    results = {each["toolCallId"]: each["content"] for each in ended.messages if each["role"] == "tool"}
                    assert results[second] == "marked"
                    assert "not run" in results[first]
                    continue
                ended = await page.runs({**result("locate", "Lisbon"), "toolCallId": first}, tools=TOOLS)
                assert ended.last["outcome"]["type"] == "success"
                assert ended.messages[-1]["role"] == "assistant"
                assert len(ended.messages) > len(half.messages) + 1
                stored = (await (await live.agent(url, thread_id)).connects()).messages
                assert comparable(stored) == comparable(ended.messages)


def continued(*names: str) -> list[BaseMessage]:
    """A thread whose graph has continued without the results of these calls; that of `weather` it has."""
    calls = [{"name": name, "args": {}, "id": f"call_{name}"} for name in ("weather", *names)]
    answered = ToolMessage("sunny", tool_call_id="call_weather", id="w")
    return [HumanMessage("where?", id="u"), AIMessage("", tool_calls=calls, id="m"), answered, AIMessage("So.", id="n")]


async def test_a_result_that_comes_with_the_next_message_is_stored_next_to_its_call(
    gate: Gates, backend: Backend, live: LiveClients
) -> None:
    """The graph refuses a conversation in which a call is not followed by its result, as providers do."""
    async with backend.client() as client:
        graph, thread_id = GATED["gated_fronted"](InMemorySaver()), str(uuid4())
        await graph.aupdate_state({"configurable": {"thread_id": thread_id}}, {"messages": continued("locate")})
        await client.threads.create(thread_id=thread_id, graph_id="gated_fronted")
        values = {"messages": [message.model_dump() for message in continued("locate")]}
        await client.threads.update_state(thread_id, values, as_node="front")
        agents = {
            "here": Agent(graph, intake=Intake(config=gate.config())),
            "there": Agent(Platform(client, "gated_fronted"), intake=Intake(config=gate.config())),
        }
        async with served(agui_app(agents)) as server:
            for name in agents:
                page = await live.agent(f"{server.url}/{name}", thread_id)
                held = (await page.connects()).messages
                assert [message["id"] for message in held] == ["u", "m", "w", "n"]
                ended = await page.runs(result("locate", "Lisbon"), tools=TOOLS[:1])
                assert ended.texts[-1] == "ai: So."
                order = [message["id"] for message in ended.messages]
                where = next(message["id"] for message in ended.messages if message.get("content") == "Lisbon")
                assert (order[:3], order[3]) == (["u", "m", "w"], where)
                assert "RUN_ERROR" not in ended.kinds


@pytest.mark.parametrize("declared", [["refund"], ["locate"], []])
async def test_a_client_that_did_not_declare_the_tool_or_names_a_tool_of_the_servers_gives_no_result(
    declared: list[str], live: LiveClients
) -> None:
    @tool
    def refund() -> str:
        """Pays money back."""
        raise AssertionError("it is not called")

    model = ScriptedChatModel(turns=["So.", "And?"], turn_of=lambda messages: 1)
    graph = create_agent(model, [refund], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    await graph.aupdate_state(config, {"messages": continued("refund", "other")}, as_node="model")
    async with served(agui_app({"a": graph})) as server:
        page = await live.agent(f"{server.url}/a", "t")
        await page.connects()
        tools = [{"name": name, "description": name, "parameters": {"type": "object"}} for name in declared]
        await page.runs(result("refund", "paid"), result("other", "done"), tools=tools)
    stored = (await graph.aget_state(config)).values["messages"]
    assert [str(message.content) for message in stored] == ["where?", "", "sunny", "So."]
