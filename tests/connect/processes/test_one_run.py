"""On one thread one run runs, whichever process is asked."""

from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import SHORT, Processes


async def test_of_many_that_ask_at_once_one_starts(servers: Processes, gate: Gates) -> None:
    places = await servers.start(3)
    gate.hold("t * first 3")
    asked = [place.run("chat", "t", "hi", run_id=f"run-{at}") for at, place in enumerate(places * 3)]
    for guest in asked:
        await guest.answered()  # all have asked before the run goes on
    [runs] = [guest for guest in asked if guest.status == 200]
    refused = [guest for guest in asked if guest is not runs]
    for guest in refused:
        await guest.over()
        assert (guest.status, b'"conflict"' in guest.body) == (409, True)
    gate.open("*")
    assert (await runs.over()).end == "success"
    assert len([point for point in gate.passed if point.endswith("first 0")]) == 1


async def test_inputs_of_all_processes_have_their_turns_in_the_order_in_which_they_came(
    servers: Processes, gate: Gates
) -> None:
    """A process that dies with an input that waits holds up nobody."""
    places = await servers.start(4, lease=SHORT)
    gate.hold("t run-0 first 3")
    asked = [places[0].run("queued", "t", "hi", run_id="run-0")]
    await gate.reached("t run-0 first 3")
    for at, place in enumerate(places[1:], 1):
        asked.append(place.run("queued", "t", "hi", *(f"more {each}" for each in range(at)), run_id=f"run-{at}"))
        await asked[-1].answered()
        await servers.waiting("t", at)
    reads = places[2].connect("queued", "t")
    await reads.sees("One two three ")
    await places[1].kill()
    gate.open("*")
    for guest in (asked[0], asked[2], asked[3]):
        await guest.over()
    assert asked[1].is_torn
    assert [point.split()[1] for point in gate.passed if point.endswith("first 0")] == ["run-0", "run-2", "run-3"]
    assert [asked[at].end for at in (0, 2, 3)] == ["success"] * 3
    assert (await reads.over()).run_ids == ["run-0", "run-2", "run-3"]


async def test_a_run_is_stopped_by_any_process(servers: Processes, gate: Gates) -> None:
    one, other, third = await servers.start(3)
    gate.hold("* first 3")
    for agent in ("chat", "replaced"):
        asks = one.run(agent, agent, "hi")
        await gate.reached(f"{agent} run-1 first 3")
        reads = third.connect(agent, agent)
        await reads.sees("One two three ")
        if agent == "chat":
            assert await other.stop(agent, agent) == {"stopped": True}
            replaces = None
        else:
            gate.open(f"{agent} run-2 *")
            replaces = other.run(agent, agent, "hi", "and on", run_id="run-2")
        for guest in (asks, reads):
            assert (await guest.over()).ends[0] == "cancelled"
        await gate.left(f"{agent} run-1 first 3")
        if replaces is not None:
            assert (await replaces.over()).end == "success"
        else:
            assert (await third.connect(agent, agent).over()).end == "cancelled"
        assert f"{agent} run-1 first 4" not in gate.passed


async def test_a_run_that_goes_with_its_readers_is_kept_by_those_of_other_processes(
    servers: Processes, gate: Gates
) -> None:
    one, other = await servers.start(2)
    gate.hold("t run-1 first 3", "t run-1 second 2")
    asks = one.run("left", "t", "hi")
    await gate.reached("t run-1 first 3")
    reads = other.connect("left", "t")
    await reads.sees("One two three ")
    await servers.noted("t")
    await asks.leave()
    gate.open("t run-1 first 3")
    await reads.sees("Alpha beta ")
    await reads.leave()
    await gate.left("t run-1 second 2")
    assert (await one.connect("left", "t").over()).end == "cancelled"
