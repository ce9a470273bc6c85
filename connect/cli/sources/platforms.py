"""What a server has: its assistants, as agents; and whether it answers at all. Never the events of their runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from ...errors import ConnectionLost, PlatformError, log_context, log_failure
from ...platform.backend import Platform
from ...platform.calls import RetryPolicy, retried
from ..errors import Failure, Misuse, brief

_SEARCHED = 100
"""How many assistants are requested at a time."""
_ONCE = RetryPolicy(max_attempts=1)


@asynccontextmanager
async def reached(url: str, api_key: str | None) -> AsyncIterator[LangGraphClient]:
    """A client of a server that answers, closed at the end of the block.

    `api_key`: None takes the one that the environment has, as `langgraph_sdk` does. Raises `Failure` where none does,
    and `Misuse` for a server of our own, which is no platform.
    """
    try:
        async with httpx.AsyncClient(timeout=10) as once:  # the SDK's client tries a refused connection for long
            info = await once.get(f"{url.rstrip('/')}/info")
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise Failure(f"{url} can't be reached: {brief(error)}") from error
    if b'"agents"' in info.content:
        raise Misuse(f"{url} serves AG-UI itself: name the server, or the graph, that is behind it")
    given: dict[str, Any] = {} if api_key is None else {"api_key": api_key}
    async with get_client(url=url, **given) as client:
        yield client


async def platform_agents(client: LangGraphClient) -> dict[str, tuple[Platform, str]]:
    """The agents of a server by name, each with its description: one for each graph, by the graph's id, and one for
    each assistant that a user has made, by the assistant's. Raises `Failure` for a server that does not list them."""
    agents: dict[str, tuple[Platform, str]] = {}
    for assistant in await _assistants(client):
        graph = assistant["graph_id"]
        is_of_graph = (assistant.get("metadata") or {}).get("created_by") == "system"
        name = graph if is_of_graph or graph not in agents else assistant["assistant_id"]
        agents[name] = Platform(client, assistant["assistant_id"]), str(assistant.get("description") or "")
    if not agents:
        raise Failure("the server has no assistants")
    return agents


async def input_channels(platform: Platform, messages_key: str) -> frozenset[str] | None:
    """What the input of an assistant's graph can write; None if the server does not answer that, which is logged."""
    try:
        return (await platform.retrying(_ONCE).input_channels(messages_key)).names
    except (PlatformError, ConnectionLost) as error:
        log_failure(error, log_context(platform.assistant_id, None))
        return None


async def _assistants(client: LangGraphClient) -> list[Any]:
    """All assistants, those that the server has made for its graphs first."""
    found: list[Any] = []
    try:
        while more := await _from(client, len(found)):
            found += more
            if len(more) < _SEARCHED:
                break
    except (PlatformError, ConnectionLost) as error:
        raise Failure(f"the server does not say what assistants it has: {error}") from error
    return sorted(found, key=lambda each: (each.get("metadata") or {}).get("created_by") != "system")


async def _from(client: LangGraphClient, offset: int) -> list[Any]:
    found: list[Any] = await retried(lambda: client.assistants.search(limit=_SEARCHED, offset=offset), _ONCE)
    return found
