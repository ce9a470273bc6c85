"""Redis that is silent, killed, and back: runs go on, and readers of other processes miss nothing."""

import asyncio
import signal

import pytest
from langgraph_agui.connect.local.store.active_run import CANCEL_WAIT

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import assert_holds
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import SHORT, Processes


@pytest.mark.parametrize("is_killed", [False, True], ids=["silent", "killed, and back without its data"])
async def test_redis_is_away_while_a_run_goes_on(
    servers: Processes, redis_server: RedisServer, gate: Gates, agui_client: AguiClient, is_killed: bool
) -> None:
    one, other = await servers.start(2, lease=SHORT)
    await one.run("chat", "idle", "hi").over()
    gate.hold("t run-1 first 3", "t run-1 second 2")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 first 3")
    reads = other.connect("chat", "t")
    await reads.sees("One two three ")
    (redis_server.kill if is_killed else redis_server.pause)()
    gate.open("t run-1 first 3")
    await asks.sees("Alpha beta ")
    joins = one.connect("chat", "t")
    await joins.sees("Alpha beta ")
    for refused in (one.run("chat", "u", "hi"), other.run("chat", "v", "hi")):
        assert (await refused.over()).status == 503
        assert "retry-after" in refused.headers
    (redis_server.start if is_killed else redis_server.resume)()
    await reads.sees("Alpha beta ")
    late = other.connect("chat", "t")
    await late.sees("Alpha beta ")
    gate.open("*")
    values = await servers.values("chat", "t", await asks.over())
    for guest in (asks, reads, joins, late):
        assert ((await guest.over()).end, guest.cut) == ("success", [])
        assert_holds(agui_client, guest, values)
    more = await other.run("chat", "t", "hi", "and on", run_id="run-2").over()
    assert more.end == "success"


async def test_a_run_ends_while_redis_is_away(
    servers: Processes, redis_server: RedisServer, gate: Gates, agui_client: AguiClient
) -> None:
    one, other = await servers.start(2, lease=SHORT)
    gate.hold("t run-1 second 2")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 second 2")
    reads = other.connect("chat", "t")
    await reads.sees("Alpha beta ")
    redis_server.kill()
    gate.open("*")
    values = await servers.values("chat", "t", await asks.over())
    assert asks.end == "success"
    redis_server.start()
    assert (await reads.over()).end == "success"
    assert_holds(agui_client, reads, values)


async def test_redis_comes_back_and_the_thread_of_a_run_is_asked_for_at_once(
    servers: Processes, redis_server: RedisServer, gate: Gates, agui_client: AguiClient
) -> None:
    """Without its data: nothing says who runs on the thread, until the process of the run has asked again."""
    one, other = await servers.start(2, lease=20.0)
    gate.hold("t run-1 second 2")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 second 2")
    assert (await other.run("chat", "u", "hi").over()).end == "success"
    redis_server.kill()
    redis_server.start()
    refused = await other.run("chat", "t", "hi", "and on", run_id="run-2").over()
    assert refused.status == 409
    gate.open("*")
    assert (await asks.over()).end == "success"
    assert_holds(agui_client, asks, await servers.values("chat", "t"))


async def test_a_server_ends_in_time_while_redis_does_not_answer(
    redis_server: RedisServer, servers: Processes, gate: Gates
) -> None:
    """The end of its run can't be published: that is in the log, and the process ends."""
    [one] = await servers.start(1, drain=0.0)
    gate.hold("t run-1 first 3")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 first 3")
    redis_server.pause()
    one.send(signal.SIGTERM)
    assert (await asks.over()).end == "shutdown"
    async with asyncio.timeout(CANCEL_WAIT):  # which the end of a run may take while the server goes on
        await one.ended()
    assert "The run store did not close in time" in one.log
    redis_server.resume()
