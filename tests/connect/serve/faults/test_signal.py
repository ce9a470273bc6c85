"""SIGTERM to the command with twenty streams open: each ends properly and in time, and that is no failure."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.clients.agui_client import AguiClient
from tests.support.servers.gates import Gates
from tests.support.servers.processes.command import Serving, asking, serving
from tests.support.servers.serving import WITHIN, events_of

GRACE = 1
EACH = 5
GRAPH = """
import os

from fixtures.gated import GATED

gate = {"port": int(os.environ["GATE"]), "run": ""}
graph = GATED["gated_chat"](None).with_config(configurable={"gate": gate})
"""


@asynccontextmanager
async def gated(folder: Path, gate: Gates) -> AsyncIterator[Serving]:
    (folder / "gated.py").write_text(GRAPH)
    served = serving("chat=./gated.py:graph", "--grace", str(GRACE), cwd=folder, GATE=str(gate.port))
    server = await asyncio.to_thread(served.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(served.__exit__, None, None, None)


class Reading:
    """A stream that is read to its end, from the moment that it has begun."""

    def __init__(self, client: httpx.AsyncClient, method: str, path: str, given: Any) -> None:
        self._asked = client.build_request(method, path, json=given)
        self._client = client
        self._begun = asyncio.Event()
        self.body = b""

    async def read(self) -> None:
        """Raises what httpx raises for a body that is torn."""
        response = await self._client.send(self._asked, stream=True)
        assert response.status_code == 200
        self._begun.set()
        try:
            self.body = await response.aread()
        finally:
            await response.aclose()

    async def begun(self) -> None:
        """Returns when it has been answered."""
        await asyncio.wait_for(self._begun.wait(), WITHIN)


async def test_twenty_open_streams_end_properly(tmp_path: Path, gate: Gates, agui_client: AguiClient) -> None:
    gate.hold("first 3")
    limits = httpx.Limits(max_connections=None)
    async with (
        gated(tmp_path, gate) as server,
        httpx.AsyncClient(base_url=server.url, timeout=WITHIN, trust_env=False, limits=limits) as client,
    ):
        threads = [f"t{place}" for place in range(EACH)]
        told = [Reading(client, "POST", "/chat", asking("hi", thread)) for thread in threads]
        joined = [Reading(client, "POST", "/chat/connect", asking("hi", thread)) for thread in threads]
        watching = [Reading(client, "GET", f"/watch/{thread}", None) for thread in threads]
        idle = [Reading(client, "GET", f"/watch/nobody-{thread}", None) for thread in threads]
        async with asyncio.TaskGroup() as tasks:
            for reading in told:
                tasks.create_task(reading.read())
            await gate.reached("first 3", times=EACH)
            for reading in [*joined, *watching, *idle]:
                tasks.create_task(reading.read())
                await reading.begun()
            server.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.process.wait, WITHIN) == 0
    for reading in [*told, *joined, *watching]:
        assert events_of(reading.body)[-1].get("code") == "shutdown"
        assert agui_client.play(frames=reading.body).warnings == []
    assert [events_of(reading.body) for reading in idle] == [[]] * EACH
