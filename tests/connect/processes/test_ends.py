"""Server processes that are killed, frozen and ended: what their readers get, and what becomes of their runs."""

import signal

import pytest

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import assert_holds, played
from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import SHORT, Processes


async def test_the_owner_of_a_run_is_killed(servers: Processes, gate: Gates, agui_client: AguiClient) -> None:
    one, other, third = await servers.start(3, lease=SHORT)
    gate.hold("t run-1 second 2")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 second 2")
    reads = other.connect("chat", "t")
    await reads.sees("Alpha beta ")
    await one.kill()
    assert (await asks.over()).is_torn
    assert (await reads.over()).end == "unfinished"
    assert played(agui_client, reads).accepted
    late = await third.connect("chat", "t").over()
    assert (late.end, late.texts) == ("unfinished", [FIRST])
    more = await third.run("chat", "t", "hi", "and on", run_id="run-2").over()
    assert (more.end, more.texts[-1]) == ("success", SECOND)


async def test_the_owner_of_a_run_is_frozen_for_longer_than_a_lease(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    """Another process takes the thread; the one that wakes up finds that, and what it has is discarded."""
    one, other = await servers.start(2, lease=SHORT)
    gate.hold("t run-1 first 3")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 first 3")
    reads = other.connect("chat", "t")
    await reads.sees("One two three ")
    one.send(signal.SIGSTOP)
    assert (await reads.over()).end == "unfinished"
    gate.hold("t run-2 second 2")
    more = other.run("chat", "t", "hi", "and on", run_id="run-2")
    await gate.reached("t run-2 second 2")
    one.send(signal.SIGCONT)
    await gate.left("t run-1 first 3")
    assert (await asks.over()).events[-1]["type"] == "RUN_ERROR"
    gate.open("*")
    assert (await more.over()).end == "success"
    assert "t run-1 first 4" not in gate.passed
    assert_holds(agui_client, await one.connect("chat", "t").over(), await servers.values("chat", "t"))


async def test_an_owner_that_was_frozen_writes_nothing_over_what_another_process_has_written(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    """Its node returns as soon as it wakes up."""
    one, other = await servers.start(2, lease=SHORT)
    gate.hold("t run-1 first over")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 first over")
    reads = other.connect("chat", "t")
    await reads.sees(FIRST)
    one.send(signal.SIGSTOP)
    assert (await reads.over()).end == "unfinished"
    more = await other.run("chat", "t", "hi", "and on", run_id="run-2").over()
    assert more.end == "success"
    values = await servers.values("chat", "t")
    gate.open("*")
    one.send(signal.SIGCONT)
    assert (await asks.over()).events[-1]["type"] == "RUN_ERROR"
    assert await servers.values("chat", "t") == values
    assert_holds(agui_client, await one.connect("chat", "t").over(), values)
    assert "t run-1 second 0" not in gate.passed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_ends_lets_its_runs_end(
    servers: Processes, gate: Gates, agui_client: AguiClient, number: signal.Signals
) -> None:
    one, other = await servers.start(2)
    gate.hold("t run-1 second 2")
    asks, watcher = one.run("chat", "t", "hi"), one.watch("chat", "t")
    await gate.reached("t run-1 second 2")
    await watcher.sees("Alpha beta ")
    one.send(number)
    for guest in (asks, watcher):
        assert (await guest.over()).end == "shutdown"
        assert "connect to it again" in guest.events[-1]["message"]
    back = other.connect("chat", "t", asks.view)
    await back.sees("Alpha beta ")
    refused = await one.run("chat", "u", "hi").over()
    assert refused.status in (0, 503)
    gate.open("*")
    assert (await back.over()).end == "success"
    assert_holds(agui_client, back, await servers.values("chat", "t"))
    await one.ended()


async def test_a_run_that_does_not_end_in_time_is_stopped_and_its_thread_is_free_at_once(
    servers: Processes, gate: Gates
) -> None:
    [other] = await servers.start(1)
    [one] = await servers.start(1, drain=0.0)
    gate.hold("t run-1 second 2")
    asks = one.run("chat", "t", "hi")
    await gate.reached("t run-1 second 2")
    reads = other.connect("chat", "t")
    await reads.sees("Alpha beta ")
    one.send(signal.SIGTERM)
    assert (await asks.over()).end == "shutdown"
    assert (await reads.over()).end == "cancelled"
    assert (await other.run("chat", "t", "hi", "and on", run_id="run-2").over()).end == "success"
    await one.ended()


@pytest.mark.parametrize("agent", ["queued", "queued-left"])
@pytest.mark.parametrize("is_owner", [True, False])
async def test_an_input_that_is_queued_in_a_process_that_ends_has_its_turn(
    servers: Processes, gate: Gates, agui_client: AguiClient, agent: str, is_owner: bool
) -> None:
    """Behind a run of the same process, or of another one; also if it needs a reader, which the server sends away."""
    one, other = await servers.start(2)
    gate.hold("t run-1 first 3")
    (one if is_owner else other).run(agent, "t", "hi")
    await gate.reached("t run-1 first 3")
    waits = one.run(agent, "t", "hi", "and on", run_id="run-2")
    await servers.waiting("t", 1)
    one.send(signal.SIGTERM)
    assert (await waits.over()).end == "shutdown"
    assert "keeps its place in the queue: connect to it again" in waits.events[-1]["message"]
    back = other.connect(agent, "t")
    await back.sees("One two three ")
    gate.open("*")
    assert (await back.over()).run_ids == ["run-1", "run-2"]
    assert back.end == "success"
    assert_holds(agui_client, back, await servers.values(agent, "t"))
    await one.ended()
    assert "does not run" not in one.log


async def test_a_run_needs_no_readers_once_its_process_sends_them_away(servers: Processes, gate: Gates) -> None:
    """Also if another process had some, which have left."""
    one, other = await servers.start(2)
    gate.hold("t run-1 first 3", "t run-1 second 2")
    asks = one.run("left", "t", "hi")
    await gate.reached("t run-1 first 3")
    reads = other.connect("left", "t")
    await reads.sees("One two three ")
    gate.open("t run-1 first 3")
    await gate.reached("t run-1 second 2")
    await asks.sees("Alpha beta ")
    await reads.leave()
    await servers.noted("t", is_noted=False)
    one.send(signal.SIGTERM)
    assert (await asks.over()).end == "shutdown"
    gate.open("*")
    await one.ended()
    assert (await other.connect("left", "t").over()).end == "success"


async def test_a_queued_input_whose_turn_does_not_come_in_time_is_in_the_log(servers: Processes, gate: Gates) -> None:
    [other] = await servers.start(1)
    [one] = await servers.start(1, drain=0.0)
    gate.hold("t run-1 first 3")
    other.run("queued", "t", "hi")
    await gate.reached("t run-1 first 3")
    waits = one.run("queued", "t", "hi", "and on", run_id="run-2")
    await servers.waiting("t", 1)
    one.send(signal.SIGTERM)
    assert (await waits.over()).end == "shutdown"
    await one.ended()
    assert "A queued input does not run: its server has ended (agent 'queued', thread 't', run 'run-2')." in one.log
    back = other.connect("queued", "t")
    await back.sees("One two three ")
    gate.open("*")
    assert (await back.over()).run_ids == ["run-1"]


async def test_all_processes_are_restarted_under_load(servers: Processes, gate: Gates, agui_client: AguiClient) -> None:
    """One after the other, each with runs that go on: their clients connect to another process, and miss nothing."""
    places = await servers.start(3)
    for victim in places:
        rest = [place for place in places if place is not victim]
        run_id = f"run-{places.index(victim)}"
        gate.hold(f"* {run_id} second 2")
        threads = {f"t{at}": place for at, place in enumerate([victim, victim, *rest, *rest])}
        asked = {thread: place.run("chat", thread, *_said(run_id), run_id=run_id) for thread, place in threads.items()}
        for thread in threads:
            await gate.reached(f"{thread} {run_id} second 2")
        victim.send(signal.SIGTERM)
        followed = {}
        for thread, place in threads.items():
            guest, reader = asked[thread], next(each for each in rest if each is not place)
            if place is victim:
                assert (await guest.over()).end == "shutdown"
            followed[thread] = reader.connect("chat", thread, guest.view if place is victim else None)
            await followed[thread].sees("Alpha beta ")
        gate.open("*")
        await victim.ended()
        for thread, guest in followed.items():
            assert (await guest.over()).end == "success"
            assert_holds(agui_client, guest, await servers.values("chat", thread))
        await victim.start()


def _said(run_id: str) -> list[str]:
    """What a user has said until its run of this id."""
    return [f"message {at}" for at in range(int(run_id[-1]) + 1)]
