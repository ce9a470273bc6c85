"""The clients that ask running servers hear what is wrong: else their silence would prove nothing."""

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import served

IDS = {"threadId": "t", "runId": "r"}


def saying(*events: dict[str, Any]) -> Starlette:
    """An app that answers everything with these events."""
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)

    async def answer(request: Request) -> Response:
        return Response(body, media_type="text/event-stream")

    return Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])


async def test_a_warning_of_the_client_is_heard(live_clients: LiveClients) -> None:
    odd = {"type": "RUN_STARTED", **IDS, "nobodyKnows": 1}
    with pytest.raises(AssertionError, match="nobodyKnows"):
        async with served(saying(odd, {"type": "RUN_FINISHED", **IDS})) as server, live_clients.quiet():
            await (await live_clients.agent(f"{server.url}/chat")).says("hi")


async def test_a_stream_that_breaks_the_rules_is_an_error(live: LiveClients) -> None:
    async with served(saying({"type": "RUN_FINISHED", **IDS})) as server:
        ended = await (await live.agent(f"{server.url}/chat")).says("hi")
    assert "First event must be 'RUN_STARTED'" in (ended.error or "")


async def test_an_order_that_is_wrong_is_an_error(live: LiveClients) -> None:
    with pytest.raises(AssertionError, match="there is no agent nobody"):
        await live.order("held", agent="nobody")


async def test_one_tests_complaints_are_not_the_nexts(live_clients: LiveClients) -> None:
    odd = {"type": "RUN_STARTED", **IDS, "nobodyKnows": 1}
    async with served(saying(odd, {"type": "RUN_FINISHED", **IDS})) as server:
        with pytest.raises(AssertionError):
            async with live_clients.quiet():
                await (await live_clients.agent(f"{server.url}/chat")).says("hi")
    async with live_clients.quiet():
        pass
