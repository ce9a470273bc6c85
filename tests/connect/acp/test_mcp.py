"""The MCP servers of an editor: their tools reach a graph, and cost it nothing when they fail."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langgraph_agui.connect.acp import AcpAgent, Mode, Session
from langgraph_agui.connect.acp.middleware import SessionTools
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

from tests.connect.acp.test_turns import CALL, add
from tests.support.clients.editor import editor_of
from tests.support.servers.server_process import python_path

ENVIRONMENT = [{"name": "NOTES", "value": "none"}, {"name": "PYTHONPATH", "value": python_path()}]
SERVER = {
    "name": "notes",
    "command": sys.executable,
    "args": ["-m", "tests.support.servers.mcp_server"],
    "env": ENVIRONMENT,
}
BROKEN = {"name": "broken", "command": "/no/such/command", "args": [], "env": []}
ASKS = [tool_call("notes", {"topic": "birds"}, "call_1"), tool_call("where", {}, "call_2", index=1)]
AGAIN = [tool_call("notes", {"topic": "trees"}, "call_3")]


async def test_tools_of_the_editors_servers_are_tools_of_a_compiled_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One process for the whole session; a server that does not start is named in the log."""
    model = ScriptedChatModel(turns=[ASKS, "Noted.", AGAIN, "Noted too."])
    graph = create_agent(model, [add], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new(str(tmp_path), mcpServers=[SERVER, BROKEN])
        assert "The MCP server broken has no tools: FileNotFoundError" in caplog.text
        for text in ("What do you know?", "And of trees?"):
            assert await editor.prompt(session, text) == {"stopReason": "end_turn"}
        calls = editor.view(session).calls
        first, where, second = (calls[name]["rawOutput"] for name in ("call_1", "call_2", "call_3"))
        assert where == str(tmp_path)
        assert first.startswith("birds: none")
        (process,) = set(re.findall(r"\((\d+)\)", first + second))
        assert (calls["call_1"]["kind"], calls["call_2"]["kind"]) == ("read", "other")
        await editor.request("session/close", sessionId=session)
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


async def test_a_factory_gets_the_tools() -> None:
    names: list[list[str]] = []

    def build(session: Session) -> Any:
        names.append([tool.name for tool in session.tools])
        return create_agent(ScriptedChatModel(turns=["Hello."]), session.tools)

    async with editor_of(AcpAgent(build, name="agent")) as editor:
        await editor.new("/", mcpServers=[SERVER, {**SERVER, "name": "other"}])
    assert names == [["notes_notes", "notes_where", "other_notes", "other_where"]]


async def test_a_mode_leaves_a_model_its_tools_and_extends_its_prompt() -> None:
    seen: list[Any] = []

    class Model(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:
            seen.append([tool.name for tool in tools])
            return self

    def turn_of(messages: Any) -> int:
        seen.append([message.text for message in messages if isinstance(message, SystemMessage)])
        return sum(message.type == "ai" for message in messages)

    modes = [
        Mode(id="talk", name="Talk", allowed_tools=frozenset(), system_prompt="Only talk."),
        Mode(id="work", name="Work"),
    ]
    model = Model(turns=[CALL, "It is 3."], turn_of=turn_of)
    graph = create_agent(model, [add], system_prompt="You add.", middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent", modes=modes)) as editor:
        session = await editor.new()
        await editor.prompt(session, "go")
        assert ["You add.\n\nOnly talk."] in seen
        assert ["add"] not in seen
        call = editor.view(session).calls["call_add"]
        assert (call["status"], call["rawOutput"]) == ("failed", "The tool add is not allowed in the mode Talk.")
        await editor.request("session/set_mode", sessionId=session, modeId="work")
        await editor.prompt(session, "again")
        assert ["You add."] in seen
        assert ["add"] in seen


async def test_without_a_session_the_middleware_changes_nothing() -> None:
    graph = create_agent(ScriptedChatModel(turns=[CALL, "It is 3."]), [add], middleware=[SessionTools()])
    state = await graph.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    assert state["messages"][-1].text == "It is 3."
