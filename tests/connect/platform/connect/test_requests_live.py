"""What it costs a server to be connected to: the requests of one reader of one run, and the bytes of their answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph_agui.connect import Platform, connect, watch
from langgraph_agui.translator import ClientView
from langgraph_sdk.client import LangGraphClient

from fixtures.fixture import user
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.servers.gates import gates
from tests.support.servers.platforms.backend import Backend, not_on
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
        self._answered: list[str] = []
        self.size = 0
        self._news = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(f"{request.method} {request.url.path}")
        response = await super().handle_async_request(request)
        if not response.headers["content-type"].startswith("text/event-stream"):
            self.size += len(await response.aread())
        self._answered.append(request.url.path)
        self._news.set()
        return response

    @property
    def schemas(self) -> int:
        """How often schemas were requested."""
        return sum(request.endswith("/schemas") for request in self.requests)

    async def has_schemas(self) -> None:
        """Returns when schemas were answered."""
        async with asyncio.timeout(WITHIN):
            while not any(path.endswith("/schemas") for path in self._answered):
                self._news.clear()
                await self._news.wait()


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


@not_on(aegra="has the same schemas, and they cost it nothing")
async def test_all_that_use_one_client_request_the_schemas_of_an_assistant_once(backend: Backend) -> None:
    """A server takes long to make them, and the tokens of its runs wait for as long."""
    async with gates() as gate, backend.client() as client, counting(backend) as (counted, count):
        run = await started(client, "gated_chat", gate)
        await run.end()
        for source in (counted, counted, Platform(counted, "gated_chat"), Platform(counted, "gated_chat")):
            assert [event async for event in connect(source, run.thread_id)]
        assert count.schemas == 1


@not_on(aegra="has the same schemas, and they cost it nothing")
async def test_a_watch_has_the_schemas_before_the_first_run_begins(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client, counting(backend) as (counted, count):
        thread = await client.threads.create()
        async with aclosing(watch(Platform(counted, "gated_chat"), thread["thread_id"])) as events:
            first = asyncio.ensure_future(anext(events))
            await count.has_schemas()
            await Started(client, thread["thread_id"], "").next("gated_chat", gate, **FULL)
            assert (await first).type == "RUN_STARTED"
        assert count.schemas == 1
