"""A client's run on a platform whose connections are cut, or that is killed in the middle of it: the client is told it
once, to its end; or that the platform is lost."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest
from langgraph_agui.connect import Platform, RetryPolicy, run
from langgraph_sdk import get_client

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.chats import Asker, Room, asking
from tests.support.clients.platform.scripted_connects import assert_refused, shrunk
from tests.support.clients.reader_clients import assert_holds
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.fault_server import End, dropped, faulty
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.proxy import Way, proxied
from tests.support.streams.translator_runs import left_open

PATIENT = RetryPolicy(initial_delay=0.05, max_delay=0.3, max_attempts=200)
ONCE_ONLY = RetryPolicy(max_attempts=1)
"""No retry: the SDK's client itself tries for seconds to reach a port on which nobody listens."""


@pytest.fixture
async def way(dev_server: str) -> AsyncIterator[Way]:
    async with proxied(dev_server) as way:
        yield way


@pytest.fixture
async def cuttable(way: Way, gate: Gates) -> AsyncIterator[Room]:
    """A room whose connections can be cut."""
    async with get_client(url=way.url) as client, Room(gate, client) as here:
        yield here


@pytest.fixture
async def mortal(mortal_server: MortalServer, gate: Gates) -> AsyncIterator[Room]:
    """A room of a server that can be killed."""
    async with get_client(url=mortal_server.url) as client, Room(gate, client) as here:
        yield here


def assert_told_whole(agui_client: AguiClient, asker: Asker, values: Any) -> None:
    """It ends well, and nothing was shown cut, or twice, or taken back."""
    assert (asker.end, asker.run_ids, asker.cut, asker.texts) == ("success", ["r"], [], [FIRST, SECOND])
    assert (shrunk(asker.events), left_open(asker.events)) == ([], [])
    assert_holds(agui_client, asker, values)


async def test_cut_at_every_third_point_of_a_run(cuttable: Room, way: Way, agui_client: AguiClient) -> None:
    gate = cuttable.gate
    gate.hold("*")
    asker = cuttable.asks("gated_chat", asking("hello", "r"), retry=PATIENT)
    await gate.reached("first 0")
    await asker.told("RUN_STARTED")
    for number in range(18):
        point = await gate.next()
        if number % 3 == 1:
            way.cut()
        gate.let_on(point)
        await gate.left(point)
    gate.open("*")
    await asker.over()
    assert_told_whole(agui_client, asker, await cuttable.values(asker.thread_id))


async def test_a_killed_server_that_comes_back_leaves_no_ghost(
    mortal: Room, mortal_server: MortalServer, agui_client: AguiClient
) -> None:
    mortal.gate.hold("second 3")
    asker = mortal.asks("gated_chat", asking("hello", "r"), retry=PATIENT)
    await asker.sees("Alpha beta gamma ")
    await mortal_server.kill()
    await mortal.gate.left("second 3")
    await mortal_server.start()
    await mortal.gate.reached("second 3", times=2)
    mortal.gate.open("*")
    await asker.over()
    assert (asker.end, asker.run_ids, asker.cut, asker.texts) == ("success", ["r"], [], [FIRST, SECOND])
    assert_holds(agui_client, asker, await mortal.values(asker.thread_id))


async def test_a_killed_server_that_stays_away_is_lost(
    mortal: Room, mortal_server: MortalServer, agui_client: AguiClient
) -> None:
    mortal.gate.hold("second 3")
    asker = mortal.asks("gated_chat", asking("hello", "r"), retry=ONCE_ONLY)
    await asker.sees("Alpha beta gamma ")
    await mortal_server.kill()
    await asker.over()
    assert_refused(agui_client, asker, "lost")
    assert asker.texts == [FIRST, "Alpha beta gamma "]


async def test_a_platform_that_is_not_there_is_lost(agui_client: AguiClient, gate: Gates) -> None:
    async with (
        proxied("http://127.0.0.1:9") as nowhere,
        get_client(url=nowhere.url) as client,
        Room(gate, client) as here,
    ):
        asker = await here.asks("gated_chat", asking("hello", "r"), retry=ONCE_ONLY).over()
    assert_refused(agui_client, asker, "lost")


async def test_a_server_that_answers_no_more_before_the_run_has_started_is_given_up_soon() -> None:
    """It has answered that there is no such thread, and then says nothing when it is to create one."""
    thread_id = str(uuid4())
    retry = RetryPolicy(read_timeout=3600, first_answer=0.5, max_attempts=1_000)
    async with faulty({"/threads": [dropped(End.HELD)]}) as server:
        source = Platform(server.client(), "gated_chat")
        async with aclosing(run(source, asking("hi", "r", thread_id=thread_id), retry=retry)) as events:
            last = [event async for event in events][-1]
    assert last.model_dump()["code"] == "lost"
