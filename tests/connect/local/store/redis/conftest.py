"""A Redis, and two processes that share it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.support.redis_processes import Process, process
from tests.support.servers.databases.redis_server import RedisServer, running_redis


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
async def redis(server: RedisServer) -> AsyncIterator[Any]:
    async with Redis.from_url(server.url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def one(server: RedisServer, redis: Any) -> AsyncIterator[Process]:
    async with process(server.url) as made:
        yield made


@pytest.fixture
async def other(server: RedisServer, redis: Any) -> AsyncIterator[Process]:
    async with process(server.url) as made:
        yield made
