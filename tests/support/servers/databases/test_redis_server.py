"""Redis and PostgreSQL as tests start them."""

import asyncio

import psycopg
import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NotConnected

from tests.support.servers.databases.redis_server import RedisServer


async def test_a_redis_server_can_be_paused_killed_and_started_empty(redis_server: RedisServer) -> None:
    async with Redis.from_url(redis_server.url, socket_timeout=None, retry=Retry(NoBackoff(), 0)) as client:
        await client.set("name", "value")
        redis_server.pause()
        answer: asyncio.Future[bytes | str | None] = asyncio.ensure_future(client.get("name"))
        done, _ = await asyncio.wait([answer], timeout=0.05)  # on no machine can it be there
        assert not done
        redis_server.resume()
        assert await answer == b"value"
        redis_server.kill()
        with pytest.raises(NotConnected):
            await client.get("name")
        redis_server.start()
        assert await client.get("name") is None


async def test_a_postgres_server_answers(postgres: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres) as connection:
        answer = await (await connection.execute("select 1")).fetchone()
    assert answer == (1,)
