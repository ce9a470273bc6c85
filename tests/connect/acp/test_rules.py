"""Rules that hold for every session; `tests.connect.acp` lists all of them, with their tests."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.acp import AcpAgent, Command
from langgraph_agui.connect.acp.middleware import SessionTools
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call

from tests.connect import acp
from tests.support.clients.editors.agents import ASKS, CALL, add, agent, mcp_server
from tests.support.clients.editors.editor import AnsweredError, chosen, editor_of


def test_every_rule_names_a_test_that_there_is() -> None:
    there = re.findall(r"^(?:async )?def (test_\w+)", "".join(each.read_text() for each in files()), re.MULTILINE)
    named = re.findall(r"^    (test_\w+)$", acp.__doc__ or "", re.MULTILINE)
    assert len(named) > 30
    assert set(named) <= set(there)


def files() -> list[Path]:
    return sorted(Path(__file__).parent.glob("test_*.py"))


async def test_initialize_is_answered_while_the_agent_is_loaded() -> None:
    """With the version that is spoken, whatever the editor asks for. The first session waits."""
    is_loaded = asyncio.Event()

    async def loading() -> None:
        await is_loaded.wait()

    async with editor_of(agent("Hi."), starts=False, loading=loading) as editor:
        with pytest.raises(AnsweredError, match="initialize"):
            await editor.new()
        result = await editor.request("initialize", protocolVersion=99)
        assert result["protocolVersion"] == 1
        assert result["agentInfo"]["name"] == "agent"
        assert result["authMethods"] == []
        assert result["agentCapabilities"]["loadSession"]
        beginning = asyncio.create_task(editor.new())
        editor.notify("session/cancel", sessionId="unknown")
        is_loaded.set()
        assert await editor.prompt(await beginning, "Hi") == {"stopReason": "end_turn"}
    async with editor_of(agent("Hi."), loading=asyncio.Event().wait):  # type: ignore[arg-type]
        """The editor leaves while the agent is loaded."""


async def test_an_agent_that_can_not_be_loaded_is_an_error_of_each_session() -> None:
    async def loading() -> None:
        raise ImportError("no module named my_app")

    async with editor_of(agent("Hi."), loading=loading) as editor:
        for _ in range(2):
            with pytest.raises(AnsweredError, match="no module named my_app") as failed:
                await editor.new()
            assert (failed.value.code, failed.value.data) == (-32603, {"error": "ImportError"})


async def test_the_first_update_of_a_session_follows_its_response() -> None:
    """Editors drop what they get of a session that they do not know yet."""
    command = Command(name="plan", description="Makes a plan")
    served = AcpAgent(create_agent(ScriptedChatModel(turns=["Hi."]), []), name="agent", commands=[command])
    async with editor_of(served) as editor:
        for _ in range(3):
            await editor.new()
        await editor.until(lambda: sum("method" in message for message in editor.messages) == 3)
        known: set[str] = set()
        for message in editor.messages:
            if "method" in message:
                assert message["params"]["sessionId"] in known
            else:
                known.add(message["result"].get("sessionId"))


async def test_a_graph_that_raises_since_it_is_cancelled_is_cancelled() -> None:
    begun = asyncio.Event()

    async def node(state: MessagesState) -> MessagesState:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("the connection was lost") from None
        return state

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await begun.wait()
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}


async def test_a_session_takes_another_prompt_after_any_end() -> None:
    """An error, the limit of steps, and a cut message; a cancel is in the turns at random."""
    ends: list[Any] = ["error", "limit", "length", "end"]

    async def node(state: MessagesState) -> dict[str, Any]:
        match ends[0]:
            case "error":
                raise ValueError("secret")
            case "length":
                return {"messages": [AIMessage("It is", response_metadata={"finish_reason": "length"})]}
        return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}

    builder = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
    builder.add_conditional_edges("node", lambda state: "node" if ends[0] == "limit" else END)
    served = AcpAgent(builder.compile(), name="agent", intake=Intake(config={"recursion_limit": 3}))
    async with editor_of(served) as editor:
        session, found = await editor.new(), []
        for _ in range(4):
            try:
                found.append((await editor.prompt(session, "go"))["stopReason"])
            except AnsweredError as error:
                found.append(error.data)
            ends.pop(0)
        assert found == [{"error": "ValueError"}, "max_turn_requests", "max_tokens", "end_turn"]


async def test_what_is_approved_in_one_session_is_asked_in_another() -> None:
    model = ScriptedChatModel(turns=[CALL, "It is 3.", [tool_call("add", {"a": 1, "b": 2}, "call_2")], "Again."])
    graph = create_agent(model, [add], middleware=[HumanInTheLoopMiddleware({"add": True})])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        editor.ask = chosen("approve_always")
        one, other = await editor.new(), await editor.new()
        for session in (one, one, other):
            assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert [params["sessionId"] for _, params in editor.asked] == [one, other]


async def test_tools_of_a_server_are_those_of_its_session() -> None:
    graph = create_agent(ScriptedChatModel(turns=[ASKS[:1], "Noted."]), [], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        having, other = await editor.new("/", mcpServers=[mcp_server()]), await editor.new("/")
        found = []
        for session in (having, other):
            await editor.prompt(session, "go")
            found.append(editor.view(session).calls["call_1"]["status"])
        assert found == ["completed", "failed"]


async def test_a_session_that_runs_is_not_loaded_and_can_be_cancelled() -> None:
    pause = Pause()
    async with editor_of(agent(["Hello ", pause, "there."])) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await pause.reached.wait()
        with pytest.raises(AnsweredError) as refused:
            await editor.load(session)
        assert refused.value.code == -32600
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
