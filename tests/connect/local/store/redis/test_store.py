"""The end of a run in Redis, what Redis keeps of it, other versions, and the arguments of the store."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest
from ag_ui.core import RunErrorEvent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Local, connect
from langgraph_agui.connect.errors import RunConflictError, StoreUnavailableError
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store import publisher
from langgraph_agui.connect.local.store.records import FORMAT, OUTCOMES, SNAPSHOT, Claim, Entry
from langgraph_agui.connect.local.store.redis import RedisRunStore
from langgraph_agui.connect.local.store.redis.keys import Keys
from langgraph_agui.connect.local.store.run_database import Append, Appended
from langgraph_agui.connect.testing import Pause
from redis.asyncio import Redis

from tests.support.clients.batch_readers import until
from tests.support.redis_processes import LEASE, THREAD, WORDS, Process, Reading, awaited, is_idle, steps
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.processes.server_process import free_port
from tests.support.streams.pausing_graphs import HELLO, on, quick, speaking

pytestmark = pytest.mark.services


async def test_a_client_that_got_the_end_of_a_run_finds_the_thread_free_everywhere(
    one: Process, other: Process
) -> None:
    saver = InMemorySaver()
    for number in range(20):
        owner, reader = (one, other) if number % 2 else (other, one)
        point = Pause()
        run = await owner.start(speaking(point, saver), f"run-{number}")
        reading = await (owner.reads(run) if number < 10 else reader.reads(await reader.active()))
        point.open.set()
        assert (await reading.end()).kinds[-1] == "RUN_FINISHED"
        assert await reader.store.active(THREAD) is None


async def test_a_run_has_not_ended_before_redis_knows_its_end(one: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it waits for that: Redis is away, and comes back."""
    monkeypatch.setattr(publisher, "_LONGEST_WAIT", 3_600.0)
    point = Pause()
    run = await one.start(speaking(point, InMemorySaver()))
    reading = await one.reads(run)
    await point.reached.wait()
    one.way.close()
    point.open.set()
    await until(lambda: run.ending is not None)
    assert run.status == "stopping"
    one.way.open()
    assert (await reading.end()).kinds[-1] == "RUN_FINISHED"
    assert await one.store.active(THREAD) is None


BATCH, BATCHES, TEXT = 50, 20, "x" * 1_000


async def test_what_redis_keeps_of_a_run_is_bounded_at_any_moment_and_expires(
    one: Process, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [Pause() for _ in range(BATCHES)]

    async def emit(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        for point in points:
            for _ in range(BATCH):
                write({"name": "large", "value": TEXT})
            await point()
        return {"messages": [AIMessage("All said.", id="all-1")]}

    graph = StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit").compile(InMemorySaver())
    entries, append = list[Entry](), one.store._database.append

    async def appended(wanted: Sequence[Append]) -> Sequence[Appended]:
        answers = await append(wanted)
        entries.extend(each.entry for each in wanted if each.entry is not None)
        return answers

    monkeypatch.setattr(one.store._database, "append", appended)
    run = await one.start(graph)
    log = Keys(THREAD).log(run.number)
    for number, point in enumerate(points):
        await awaited(partial(_has_logged, redis, log, BATCH * (number + 1)))
        point.open.set()
    assert await run.wait() == "finished"
    await until(lambda: entries[-1].kind in OUTCOMES)
    sizes: list[int] = []
    most = 0
    for entry in entries:
        sizes = [*([] if entry.kind == SNAPSHOT else sizes), len(entry.frames)]
        # the snapshot; what may follow it; the batch that was too much, and the one that was ready by the next snapshot
        assert sum(sizes) <= sizes[0] + max(64_000, 2 * sizes[0]) + 2 * BATCH * 1_200
        most = max(most, sum(sizes))
    assert most > 64_000
    assert [len(fields[b"frames"]) for _, fields in await redis.xrange(log)] == sizes
    names = await redis.keys("*")
    assert names
    assert [name for name in names if await redis.pttl(name) == -1] == []


async def _has_logged(redis: Any, log: str, events: int) -> bool:
    """Whether the newest entry is of so many events."""
    newest = await redis.xrevrange(log, count=1)
    return bool(newest) and int(newest[0][1][b"at"]) >= events


async def test_a_run_of_an_unknown_format_is_read_from_its_checkpoint_and_can_be_stopped(
    one: Process, other: Process, redis: Any
) -> None:
    points, keys = [Pause(), Pause()], Keys(THREAD)
    graph = steps(points, InMemorySaver())
    local = Local(graph, agent="chat", runs=other.runs)
    run = await one.start(graph, "first")
    points[0].open.set()
    await points[1].reached.wait()
    claim = Claim.from_json(await redis.hget(keys.thread, "claim"))
    await redis.hset(keys.thread, "claim", replace(claim, format=FORMAT + 1).to_json())
    read = [event async for event in connect(local, "t")]
    assert [each.code for each in read if isinstance(each, RunErrorEvent)] == ["unfinished"]
    assert "Step 1." in str(read)
    active = await other.active()
    assert (active.is_readable, active.status) == (False, "running")
    with pytest.raises(RunConflictError):
        await other.start(graph, "second")
    reading = Reading(active)
    assert (await reading.end()).events[-1]["code"] == "unfinished"
    await active.cancel()
    assert await run.wait() == "cancelled"
    await awaited(lambda: is_idle(other))
    last = await redis.hget(keys.thread, "last")
    await redis.hset(keys.thread, "last", last.replace(b'"format":1', b'"format":2'))
    assert await other.store.last(THREAD) is None


async def test_arguments_that_are_none_are_refused(server: RedisServer) -> None:
    given: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (TypeError, "expected a URL or a redis.asyncio.Redis, got int", {"redis": 7}),
        (ValueError, "decode_responses=False", {"redis": Redis(decode_responses=True)}),
        (ValueError, "namespace: expected a name", {"redis": server.url, "namespace": ""}),
        (ValueError, "lease: expected at least 0.5 seconds, got 0.1", {"redis": server.url, "lease": 0.1}),
    ]
    for kind, message, arguments in given:
        with pytest.raises(kind, match=message):
            RedisRunStore(**arguments)
    with pytest.raises(ValueError, match="expected the name of an agent"):
        RedisRunStore(server.url).key(quick(), None, "t")


async def test_a_client_that_was_given_is_used_and_not_closed(server: RedisServer, redis: Any) -> None:
    store = RedisRunStore(redis, lease=LEASE)
    async with Runs(store) as runs:
        run = await runs.start(quick(InMemorySaver()), HELLO, on("t"), agent="chat")
        assert await run.wait() == "finished"
    await store.aclose()
    assert await redis.ping()


async def test_ids_may_be_anything_and_threads_never_meet(one: Process) -> None:
    ids = ["{t}", "t:lease", "}:", "t} {", "ü/ü", "a b", "%7Bt%7D"]
    points = {name: Pause() for name in ids}
    graph = {name: speaking(points[name], InMemorySaver()) for name in ids}
    runs = [await one.runs.start(graph[name], HELLO, on(name), agent="chat") for name in ids]
    for name in ids:
        with pytest.raises(RunConflictError):
            await one.runs.start(graph[name], HELLO, on(name), agent="chat")
        points[name].open.set()
    assert [await run.wait() for run in runs] == ["finished"] * len(ids)


async def test_a_redis_is_reached_by_its_socket(server: RedisServer) -> None:
    async with aclosing(RedisRunStore(server.unix_url)) as store:
        await store.ping()


async def test_a_redis_is_reached_by_tls_with_a_password(redis_server: RedisServer, tmp_path: Path) -> None:
    key, certificate, port = tmp_path / "key", tmp_path / "certificate", free_port()
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=redis -addext subjectAltName=IP:127.0.0.1"
    openssl = await asyncio.create_subprocess_exec(*made.split(), "-keyout", key, "-out", certificate, stderr=DEVNULL)
    assert await openssl.wait() == 0
    tls = {"tls-auth-clients": "no", "tls-key-file": key, "tls-cert-file": certificate, "tls-port": port}
    async with Redis.from_url(redis_server.url) as client:
        await client.config_set(*(str(each) for pair in tls.items() for each in pair))
        await client.config_set("requirepass", "secret")
    url = f"rediss://:%s@127.0.0.1:{port}/0?ssl_ca_certs=%s"
    for unknown in (url % ("wrong", certificate), url % ("secret", ""), redis_server.url):
        async with aclosing(RedisRunStore(unknown, timeout=5.0)) as store:
            with pytest.raises(StoreUnavailableError):
                await store.ping()
    point, known = Pause(), url % ("secret", certificate)
    async with aclosing(RedisRunStore(known)) as store, aclosing(RedisRunStore(known)) as other, Runs(store) as runs:
        await runs.start(speaking(point, InMemorySaver()), HELLO, on("t"), agent="chat")
        followed = await other.active(THREAD)
        assert followed is not None
        reading = Reading(followed)
        await reading.has_text("one two ")
        point.open.set()
        assert ((await reading.end()).kinds[-1], reading.text) == ("RUN_FINISHED", WORDS)
