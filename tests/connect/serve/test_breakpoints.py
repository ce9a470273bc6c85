"""A static breakpoint that waits for the page's tool: the result is the answer, and the run goes on. Nobody passes one
with the result of a tool that the server runs."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.translator import Options

from fixtures.gated import GATED
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import Ended, LiveAgent, LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import served
from tests.support.streams.chats import Graph

TRIPS = {"name": "add_trips", "description": "Asks the user.", "parameters": {"type": "object", "properties": {}}}
REFUND = {**TRIPS, "name": "refund"}
SENT = ["plan it", "", "SEND", "Performed: SEND"]


def result(call: str, content: str = "SEND") -> dict[str, Any]:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": content}


async def asked(agent: LiveAgent) -> tuple[Ended, str]:
    """What the page has when the run has stopped, and the id of its call."""
    stopped = await agent.runs({"id": "u", "role": "user", "content": "plan it"}, tools=[TRIPS])
    (call,) = stopped.messages[-1]["toolCalls"]
    return stopped, call["id"]


async def is_passed(agent: LiveAgent, *, resumes: bool = False) -> None:
    """The page sends its result, and then it is not asked again. `resumes`: it answers the breakpoint too."""
    stopped, call = await asked(agent)
    entries = [{"interruptId": each["id"], "status": "resolved"} for each in stopped.interrupts]
    ended = await agent.runs(result(call), tools=[TRIPS], **({"resume": entries} if resumes else {}))
    assert ended.last["type"] == "RUN_FINISHED"
    assert ([each.get("content", "") for each in ended.messages], ended.interrupts) == (SENT, [])
    later = await agent.says("thanks", tools=[TRIPS])
    assert later.texts[-1] == "heard thanks"


async def test_the_result_of_a_pages_tool_passes_a_breakpoint(gate: Gates, backend: Backend, live: LiveClients) -> None:
    """A client that is told AG-UI's interrupts runs nothing while one is pending: it answers the breakpoint as well."""
    config, legacy = gate.config(), Options(interrupts="legacy")
    async with backend.client() as client:
        here, there = GATED["gated_trips"](InMemorySaver()), Platform(client, "gated_trips")
        named = Intake(config=config, page_tools={"add_trips"})
        agents = {
            "here": Agent(here, intake=Intake(config=config)),
            "there": Agent(there, intake=named),
            "here-legacy": Agent(here, intake=Intake(config=config), options=legacy),
            "there-legacy": Agent(there, intake=named, options=legacy),
        }
        async with served(agui_app(agents)) as server:
            for name in ("here", "there"):
                url = f"{server.url}/{name}"
                for version in VERSIONS:
                    await is_passed(await live.agent(url, str(uuid4()), version=version), resumes=True)
                    await is_passed(await live.agent(f"{url}-legacy", str(uuid4()), version=version))
                page = await live.agent(f"{url}-legacy", str(uuid4()))
                _, call = await asked(page)
                more = {"id": "more", "role": "user", "content": "and more"}
                ended = await page.runs(result(call), more, tools=[TRIPS])
                assert [each.get("content", "") for each in ended.messages] == [*SENT, "and more", "heard and more"]


async def test_a_server_of_whose_tools_nothing_is_known_takes_no_result_at_a_breakpoint(
    gate: Gates, backend: Backend, live: LiveClients
) -> None:
    async with backend.client() as client:
        agent = Agent(Platform(client, "gated_trips"), intake=Intake(config=gate.config()))
        async with served(agui_app({"a": agent})) as server:
            thread_id = str(uuid4())
            stopped, call = await asked(await live.agent(f"{server.url}/a", thread_id))
            page = await live.agent(f"{server.url}/a", thread_id, messages=stopped.messages)
            ended = await page.runs(result(call), tools=[TRIPS])
            assert (len(ended.interrupts), "Performed: SEND" in ended.texts) == (1, False)


def guarded(*calls: str) -> tuple[Graph, list[str]]:
    """An agent that calls these tools, of which it has `refund` itself: a human decides before its node."""
    refunded: list[str] = []

    def refund() -> str:
        """Pays money back."""
        refunded.append("paid")
        return "paid back"

    def ask(state: MessagesState) -> dict[str, Any]:
        if state["messages"][-1].type == "tool":
            return {"messages": [AIMessage(str(state["messages"][-1].content))]}
        tool_calls = [{"name": name, "args": {}, "id": f"call-{name}"} for name in calls]
        return {"messages": [AIMessage("", tool_calls=tool_calls)]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_node("tools", ToolNode([refund]))
    graph.add_edge(START, "ask").add_edge("ask", "tools")
    return graph.compile(InMemorySaver(), interrupt_before=["tools"]), refunded


@pytest.mark.parametrize("calls", [("refund",), ("refund", "add_trips"), ("add_trips", "refund")])
async def test_nobody_answers_for_a_tool_of_the_server(calls: tuple[str, ...], live: LiveClients) -> None:
    """Not a page that declares a tool of its name, and not by the result of another call of the same message."""
    graph, refunded = guarded(*calls)
    results: list[Callable[[], list[dict[str, Any]]]] = [
        lambda: [result("call-refund", "all yours")],
        lambda: [result(f"call-{name}", "all yours") for name in calls],
        lambda: [result("call-add_trips")],
        lambda: [{"id": "more", "role": "user", "content": "go on"}],
    ]
    async with served(agui_app({"a": graph})) as server:
        first = await live.agent(f"{server.url}/a")
        stopped = await first.says("refund me", tools=[REFUND, TRIPS])
        for send in results:
            page = await live.agent(f"{server.url}/a", messages=stopped.messages)
            ended = await page.runs(*send(), tools=[REFUND, TRIPS])
            assert ended.last["outcome"]["type"] == "interrupt"
        state = await graph.aget_state({"configurable": {"thread_id": "t"}})
        assert (state.next, refunded) == (("tools",), [])
        assert [message.type for message in state.values["messages"]] == ["human", "ai"]


async def test_a_result_of_a_tool_that_the_page_has_not_declared_waits(gate: Gates, live: LiveClients) -> None:
    graph = GATED["gated_trips"](InMemorySaver())
    async with served(agui_app({"a": Agent(graph, intake=Intake(config=gate.config()))})) as server:
        stopped, call = await asked(await live.agent(f"{server.url}/a"))
        page = await live.agent(f"{server.url}/a", messages=stopped.messages)
        ended = await page.runs(result(call), tools=[REFUND])
        assert (len(ended.interrupts), "Performed: SEND" in ended.texts) == (1, False)
        page = await live.agent(f"{server.url}/a", messages=ended.messages)
        again = await page.runs(tools=[TRIPS])
        assert again.texts[-1] == "Performed: SEND"
