"""A LangGraph server that is paused before a stream has begun: it keeps its connections open, and says nothing, or what
it says is late."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from langgraph_agui.connect import Platform, RetryPolicy
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client

from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.serving import posted, served

_FIRST_ANSWER = 2.0
_LATE = 0.6
"""How late an answer is, as a share of the time of all."""


@pytest.mark.parametrize("goes_on", [False, True], ids=["paused", "paused at each request"])
async def test_who_asks_a_paused_server_is_refused_soon(mortal_server: MortalServer, goes_on: bool) -> None:
    """All that the server is asked for before the stream has the same time, not each of it: the second late answer is
    not waited for."""
    answered: list[str] = []

    async def pause(request: Any) -> None:
        mortal_server.pause()
        if goes_on:
            asyncio.get_running_loop().call_later(_LATE * _FIRST_ANSWER, mortal_server.resume)

    async def note(response: Any) -> None:
        answered.append(response.url.path)

    retry = RetryPolicy(first_answer=_FIRST_ANSWER, read_timeout=3600)
    async with get_client(url=mortal_server.url) as platform:
        http = platform.http.client
        http.event_hooks = {"request": [pause], "response": [note]}
        agent = Agent(Platform(platform, "gated_chat"), retry=retry)
        async with served(agui_app(agent)) as server, server.client() as client:
            refused = await client.post("/", json=posted(str(uuid4()), "hi"))
            mortal_server.resume()
            http.event_hooks = {}
            assert (refused.status_code, refused.json()["error"]) == (503, "lost")
            assert "retry-after" in refused.headers
            assert len(answered) <= goes_on
            assert (await client.post("/", json=posted(str(uuid4()), "hi"))).status_code == 200
