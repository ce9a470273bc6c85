"""Real servers for apps: uvicorn, over real sockets; and what is posted to them. Never here: what an app answers.

`served(app)` is one in this event loop, so that a test sees the tasks and runs that its requests make; at its end the
app ends. `app_process(target)` is one in a process of its own, started as `uvicorn module:app` is, to be ended by a
signal, or killed.
"""

import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from tests.support.servers.accepting import stop_accepting
from tests.support.servers.processes.forks import forked
from tests.support.servers.processes.server_process import ServerProcess, free_port

WITHIN = 30.0
"""Seconds in which an answer has to come."""
TOKEN = "a-token_of.tests~1"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
"""What a client sends to list, change and delete the threads of an app with this token."""
_TURNS = 10
"""Turns of the event loop in which connections close that nothing is sent on."""


@asynccontextmanager
async def dropping() -> AsyncIterator[str]:
    """The URL of a server that drops every connection: clients try that once, and an unused port for seconds."""

    async def drop(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(drop, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class Served(uvicorn.Server):
    """An app that is served, at `url`. `buffer`: bytes that the kernel keeps for a reader that does not read."""

    def __init__(self, app: Any, *, buffer: int | None = None, **settings: Any) -> None:
        quiet = {
            "log_config": None,
            "access_log": False,
            "lifespan": "on",
            "ws": "none",
            "timeout_graceful_shutdown": 10,
        }
        super().__init__(uvicorn.Config(app, **{**quiet, **settings}))
        self._socket = socket.create_server(("127.0.0.1", 0))
        if buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._is_up = asyncio.Event()
        self._is_ending = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does it, and says so."""
        await super().startup(sockets)
        self._is_up.set()

    async def main_loop(self) -> None:
        """Returns at the end of the block; uvicorn looks every 0.1 s."""
        await self.on_tick(0)  # makes the default headers
        await self._is_ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does it; at once, and not after 0.1 s, where nothing is open."""
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for _ in range(_TURNS):
            if not (self.server_state.connections or self.server_state.tasks):
                for each in (*self.servers, *(sockets or ())):
                    each.close()
                await self.lifespan.shutdown()
                return
            await asyncio.sleep(0)
        await super().shutdown(sockets)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Served"]:
        """Serves for as long as the block lasts."""
        task = asyncio.create_task(self._serve([self._socket]))
        try:
            up = asyncio.create_task(self._is_up.wait())
            await asyncio.wait((up, task), timeout=WITHIN, return_when=asyncio.FIRST_COMPLETED)
            up.cancel()
            if task.done():
                task.result()
            yield self
        finally:
            await stop_accepting(*getattr(self, "servers", ()))
            self.should_exit = True
            self._is_ending.set()
            await task
            await self._all_lost()

    async def _all_lost(self) -> None:
        """Cuts what uvicorn leaves open: the connections of those who do not read what was sent."""
        while self.server_state.connections:
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self.server_state.connections)

    def client(self, **settings: Any) -> httpx.AsyncClient:
        """A client for it. Close it before the server."""
        return httpx.AsyncClient(base_url=self.url, timeout=WITHIN, trust_env=False, **settings)


@asynccontextmanager
async def served(app: Any, **settings: Any) -> AsyncIterator[Served]:
    """The app, served in this event loop for as long as the block lasts. `settings`: as for `Served`, or uvicorn's own.

    At the end all that is open is ended first, as a signal would do it.
    """
    async with Served(app, **settings).running() as server:
        try:
            yield server
        finally:
            closing = getattr(app.state, "closing", None)
            if closing is not None:
                await closing.aclose()


@contextmanager
def app_process(
    target: str, *options: str, environment: Mapping[str, str] | None = None, server: Sequence[str] = ("uvicorn",)
) -> Iterator[ServerProcess]:
    """A process that serves `module:app`; it has answered `/health`. `server`: the module that serves, and its first
    arguments. Killed at the end of the block, if it still is."""
    port = free_port()
    command = [*forked(server[0]), *server[1:], target, *port_option(server[0], port), *options]
    with tempfile.TemporaryDirectory() as folder:
        process = ServerProcess(command, Path(folder), environment or {}, port, "/health")
        process.start()
        try:
            yield process
        finally:
            process.kill()


def port_option(server: str, port: int) -> list[str]:
    """How a server is told its port."""
    return ["--bind", f"127.0.0.1:{port}"] if server == "gunicorn" else ["--port", str(port)]


def posted(thread_id: str, *said: str, run_id: str = "run-1", **more: Any) -> dict[str, Any]:
    """An input in which the user says this; `more`: other fields, by their wire names."""
    messages = [{"id": f"{thread_id}-{place}", "role": "user", "content": text} for place, text in enumerate(said)]
    return {"threadId": thread_id, "runId": run_id, "messages": messages, "protocolVersion": "1.0", **more}


def data_of(frame: str) -> str:
    """The data of a frame, which may have an id before it."""
    return next(line.removeprefix("data: ") for line in frame.split("\n") if line.startswith("data: "))


def events_of(body: str | bytes) -> list[dict[str, Any]]:
    """The events of a whole event stream."""
    text = body if isinstance(body, str) else body.decode()
    frames = [frame for frame in text.split("\n\n") if frame and not frame.startswith(":")]
    return [json.loads(data_of(frame)) for frame in frames]


def kinds_of(body: str | bytes) -> list[str]:
    """The kinds of those events."""
    return [event["type"] for event in events_of(body)]


async def told(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of an event stream, as they come."""
    kept = ""
    async with aclosing(response.aiter_text()) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            *frames, kept = (kept + piece).split("\n\n")
            for frame in frames:
                if not frame.startswith(":"):
                    yield json.loads(data_of(frame))


async def until(events: AsyncIterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The next event of this kind; raises AssertionError if the stream ends before."""
    async for event in events:
        if event["type"] == kind:
            return event
    raise AssertionError(f"the stream ended without {kind}")
