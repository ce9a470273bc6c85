"""Who may not use a thread learns nothing of it, and costs Redis nothing."""

from typing import Any

import httpx
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import RedisRunStore
from langgraph_agui.connect.serve import agui_app
from redis.asyncio import Redis

from fixtures.gated import GATED
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.serving import posted, served


async def test_redis_is_asked_nothing_before_a_user_is_let_in(redis_server: RedisServer) -> None:
    let_in: set[str] = set()

    def may_use(user: Any, action: str, agent: str, thread_id: str | None) -> bool:
        return action in let_in

    store = RedisRunStore(redis_server.url)
    app = agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, authorize=may_use, store=store)
    async with Redis.from_url(redis_server.url) as redis, served(app) as server, server.client() as client:

        async def connections() -> int:
            return len(await redis.client_list())

        async def asked() -> list[httpx.Response]:
            return [
                await client.post("/chat", json=posted("t", "hi")),
                await client.post("/chat/connect", json=posted("t")),
                await client.get("/watch/t?agent=chat"),
                await client.post("/chat/stop", json={"threadId": "t"}),
            ]

        before = await connections()
        assert [answer.status_code for answer in await asked()] == [403] * 4
        assert (await connections(), await redis.dbsize()) == (before, 0)
        let_in.add("run")
        assert (await client.post("/chat", json=posted("t", "hi"))).status_code == 200
        assert await connections() > before
