"""What is left of a thread that was deleted over HTTP: nothing."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import MemoryRunStore, RedisRunStore
from langgraph_agui.connect.serve import agui_app
from redis.asyncio import Redis

from tests.connect.local.index.places import conversation
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.serving import BEARER, TOKEN, kinds_of, posted, served

GONE, SAID, TITLE = "thread-to-be-gone", "words-to-be-gone", "title-to-be-gone"
KEPT = "thread-to-be-kept"


@asynccontextmanager
async def used(saver: Any, kept: InMemoryStore, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with a thread that was used in every way, and another one."""
    app = agui_app({"chat": conversation(saver, kept)}, token=TOKEN, **how)
    async with served(app) as server, server.client(headers=BEARER) as client:
        for thread_id in (GONE, KEPT):
            for run_id, said in (("run-1", SAID), ("run-2", "raise"), ("run-3", "ask")):
                message = {"id": f"{thread_id} {run_id}", "role": "user", "content": said}
                answer = await client.post("/chat", json=posted(thread_id, run_id=run_id, messages=[message]))
                assert kinds_of(answer.content)[-1] == ("RUN_ERROR" if said == "raise" else "RUN_FINISHED")
            assert (await client.patch(f"/threads/{thread_id}", json={"name": TITLE})).status_code == 200
            await client.post(f"/threads/{thread_id}/archive", json={})
        assert len((await client.get("/threads?includeArchived=true")).json()["threads"]) == 2
        yield client


async def deleted(client: httpx.AsyncClient, thread_id: str = GONE) -> None:
    """Deletes a thread, which is unknown then."""
    assert (await client.delete(f"/threads/{thread_id}")).status_code == 204
    for path in (f"/threads/{thread_id}", f"/threads/{thread_id}/messages", f"/threads/{thread_id}/state"):
        assert (await client.get(path)).status_code == 404


async def in_store(kept: InMemoryStore) -> str:
    """All that the graph's store has."""
    return repr([await kept.asearch(each) for each in await kept.alist_namespaces()])


async def in_sqlite(saver: AsyncSqliteSaver) -> str:
    """All that the tables of a database have."""
    found = []
    async with saver.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'") as tables:
        for (name,) in await tables.fetchall():
            async with saver.conn.execute(f'SELECT * FROM "{name}"') as rows:
                found.append((name, [tuple(row) for row in await rows.fetchall()]))
    return repr(found)


async def in_postgres(saver: AsyncPostgresSaver) -> str:
    """All that the tables of a database have."""
    connection: Any = saver.conn
    tables = await connection.execute("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    names = [each["name"] for each in await tables.fetchall()]
    return repr([(name, await (await connection.execute(f'SELECT * FROM "{name}"')).fetchall()) for name in names])


def in_memory(store: MemoryRunStore) -> str:
    """All that a run store has."""
    return repr(vars(store._database._data))


async def in_redis(redis: Any) -> dict[str, Any]:
    """All that a Redis has, by key."""
    values: dict[str, Any] = {}
    for key in await redis.keys("*"):
        match await redis.type(key):
            case b"hash":
                values[key.decode()] = await redis.hgetall(key)
            case b"stream":
                values[key.decode()] = await redis.xrange(key)
            case b"zset":
                values[key.decode()] = await redis.zrange(key, 0, -1)
            case b"list":
                values[key.decode()] = await redis.lrange(key, 0, -1)
            case _:
                values[key.decode()] = await redis.get(key)
    return values


async def test_nothing_is_left_of_a_deleted_thread(tmp_path: Path) -> None:
    store, kept = MemoryRunStore(), InMemoryStore()
    async with AsyncExitStack() as open_:
        saver = await open_.enter_async_context(AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")))
        client = await open_.enter_async_context(used(saver, kept, store=store))
        before = [await in_sqlite(saver), await in_store(kept)]
        assert [GONE in place for place in before] == [True, True]
        assert GONE in in_memory(store)
        await deleted(client)
        after = [await in_sqlite(saver), await in_store(kept)]
        assert [(GONE in place, KEPT in place) for place in after] == [(False, True), (False, True)]
        assert GONE not in in_memory(store)
        await deleted(client, KEPT)
        left = f"{await in_sqlite(saver)} {await in_store(kept)} {in_memory(store)}"
        assert [each for each in (KEPT, SAID, TITLE) if each in left] == []


class RefusingStore(InMemoryStore):
    """A graph's store that deletes nothing as long as it refuses to."""

    refuses = False

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        if self.refuses:
            raise ConnectionError("refused")
        await super().adelete(namespace, key)


async def test_a_deletion_that_failed_anywhere_is_completed_when_it_is_sent_again(tmp_path: Path) -> None:
    store, kept = MemoryRunStore(), RefusingStore()
    async with AsyncExitStack() as open_:
        saver = await open_.enter_async_context(AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")))
        client = await open_.enter_async_context(used(saver, kept, store=store))
        kept.refuses = True
        assert (await client.delete(f"/threads/{GONE}")).status_code == 503
        kept.refuses = False
        for table in ("checkpoints", "agui_threads_1"):
            await saver.conn.execute(f"CREATE TRIGGER t BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END")
            assert (await client.delete(f"/threads/{GONE}")).status_code == 503
            await saver.conn.execute("DROP TRIGGER t")
        assert (await client.delete(f"/threads/{GONE}")).status_code == 404  # its row alone was left
        places = [await in_sqlite(saver), await in_store(kept), in_memory(store)]
        assert [(GONE in place, KEPT in place) for place in places] == [(False, True)] * 3


async def test_nothing_is_left_of_a_deleted_thread_in_postgres_and_redis(
    database: str, redis_server: RedisServer
) -> None:
    """But the number of its last run, by which a run of a frozen process is told from it. Before, Redis refuses."""
    kept = InMemoryStore()
    async with AsyncExitStack() as open_:
        redis = await open_.enter_async_context(Redis.from_url(redis_server.url))
        saver = await open_.enter_async_context(AsyncPostgresSaver.from_conn_string(database))
        await saver.setup()
        store = RedisRunStore(redis_server.url, lease=0.5, timeout=0.1)
        client = await open_.enter_async_context(used(saver, kept, store=store))
        assert GONE in await in_postgres(saver)
        for refused in ("hexists", "del"):  # two steps of its part of a deletion
            await redis.acl_setuser("default", enabled=True, commands=[f"-{refused}"])
            assert (await client.delete(f"/threads/{GONE}")).status_code == 503
            await redis.acl_setuser("default", enabled=True, commands=[f"+{refused}"])
        await deleted(client)
        assert GONE not in await in_postgres(saver) + await in_store(kept)
        assert KEPT in await in_postgres(saver)
        found = await in_redis(redis)
        assert [name for name in found if KEPT in name]
        left = {name: value for name, value in found.items() if GONE in f"{name} {value}"}
        ((thread, value),) = left.items()
        assert (thread.endswith(":thread"), value.keys()) == (True, {b"fence", b"forgotten", b"ended"})
