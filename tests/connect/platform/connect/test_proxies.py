"""Connecting to a real server over connections that are cut at any moment of a run."""

import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langgraph_agui.connect import RetryPolicy
from langgraph_agui.translator import ClientView
from langgraph_sdk import get_client

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.platform.scripted_connects import shrunk
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, assert_holds
from tests.support.servers.gates import Gates, gates
from tests.support.servers.proxy import Way, proxied
from tests.support.streams.translator_runs import left_open
from tests.support.sweeps import one_each

PATIENT = RetryPolicy(initial_delay=0.01, max_delay=0.05, max_attempts=500)
GRAPHS = ["gated_chat", "gated_agent", "gated_parallel", "gated_subgraph"]


@pytest.fixture
async def way(dev_server: str) -> AsyncIterator[Way]:
    async with proxied(dev_server) as way:
        yield way


@pytest.fixture
async def cuttable(way: Way) -> AsyncIterator[Any]:
    """A client whose connections can be cut."""
    async with get_client(url=way.url) as client:
        yield client


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[Any]:
    async with get_client(url=dev_server) as client:
        yield client


async def assert_told(agui_client: AguiClient, guest: ReaderClient, run: Started) -> None:
    """It ends as the run did, and nothing was shown cut or taken back."""
    assert (guest.end, guest.run_ids, guest.cut) == ("success", [run.run_id], [])
    assert shrunk(guest.events) == []
    assert left_open(guest.events) == []
    assert_holds(agui_client, guest, (await run.state())["values"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("keeps", [True, False])
async def test_cut_at_every_third_point_of_a_run(
    client: Any, cuttable: Any, way: Way, agui_client: AguiClient, keeps: bool, version: str
) -> None:
    async with gates() as gate, ReaderClients(cuttable) as guests:
        gate.hold("*")
        run = await started(client, "gated_chat", gate, **{**FULL, "stream_resumable": keeps})
        await gate.reached("first 0")
        guest = guests.connect(run.thread_id, version, retry=PATIENT)
        await guest.told("RUN_STARTED")
        for number in range(18):
            point = await gate.next()
            if number % 3 == 1:
                way.cut()
            gate.let_on(point)
            await gate.left(point)
        gate.open("*")
        await guest.over()
    await assert_told(agui_client, guest, run)
    if keeps:
        assert guest.texts == [FIRST, SECOND]


@pytest.mark.parametrize(("graph", "kept"), one_each(GRAPHS, ["kept", "not kept"]))
async def test_cut_at_random_moments(
    client: Any, cuttable: Any, way: Way, agui_client: AguiClient, graph: str, kept: str
) -> None:
    chance = random.Random(f"{graph} {kept}")
    async with gates() as gate, ReaderClients(cuttable) as guests:
        gate.hold("*")
        run = await started(client, graph, gate, **{**FULL, "stream_resumable": kept == "kept"})
        await gate.next()
        readers = [guests.connect(run.thread_id, version, retry=PATIENT) for version in VERSIONS]
        for reader in readers:
            await reader.told("RUN_STARTED")
        await _paced(gate, way, run, chance)
        for reader in readers:
            await reader.over()
    for reader in readers:
        await assert_told(agui_client, reader, run)


async def _paced(gate: Gates, way: Way, run: Started, chance: random.Random) -> None:
    """Lets the run go on point by point, and cuts what is connected now and then."""
    while (await run.run())["status"] == "running":
        for point in gate.waiting():
            gate.let_on(point)
        if chance.random() < 0.3:
            way.cut()


async def test_a_fast_run_cut_again_and_again(client: Any, cuttable: Any, way: Way, agui_client: AguiClient) -> None:
    async with gates() as gate, ReaderClients(cuttable) as guests:
        gate.hold("fast start")
        run = await started(client, "gated_fast", gate, **FULL)
        await gate.reached("fast start")
        readers = [guests.connect(run.thread_id, version, retry=PATIENT) for version in VERSIONS]
        for reader in readers:
            await reader.told("RUN_STARTED")
        gate.open("*")
        for length in (200, 1500, 3000):
            await readers[0].sees(_longer_than(length))
            way.cut()
        for reader in readers:
            await reader.over()
    for reader in readers:
        await assert_told(agui_client, reader, run)


def _longer_than(length: int) -> Callable[[ClientView], bool]:
    return lambda view: len(str(view.messages)) > length
