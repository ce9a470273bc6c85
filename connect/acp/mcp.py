"""The MCP servers of an editor as tools of its session: `McpServers`. Each server is one connection for the whole
session, opened and closed by a task of its own, since a connection must be left where it was entered.

A server that does not start, or not in time, costs itself and one log line: the session has the tools of the others.
When a server ends later, all calls of its tools fail, those that have begun too, and the run continues. Tools of the
same name get the name of their server as a prefix.
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
"""Seconds that a server has to start."""
_END: Final = 5.0
"""Seconds that a server has to end."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that was started. `leaves`: set when it is to end."""

    name: str
    tools: asyncio.Future[list[BaseTool]]
    leaves: asyncio.Event
    task: asyncio.Task[None]


class McpServers:
    """The servers of one session."""

    def __init__(self) -> None:
        self._servers: list[_Server] = []

    async def open(self, servers: Sequence[dict[str, Any]], cwd: str, label: str) -> list[BaseTool]:
        """Starts the servers, and returns their tools. `servers`: as `session/new` has them. `cwd`: where they run.
        `label`: as `errors.log_context`."""
        self._servers = [_started(each, cwd, label) for each in servers]
        if self._servers:
            await asyncio.wait([server.tools for server in self._servers], timeout=_START)
        found = []
        for server in self._servers:
            error = server.tools.exception() if server.tools.done() else TimeoutError()
            if error is None:
                found.append((server.name, server.tools.result()))
                continue
            reason = "it did not start in time" if isinstance(error, TimeoutError) else _class_name(error)
            _log.warning("The MCP server %s has no tools: %s (%s).", server.name, reason, label)
            server.task.cancel()
        return _distinct(found)

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
    """What tools do, as far as their servers describe it: a tool that changes nothing reads."""
    return {tool.name: "read" for tool in tools if (tool.metadata or {}).get("readOnlyHint") is True}


def _started(server: dict[str, Any], cwd: str, label: str) -> _Server:
    tools: asyncio.Future[list[BaseTool]] = asyncio.get_running_loop().create_future()
    leaves = asyncio.Event()
    task = asyncio.create_task(_run(server, cwd, label, tools, leaves), name=f"MCP server {server['name']}")
    return _Server(str(server["name"]), tools, leaves, task)


async def _run(
    server: dict[str, Any], cwd: str, label: str, tools: asyncio.Future[list[BaseTool]], leaves: asyncio.Event
) -> None:
    """One server, from its start to its end."""
    try:
        from langchain_mcp_adapters.sessions import create_session
        from langchain_mcp_adapters.tools import load_mcp_tools

        async with create_session(_connection(server, cwd)) as session:
            await session.initialize()
            tools.set_result(await load_mcp_tools(session, tool_interceptors=[_failing(server["name"], label)]))
            await leaves.wait()
    except asyncio.CancelledError:
        tools.cancel()
        raise
    except Exception as error:
        if not tools.done():
            tools.set_exception(error)
        else:
            _log.warning("The MCP server %s ended with an error: %s (%s).", server["name"], _class_name(error), label)


def _failing(name: str, label: str) -> Any:
    """An interceptor: a call that the server does not answer fails, since the connection raised, or since the server's
    task, which is the current one, has ended. The transport of a lost connection may never answer."""
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
        except McpError as error:  # an answer that says what the model did wrong
            reason = str(error)
        except Exception as error:  # whatever a transport raises
            reason = _class_name(error)
        finally:
            calling.cancel()
        _log.warning("The MCP server %s did not answer a call of %s: %s (%s).", name, request.name, reason, label)
        text = f"The MCP server {name} did not answer: {reason}."
        return CallToolResult(content=[TextContent(type="text", text=text)], isError=True)

    return call


def _connection(server: dict[str, Any], cwd: str) -> Any:
    """The connection to a server, as the adapters have it."""
    kind = server.get("type", "stdio")
    if kind == "stdio":
        from mcp.client.stdio import get_default_environment

        given = {each["name"]: each["value"] for each in server.get("env") or ()}
        environment = {**get_default_environment(), **given}
        command = {"command": server["command"], "args": list(server.get("args") or ())}
        return {"transport": "stdio", **command, "env": environment, "cwd": cwd}
    headers = {each["name"]: each["value"] for each in server.get("headers") or ()}
    transport = "sse" if kind == "sse" else "streamable_http"
    return {"transport": transport, "url": server["url"], "headers": headers}


def _distinct(found: Sequence[tuple[str, list[BaseTool]]]) -> list[BaseTool]:
    times = Counter(tool.name for _, tools in found for tool in tools)
    return [
        tool if times[tool.name] == 1 else tool.model_copy(update={"name": f"{server}_{tool.name}"})
        for server, tools in found
        for tool in tools
    ]


def _class_name(error: BaseException) -> str:
    """The name of an error's class; for a group, of its first error's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
