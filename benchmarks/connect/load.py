"""What live tokens cost, and how long they take to a client: 200 runs of one process, each with a reader of its own
over HTTP, next to `ag-ui-langgraph` on FastAPI and to a bare Starlette stream of the same graphs.

*Overload*: each model says 50 tokens a second, which is more than one process of either can take. *Busy*: as many as
take 70 % of a core of the peer. The delay of a token is from the model to the client's socket. It is told in two ways:
in time, which is this machine's with all that uses it, and in the CPU time that the server spent meanwhile, of which
the ratios are taken: it is what a token waits for if nothing else uses the machine.

Python's garbage collector decides about the longest delays. So overload is measured twice, each time with the same
collector for all servers: as Python has it, and as the command `serve` sets it up (`cli.serving.collector`).
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Iterator
from statistics import quantiles
from time import perf_counter
from typing import NamedTuple
from uuid import uuid4

from ..rows import Row
from .served import input_of
from .servers import measured_server, spent

RUNS = 200
_PER_SECOND, _TOKENS = 50.0, 100
_BUSY, _BUSY_SECONDS = 0.7, 10.0
_ALONE, _METRICS, _CPU, _DELAY = 1.5, 1.25, 0.5, 1.25
_WITHIN = 300.0
_CHUNK = re.compile(rb"(?:\r\n)?[0-9a-f]+\r\n")
_TOKEN = re.compile(rb'"delta":"([0-9.]+)/[0-9.]+ "')
_PEERS = {"peer": "ag-ui-langgraph", "quiet": "ag-ui-langgraph without raw events"}


class Loaded(NamedTuple):
    """What a server did with 200 runs."""

    cpu: float
    """CPU seconds by token."""
    seconds: float
    p50: float
    p99: float
    """The delay from the model to the client, in seconds."""
    work50: float
    work99: float
    """The CPU seconds of the server in this time."""
    lost: int


def rows(*, peer: bool) -> Iterator[Row]:
    """CPU by token and delays, under overload and at a rate that the peer can take."""
    kinds = ("ours", "measured", "alone", *(_PEERS if peer else ()))
    for collector, name in (("python", "overload, Python's collector"), ("serve", "overload")):
        servers = {kind: asyncio.run(_loaded(kind, collector, _PER_SECOND, _TOKENS)) for kind in kinds}
        yield from _rows(name, servers)
    if peer:
        rate = _BUSY / servers["peer"].cpu / RUNS
        tokens = max(10, round(rate * _BUSY_SECONDS))
        yield from _rows("busy", {kind: asyncio.run(_loaded(kind, "serve", rate, tokens)) for kind in kinds})


def _rows(name: str, servers: dict[str, Loaded]) -> Iterator[Row]:
    ours, title = servers["ours"], f"{RUNS} runs, {name}"
    note = f"p50 {1e3 * ours.p50:.0f} ms, p99 {1e3 * ours.p99:.0f} ms to the client, on this machine"
    yield Row("load", f"{title}: CPU by token", 1e6 * ours.cpu, "us", None, f"{ours.seconds:.1f} s in all")
    yield Row("load", f"{title}: work before a token is sent, p50", 1e3 * ours.work50, "ms", None, note)
    yield Row("load", f"{title}: work before a token is sent, p99", 1e3 * ours.work99, "ms")
    yield Row("load", f"{title}: tokens lost", ours.lost, "", 0.0)
    note = f"{1e6 * servers['alone'].cpu:.0f} us"
    yield Row(
        "load", f"{title}: CPU by token, against the graphs alone", ours.cpu / servers["alone"].cpu, "x", _ALONE, note
    )
    measured = servers["measured"]
    note = f"{1e6 * measured.cpu:.0f} us"
    ratio = measured.cpu / ours.cpu
    yield Row("load", f"{title}: CPU by token, with metrics against without", ratio, "x", _METRICS, note)
    for kind in [kind for kind in _PEERS if kind in servers]:
        peer, title = servers[kind], f"{RUNS} runs, {name}, against {_PEERS[kind]}"
        is_default = kind == "peer"
        note = f"{1e6 * peer.cpu:.0f} us; {peer.seconds:.1f} s in all"
        yield Row("load", f"{title}: CPU by token", ours.cpu / peer.cpu, "x", _CPU if is_default else None, note)
        note = f"{1e3 * peer.work50:.0f} ms; {1e3 * peer.p50:.0f} ms to the client"
        yield Row("load", f"{title}: work before a token is sent, p50", ours.work50 / peer.work50, "x", None, note)
        note = f"{1e3 * peer.work99:.0f} ms; {1e3 * peer.p99:.0f} ms to the client"
        bound = _DELAY if is_default else None
        yield Row("load", f"{title}: work before a token is sent, p99", ours.work99 / peer.work99, "x", bound, note)


async def _loaded(kind: str, collector: str, rate: float, tokens: int) -> Loaded:
    arguments = (kind, collector, str(rate), str(tokens), str(RUNS))
    async with measured_server("benchmarks.connect.loaded", *arguments) as http:
        port = http.base_url.port
        assert port is not None
        gc.collect()
        gc.disable()
        clients = await asyncio.gather(*(_asked(port) for _ in range(RUNS)))
        async with asyncio.timeout(_WITHIN):
            await asyncio.gather(*(client.is_over for client in clients))
        cpu, work50, work99 = [await spent(http, name) for name in ("cpu", "p50", "p99")]
    gc.enable()
    delays = [delay for client in clients for delay in client.delays()]
    cuts = quantiles(delays, n=100)
    began = min(client.first for client in clients)
    seconds = max(client.last for client in clients) - began
    return Loaded(cpu / (RUNS * tokens), seconds, cuts[49], cuts[98], work50, work99, RUNS * tokens - len(delays))


async def _asked(port: int) -> _Client:
    _, client = await asyncio.get_running_loop().create_connection(_Client, "127.0.0.1", port)
    return client


class _Client(asyncio.Protocol):
    """Keeps what comes and when it came, and nothing else meanwhile: the two processes share the machine."""

    def __init__(self) -> None:
        self._pieces: list[tuple[float, bytes]] = []
        self.is_over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        body = json.dumps(input_of(uuid4().hex)).encode()
        head = "POST /run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        transport.write(f"{head}Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def data_received(self, data: bytes) -> None:
        self._pieces.append((perf_counter(), data))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_over.done():
            self.is_over.set_result(None)

    @property
    def first(self) -> float:
        """When the first bytes came."""
        return self._pieces[0][0]

    @property
    def last(self) -> float:
        """When the last bytes came."""
        return self._pieces[-1][0]

    def delays(self) -> Iterator[float]:
        """The delay of each token; one that comes in two pieces came with the second."""
        rest = b""
        for came, data in self._pieces:
            rest = _CHUNK.sub(b"", rest + data)
            end = 0
            for match in _TOKEN.finditer(rest):
                yield came - float(match[1])
                end = match.end()
            rest = rest[max(end, len(rest) - 200) :]
