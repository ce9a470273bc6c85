"""A run store whose Redis is full, whose background tasks fail, and that is closed, forked and left."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import RedisRunStore
from langgraph_agui.connect.serve import agui_app
from redis.asyncio import Redis
from redis.credentials import CredentialProvider

from fixtures.gated import GATED
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.processes.server_process import python_path
from tests.support.servers.serving import WITHIN, events_of, posted, served

REFUSED = (503, "2", '{"error":"store_unavailable","message":"The run store does not answer. Retry later."}')


class Credentials(CredentialProvider):
    """Those of a Redis, from a place that may fail in its own way."""

    is_broken = False

    def get_credentials(self) -> tuple[str]:
        if self.is_broken:
            raise LookupError("no credentials")
        return ("secret",)


@asynccontextmanager
async def serving(store: RedisRunStore) -> AsyncIterator[httpx.AsyncClient]:
    app = agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, store=store)
    async with served(app) as server, server.client() as client:
        yield client


async def runs(client: httpx.AsyncClient, thread_id: str) -> Any:
    """The end of a new run, or its refusal."""
    async with asyncio.timeout(WITHIN):
        answer = await client.post("/chat", json=posted(thread_id, "hi"))
    if answer.status_code != 200:
        return answer.status_code, answer.headers.get("retry-after"), answer.text
    return events_of(answer.text)[-1]["type"]


async def is_ready(client: httpx.AsyncClient, *, status: int) -> None:
    """Returns when `/ready` answers with this."""
    async with asyncio.timeout(WITHIN):
        while (await client.get("/ready")).status_code != status:  # noqa: ASYNC110 - it is asked of a server
            await asyncio.sleep(0)


async def test_a_store_that_was_closed_works_when_it_is_used_again(redis_server: RedisServer) -> None:
    store = RedisRunStore(redis_server.url, lease=1.0)
    async with Redis.from_url(redis_server.url) as redis:
        for thread_id in ("first", "second"):
            async with serving(store) as client:
                assert await runs(client, thread_id) == "RUN_FINISHED"
                await is_ready(client, status=200)
            while await redis.keys("agui:contact:*"):  # noqa: ASYNC110 - it is asked of Redis
                await asyncio.sleep(0)
        assert len(await redis.client_list()) == 1


async def test_a_background_task_that_fails_begins_again_and_new_runs_are_refused_meanwhile(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    credentials = Credentials()
    async with Redis.from_url(redis_server.url) as admin:
        await admin.config_set("requirepass", "secret")
        given: Any = Redis(host="127.0.0.1", port=redis_server.port, credential_provider=credentials)
        async with given, serving(RedisRunStore(given, lease=2.0)) as client:
            assert await runs(client, "before") == "RUN_FINISHED"
            credentials.is_broken = True
            await admin.client_kill_filter(_type="pubsub")
            await admin.client_kill_filter(_type="normal", skipme=True)
            await is_ready(client, status=503)
            assert [await runs(client, thread_id) for thread_id in "ab"] == [REFUSED] * 2
            credentials.is_broken = False
            await is_ready(client, status=200)
            assert await runs(client, "after") == "RUN_FINISHED"
    assert "The task 'redis subscriber' failed, and begins again. No run starts until it works." in caplog.messages
    assert "The task 'redis subscriber' works again." in caplog.messages


async def test_a_redis_that_is_full_or_a_replica_refuses_every_new_run_in_the_same_way(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """It answers what only reads: a thread can be read, and no log line says that it answers again."""
    async with Redis.from_url(redis_server.url) as admin, serving(RedisRunStore(redis_server.url)) as client:
        assert await runs(client, "t") == "RUN_FINISHED"
        admins: Any = admin
        for refuse, accept in (
            ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
            ("REPLICAOF 127.0.0.1 9", "REPLICAOF NO ONE"),
        ):
            caplog.clear()
            await admins.execute_command(*refuse.split())
            for _ in range(3):
                assert await runs(client, "u") == REFUSED
                read = await client.post("/chat/connect", json=posted("t"))
                assert (read.status_code, events_of(read.text)[-1]["type"]) == (200, "RUN_FINISHED")
                assert (await client.get("/ready")).status_code == 503
            said = [line for line in caplog.messages if line.startswith("Redis ")]
            assert [line.split("(")[0] for line in said] == ["Redis does not answer "]
            await admins.execute_command(*accept.split())
            await is_ready(client, status=200)
            assert await runs(client, "u") == "RUN_FINISHED"
            assert caplog.messages.count("Redis answers again.") == 1


_FORKED = """
import asyncio, os

from langgraph_agui.connect import RedisRunStore

store = RedisRunStore({url!r}, lease=600.0)

async def use():
    await store.ping()
    await store.aclose()

children = []
for _ in range(2):
    if not (child := os.fork()):
        asyncio.run(use())
        os._exit(0)
    children.append(child)
raise SystemExit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""
_LEFT = """
import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import RedisRunStore, Runs
from langgraph_agui.connect.testing import Pause

from tests.support.streams.pausing_graphs import HELLO, on, speaking

async def use():
    point, runs = Pause(), Runs(RedisRunStore({url!r}, lease=600.0))
    await runs.start(speaking(point, InMemorySaver()), HELLO, on("t"), agent="chat")
    await point.reached.wait()

asyncio.run(use())
"""


@pytest.mark.parametrize(("script", "processes"), [(_FORKED, 2), (_LEFT, 1)], ids=["forked", "not closed"])
async def test_a_store_is_one_of_its_own_after_a_fork_and_keeps_no_interpreter_alive(
    redis_server: RedisServer, script: str, processes: int
) -> None:
    environment = {**os.environ, "PYTHONPATH": python_path(), "PYTHONWARNINGS": "ignore"}
    code = script.format(url=redis_server.url)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=environment)
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == 0
    async with Redis.from_url(redis_server.url) as redis:
        assert len(set(await redis.keys("agui:contact:*"))) == processes
