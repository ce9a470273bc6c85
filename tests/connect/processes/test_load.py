"""Two hundred runs at once over four processes, each read in another one than its own."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from redis.asyncio import Redis

from fixtures.gated import FIRST, SECOND
from tests.support.servers.databases.run_databases import OF_PROCESSES, InRedis, SharedRuns, on_each
from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import Process, processes

RUNS = 200
CONNECTIONS = 19
"""What a process has to Redis at most: one for messages, a pool of 16, and two to renew leases."""


@pytest.fixture(params=on_each(OF_PROCESSES))
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedRuns]:
    with OF_PROCESSES[request.param].running(tmp_path) as shared:
        yield shared


async def test_two_hundred_runs_are_read_elsewhere(shared: SharedRuns, database: str, gate: Gates) -> None:
    async with processes(shared, database, gate) as servers:
        await chats(await servers.start(4))
        if isinstance(shared, InRedis):
            async with Redis.from_url(shared.address) as client:
                connected = await client.client_list()
            assert len(connected) <= 4 * CONNECTIONS + 1


async def chats(places: Sequence[Process]) -> None:
    """Each run is read in the process after its own."""

    async def chat(at: int) -> None:
        one, other = places[at % 4], places[(at + 1) % 4]
        asks = one.run("free", f"t{at}", "hi")
        await asks.told("RUN_STARTED")
        reads = await other.connect("free", f"t{at}").over()
        await asks.over()
        assert [(guest.status, guest.body) for guest in (asks, reads)] == [(200, b"")] * 2
        assert [guest.end for guest in (asks, reads)] == ["success"] * 2
        assert [guest.cut for guest in (asks, reads)] == [[]] * 2
        assert reads.view.messages == asks.view.messages
        assert asks.texts == [FIRST, SECOND]

    async with asyncio.TaskGroup() as runs:
        for at in range(RUNS):
            runs.create_task(chat(at))
