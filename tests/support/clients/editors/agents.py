"""Agents that tests give to an editor: what their models answer, and the tool that they call."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

from tests.support.servers.processes.forks import forked


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


CALL = ["Let me see. ", tool_call("add", {"a": 1, "b": 2}, "call_add")]
SELECTED = {"outcome": {"outcome": "selected", "optionId": "approve"}}


def agent(*turns: Any, **options: Any) -> AcpAgent:
    graph = create_agent(ScriptedChatModel(turns=list(turns)), [add], **options)
    return AcpAgent(graph, name="agent")


def reviewed(*turns: Any) -> AcpAgent:
    return agent(*(turns or (CALL, "It is 3.")), middleware=[HumanInTheLoopMiddleware({"add": True})])


def mcp_command() -> list[str]:
    """What starts an MCP server with two tools: see `mcp_server.py`."""
    return forked("tests.support.servers.mcp_server", "tests")


def mcp_server(**more: Any) -> dict[str, Any]:
    """The same server as an editor names it. `more` replaces fields."""
    command, *arguments = mcp_command()
    return {"name": "notes", "command": command, "args": arguments, "env": [{"name": "NOTES", "value": "none"}], **more}


ASKS = [tool_call("notes", {"topic": "birds"}, "call_1"), tool_call("where", {}, "call_2", index=1)]
