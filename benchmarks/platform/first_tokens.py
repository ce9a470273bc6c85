"""How soon the tokens of a run on a LangGraph server reach a reader, against the server's own stream of the same run.

The server is a real `langgraph dev` (`LANGGRAPH=/path/to/langgraph`: that of another environment, for another
version), or an Aegra (`AEGRA_VENV=/path/to/its/environment`), with a model that says a token every 20 ms. Each run is
started by a client of the server's own: by `POST .../runs/stream` (v2), or by the command `run.start` (v3, with which
LangChain's `useStream` starts runs). That client reads the stream that its protocol gives it, with plain `httpx`; in
the same process, `connect` and `watch` read the same run. So load delays both readers alike, and the ratios mean the
same on any machine.

Who watches a thread does not know of a run before it begins, and the client that starts it does. So `watch` is compared
with the server's own stream of the thread, opened before the run: `GET /threads/{id}/stream`, or for protocol v3, and
on Aegra for both, `POST /threads/{id}/stream/events`. Aegra looks for new runs of a thread every 250 ms, for that
stream alone, and has no other way to learn of them than to list them. (In a run that the older API has started, its
`messages` are empty, but there is one for each token.) The note has the time of the run's own stream too. A run that
`run` starts is compared with the thread's stream too, but not on Aegra, for that reason.

A token is as late as the time from the request that starts the run to its arrival. `langgraph dev` begins a run 0.5 to
1 s after its request, so the ratio of the first token says little by itself: the rows of how much later a token arrives
than in the server's own stream say the rest. A burst is seen in the longest pause between two tokens.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import sys
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
from httpx_sse import aconnect_sse
from langgraph_agui.connect import Platform, connect, run, watch
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from examples.databases import own_postgres

from ..rows import Row
from .paced_graph import PACE, TOKENS

ROUNDS = 12
_LATE = 1.5
"""How late the first token may be, as a multiple of how late the server's own stream has it."""
_BURST = 3.0
"""How long the longest pause between two tokens may be, as a multiple of that of the server's own stream."""
_WITHIN = 60.0
_INPUT = {"messages": [{"role": "user", "content": "Tell me something."}]}
_MODES = ["values", "messages-tuple", "updates", "custom"]
_CHANNELS = {"channels": ["messages", "values", "lifecycle"]}
_EMPTY = '"data":{"value":null}'
"""What Aegra has of a message of a run that the older API has started."""
_GRAPH = Path(__file__).with_name("paced_graph.py")
_TOKEN = re.compile(r"tok(\d+) ")


class Arrivals:
    """When a reader had each token, in seconds since the run was requested."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def note(self, text: str) -> None:
        """Notes the tokens in a text that has just arrived."""
        for token in _TOKEN.findall(text):
            if int(token) == len(self.times):
                self.times.append(perf_counter())

    @property
    def is_whole(self) -> bool:
        """Whether every token has arrived."""
        return len(self.times) == TOKENS

    def since(self, begin: float) -> list[float]:
        """How late each token was."""
        return [time - begin for time in self.times]

    @property
    def longest_pause(self) -> float:
        """The longest pause between two tokens."""
        return max(after - before for before, after in pairwise(self.times))


class Compared(NamedTuple):
    """One run, as the server's own stream and our reader had it."""

    begin: float
    own: Arrivals
    ours: Arrivals
    client: Arrivals | None = None
    """The client that started the run, if `own` is another one's stream."""


def rows() -> Iterator[Row]:
    """The first token and the later ones, by protocol and reader."""
    aegra = os.environ.get("AEGRA_VENV")
    return iter(asyncio.run(_measured(aegra and str(Path(aegra).absolute() / "bin/aegra"))))


async def _measured(aegra: str | None) -> list[Row]:
    found: dict[str, list[Compared]] = {}
    async with aegra_server(aegra) if aegra else dev_server() as url, get_client(url=url) as client:
        has_v3 = (await client.http.client.post(f"/threads/{uuid4()}/commands", json={})).status_code != 404
        source = Platform(client, "paced")
        for _ in range(ROUNDS + 1):  # the first one warms up
            for protocol in ("v2", "v3") if has_v3 else ("v2",):
                for name, compared in (
                    await _started_by_others(client, source, protocol, is_aegra=aegra is not None)
                ).items():
                    found.setdefault(f"{protocol}: {name}", []).append(compared)
            if not aegra:
                found.setdefault("v2: run", []).append(await _started_by_run(client, source))
        info = (await client.http.client.get("/info")).json()
    named = "Aegra" if aegra else "langgraph-api"
    versions = f"{named} {info.get('version')}, langgraph {info.get('langgraph_py_version', '')}".removesuffix(
        ", langgraph "
    )
    return [row for name, runs in found.items() for row in _rows(name, runs[1:], versions)]


def _rows(name: str, runs: list[Compared], versions: str) -> Iterator[Row]:
    own = median(each.own.since(each.begin)[0] for each in runs)
    ours = median(each.ours.since(each.begin)[0] for each in runs)
    starters = [each.client.since(each.begin)[0] for each in runs if each.client]
    started = f", the client that starts the run {median(starters) * 1000:.0f} ms" if starters else ""
    note = f"{ours * 1000:.0f} ms, the server's own {own * 1000:.0f} ms{started}; {versions}"
    yield Row("platform", f"{name}: first token", ours / own, "x", _LATE, note)
    first = [later_by(each, 0) for each in runs]
    yield Row("platform", f"{name}: first token later by", median(first), "ms", None, f"at most {max(first):.1f} ms")
    later = [later_by(each, place) for each in runs for place in range(1, TOKENS)]
    note = f"at most {max(later):.1f} ms"
    yield Row("platform", f"{name}: each further token later by", median(later), "ms", None, note)
    pauses = [(each.ours.longest_pause, each.own.longest_pause) for each in runs]
    longest, own_longest = (median(times) * 1000 for times in zip(*pauses, strict=True))
    note = f"{longest:.0f} ms, the server's own {own_longest:.0f} ms, the model's {PACE * 1000:.0f} ms"
    yield Row("platform", f"{name}: longest pause", longest / own_longest, "x", _BURST, note)


def later_by(compared: Compared, place: int) -> float:
    """How many milliseconds later our reader had a token."""
    return (compared.ours.times[place] - compared.own.times[place]) * 1000


async def _started_by_others(
    client: LangGraphClient, source: Platform, protocol: str, *, is_aegra: bool
) -> dict[str, Compared]:
    """A run that a client of the server starts, read by `watch` from before it, and by `connect` as soon as it is
    there."""
    thread_id = (await client.threads.create())["thread_id"]
    own, of_thread, connected, watched = Arrivals(), Arrivals(), Arrivals(), Arrivals()
    async with asyncio.TaskGroup() as reading:
        reading.create_task(_note_events(watch(source, thread_id), watched))
        opened, started = asyncio.Event(), asyncio.Event()
        stream = _stream_thread if protocol == "v2" and not is_aegra else _stream_thread_events
        reading.create_task(stream(client, thread_id, of_thread, opened))
        await opened.wait()
        await _until_watched(client, thread_id)
        start = _stream_v2 if protocol == "v2" else _stream_v3
        reading.create_task(start(client, thread_id, own, started))
        await started.wait()
        begin = perf_counter()
        while not (await client.runs.list(thread_id, limit=1)):
            pass
        await _note_events(connect(source, thread_id), connected)
    return {"connect": Compared(begin, own, connected), "watch": Compared(begin, of_thread, watched, own)}


async def _started_by_run(client: LangGraphClient, source: Platform) -> Compared:
    """A run that `run` starts; the server's own stream is that of the thread."""
    thread_id = (await client.threads.create())["thread_id"]
    own, ours = Arrivals(), Arrivals()
    said = {"id": "asked", **_INPUT["messages"][0]}
    posted = {"threadId": thread_id, "runId": str(uuid4()), "messages": [said], "state": {}, "tools": []}
    async with asyncio.TaskGroup() as reading:
        opened = asyncio.Event()
        reading.create_task(_stream_thread(client, thread_id, own, opened))
        await opened.wait()
        begin = perf_counter()
        await _note_events(run(source, {**posted, "context": [], "forwardedProps": {}}), ours)
    return Compared(begin, own, ours)


async def _note_events(events: AsyncIterable[Any], arrivals: Arrivals) -> None:
    """Notes the tokens of our events until the last one has arrived."""
    async for event in events:
        if hasattr(event, "delta") and isinstance(event.delta, str):
            arrivals.note(event.delta)
        for message in getattr(event, "messages", None) or ():
            arrivals.note(str(message.content))
        if arrivals.is_whole:
            return


# --- the server's own streams -----------------------------------------------------------------------------------------


async def _stream_v2(client: LangGraphClient, thread_id: str, arrivals: Arrivals, started: asyncio.Event) -> None:
    asked = {"assistant_id": "paced", "input": _INPUT, "stream_mode": _MODES, "stream_resumable": True}
    started.set()
    await _note_stream(client, "POST", f"/threads/{thread_id}/runs/stream", arrivals, {"json": asked})


async def _stream_v3(client: LangGraphClient, thread_id: str, arrivals: Arrivals, started: asyncio.Event) -> None:
    async def command() -> None:
        params = {"assistant_id": "paced", "input": _INPUT}
        started.set()
        answer = await client.http.client.post(
            f"/threads/{thread_id}/commands", json={"id": 1, "method": "run.start", "params": params}
        )
        answer.raise_for_status()

    await _note_stream(client, "POST", f"/threads/{thread_id}/stream/events", arrivals, {"json": _CHANNELS}, command)


async def _stream_thread(client: LangGraphClient, thread_id: str, arrivals: Arrivals, opened: asyncio.Event) -> None:
    async def note_open() -> None:
        opened.set()

    asked = {"params": {"stream_modes": "run_modes"}}
    await _note_stream(client, "GET", f"/threads/{thread_id}/stream", arrivals, asked, note_open)


async def _stream_thread_events(
    client: LangGraphClient, thread_id: str, arrivals: Arrivals, opened: asyncio.Event
) -> None:
    async def note_open() -> None:
        opened.set()

    await _note_stream(client, "POST", f"/threads/{thread_id}/stream/events", arrivals, {"json": _CHANNELS}, note_open)


async def _note_stream(
    client: LangGraphClient,
    method: str,
    path: str,
    arrivals: Arrivals,
    asked: dict[str, Any],
    when_open: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Notes the tokens of a stream until the last one has arrived."""
    async with aconnect_sse(client.http.client, method, path, timeout=_WITHIN, **asked) as stream:
        stream.response.raise_for_status()
        if when_open is not None:
            await when_open()
        async for event in stream.aiter_sse():
            if event.event.startswith("messages"):
                arrivals.note(f"tok{len(arrivals.times)} " if _EMPTY in event.data else event.data)
            if arrivals.is_whole:
                return


async def _until_watched(client: LangGraphClient, thread_id: str) -> None:
    """Waits until a watch that has begun must have looked at the thread, and then until any moment between two looks of
    a server that polls."""
    for _ in range(5):
        await client.threads.get_state(thread_id)
        await asyncio.sleep(0.05)
    await asyncio.sleep(random.uniform(0, 0.25))


# --- the server -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def dev_server() -> AsyncIterator[str]:
    """The URL of a `langgraph dev` with the paced graph, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as name:
        config, port = Path(name) / "langgraph.json", _free_port()
        config.write_text(json.dumps({"dependencies": ["."], "graphs": {"paced": f"{_GRAPH}:graph"}}))
        command = os.environ.get("LANGGRAPH") or str(Path(sys.executable).with_name("langgraph"))
        options = ["--port", str(port), "--no-browser", "--no-reload", "--n-jobs-per-worker", "10"]
        environment = {"LANGGRAPH_CLI_NO_ANALYTICS": "1"}
        async with _running([command, "dev", "--config", str(config), *options], name, port, "/ok", environment) as url:
            yield url


@asynccontextmanager
async def aegra_server(command: str) -> AsyncIterator[str]:
    """The URL of an Aegra with the paced graph, and a PostgreSQL of its own, for as long as the block lasts."""
    with own_postgres(_free_port()) as database, tempfile.TemporaryDirectory() as name:
        config, port = Path(name) / "aegra.json", _free_port()
        config.write_text(json.dumps({"graphs": {"paced": f"{_GRAPH}:graph"}}))
        environment = {"DATABASE_URL": database, "AUTH_TYPE": "noop", "AEGRA_CONFIG": str(config)}
        options = ["--host", "127.0.0.1", "--port", str(port), "--config", str(config)]
        async with _running([command, "serve", *options], name, port, "/info", environment) as url:
            yield url


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def _running(
    command: Sequence[str], folder: str, port: int, path: str, environment: Mapping[str, str]
) -> AsyncIterator[str]:
    """The URL of a server that is started by this command in this folder, from when it answers at this path."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**os.environ, "LANGSMITH_TRACING": "false", **environment},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        await _until_up(url + path)
        yield url
    finally:
        process.kill()
        await process.wait()


async def _until_up(url: str) -> None:
    async with asyncio.timeout(_WITHIN), httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                if (await http.get(url)).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)
