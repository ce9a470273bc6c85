"""What it costs to serve: 200 runs at once, each sent to a client over a socket of its own, and idle readers.

The server is a process of its own, and this one is its clients: on two cores they take little from one another. Against
a bare Starlette stream of the same events on the same server; and against the same graphs run there with none of this
package, for most of what a run costs is the graph. Of that ratio, what a run costs however short it is, and what each
event costs, are told apart by answers of two lengths. Nothing may be lost: each stream has every event, and its end.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from time import perf_counter
from typing import NamedTuple
from uuid import uuid4

import httpx

from ..rows import Row
from .served import SIZES, TOKENS, input_of
from .servers import measured_server, spent

RUNS = 200
IDLE = 1_000
_ROUNDS = 3
_WARM = 50
_WATCH = "/watch/nobody?agent=quiet"
_BARE, _ALONE, _EVENT, _MEMORY = 20.0, 1.5, 1.5, 50_000.0
_WITHIN = 60.0
_FRAME = re.compile(rb"^data: ", re.MULTILINE)


class Answered(NamedTuple):
    """What so many streams at once cost the server."""

    cpu: float
    seconds: float
    events: int
    whole: int
    """How many streams had their end."""


def rows() -> Iterator[Row]:
    """Throughput, its ratios, what was lost; memory by idle reader."""
    return iter(asyncio.run(_measured()))


async def _measured() -> list[Row]:
    async with measured_server("benchmarks.connect.served") as http:
        sized = [f"{name}-{tokens}" for tokens in SIZES for name in ("alone", "answering")]
        found: dict[str, list[Answered]] = {name: [] for name in ("bare", "alone", "answering", *sized)}
        for each in found:
            await _asked(http, each)  # to be warm
        for _ in range(_ROUNDS):
            for name, rounds in found.items():
                rounds.append(await _asked(http, name))
    idle = [await _idle(name, path) for name, path in (("of a quiet run", "/quiet"), ("that watch", _WATCH))]
    return [*_throughput(found), *_parts(found), *idle]


def _throughput(found: dict[str, list[Answered]]) -> Iterator[Row]:
    cost = {kind: median(each.cpu / each.events for each in rounds) for kind, rounds in found.items()}
    pace = {kind: median(each.events / each.seconds for each in rounds) for kind, rounds in found.items()}
    ours = found["answering"]
    name = f"{RUNS} runs at once, {TOKENS} tokens each"
    least = min(each.events for each in found["bare"])
    lost = sum(least - each.events for each in ours) + sum(RUNS - each.whole for each in ours)
    yield Row("serving", f"{name}: events a second", pace["answering"], "/s", None, f"bare {pace['bare']:.0f} /s")
    note = f"{cost['answering'] * 1e6:.0f} us an event, graph included; bare {cost['bare'] * 1e6:.0f} us"
    yield Row("serving", f"{name}, against a bare stream", cost["answering"] / cost["bare"], "x", _BARE, note)
    note = f"the graph and a bare stream {cost['alone'] * 1e6:.0f} us; clients are in another process, on two cores"
    yield Row("serving", f"{name}, against the graphs alone", cost["answering"] / cost["alone"], "x", _ALONE, note)
    yield Row("serving", f"{name}: events lost", lost, "", 0.0, f"of {sum(each.events for each in ours):,}")


def _parts(found: dict[str, list[Answered]]) -> Iterator[Row]:
    """The cost of a run and the cost of an event, in seconds of CPU, by what runs of two lengths cost."""
    least, most = SIZES

    def fitted(name: str) -> tuple[float, float]:
        short, long = (median(each.cpu / RUNS for each in found[f"{name}-{tokens}"]) for tokens in SIZES)
        event = (long - short) / (most - least)
        return short - least * event, event

    (run, event), (run_alone, event_alone) = fitted("answering"), fitted("alone")
    name = f"{RUNS} runs at once, {least} and {most} tokens each, against the graphs alone"
    note = f"{event * 1e6:.0f} us; alone {event_alone * 1e6:.0f} us"
    yield Row("serving", f"{name}: an event", event / event_alone, "x", _EVENT, note)
    note = f"{run * 1e3:.2f} ms; alone {run_alone * 1e3:.2f} ms"
    yield Row("serving", f"{name}: a run without events", run / run_alone, "x", None, note)


async def _idle(name: str, path: str) -> Row:
    """Memory by reader, of a server that has done nothing else: memory that was freed would be taken again."""
    async with measured_server("benchmarks.connect.served") as http, AsyncExitStack() as readers:
        for _ in range(_WARM):
            await readers.enter_async_context(_reading(http, path))
        before = await spent(http, "memory")
        for _ in range(IDLE):
            await readers.enter_async_context(_reading(http, path))
        grown = await spent(http, "memory") - before
    return Row("serving", f"memory by idle reader, {IDLE:,} {name}", grown / IDLE, "B", _MEMORY)


async def _asked(http: httpx.AsyncClient, name: str) -> Answered:
    await spent(http, "memory")  # what others have left to the collector is no cost of this
    before, began = await spent(http, "cpu"), perf_counter()
    bodies = await asyncio.gather(*(_body(http, name) for _ in range(RUNS)))
    seconds, cpu = perf_counter() - began, await spent(http, "cpu") - before
    whole = sum(b'"RUN_FINISHED"' in body[-2_000:] for body in bodies)
    return Answered(cpu, seconds, sum(len(_FRAME.findall(body)) for body in bodies), whole)


async def _body(http: httpx.AsyncClient, name: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
    try:
        writer.write(_request(f"/{name}", "Connection: close"))
        async with asyncio.timeout(_WITHIN):
            return await reader.read()
    finally:
        writer.close()


@asynccontextmanager
async def _reading(http: httpx.AsyncClient, path: str) -> AsyncIterator[None]:
    """A reader that has all there is, and waits."""
    reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
    try:
        writer.write(_request(path))
        await reader.readuntil(b"\r\n\r\n")
        if path == "/quiet":
            await reader.readuntil(b"RUN_STARTED")
        yield
    finally:
        writer.transport.abort()
        writer.close()


def _request(path: str, *lines: str) -> bytes:
    watches = path.startswith("/watch")
    body = b"" if watches else json.dumps(input_of("quiet" if path == "/quiet" else uuid4().hex)).encode()
    head = [f"{'GET' if watches else 'POST'} {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *lines]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body
