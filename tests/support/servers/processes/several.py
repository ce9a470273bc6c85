"""Several server processes that share a run database and PostgreSQL, and clients of each: `Processes`; one of them is a
`Process`.

A process is stopped, killed and ended by real signals. What it serves is in `shared_server.py`. No tests here.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.translator import ClientView
from redis.asyncio import Redis

from tests.support.clients.reader_clients import ReaderClient
from tests.support.servers.databases.run_databases import SharedRuns
from tests.support.servers.gates import Gates
from tests.support.servers.processes.clock import clock
from tests.support.servers.processes.forks import forked
from tests.support.servers.processes.server_process import ServerProcess, free_port
from tests.support.servers.processes.shared_server import AGENTS, GRAPHS, Settings
from tests.support.servers.serving import WITHIN, posted, told

_LOOK_EVERY = 0.01
SHORT = 2.0
"""A lease for tests that wait until it is over."""
LONG = 600.0
"""One that is over in no test, however slow the machine."""


class HttpReaderClient(ReaderClient):
    """A client over HTTP. `status`: that of the answer, 0 before it came. `is_torn`: the connection broke."""

    def __init__(self, view: ClientView | None) -> None:
        super().__init__("1.0.0", view)
        self.status = 0
        self.headers = httpx.Headers()
        self.body = b""
        self.is_torn = False
        self._task: asyncio.Task[None] | None = None
        self._may_read = asyncio.Event()

    def begin(self, clients: asyncio.TaskGroup, reading: Coroutine[Any, Any, None], *, paused: bool) -> None:
        """Reads. `paused`: not before `resume`, once it is answered."""
        if not paused:
            self._may_read.set()
        self._task = clients.create_task(reading)

    def resume(self) -> None:
        """Reads on."""
        self._may_read.set()

    async def answered(self) -> None:
        """Returns when its request is answered."""
        await self._until(lambda: bool(self.status) or self.is_torn, "an answer")

    async def leave(self) -> None:
        """Closes its connection."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def read(self, client: httpx.AsyncClient, method: str, path: str, given: Any) -> None:
        """Sends the request, and reads its answer to the end."""
        try:
            async with client.stream(method, path, json=given) as response:
                self.status, self.headers = response.status_code, response.headers
                self._tell()
                await self._may_read.wait()
                if response.status_code != 200:
                    self.body = await response.aread()
                    return
                async with aclosing(told(response)) as events:  # type: ignore[type-var]
                    async for event in events:
                        self.take(event)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.ConnectError):
            self.is_torn = True
        finally:
            self._is_over = True
            self._tell()


class Process:
    """One server process."""

    def __init__(self, server: ServerProcess, clients: asyncio.TaskGroup) -> None:
        self._server = server
        self._clients = clients
        self.client = httpx.AsyncClient(
            base_url=server.url, timeout=WITHIN, trust_env=False, limits=httpx.Limits(max_connections=None)
        )
        self.pid = 0

    async def start(self) -> None:
        """Starts it, also again, on the same port."""
        await asyncio.to_thread(self._server.start)
        self.pid = (await self.client.get("/pid")).json()

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Waits for its end, and gives the status that it ended with."""
        return await asyncio.to_thread(self._server.wait, WITHIN)

    async def kill(self) -> None:
        """Ends it at once."""
        self.send(signal.SIGKILL)
        await self.ended()

    async def close(self) -> None:
        """Ends it, whatever state it is in."""
        await self.client.aclose()
        await asyncio.to_thread(self._server.kill)

    @property
    def log(self) -> str:
        """The end of what it has logged."""
        return self._server.log

    def run(self, agent: str, thread_id: str, *said: str, run_id: str = "run-1", **more: Any) -> HttpReaderClient:
        """A client that starts a run, and reads it."""
        given = posted(thread_id, *said, run_id=run_id, **more)
        view = ClientView(given["messages"], {})
        return self._reads(HttpReaderClient(view), "POST", f"/{agent}", given)

    def connect(
        self, agent: str, thread_id: str, view: ClientView | None = None, *, paused: bool = False
    ) -> HttpReaderClient:
        """A client that connects, with nothing in its hands or with a view. `paused`: it does not read yet."""
        known = {} if view is None else {"messages": view.messages, "state": view.state}
        given = {**posted(thread_id), **known}
        guest = HttpReaderClient(None if view is None else view.copy())
        return self._reads(guest, "POST", f"/{agent}/connect", given, paused=paused)

    def watch(self, agent: str, thread_id: str) -> HttpReaderClient:
        """A client that watches a thread."""
        return self._reads(HttpReaderClient(None), "GET", f"/watch/{thread_id}?agent={agent}", None)

    async def stop(self, agent: str, thread_id: str) -> Any:
        """What the request to stop a thread's run is answered with."""
        return (await self.client.post(f"/{agent}/stop", json={"threadId": thread_id})).json()

    def _reads(
        self, guest: HttpReaderClient, method: str, path: str, given: Any, *, paused: bool = False
    ) -> HttpReaderClient:
        guest.begin(self._clients, guest.read(self.client, method, path, given), paused=paused)
        return guest


class Processes:
    """The server processes of one test."""

    def __init__(
        self, shared: SharedRuns, postgres: str, gate: Gates, folder: Path, clients: asyncio.TaskGroup
    ) -> None:
        self._shared = shared
        self._postgres = postgres
        self._gate = gate
        self._folder = folder
        self._clients = clients
        self._all: list[Process] = []

    async def start(
        self,
        count: int,
        *,
        lease: float = LONG,
        grace: float = 0.0,
        drain: float = WITHIN,
        blocked: float = 300.0,
        ahead: float = 0.0,
    ) -> list[Process]:
        """Starts so many. `ahead`: by how many seconds their clocks are."""
        made = [self._made(lease, grace, drain, blocked, ahead) for _ in range(count)]
        await asyncio.gather(*(each.start() for each in made))
        return made

    def _made(self, lease: float, grace: float, drain: float, blocked: float, ahead: float) -> Process:
        port, folder = free_port(), self._folder / str(len(self._all))
        folder.mkdir()
        settings = Settings(
            port,
            self._shared.name,
            self._shared.address,
            self._postgres,
            self._gate.port,
            lease,
            grace,
            drain,
            blocked,
        )
        module = "tests.support.servers.processes.shared_server"
        command = [*(forked(module) if not ahead else (sys.executable, "-m", module)), settings.argument]
        process = Process(ServerProcess(command, folder, clock(ahead), port, "/health"), self._clients)
        self._all.append(process)
        return process

    async def waiting(self, thread_id: str, count: int) -> None:
        """Returns when so many inputs wait for their turn on a thread. What is asked here is asked of Redis."""
        async with self._looking() as client:
            while await client.llen(f"agui:{{default:{thread_id}}}:line") < count:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)

    async def noted(self, thread_id: str, *, is_noted: bool = True) -> None:
        """Returns when Redis knows that another process than the owner has readers of a thread's run, or has none."""
        async with self._looking() as client:
            while bool(await client.keys(f"agui:{{default:{thread_id}}}:readers:*")) != is_noted:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)

    async def renewed(self, thread_id: str, seconds: float) -> None:
        """Returns when the lease of a thread's run has been renewed for so many seconds."""
        name, first = f"agui:{{default:{thread_id}}}:thread", 0.0
        async with self._looking() as client:
            while float(await client.hget(name, "until") or 0) < first + seconds * 1_000 or not first:
                first = first or float(await client.hget(name, "until") or 0)
                await asyncio.sleep(_LOOK_EVERY)

    @asynccontextmanager
    async def _looking(self) -> AsyncIterator["Redis"]:
        async with Redis.from_url(self._shared.address) as client, asyncio.timeout(WITHIN):
            yield client

    async def values(self, agent: str, thread_id: str, _: Any = None) -> Any:
        """The values of a thread's last checkpoint."""
        async with AsyncPostgresSaver.from_conn_string(self._postgres) as saver:
            graph = GRAPHS[AGENTS[agent][0]](saver)
            return (await graph.aget_state({"configurable": {"thread_id": thread_id}})).values

    async def close(self) -> None:
        """Ends them."""
        await asyncio.gather(*(each.close() for each in self._all))


@asynccontextmanager
async def processes(shared: SharedRuns, postgres: str, gate: Gates) -> AsyncIterator[Processes]:
    """What starts server processes, which end with the block. Clients that still read then are torn off."""
    with TemporaryDirectory() as folder:
        async with asyncio.TaskGroup() as clients:
            with PostgresSaver.from_conn_string(postgres) as saver:
                saver.setup()
            servers = Processes(shared, postgres, gate, Path(folder), clients)
            try:
                yield servers
            finally:
                await servers.close()
