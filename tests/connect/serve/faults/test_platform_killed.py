"""The platform behind an app is killed in mid-run: who reads there is told as `connect` tells it, over HTTP."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from langgraph_agui.connect import Intake, Platform, RetryPolicy
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client
from websockets.asyncio.client import connect

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import ReaderClient, played
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.proxy import proxied
from tests.support.servers.serving import Served, posted, served, told

PATIENT = RetryPolicy(initial_delay=0.1, max_delay=0.3, max_attempts=200)
ONCE_ONLY = RetryPolicy(max_attempts=1)
HALF = "Alpha beta gamma "


@asynccontextmanager
async def app_before(platform: MortalServer, gate: Gates, retry: RetryPolicy) -> AsyncIterator[Served]:
    """An app that serves the platform's chat."""
    async with get_client(url=platform.url) as client:
        source = Platform(client, "gated_chat")
        agent = Agent(source=source, intake=Intake(config=gate.config()), retry=retry)
        async with served(agui_app({"chat": agent})) as server:
            yield server


class Readers:
    """Who asked for the run, who connected to it, and who watches its thread, on a platform that is then killed."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self._thread, self._run = str(uuid.uuid4()), str(uuid.uuid4())
        self.asked, self.connected, self.watching = (ReaderClient("1.0.0", None) for _ in range(3))
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def all(self) -> list[ReaderClient]:
        return [self.asked, self.connected, self.watching]

    async def __aenter__(self) -> "Readers":
        self._client = self._server.client()
        await self._reads(self.asked, "POST", "/chat", "hi")
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    async def come(self) -> None:
        """The others come, and all have heard the run half."""
        await self._reads(self.connected, "POST", "/chat/connect")
        await self._reads(self.watching, "GET", f"/watch/{self._thread}")
        for guest in self.all:
            await guest.sees(HALF)

    async def _reads(self, guest: ReaderClient, method: str, path: str, *said: str) -> None:
        given = posted(self._thread, *said, run_id=self._run) if method == "POST" else None
        begun = asyncio.Event()

        async def read() -> None:
            async with self._client.stream(method, path, json=given, timeout=60) as response:
                begun.set()
                async with aclosing(told(response)) as events:  # type: ignore[type-var]
                    async for event in events:
                        guest.take(event)

        self._tasks.append(asyncio.create_task(read()))
        await asyncio.wait_for(begun.wait(), 30)


async def test_a_platform_that_comes_back_is_waited_for(
    mortal_server: MortalServer, gate: Gates, agui_client: AguiClient
) -> None:
    gate.hold("second 3")
    async with app_before(mortal_server, gate, PATIENT) as server, Readers(server) as readers:
        await gate.reached("second 3")
        await readers.come()
        await mortal_server.kill()
        await gate.left("second 3")
        await mortal_server.start()
        await gate.reached("second 3", times=2)
        gate.open("*")
        for guest in readers.all:
            await guest.told("RUN_FINISHED")
    for guest in readers.all:
        assert (guest.end, guest.texts, guest.cut) == ("success", [FIRST, SECOND], [])
        assert played(agui_client, guest).accepted


async def test_a_platform_that_stays_away_is_lost_for_the_readers_of_a_run_and_not_for_those_who_watch(
    mortal_server: MortalServer, gate: Gates, agui_client: AguiClient
) -> None:
    gate.hold("second 3")
    async with app_before(mortal_server, gate, ONCE_ONLY) as server, Readers(server) as readers:
        await gate.reached("second 3")
        await readers.come()
        await mortal_server.kill()
        for guest in (readers.asked, readers.connected):
            await guest.told("RUN_ERROR")
        await mortal_server.start()
        await gate.reached("second 3", times=2)
        gate.open("*")
        await readers.watching.told("RUN_FINISHED")
    for guest in (readers.asked, readers.connected):
        assert (guest.end, guest.texts) == ("lost", [FIRST, HALF])
        assert played(agui_client, guest).warnings == []
    assert readers.watching.ends == ["success"]


async def test_readers_are_told_that_the_platform_is_lost_and_that_it_is_back(dev_server: str) -> None:
    """By comments, or by objects (lines of JSON, a WebSocket), between two runs, where clients accept no event."""
    async with proxied(dev_server) as way, get_client(url=way.url) as platform:
        agent = Agent(Platform(platform, "gated_chat"), retry=RetryPolicy(initial_delay=0.01, max_delay=0.05))
        app = agui_app({"chat": agent}, websocket=True)
        async with served(app, ws="websockets-sansio") as server, server.client() as client:
            await client.post("/chat", json=posted(thread := str(uuid.uuid4()), "hi", run_id=str(uuid.uuid4())))
            address = f"ws://127.0.0.1:{server.port}/chat/ws?thread={thread}"
            ndjson = {"Accept": "application/x-ndjson"}
            async with (
                client.stream("GET", f"/watch/{thread}") as response,
                client.stream("GET", f"/watch/{thread}", headers=ndjson) as json_response,
                connect(address, proxy=None) as socket,
            ):
                await socket.send('{"do": "watch"}')
                lines, json_lines, objects = response.aiter_lines(), json_response.aiter_lines(), aiter(socket)
                for read in (lines, json_lines, objects):
                    await _until(read, "RUN_FINISHED")
                way.close()
                await _until(lines, ": connection lost")
                for read in (json_lines, objects):
                    assert await anext(read) == '{"connection":"lost"}'
                way.open()
                await _until(lines, ": connection back")
                for read in (json_lines, objects):
                    assert await anext(read) == '{"connection":"back"}'


async def _until(lines: AsyncIterator[str | bytes], text: str) -> None:
    """Reads the lines up to one with this text."""
    async for line in lines:
        if text in str(line):
            return
    raise AssertionError(f"the stream ended without {text!r}")
