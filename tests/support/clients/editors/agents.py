"""Agents that tests give to an editor: what their models answer, and the tool that they call."""

import sys
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

from tests.support.servers.processes.server_process import python_path


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


ENVIRONMENT = [{"name": "NOTES", "value": "none"}, {"name": "PYTHONPATH", "value": python_path()}]
MODULE = [sys.executable, "-m", "tests.support.servers.mcp_server"]
SERVER = {
    "name": "notes",
    "command": sys.executable,
    "args": MODULE[1:],
    "env": ENVIRONMENT,
}
ASKS = [tool_call("notes", {"topic": "birds"}, "call_1"), tool_call("where", {}, "call_2", index=1)]
