"""Readers that never read a large thread: whatever they asked for, they are dropped in time, and leave nothing."""

import asyncio
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.support.clients.deaf import deaf_request, deaf_socket
from tests.support.servers.large_thread import SIZE
from tests.support.servers.serving import WITHIN, app_process, posted

EACH = 8
LOOK_EVERY = 0.05
LINE = "did not read"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_readers_that_never_read_are_dropped_and_leave_nothing(loop: str) -> None:
    """Of a stream, of a plain answer, of a WebSocket."""
    options = ("--loop", loop, "--log-level", "warning")
    with app_process("tests.support.servers.large_thread:app", *options) as process:
        port = int(process.url.rpartition(":")[2])
        async with (
            httpx.AsyncClient(base_url=process.url, timeout=WITHIN, trust_env=False) as client,
            asyncio.timeout(WITHIN),
            AsyncExitStack() as deaf,
        ):

            async def inside() -> dict[str, int]:
                return dict((await client.get("/inside")).json())

            async def are_gone() -> bool:
                now = await inside()
                dropped = process.path("server.log").read_text().count(LINE)
                is_back = all(now[what] <= before[what] for what in ("readers", "files", "tasks"))
                return dropped >= 3 * EACH and is_back and now["memory"] < before["memory"] + EACH * SIZE

            assert (await client.post("/large", json=posted("t", "hi"))).status_code == 200
            before = await inside()
            for _ in range(EACH):
                await deaf.enter_async_context(deaf_request(port, "/threads/t/messages?agent=large"))
                await deaf.enter_async_context(deaf_request(port, "/watch/t?agent=large"))
                socket = await deaf.enter_async_context(deaf_socket(port, "/large/ws?thread=t"))
                await socket.send("watch")
            while not await are_gone():  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY)
        assert "Traceback" not in process.log
