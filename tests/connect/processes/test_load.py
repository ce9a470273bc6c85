"""Two hundred runs at once over four processes, each read in another one than its own."""

import asyncio

from redis.asyncio import Redis

from fixtures.gated import FIRST, SECOND
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.processes.several import Processes

RUNS = 200
CONNECTIONS = 19
"""What a process has to Redis at most: one for messages, a pool of 16, and two to renew leases."""


async def test_two_hundred_runs_are_read_elsewhere(servers: Processes, redis_server: RedisServer) -> None:
    places = await servers.start(4)

    async def chat(at: int) -> None:
        one, other = places[at % 4], places[(at + 1) % 4]
        asks = one.run("free", f"t{at}", "hi")
        await asks.told("RUN_STARTED")
        reads = await other.connect("free", f"t{at}").over()
        await asks.over()
        assert [(guest.status, guest.body) for guest in (asks, reads)] == [(200, b"")] * 2
        assert [guest.end for guest in (asks, reads)] == ["success"] * 2
        assert [guest.cut for guest in (asks, reads)] == [[]] * 2
        assert reads.view.messages == asks.view.messages
        assert asks.texts == [FIRST, SECOND]

    async with asyncio.TaskGroup() as chats:
        for at in range(RUNS):
            chats.create_task(chat(at))
    async with Redis.from_url(redis_server.url) as client:
        connected = await client.client_list()
    assert len(connected) <= 4 * CONNECTIONS + 1
