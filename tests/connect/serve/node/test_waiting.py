"""Stock clients of both versions are asked by graphs over HTTP, and answer: at once, in part, later, or not at all."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import Options

from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import served
from tests.support.streams.chats import Graph, asking, asking_then_failing_once, stopping

BOTH = pytest.mark.parametrize("version", VERSIONS)
OLDER = VERSIONS[1]


def approving() -> tuple[Graph, list[str]]:
    """An agent whose one tool wants an approval; and what the tool was called with."""
    called: list[str] = []

    @tool
    def delete(name: str) -> str:
        """Deletes something."""
        called.append(name)
        return "deleted"

    asks, says = [*tool_call("delete", {"name": "all"}, "call-1"), *end("tool_calls")], [*text("That is it."), *end()]
    approval = HumanInTheLoopMiddleware(interrupt_on={"delete": True})
    model = ScriptedChatModel(turns=[asks, says])
    graph: Any = create_agent(model, [delete], middleware=[approval], checkpointer=InMemorySaver())
    return graph, called


@BOTH
async def test_a_question_is_answered(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        asked = await agent.says("go")
        ended = await agent.answers("yes")
    assert len(asked.interrupts) == 1
    assert (ended.texts, ended.interrupts) == (["go", "really? yes"], [])


@BOTH
async def test_several_questions_are_answered_at_once(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?", "surely?")})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        asked = await agent.says("go")
        answers = {"really?": "yes", "surely?": "no"}
        ended = await agent.answers(*(answers[each["message"]] for each in asked.interrupts))
    assert (sorted(ended.texts), ended.interrupts) == (["go", "really? yes", "surely? no"], [])


@BOTH
async def test_of_several_questions_one_is_cancelled(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?", "surely?")})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        asked = await agent.says("go")
        answers = {"really?": "yes", "surely?": ...}
        ended = await agent.answers(*(answers[each["message"]] for each in asked.interrupts))
    assert (sorted(ended.texts), ended.interrupts) == (["go", "really? yes", "surely? {'status': 'cancelled'}"], [])


@BOTH
async def test_an_approved_call_is_made(live: LiveClients, version: str) -> None:
    graph, called = approving()
    async with served(agui_app({"chat": graph})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        await agent.says("clean up")
        ended = await agent.answers({"decisions": [{"type": "approve"}]})
    assert (called, ended.texts[-1]) == (["all"], "That is it.")


@BOTH
async def test_a_cancelled_approval_makes_no_call(live: LiveClients, version: str) -> None:
    graph, called = approving()
    async with served(agui_app({"chat": graph})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        await agent.says("clean up")
        ended = await agent.answers(...)
    assert (called, ended.texts[-1]) == ([], "That is it.")


@BOTH
async def test_a_breakpoint_is_passed(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": stopping()})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        await agent.says("go")
        ended = await agent.answers("on")
    assert (ended.texts[-1], ended.interrupts) == ("at last: go", [])


@BOTH
async def test_a_page_that_is_loaded_later_answers(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        before = await live.agent(f"{server.url}/chat", version=version)
        await before.says("go")
        after = await live.agent(f"{server.url}/chat", version=version)
        await after.connects()
        ended = await after.answers("yes")
    assert (ended.texts, ended.interrupts) == (["go", "really? yes"], [])


@BOTH
async def test_an_answer_that_comes_twice_is_taken_once(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        first = await live.agent(f"{server.url}/chat", version=version)
        await first.says("go")
        second = await live.agent(f"{server.url}/chat", version=version)
        await second.connects()
        await first.answers("yes")
        ended = await second.answers("no")
    assert (ended.error, ended.texts, ended.interrupts) == (None, ["go", "really? yes"], [])


@BOTH
async def test_a_client_that_does_not_know_of_the_question_is_told_it(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        await (await live.agent(f"{server.url}/chat", version=version)).says("go")
        unaware = await live.agent(f"{server.url}/chat", version=version)
        asked = await unaware.says("and then?")
    assert [interrupt["message"] for interrupt in asked.interrupts] == ["really?"]


@BOTH
async def test_what_it_said_meanwhile_is_answered_after_the_question(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        await (await live.agent(f"{server.url}/chat", version=version)).says("go")
        unaware = await live.agent(f"{server.url}/chat", version=version)
        await unaware.says("and then?")
        ended = await unaware.answers("yes")
    assert (ended.texts[:3], len(ended.interrupts)) == (["go", "really? yes", "and then?"], 1)


async def test_an_answer_that_failed_can_be_given_again(live: LiveClients) -> None:
    async with served(agui_app({"chat": asking_then_failing_once()})) as server:
        agent = await live.agent(f"{server.url}/chat")
        await agent.says("go")
        failed = await agent.answers("yes")
        ended = await agent.answers("yes")
    assert (failed.kinds[-1], ended.texts[-1], ended.interrupts) == ("RUN_ERROR", "try 2: yes", [])


async def test_an_older_client_is_asked_by_a_custom_and_answers_in_forwarded_props(live: LiveClients) -> None:
    chat = Agent(source=asking("really?"), options=Options(interrupts="legacy"))
    async with served(agui_app({"chat": chat})) as server:
        agent = await live.agent(f"{server.url}/chat", version=OLDER)
        asked = await agent.says("go")
        ended = await agent.runs(forwardedProps={"command": {"resume": "yes", "interruptEvent": "really?"}})
    assert [event["name"] for event in asked.events if event["type"] == "CUSTOM"] == ["on_interrupt"]
    assert (asked.interrupts, ended.texts) == ([], ["go", "really? yes"])


async def test_an_older_clients_answer_to_one_of_several_says_to_which(live: LiveClients) -> None:
    chat = Agent(source=asking("really?", "surely?"), options=Options(interrupts="legacy"))
    async with served(agui_app({"chat": chat})) as server:
        agent = await live.agent(f"{server.url}/chat", version=OLDER)
        await agent.says("go")
        await agent.runs(forwardedProps={"command": {"resume": "no", "interruptEvent": "surely?"}})
        ended = await agent.runs(forwardedProps={"command": {"resume": "yes", "interruptEvent": "really?"}})
    assert sorted(ended.texts) == ["go", "really? yes", "surely? no"]


async def test_an_answer_to_nobody_in_particular_is_refused_where_several_ask(live: LiveClients) -> None:
    chat = Agent(source=asking("really?", "surely?"), options=Options(interrupts="legacy"))
    async with served(agui_app({"chat": chat})) as server:
        agent = await live.agent(f"{server.url}/chat", version=OLDER)
        await agent.says("go")
        refused = await agent.runs(forwardedProps={"command": {"resume": "no"}})
    assert refused.status == 422
