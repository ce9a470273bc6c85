"""Provides the tools of an editor's MCP servers to its session: `McpServers`. Each server has one connection for the
whole session. A task of its own opens and closes it, because the MCP client's context managers must be left in the task
that entered them.

If a server does not start, or not in time, a warning is logged, and the session has the tools of the other servers. If
a server ends later, all calls of its tools fail, including those in progress, and the run continues. If tools of two
servers have the same name, the names of the servers are added as prefixes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.tools import BaseTool

from .mapping.calls import Kind

_START: Final = 30.0
"""How many seconds a server may take to start."""
_END: Final = 5.0
"""How many seconds a server may take to end."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that has been started. Setting `leaves` ends it."""

    name: str
    tools: asyncio.Future[list[BaseTool]]
    leaves: asyncio.Event
    task: asyncio.Task[None]


class McpServers:
    """The MCP servers of one session."""

    def __init__(self) -> None:
        self._servers: list[_Server] = []

    async def open(self, servers: Sequence[dict[str, Any]], cwd: str, label: str) -> list[BaseTool]:
        """Starts servers and returns their tools. `servers` are as in `session/new`, and run in the folder `cwd`.
        `label` is a context for log lines; see `errors.log_context`."""
        self._servers = [_start(server, cwd, label) for server in servers]
        if self._servers:
            await asyncio.wait([server.tools for server in self._servers], timeout=_START)
        tools = []
        for server in self._servers:
            error = server.tools.exception() if server.tools.done() else TimeoutError()
            if error is None:
                tools.append((server.name, server.tools.result()))
                continue
            reason = "it did not start in time" if isinstance(error, TimeoutError) else _class_name(error)
            _log.warning("The MCP server %s has no tools: %s (%s).", server.name, reason, label)
            server.task.cancel()
        return _with_distinct_names(tools)

    async def aclose(self) -> None:
        """Ends the servers."""
        for server in self._servers:
            server.leaves.set()
        tasks = [server.task for server in self._servers]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_END)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._servers = []


def kinds_of(tools: Sequence[BaseTool]) -> dict[str, Kind]:
    """Returns what tools do, if their servers describe it: tools that change nothing are of the kind `read`."""
    return {tool.name: "read" for tool in tools if (tool.metadata or {}).get("readOnlyHint") is True}


def _start(server: dict[str, Any], cwd: str, label: str) -> _Server:
    tools: asyncio.Future[list[BaseTool]] = asyncio.get_running_loop().create_future()
    leaves = asyncio.Event()
    task = asyncio.create_task(_run(server, cwd, label, tools, leaves), name=f"MCP server {server['name']}")
    return _Server(str(server["name"]), tools, leaves, task)


async def _run(
    server: dict[str, Any], cwd: str, label: str, tools: asyncio.Future[list[BaseTool]], leaves: asyncio.Event
) -> None:
    """Runs one server from its start to its end."""
    try:
        from langchain_mcp_adapters.sessions import create_session
        from langchain_mcp_adapters.tools import load_mcp_tools

        async with create_session(_connection(server, cwd)) as session:
            await session.initialize()
            tools.set_result(await load_mcp_tools(session, tool_interceptors=[_interceptor(server["name"], label)]))
            await leaves.wait()
    except asyncio.CancelledError:
        tools.cancel()
        raise
    except Exception as error:
        if not tools.done():
            tools.set_exception(error)
        else:
            _log.warning("The MCP server %s ended with an error: %s (%s).", server["name"], _class_name(error), label)


def _interceptor(name: str, label: str) -> Any:
    """Returns an interceptor that makes a call fail if the connection raises an exception, or if the server's task,
    which is the current task, has ended. The transport of a lost connection may never answer."""
    from mcp import McpError
    from mcp.types import CallToolResult, TextContent

    server = asyncio.current_task()
    assert server is not None

    async def call(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        calling = asyncio.ensure_future(handler(request))
        try:
            await asyncio.wait([calling, server], return_when=asyncio.FIRST_COMPLETED)
            if calling.done():
                return calling.result()
            reason = "it has ended"
        except McpError as error:  # the server's answer, which says what the model did wrong
            reason = str(error)
        except Exception as error:  # a transport may raise anything
            reason = _class_name(error)
        finally:
            calling.cancel()
        _log.warning("The MCP server %s did not answer a call of %s: %s (%s).", name, request.name, reason, label)
        text = f"The MCP server {name} did not answer: {reason}."
        return CallToolResult(content=[TextContent(type="text", text=text)], isError=True)

    return call


def _connection(server: dict[str, Any], cwd: str) -> Any:
    """Returns the connection to a server in the format of `langchain_mcp_adapters`."""
    kind = server.get("type", "stdio")
    if kind == "stdio":
        from mcp.client.stdio import get_default_environment

        own = {variable["name"]: variable["value"] for variable in server.get("env") or ()}
        environment = {**get_default_environment(), **own}
        command = {"command": server["command"], "args": list(server.get("args") or ())}
        return {"transport": "stdio", **command, "env": environment, "cwd": cwd}
    headers = {header["name"]: header["value"] for header in server.get("headers") or ()}
    transport = "sse" if kind == "sse" else "streamable_http"
    return {"transport": transport, "url": server["url"], "headers": headers}


def _with_distinct_names(servers: Sequence[tuple[str, list[BaseTool]]]) -> list[BaseTool]:
    times = Counter(tool.name for _, tools in servers for tool in tools)
    return [
        tool if times[tool.name] == 1 else tool.model_copy(update={"name": f"{server}_{tool.name}"})
        for server, tools in servers
        for tool in tools
    ]


def _class_name(error: BaseException) -> str:
    """Returns the name of an error's class. For an exception group, it is the class of the first error in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
