"""The MCP servers of an editor: their tools reach a graph, and cost it nothing when they fail."""

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph_agui.connect.acp import AcpAgent, Session
from langgraph_agui.connect.acp.middleware import SessionTools
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

from tests.support.clients.editors.agents import ASKS, CALL, add, mcp_command, mcp_server
from tests.support.clients.editors.editor import editor_of
from tests.support.servers.mcp_server import HEADER, REFUSED
from tests.support.servers.processes.server_process import ServerProcess, free_port

BROKEN = {"name": "broken", "command": "/no/such/command", "args": [], "env": []}
GONE = "http://127.0.0.1:9/mcp"
PROCESS = re.compile(r"\((\d+)\)")
AGAIN = [tool_call("notes", {"topic": "trees"}, "call_3")]


async def test_tools_of_the_editors_servers_are_tools_of_a_compiled_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One process for the whole session; a server that does not start is named in the log."""
    model = ScriptedChatModel(turns=[ASKS, "Noted.", AGAIN, "Noted too."])
    graph = create_agent(model, [add], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new(str(tmp_path), mcpServers=[mcp_server(), BROKEN])
        assert "The MCP server broken has no tools: FileNotFoundError" in caplog.text
        for text in ("What do you know?", "And of trees?"):
            assert await editor.prompt(session, text) == {"stopReason": "end_turn"}
        calls = editor.view(session).calls
        first, where, second = (calls[name]["rawOutput"] for name in ("call_1", "call_2", "call_3"))
        assert where == str(tmp_path)
        assert first.startswith("birds: none")
        (process,) = set(PROCESS.findall(first + second))
        assert (calls["call_1"]["kind"], calls["call_2"]["kind"]) == ("read", "other")
        await editor.request("session/close", sessionId=session)
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


async def test_tools_of_a_server_over_http_are_called_with_its_headers(tmp_path: Path) -> None:
    """A server that ends while the session is open costs its calls, and not the session."""
    port = free_port()
    server = ServerProcess([*mcp_command(), str(port)], tmp_path, {}, port, "/ready")
    headers = [{"name": HEADER, "value": "secret"}]
    given = {"type": "http", "name": "notes", "url": f"{server.url}/mcp", "headers": headers}
    model = ScriptedChatModel(turns=[ASKS, "Noted.", AGAIN, "Nothing."])
    graph = create_agent(model, [add], middleware=[SessionTools()])
    await asyncio.to_thread(server.start)
    try:
        async with editor_of(AcpAgent(graph, name="agent")) as editor:
            session = await editor.new(str(tmp_path), mcpServers=[given, {**given, "name": "gone", "url": GONE}])
            assert await editor.prompt(session, "What do you know?") == {"stopReason": "end_turn"}
            calls = editor.view(session).calls
            assert calls["call_1"]["rawOutput"].startswith("birds: secret")
            assert calls["call_2"]["rawOutput"] == str(tmp_path)
            await asyncio.to_thread(server.stop)
            async with asyncio.timeout(30):
                assert await editor.prompt(session, "And of trees?") == {"stopReason": "end_turn"}
            call = editor.view(session).calls["call_3"]
            assert call["status"] == "failed"
            assert call["rawOutput"].startswith("The MCP server notes did not answer: ")
    finally:
        await asyncio.to_thread(server.stop)


async def test_a_server_that_is_killed_costs_its_calls_and_not_the_session() -> None:
    model = ScriptedChatModel(turns=[ASKS[:1], "Noted.", AGAIN, "Nothing."])
    graph = create_agent(model, [], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new("/", mcpServers=[mcp_server()])
        await editor.prompt(session, "What do you know?")
        (process,) = PROCESS.findall(editor.view(session).calls["call_1"]["rawOutput"])
        os.kill(int(process), signal.SIGKILL)
        assert await editor.prompt(session, "And of trees?") == {"stopReason": "end_turn"}
        assert editor.view(session).calls["call_3"]["status"] == "failed"


async def test_a_model_gets_the_error_that_a_server_answers() -> None:
    """An error of the protocol, by which servers refuse arguments: the run continues."""
    model = ScriptedChatModel(turns=[[tool_call("notes", {"topic": REFUSED}, "call_1")], "I see."])
    graph = create_agent(model, [], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new("/", mcpServers=[mcp_server()])
        assert await editor.prompt(session, "What do you know?") == {"stopReason": "end_turn"}
        call = editor.view(session).calls["call_1"]
        assert (call["status"], call["rawOutput"]) == ("failed", "The MCP server notes did not answer: no such topic.")


async def test_a_factory_gets_the_tools() -> None:
    names: list[list[str]] = []

    def build(session: Session) -> Any:
        names.append([tool.name for tool in session.tools])
        return create_agent(ScriptedChatModel(turns=["Hello."]), session.tools)

    async with editor_of(AcpAgent(build, name="agent")) as editor:
        await editor.new("/", mcpServers=[mcp_server(), mcp_server(name="other")])
    assert names == [["notes_notes", "notes_where", "other_notes", "other_where"]]


async def test_without_a_session_the_middleware_changes_nothing() -> None:
    graph = create_agent(ScriptedChatModel(turns=[CALL, "It is 3."]), [add], middleware=[SessionTools()])
    state = await graph.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    assert state["messages"][-1].text == "It is 3."
