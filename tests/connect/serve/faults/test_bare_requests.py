"""Requests that are no proper ones, over bare sockets: none is answered with a 500, and nothing of them is left."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.clients.batch_readers import until
from tests.support.servers.counted_server import Counted, asking, counted, given
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN

WAYS = ("httptools", "h11")
"""The readers of HTTP that uvicorn has."""


@pytest.fixture(params=WAYS)
async def house(request: pytest.FixtureRequest, gate: Gates) -> AsyncIterator[Counted]:
    async with counted(gate, http=request.param) as house:
        yield house


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "Host: x", "", ""]).encode("latin-1")


def post(*lines: str, body: bytes = b"") -> bytes:
    return head("POST /chat HTTP/1.1", "Content-Type: application/json", *lines) + body


@asynccontextmanager
async def connected(house: Counted) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection, which is dropped at the end of the block."""
    reader, writer = await asyncio.open_connection("127.0.0.1", house.server.port)
    try:
        async with asyncio.timeout(WITHIN):
            yield reader, writer
    finally:
        writer.transport.abort()
        writer.close()


async def answers(house: Counted, request: bytes) -> bytes:
    """All that comes until the server closes the connection; nothing if it tears it."""
    async with connected(house) as (reader, writer):
        writer.write(request)
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


def statuses(answered: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", answered)]


RUN = given("t")
"""An input that runs, and a body of it."""
BODY = asking("/chat", **RUN).partition(b"\r\n\r\n")[2]
CLOSE = "Connection: close"
ODD = {
    "a length that is no number": post("Content-Length: many", CLOSE),
    "a length below nothing": post("Content-Length: -1", CLOSE),
    "a length that is too short": post("Content-Length: 10", CLOSE, body=BODY),
    "two lengths": post("Content-Length: 2", "Content-Length: 3", CLOSE, body=b"{}"),
    "a length and pieces": post("Content-Length: 2", "Transfer-Encoding: chunked", CLOSE, body=b"2\r\n{}\r\n0\r\n\r\n"),
    "a piece of a length that is no number": post("Transfer-Encoding: chunked", CLOSE, body=b"zz\r\n{}\r\n0\r\n\r\n"),
    "an encoding nobody knows": post("Transfer-Encoding: rot13", CLOSE, body=b"{}"),
    "no body": post(CLOSE),
    "a header of 200 KB": head("GET /health HTTP/1.1", "X-Bomb: " + "x" * 200_000, CLOSE),
    "10,000 headers": head("GET /health HTTP/1.1", *(f"X-{place}: x" for place in range(10_000)), CLOSE),
    "a path of 100 KB": head("GET /" + "x" * 100_000 + " HTTP/1.1", CLOSE),
    "a header of other letters": head("GET /health HTTP/1.1", "X-Odd: \xff\xfe", CLOSE),
    "an absolute address": head("GET http://elsewhere/health HTTP/1.1", CLOSE),
    "a star": head("OPTIONS * HTTP/1.1", CLOSE),
    "a tunnel": head("CONNECT /chat HTTP/1.1", CLOSE),
    "a method nobody knows": head("BREW /chat HTTP/1.1", CLOSE),
    "a web socket": head(
        "GET /chat HTTP/1.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ),
    "HTTP/2 in the clear": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("16030100") + b"\x00" * 60,
    "a path that is no text": head("GET /watch/%ff%fe%00 HTTP/1.1", CLOSE),
    "an expectation": post("Content-Length: 2", "Expect: 100-continue", CLOSE, body=b"{}"),
}


async def test_no_odd_request_is_an_error_of_the_server(house: Counted, caplog: pytest.LogCaptureFixture) -> None:
    answered = {name: statuses(await answers(house, request)) for name, request in ODD.items()}
    assert {name: found for name, found in answered.items() if any(status >= 500 for status in found)} == {}
    assert {name for name, found in answered.items() if not found} <= {"a header of 200 KB"}
    await house.is_empty()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_body_that_never_ends_takes_no_place(house: Counted) -> None:
    capacity = house.app.state.service.capacity
    async with connected(house) as (_, writer):
        writer.write(asking("/chat", **RUN)[:-1])
        await writer.drain()
        async with connected(house) as (reader, other):
            other.write(asking("/chat/connect", **given("done")))
            await reader.readuntil(b"RUN_FINISHED")
        await until(lambda: capacity.readers == capacity.starting == 0 and house.server.connections == 1)
    await house.is_empty()


async def test_a_body_may_come_byte_by_byte(house: Counted) -> None:
    async with connected(house) as (reader, writer):
        for byte in asking("/chat", **RUN):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert b"RUN_STARTED" in await reader.readuntil(b"RUN_FINISHED")
    await house.is_empty()


async def test_a_body_that_breaks_off_starts_nothing(house: Counted) -> None:
    async with connected(house) as (reader, writer):
        writer.write(asking("/chat", **RUN)[:-1])
        writer.write_eof()
        await reader.read()
    await house.is_empty()
    assert await house.runs.store.last(house.app.state.service.agents["chat"].backend.key("t")) is None


async def test_requests_that_come_at_once_are_answered_in_their_order(house: Counted) -> None:
    health = head("GET /health HTTP/1.1")
    answered = await answers(house, health + asking("/chat", **RUN) + head("GET /nowhere/at/all HTTP/1.1", CLOSE))
    assert statuses(answered) == [200, 200, 404]
    first, run, last = (answered.find(text) for text in (b'"ok"', b"RUN_FINISHED", b"not_found"))
    assert 0 <= first < run < last


async def test_a_client_of_http_1_0_is_told_a_run_to_its_end_and_let_go(house: Counted) -> None:
    told = await answers(house, asking("/chat", **RUN).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
    assert 0 < told.find(b"RUN_STARTED") < told.find(b"RUN_FINISHED")
    await house.is_empty()
