"""A server whose tasks, files, readers and runs are counted, and bare requests for it. Never here: tests."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.gated import GATED
from tests.support.clients.batch_readers import until
from tests.support.clients.locally import live_run
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, Served, posted, served


class Counted:
    """A server in this event loop, with a run that waits on the thread `live`, and a thread `done` whose run has ended.

    What there is when it is made is what there has to be when all have left.
    """

    def __init__(self, server: Served, app: Any, runs: Runs) -> None:
        self.server = server
        self.app = app
        self.runs = runs
        gc.collect()
        self._before = self._has()

    async def is_empty(self) -> None:
        """Returns when nothing is left of those that have come since."""
        try:
            async with asyncio.timeout(WITHIN):
                await until(lambda: self.server.connections == 0)
                await until(lambda: self._has() == self._before)
        except TimeoutError:
            raise AssertionError(f"expected {self._before}, got {self._has()}; {asyncio.all_tasks()}") from None

    def _has(self) -> dict[str, Any]:
        capacity, live = self.app.state.service.capacity, live_run(self.runs, "chat", "live")
        return {
            "tasks": len(asyncio.all_tasks()),
            "files": len(list(Path("/proc/self/fd").iterdir())),
            "readers": capacity.readers,
            "runs": (capacity.starting, self.runs.running),
            "reading the run": None if live is None else (live.readers, live.kept),
        }


@asynccontextmanager
async def counted(gate: Gates, **settings: Any) -> AsyncIterator[Counted]:
    """Such a server, for as long as the block lasts. `settings`: of uvicorn."""
    gate.hold("live first 3")
    graph = GATED["gated_chat"](InMemorySaver())

    def prepared(given: Any) -> Prepared:
        return Prepared(config=gate.config(run="live")) if given.thread_id == "live" else Prepared()

    async with Runs() as runs:
        agent = Agent(source=Local(graph, agent="chat", runs=runs), intake=Intake(prepare=prepared))
        app = agui_app({"chat": agent})
        async with served(app, **settings) as server:
            async with server.client() as client:
                await client.post("/chat", json=posted("done", "hi"))
                async with client.stream("POST", "/chat", json=posted("live", "hi")):
                    await gate.reached("live first 3")
            await until(lambda: server.connections == app.state.service.capacity.readers == 0)
            yield Counted(server, app, runs)
            gate.open("*")


def asking(path: str, **body: Any) -> bytes:
    """A whole request."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def given(thread_id: str, run_id: str = "run-1") -> dict[str, Any]:
    """What a client posts that asks for a run."""
    return {"tools": [], "context": [], "state": {}, "forwardedProps": {}, **posted(thread_id, "hi", run_id=run_id)}


def watching(thread_id: str) -> bytes:
    """The request of a bare `EventSource`."""
    return f"GET /watch/{thread_id} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
