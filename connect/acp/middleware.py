"""`SessionTools`: the tools of an editor's session, and its mode, for an agent that is compiled once for all sessions.
The only middleware of this package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from .agent import Session, current_session


class SessionTools(AgentMiddleware[Any, Any, Any]):
    """Gives a model the tools of the session that it runs for, and runs them: those of the editor's MCP servers. It
    also applies the session's mode: its `allowed_tools`, and its `system_prompt`. Without a session it changes nothing.

    Example:
        graph = create_agent("openai:gpt-5", tools, middleware=[SessionTools()])
    """

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The call of a model, with the session's tools."""
        session = current_session()
        if session is None:
            return await handler(request)
        changes: dict[str, Any] = {"tools": [each for each in _tools(request, session) if _is_allowed(each, session)]}
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
        """The call of a tool, which may be one of the session's."""
        session, name = current_session(), request.tool_call["name"]
        if session is None:
            return await handler(request)
        mode = session.mode
        if mode is not None and mode.allowed_tools is not None and name not in mode.allowed_tools:
            text = f"The tool {name} is not allowed in the mode {mode.name}."
            return ToolMessage(text, name=name, tool_call_id=str(request.tool_call["id"]), status="error")
        if request.tool is None:
            tool = next((each for each in session.tools if each.name == name), None)
            request = request if tool is None else request.override(tool=tool)
        return await handler(request)


def _tools(request: ModelRequest[Any], session: Session) -> list[Any]:
    known = {_name(each) for each in request.tools}
    return [*request.tools, *(each for each in session.tools if each.name not in known)]


def _is_allowed(tool: Any, session: Session) -> bool:
    mode = session.mode
    return mode is None or mode.allowed_tools is None or _name(tool) in mode.allowed_tools


def _name(tool: Any) -> Any:
    return tool.get("name") if isinstance(tool, dict) else getattr(tool, "name", None)
