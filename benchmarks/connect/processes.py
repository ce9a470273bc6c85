"""What it costs that other processes can read a run: the CPU time of the run's owner and of a follower by event, as a
ratio to a bare `XADD` of the same bytes; what Redis has of a run that a hundred readers follow elsewhere; and how much
later an event is with a reader elsewhere than with one of the owner, of fifty runs with fifty events a second, as a
ratio to a bare loop of two processes: one runs the same graphs and appends what they write with `XADD`, once in
the window, the other reads it with one `XREAD`.

The events come in batches of twenty, one batch a window, and owner and follower are two stores in one event loop. For
the times each event comes by itself, and the follower is another process: with one event loop for both it would have
more to do than there is time.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, aclosing
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import quantiles
from time import perf_counter
from typing import Any
from uuid import uuid4

from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph_agui.connect import MemoryRunStore, RedisRunStore, Runs
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.translator import Options
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff

from examples.databases import own_redis

from ..graphs import bare as streamed
from ..graphs import config
from ..rows import Row
from ..timing import timed_by

BATCH, BATCHES = 20, 200
READERS = 100
_EVENTS = BATCH * BATCHES
LIVE_RUNS, LIVE_EVENTS, _PER_SECOND = 50, 100, 50
_ROUNDS = 3
_WINDOW, _LIVE_WINDOW = 0.004, 0.03
_OWNER, _FOLLOWER = 2.0, 1.3
_LATER = f"{LIVE_RUNS} runs x {_PER_SECOND} events/s; the window is 30 ms"
_FRAME = b'data: {"type":"CUSTOM","name":"piece","value":{"place":123,"text":"' + b"x" * 40 + b'"}}\n\n'


def rows() -> Iterator[Row]:
    """The rows; raises `FileNotFoundError` where there is no redis-server."""
    with own_redis() as url:
        yield from asyncio.run(_measured(url))


async def _measured(url: str) -> list[Row]:
    freeze()
    async with Redis.from_url(url, retry=Retry(ConstantBackoff(0.05), 200)) as client:
        await client.ping()

        async def bare() -> None:
            for _ in range(BATCHES):
                pipeline = client.pipeline(transaction=False)
                for _ in range(BATCH):
                    pipeline.xadd("bare", {"frames": _FRAME}, maxlen=1000)
                await pipeline.execute()

        variants: list[Callable[[], Awaitable[Any]]] = [
            bare,
            lambda: _run(None, 0),
            lambda: _run(url, 0),
            lambda: _run(url, 1),
        ]
        least, alone, owner, followed = [timing.middle for timing in await timed_by(variants, _ROUNDS)]
        connections = await _run(url, READERS, client)
        bare_later = await _bare_latencies(client, url)
        later = await _added_latencies(url)
    return [
        _row("owner", owner - alone, least, _OWNER),
        _row("follower", followed - owner, least, _FOLLOWER),
        Row("processes", f"{READERS} readers elsewhere", connections, "connections that wait for events", 1),
        *(_later(part, later[part - 1], bare_later[part - 1]) for part in (50, 99)),
    ]


def freeze() -> None:
    """Takes what was imported out of garbage collection, as `serve` does: a full collection of it takes 0.1 s."""
    gc.collect()
    gc.freeze()


def _later(part: int, later: float, bare: float) -> Row:
    note = f"{1_000 * later:.0f} ms, bare {1_000 * bare:.0f} ms; {_LATER}"
    return Row("processes", f"later elsewhere, p{part}", later / bare, "x a bare loop", None, note)


def _row(name: str, spent: float, least: float, bound: float) -> Row:
    return Row("processes", name, spent / least, "x a bare XADD", bound, f"{spent / _EVENTS * 1e6:.1f} us by event")


async def _run(url: str | None, readers: int, client: Redis | None = None) -> int:
    """A run, with so many readers of another store; how many connections wait for its events. `url`: None is a run
    of a store of one process."""
    begins = asyncio.Event()
    graph, thread_id = _graph(begins), uuid4().hex
    async with AsyncExitStack() as lifetime:
        store = MemoryRunStore() if url is None else RedisRunStore(url, window=_WINDOW)
        await lifetime.enter_async_context(aclosing(store))
        runs = await lifetime.enter_async_context(Runs(store))
        run = await runs.start(graph, {}, {"configurable": {"thread_id": thread_id}}, agent="agent")
        tasks: list[asyncio.Task[None]] = []
        connections = 0
        if url is not None and readers:
            other = await lifetime.enter_async_context(aclosing(RedisRunStore(url)))
            key = other.key(graph, "agent", thread_id)
            found = await other.active(key)
            assert found is not None
            joined = asyncio.Semaphore(0)
            tasks = [asyncio.create_task(_read(found.attach(Reader(Options())), joined)) for _ in range(readers)]
            for _ in tasks:
                await joined.acquire()
            if client is not None:
                connections = sum(each["cmd"] == "xread" for each in await client.client_list())
        begins.set()
        await run.wait()
        await asyncio.gather(*tasks)
    return connections


async def _added_latencies(url: str) -> list[float]:
    """The percentiles, in seconds, of how much later events are with a reader in another process."""
    begins, joined, context = asyncio.Event(), asyncio.Semaphore(0), get_context("spawn")
    graph, thread_ids, here = _steady(begins), [uuid4().hex for _ in range(LIVE_RUNS)], []
    pipe, other_end = context.Pipe()
    follower = context.Process(target=_follow, args=(url, thread_ids, other_end))
    async with aclosing(RedisRunStore(url)) as store, Runs(store) as runs:
        for thread_id in thread_ids:
            run = await runs.start(graph, {}, {"configurable": {"thread_id": thread_id}}, agent="agent")
            here.append(asyncio.create_task(_times(run.attach(Reader(Options())), joined)))
            await joined.acquire()
        follower.start()
        await asyncio.to_thread(pipe.recv)
        begins.set()
        came_here = await asyncio.gather(*here)
        came_there = await asyncio.to_thread(pipe.recv)
    follower.join()
    pairs = zip(came_here, came_there, strict=True)
    return quantiles([there[place] - at for first, there in pairs for place, at in first.items()], n=100)


def _follow(url: str, thread_ids: list[str], pipe: Connection) -> None:
    """The other process: says when it has joined all runs, then when each event came. The clock is the machine's."""

    async def follow() -> list[dict[int, float]]:
        freeze()
        joined, graph = asyncio.Semaphore(0), _steady(asyncio.Event())
        async with aclosing(RedisRunStore(url)) as store:
            tasks = []
            for thread_id in thread_ids:
                found = await store.active(store.key(graph, "agent", thread_id))
                assert found is not None
                tasks.append(asyncio.create_task(_times(found.attach(Reader(Options())), joined)))
                await joined.acquire()
            pipe.send("joined")
            return await asyncio.gather(*tasks)

    pipe.send(asyncio.run(follow()))


async def _bare_latencies(client: Redis, url: str) -> list[float]:
    """The percentiles of the seconds from an event to its reader in another process, with nothing of this package."""
    names, context = [f"bare-{place}" for place in range(LIVE_RUNS)], get_context("spawn")
    pipe, other_end = context.Pipe()
    reader = context.Process(target=_read_bare, args=(url, names, other_end))
    reader.start()
    await asyncio.to_thread(pipe.recv)

    begins, gathered = asyncio.Event(), {name: list[float]() for name in names}
    graph = _steady(begins)

    async def run(name: str) -> None:
        async for _, mode, _ in streamed(graph, {}, config()):
            if mode == "custom":
                gathered[name].append(perf_counter())

    async def append(name: str, run: asyncio.Task[None]) -> None:
        while not run.done() or gathered[name]:
            if events := gathered[name]:
                gathered[name] = []
                await client.xadd(name, {"at": json.dumps(events), "frames": _FRAME * len(events)})
            await asyncio.sleep(_LIVE_WINDOW)

    runs = {name: asyncio.create_task(run(name)) for name in names}
    begins.set()
    await asyncio.gather(*(append(name, task) for name, task in runs.items()))
    delays: list[float] = await asyncio.to_thread(pipe.recv)
    reader.join()
    return quantiles(delays, n=100)


def _read_bare(url: str, names: list[str], pipe: Connection) -> None:
    """The reader of the bare loop, until it has all events."""

    async def read() -> list[float]:
        freeze()
        ends: dict[Any, Any] = dict.fromkeys(names, "0")
        delays: list[float] = []
        async with Redis.from_url(url) as client:
            pipe.send("reads")
            while len(delays) < LIVE_RUNS * LIVE_EVENTS:
                answer: Any = await client.xread(ends, block=1_000)
                for name, entries in answer:
                    for entry_id, fields in entries:
                        ends[name.decode()] = entry_id
                        came = perf_counter()
                        delays += [came - at for at in json.loads(fields[b"at"])]
        return delays

    pipe.send(asyncio.run(read()))


async def _times(batches: Any, joined: asyncio.Semaphore) -> dict[int, float]:
    """When each event came."""
    came: dict[int, float] = {}
    async for batch in batches:
        joined.release()
        for encoded in batch:
            if encoded.event["type"] == "CUSTOM":
                came[encoded.event["value"]] = perf_counter()
    return came


def _steady(begins: asyncio.Event) -> Pregel[Any, Any, Any, Any]:
    async def write(state: MessagesState) -> dict[str, Any]:
        await begins.wait()
        emit = get_stream_writer()
        for place in range(LIVE_EVENTS):
            emit({"name": "piece", "value": place})
            await asyncio.sleep(1 / _PER_SECOND)
        return {}

    return StateGraph(MessagesState).add_node("write", write).add_edge(START, "write").compile()


async def _read(batches: Any, joined: asyncio.Semaphore) -> None:
    async for _ in batches:
        joined.release()


def _graph(begins: asyncio.Event) -> Pregel[Any, Any, Any, Any]:
    async def write(state: MessagesState) -> dict[str, Any]:
        await begins.wait()
        emit = get_stream_writer()
        for _ in range(BATCHES):
            for place in range(BATCH):
                emit({"name": "piece", "value": {"place": place, "text": "x" * 40}})
            await asyncio.sleep(1.5 * _WINDOW)
        return {}

    return StateGraph(MessagesState).add_node("write", write).add_edge(START, "write").compile()
