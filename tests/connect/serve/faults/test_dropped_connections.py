"""A thousand connections that are opened and dropped: nothing of them stays behind."""

import asyncio
import random
import socket
import struct

import pytest

from tests.support.servers.counted_server import asking, counted, given, watching
from tests.support.servers.gates import Gates

MANY = 1_000
AT_ONCE = 100
ONE_RUN_IN = 20
"""Few start runs: each of those is run to its end."""
RESET = struct.pack("ii", 1, 0)
TURNS = 25
"""Turns of the event loop that the server has at most before the connection is dropped."""


READS = [
    asking("/chat", **given("live")),
    asking("/chat/connect", **given("live", "other")),
    asking("/chat/connect", **given("done", "other")),
    asking("/agent/chat/connect", **given("live", "other")),
    asking("/", method="agent/connect", params={"agentId": "chat"}, body=given("done", "other")),
    watching("live"),
    watching("done"),
]
"""What tells somebody something."""


async def drop(port: int, request: bytes, chance: random.Random) -> None:
    """A connection that is dropped: before its request, in the middle of it, after it, or in mid-answer."""
    loop = asyncio.get_running_loop()
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        is_whole = chance.random() < 0.6
        await loop.sock_sendall(sock, request if is_whole else request[: chance.randrange(len(request))])
        if is_whole and chance.random() < 0.5:
            await loop.sock_recv(sock, chance.choice([1, 200, 5_000]))
        for _ in range(chance.randrange(TURNS)):
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


async def test_a_thousand_dropped_connections_leave_nothing(gate: Gates, caplog: pytest.LogCaptureFixture) -> None:
    async def some(place: int) -> None:
        chance = random.Random(place)
        for turn in range(MANY // AT_ONCE):
            starts = (place + turn) % ONE_RUN_IN == 0
            request = asking("/chat", **given(f"{place}-{turn}")) if starts else chance.choice(READS)
            await drop(house.server.port, request, chance)

    async with counted(gate) as house:
        async with asyncio.TaskGroup() as tasks:
            for place in range(AT_ONCE):
                tasks.create_task(some(place))
        await house.is_empty()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
