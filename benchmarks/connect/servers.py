"""Servers of the benchmark, as processes of their own: `measured_server`, and what each has `spent`."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

_WITHIN = 60.0


@asynccontextmanager
async def measured_server(module: str, *arguments: str) -> AsyncIterator[httpx.AsyncClient]:
    """A process of this module, which is given a free port and then the arguments, and answers `/spent` there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, str(port), *arguments)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=_WITHIN, trust_env=False) as http:
            await _until_up(http)
            yield http
    finally:
        process.kill()
        await process.wait()


async def spent(http: httpx.AsyncClient, what: str) -> float:
    """What the process says that it has spent."""
    return float((await http.get("/spent", params={"what": what})).json())


async def _until_up(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(_WITHIN):
        while True:
            try:
                await spent(http, "cpu")
                return
            except httpx.ConnectError:
                await asyncio.sleep(0.1)
