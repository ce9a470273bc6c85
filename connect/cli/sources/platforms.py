"""Reads from a server whether it answers, and which assistants it has. The assistants become agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from ...errors import ConnectionLost, PlatformError, log_context, log_failure
from ...inputs.channels import InputChannels
from ...platform.backend import Platform
from ...platform.calls import Contact, RetryPolicy
from ..errors import Failure, Misuse, brief

_PAGE = 100
"""How many assistants one request asks for."""
_ONCE = RetryPolicy(max_attempts=1)


@asynccontextmanager
async def open_client(url: str, api_key: str | None) -> AsyncIterator[LangGraphClient]:
    """Opens a client of a server that answers, and closes it at the end of the block.

    If `api_key` is None, `langgraph_sdk` takes the key from the environment. Raises `Failure` if the server does not
    answer, and `Misuse` if the URL is a server of `langgraph-agui serve`, which is not a LangGraph server.
    """
    if await serves_agui(url):
        raise Misuse(f"{url} already serves AG-UI: name the LangGraph server or the graph behind it")
    key: dict[str, Any] = {} if api_key is None else {"api_key": api_key}
    async with get_client(url=url, **key) as client:
        yield client


async def serves_agui(url: str, headers: Mapping[str, str] = MappingProxyType({})) -> bool:
    """Returns whether a server is one of `langgraph-agui serve`, or has its routes. Raises `Failure` if it does not
    answer."""
    try:
        # the SDK's client retries a refused connection for long
        async with httpx.AsyncClient(timeout=10, headers=headers) as http:
            info = await http.get(f"{url.rstrip('/')}/info")
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise Failure(f"{url} can't be reached: {brief(error)}") from error
    return b'"agents"' in info.content


async def platform_agents(client: LangGraphClient) -> dict[str, tuple[Platform, str]]:
    """Returns the agents of a server by name, each with its description. There is one for each graph, named by the
    graph's id, and one for each assistant that a user has created, named by the assistant's id; its description begins
    with the name that the user has given it. Raises `Failure` if the server does not list its assistants, or has
    none."""
    agents: dict[str, tuple[Platform, str]] = {}
    for assistant in await _assistants(client):
        graph = assistant["graph_id"]
        is_of_graph = (assistant.get("metadata") or {}).get("created_by") == "system"
        name = graph if is_of_graph or graph not in agents else assistant["assistant_id"]
        described = [assistant.get("name") if name != graph else None, assistant.get("description")]
        agents[name] = Platform(client, assistant["assistant_id"]), ": ".join(str(each) for each in described if each)
    if not agents:
        raise Failure("the server has no assistants")
    return agents


async def input_channels(platform: Platform, messages_key: str) -> InputChannels | None:
    """Returns the channels in which an assistant's graph takes its input. If the server does not tell them, logs the
    error and returns None."""
    try:
        return await platform.retrying(_ONCE).input_channels(messages_key)
    except (PlatformError, ConnectionLost) as error:
        log_failure(error, log_context(platform.assistant_id, None))
        return None


async def _assistants(client: LangGraphClient) -> list[Any]:
    """Returns all assistants. Those that the server has created for its graphs come first."""
    assistants: list[Any] = []
    try:
        while page := await _page(client, len(assistants)):
            assistants += page
            if len(page) < _PAGE:
                break
    except (PlatformError, ConnectionLost) as error:
        raise Failure(f"the server does not list its assistants: {error}") from error
    return sorted(assistants, key=lambda assistant: (assistant.get("metadata") or {}).get("created_by") != "system")


async def _page(client: LangGraphClient, offset: int) -> list[Any]:
    page: list[Any] = await Contact(_ONCE).retried(lambda: client.assistants.search(limit=_PAGE, offset=offset))
    return page
