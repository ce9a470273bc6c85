"""Bodies are read of known users, or within bounds: over real sockets, from clients that send slowly or too much."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Action, Agent, Limits, agui_app
from starlette.requests import Request

from fixtures.gated import GATED
from tests.support.clients.batch_readers import until
from tests.support.servers.serving import WITHIN, Served, posted, served

KB = 1_000
HEAD = "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"


@asynccontextmanager
async def sending(server: Served, sent: int, *, of: int = 400 * KB, path: str = "/") -> AsyncIterator["Stranger"]:
    """A connection that has sent so many bytes of a body, and sends no more of it by itself."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(HEAD.format(path=path, length=of).encode() + b" " * sent)
    try:
        yield Stranger(reader, writer)
    finally:
        writer.transport.abort()
        writer.close()


class Stranger:
    """A client that has not sent all of its body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def answer(self) -> tuple[int, str]:
        """The status, and the code of what refuses it; the server has closed the connection then."""
        async with asyncio.timeout(WITHIN):
            head, _, body = (await self._reader.read()).partition(b"\r\n\r\n")
        return int(head.split()[1]), orjson.loads(body)["error"]


def app_of(**chosen: Any) -> Any:
    return agui_app(GATED["gated_chat"](InMemorySaver()), **chosen)


def image(size: int) -> dict[str, Any]:
    """An input as large as that of a user who sends an image."""
    return {**posted("honest", "hi"), "forwardedProps": {"image": "x" * size}}


async def test_clients_that_send_slowly_take_bounded_memory_and_delay_no_other() -> None:
    app = app_of(limits=Limits(bodies=50, bodies_size=1_000 * KB, body=500 * KB))
    async with served(app) as server, server.client() as client, AsyncExitStack() as open_:
        bodies, most = app.state.service.bodies, 0
        strangers = [await open_.enter_async_context(sending(server, 100 * KB)) for _ in range(40)]
        await until(lambda: bodies.size > 800 * KB)
        for number in range(5):
            given = {**image(300 * KB), "runId": f"run-{number}"}
            assert (await client.post("/", json=given)).status_code == 200
            most = max(most, bodies.size)
        assert 0 < most <= 1_000 * KB
        assert await strangers[0].answer() == (503, "too_many_bodies")
        more = [await open_.enter_async_context(sending(server, 1)) for _ in range(60)]
        await until(lambda: len(bodies._readings) == 50)
        assert await more[0].answer() == (503, "too_many_bodies")
        assert (await client.post("/", json=image(300 * KB))).status_code == 200
    assert bodies.size == 0


async def test_a_body_has_to_arrive_in_time(caplog: pytest.LogCaptureFixture) -> None:
    app = app_of(limits=Limits(body_timeout=0.1))
    async with served(app) as server, sending(server, 10) as stranger, server.client() as client:
        assert await stranger.answer() == (408, "body_timeout")
        assert "The body of 'POST /' did not arrive in time: 10 bytes were received." in caplog.messages
        assert (await client.post("/", json=image(10))).status_code == 200


async def test_a_body_that_is_larger_than_all_may_be_together_is_read_alone() -> None:
    app = app_of(limits=Limits(bodies_size=10 * KB))
    async with served(app) as server, server.client() as client:
        assert (await client.post("/", json=image(100 * KB))).status_code == 200


def _by_header(request: Request) -> str | None:
    return request.headers.get("x-user")


async def _awaited(request: Request) -> str | bool:
    await asyncio.sleep(0)
    return request.headers.get("x-user") or False


@pytest.mark.parametrize("authenticate", [_by_header, _awaited])
async def test_a_request_is_authenticated_before_its_body_is_read(
    authenticate: Callable[[Request], Awaitable[Any] | Any],
) -> None:
    seen: list[tuple[str, str]] = []

    def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
        seen.append((user, str(thread_id)))
        return True

    def intake(request: Request) -> Intake:
        seen.append((request.state.user, "intake"))
        return Intake()

    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=intake)
    app = agui_app(agent, authenticate=authenticate, authorize=authorize)
    async with served(app) as server, server.client() as client:
        for path in ("/", "/default", "/default/connect", "/default/stop", "/agent/default/run"):
            async with sending(server, 0, path=path) as stranger:
                assert await stranger.answer() == (401, "unauthenticated")
        for refused in (await client.get("/info"), await client.get("/watch/t")):
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert (await client.get("/health")).status_code == 200
        assert not seen
        known = httpx.Headers({"x-user": "ada"})
        assert (await client.post("/", json=posted("t", "hi"), headers=known)).status_code == 200
        assert seen == [("ada", "t"), ("ada", "intake")]
