"""What it costs a server to be connected to: the requests of one reader of one run, and the bytes of their answers."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph_agui.connect import connect
from langgraph_agui.translator import ClientView
from langgraph_sdk.client import LangGraphClient

from fixtures.fixture import user
from tests.support.clients.platform.runs import FULL, Started
from tests.support.servers.gates import gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import WITHIN

STATES = {"dev": 2.1, "aegra": 3.1}
"""How often the state may be sent. Aegra's list of runs repeats it as the output of a run that has ended."""
LONG = "word " * 400_000
"""A message of an earlier turn, which makes up almost all of the state."""


class _Counting(httpx.AsyncHTTPTransport):
    """Counts requests, and the bytes of the answers that are no event streams."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.size = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(f"{request.method} {request.url.path}")
        response = await super().handle_async_request(request)
        if not response.headers["content-type"].startswith("text/event-stream"):
            self.size += len(await response.aread())
        return response


@asynccontextmanager
async def counting(backend: Backend) -> AsyncIterator[tuple[LangGraphClient, _Counting]]:
    """A client of the server, and the count of what it asks."""
    transport = _Counting()
    async with httpx.AsyncClient(base_url=backend.url, transport=transport, timeout=WITHIN) as http:
        yield LangGraphClient(http), transport


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_reader_of_one_run_needs_few_requests_and_the_state_twice(backend: Backend, resumable: bool) -> None:
    """Once when it joins, and once when the run has ended."""
    async with gates() as gate, backend.client() as client, counting(backend) as (counted, count):
        thread = await client.threads.create(graph_id="gated_chat")
        thread_id = thread["thread_id"]
        before: Any = {"messages": [user(LONG, "long")]}
        await client.threads.update_state(thread_id, before, as_node="__start__")
        gate.hold("first 3")
        how = {**FULL, "stream_resumable": resumable}
        run = await Started(client, thread_id, "").next("gated_chat", gate, **how)
        await gate.reached("first 3")
        view = ClientView([], {})
        async with aclosing(connect(counted, thread_id)) as events:
            async for event in events:
                view.apply(event.model_dump(mode="json", by_alias=True, exclude_none=True))
                gate.open("first 3")
        state = await run.state()
        assert [each["content"] for each in view.messages] == [each["content"] for each in state["values"]["messages"]]
        size = len(httpx.Response(200, json=state).content)
        assert len(count.requests) <= 7, count.requests
        assert count.size <= STATES[backend.name] * size, count.requests
