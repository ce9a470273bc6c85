"""Gives the tools and the mode of an editor's session to an agent that is compiled once for all sessions:
`SessionTools`. It is the only middleware in this package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from .agent import Session, current_session


class SessionTools(AgentMiddleware[Any, Any]):
    """Offers a model the tools of the current session, which come from the editor's MCP servers, and runs them. It also
    applies the session's mode: its `allowed_tools` and its `system_prompt`. It changes nothing without a session.

    Example:
        graph = create_agent("openai:gpt-5", tools, middleware=[SessionTools()])
    """

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Calls a model with the session's tools."""
        session = current_session()
        if session is None:
            return await handler(request)
        changes: dict[str, Any] = {"tools": [tool for tool in _tools(request, session) if _is_allowed(tool, session)]}
        mode = session.mode
        if mode is not None and mode.system_prompt:
            own = request.system_prompt
            changes["system_prompt"] = f"{own}\n\n{mode.system_prompt}" if own else mode.system_prompt
        return await handler(request.override(**changes))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Calls a tool, which may be one of the session's."""
        session, name = current_session(), request.tool_call["name"]
        if session is None:
            return await handler(request)
        mode = session.mode
        if mode is not None and mode.allowed_tools is not None and name not in mode.allowed_tools:
            text = f"The tool {name} is not allowed in the mode {mode.name}."
            return ToolMessage(text, name=name, tool_call_id=str(request.tool_call["id"]), status="error")
        if request.tool is None:
            tool = next((tool for tool in session.tools if tool.name == name), None)
            request = request if tool is None else request.override(tool=tool)
        return await handler(request)


def _tools(request: ModelRequest[Any], session: Session) -> list[Any]:
    own = {_name(tool) for tool in request.tools}
    return [*request.tools, *(tool for tool in session.tools if tool.name not in own)]


def _is_allowed(tool: Any, session: Session) -> bool:
    mode = session.mode
    return mode is None or mode.allowed_tools is None or _name(tool) in mode.allowed_tools


def _name(tool: Any) -> Any:
    return tool.get("name") if isinstance(tool, dict) else getattr(tool, "name", None)
