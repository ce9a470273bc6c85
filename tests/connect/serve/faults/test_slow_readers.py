"""Readers that never read, against a server in a process of its own: the run goes on for others, the server keeps
little of what is told meanwhile, and nothing when they are gone."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.servers.gated_server import PIECE, PIECES, gated_server
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, kinds_of, posted

SLOW = 30
"""How many never read."""
TOLD = PIECE * PIECES
GROWTH = TOLD
"""Bytes by which the server may grow: less than if it kept all that is told once, let alone for each of them."""


@asynccontextmanager
async def asleep(port: int, path: str, thread_id: str) -> AsyncIterator[None]:
    """Somebody who asks for a run, and reads nothing of it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_connect(sock, ("127.0.0.1", port))
        body = json.dumps({"tools": [], "context": [], "state": {}, "forwardedProps": {}, **posted(thread_id, "hi")})
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        await loop.sock_sendall(sock, (head + body).encode())
        yield
    finally:
        sock.close()


@pytest.fixture
async def client(tmp_path: Path, gate: Gates) -> AsyncIterator[httpx.AsyncClient]:
    server = gated_server(tmp_path, gate.port)
    process = await asyncio.to_thread(server.__enter__)
    try:
        async with httpx.AsyncClient(base_url=process.url, timeout=60, trust_env=False) as client:
            yield client
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def inside(client: httpx.AsyncClient) -> dict[str, int]:
    return dict((await client.get("/inside")).json())


async def until(client: httpx.AsyncClient, holds: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """What the server has, as soon as this holds of it."""
    found = await inside(client)
    try:
        async with asyncio.timeout(WITHIN):
            while not holds(found):
                found = await inside(client)
    except TimeoutError:
        raise AssertionError(f"it did not come to that: {found}") from None
    return found


async def test_readers_that_never_read_cost_little_and_hold_up_nobody(client: httpx.AsyncClient, gate: Gates) -> None:
    gate.hold("t before", "t after")
    await client.post("/flood", json=posted("to-be-warm", "hi"))
    before = await inside(client)
    async with AsyncExitStack() as slow:
        for _ in range(SLOW):
            await slow.enter_async_context(asleep(client.base_url.port or 0, "/flood", "t"))
        await until(client, lambda now: now["readers"] == SLOW)
        async with httpx.AsyncClient(base_url=client.base_url, timeout=60) as fast, asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(fast.post("/flood", json=posted("t", "hi")))
            await until(client, lambda now: now["readers"] == SLOW + 1)
            gate.open("t before")
            await gate.reached("t after")
            meanwhile = await inside(client)
            gate.open("t after")
        assert kinds_of(reading.result().content)[-1] == "RUN_FINISHED"
        assert meanwhile["readers"] > SLOW
        assert meanwhile["memory"] - before["memory"] < GROWTH
    left = await until(
        client, lambda now: now["readers"] == 0 and all(now[what] <= before[what] for what in ("tasks", "files"))
    )
    assert left["running"] == left["told"] == 0
