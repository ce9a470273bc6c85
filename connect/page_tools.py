"""Lets a page run tools for an agent of LangChain's `create_agent`: `PageTools`. Needs LangChain. No other module
imports this one.

A tool of the page is a tool that interrupts. Rules:

1. The page's tools are the ones that the client has sent with its run. They come from the state, else from the runtime
   context, else from the agent whose tool has called this agent. A tool of the agent's own takes precedence over a tool
   of the page with the same name.
2. The answer of the model says which of its calls are the page's (`PAGE_CALLS` in the metadata of the message). So what
   waits is in the checkpoint, and a result may come from a page that declares other tools, or none.
3. Such a call waits at an interrupt, whose value is `PageCall.value`. The translator reads the mark in it, and the
   interrupt is answered with the client's message, as JSON (`inputs.messages.as_json`).
4. LangGraph runs a task that was interrupted again from its beginning. `create_agent` makes a task of each call, so the
   other calls of the message run once. In a node that runs all calls of a message in one task, they would run twice:
   there, a call of a page's tool beside another call raises an exception.
5. If the page declares the name of a tool that the agent has and did not offer to its model for this call, because
   another middleware has left it out, its call is refused. Otherwise a page could call tools that are withheld.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired

import orjson
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import OmitFromOutput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from ..translator import PAGE_CALLS, PageCall
from .errors import log_context

if TYPE_CHECKING:
    _Middleware = AgentMiddleware[Any, Any, Any]
else:
    _Middleware = AgentMiddleware  # LangChain 1.0 has fewer type parameters

Tool = Mapping[str, Any]

_PUSH: Final = "__pregel_push"
"""The first element of the path of a task that runs what was sent to it, such as one tool call."""

_offered: ContextVar[Sequence[Tool]] = ContextVar("_offered", default=())
"""The page's tools of the agent whose tool is running."""
_log = logging.getLogger(__name__)

_Channel = TypedDict("_Channel", {"ag-ui": NotRequired[Annotated[dict[str, Any], OmitFromOutput]]})


class PageState(AgentState[Any], _Channel):
    """The state of an agent whose page has tools: the channel `ag-ui`, in which the run of a client puts its tools and
    its context. A graph passes its channels to the agents that are its nodes if it has them itself.

    Example:
        builder = StateGraph(PageState)
        builder.add_node("planner", create_agent("openai:gpt-5", tools, middleware=[PageTools()]))
    """


class PageTools(_Middleware):
    """Offers a model the tools that the page of a run has declared, and waits for their results, which come from the
    page. Give it to every agent whose model may call the page's tools: agents that are nodes of a graph
    (`PageState`), and agents that a tool calls. Place it before any middleware that catches the exceptions of tools,
    such as `ToolRetryMiddleware`.

    Example:
        graph = create_agent("openai:gpt-5", tools, middleware=[PageTools()], checkpointer=InMemorySaver())
    """

    state_schema = PageState

    def __init__(self) -> None:
        super().__init__()
        self._noted: set[str] = set()
        """The names of the agent's own tools that a page has declared too, and which have been logged."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Calls a model with the page's tools."""
        tools = self._tools_for(request)
        return _with_calls(handler(_with_tools(request, tools)), tools)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Calls a model with the page's tools."""
        tools = self._tools_for(request)
        return _with_calls(await handler(_with_tools(request, tools)), tools)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Calls a tool. If it is one of the page's, waits for its result."""
        if _is_of_page(request):
            return _result_of_page(request)
        token = _offered.set(_page_tools(request.state, request.runtime.context))
        try:
            return handler(request)
        finally:
            _offered.reset(token)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Calls a tool. If it is one of the page's, waits for its result."""
        if _is_of_page(request):
            return _result_of_page(request)
        token = _offered.set(_page_tools(request.state, request.runtime.context))
        try:
            return await handler(request)
        finally:
            _offered.reset(token)

    def _tools_for(self, request: ModelRequest[Any]) -> list[Tool]:
        """Returns the page's tools that are offered to the model (rule 1)."""
        own = {_name(tool) for tool in request.tools}
        tools = {_name(tool): tool for tool in _page_tools(request.state, request.runtime.context)}
        for name in sorted(own & tools.keys() - self._noted):
            self._noted.add(name)
            _log.warning(
                "A page has declared a tool %r, which the agent has itself. The agent's tool is used (%s). This is "
                "logged once.",
                name,
                _label(),
            )
        return [tool for name, tool in tools.items() if name not in own]


def _page_tools(state: Any, context: Any) -> list[Tool]:
    """Returns the tools that the page has declared (rule 1)."""
    of_state, of_context = _field(_field(state, "ag-ui"), "tools"), _field(context, "tools")
    places = (of_state, of_context, _field(_field(context, "ag_ui"), "tools"))
    tools = next((tools for tools in places if isinstance(tools, list | tuple)), _offered.get())
    return [tool for tool in tools if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]


def _with_tools(request: ModelRequest[Any], tools: Sequence[Tool]) -> ModelRequest[Any]:
    return request.override(tools=[*request.tools, *map(dict, tools)]) if tools else request


def _with_calls(response: ModelResponse[Any], tools: Iterable[Tool]) -> ModelResponse[Any]:
    """Returns the response of a model with the ids of its calls of these tools in the metadata of the message
    (rule 2)."""
    names = {_name(tool) for tool in tools}
    return replace(response, result=[_with_calls_of(message, names) for message in response.result])


def _with_calls_of(message: BaseMessage, names: Collection[str]) -> BaseMessage:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    ids = [call["id"] for call in calls if call["name"] in names]
    if not ids:
        return message
    return message.model_copy(update={"response_metadata": {**message.response_metadata, PAGE_CALLS: ids}})


def _is_of_page(request: ToolCallRequest) -> bool:
    return request.tool_call["id"] in _message_of(request).response_metadata.get(PAGE_CALLS, ())


def _message_of(request: ToolCallRequest) -> AIMessage:
    """Returns the answer of the model that has made a call."""
    messages = request.state if isinstance(request.state, list) else _field(request.state, "messages")
    answers = (message for message in reversed(messages or ()) if isinstance(message, AIMessage))
    return next(answers, AIMessage(""))


def _result_of_page(request: ToolCallRequest) -> ToolMessage:
    """Waits for the result of a call of a page's tool."""
    call, message = request.tool_call, _message_of(request)
    name, call_id = call["name"], str(call["id"])
    if request.tool is not None:
        _log.warning("A call of the tool %r is refused, because only a page has offered it (%s).", name, _label())
        return ToolMessage(f"{name} is not available.", name=name, tool_call_id=call_id, status="error")
    path = get_config().get("metadata", {}).get("langgraph_path") or (_PUSH,)
    if path[0] != _PUSH and len(message.tool_calls) > 1:
        raise RuntimeError(
            f"PageTools: the page's tool {name!r} was called beside another tool, in a node that runs all calls of a "
            "message in one task. The other tool would run again with the page's result. Use create_agent, or send "
            "each call to the node as a task of its own (langgraph.types.Send)."
        )
    return _result(call_id, name, interrupt(PageCall(call_id, name, call["args"]).value))


def _result(call_id: str, name: str, answer: Any) -> ToolMessage:
    """Returns the result of a call. `answer`: a message as JSON, or the content of the result."""
    if isinstance(answer, Mapping) and answer.get("type") == "tool":
        fields = {key: answer[key] for key in ("content", "id", "status") if key in answer}
        return ToolMessage(**{"content": "", **fields}, name=name, tool_call_id=call_id)
    content = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
    return ToolMessage(content, name=name, tool_call_id=call_id)


def _label() -> str:
    """Returns the agent, the thread and the run, for the log."""
    metadata = get_config().get("metadata", {})
    return log_context(metadata.get("lc_agent_name"), metadata.get("thread_id"), metadata.get("run_id"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _name(tool: Any) -> Any:
    return tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None)
