"""Runs that are read in other processes than their own."""

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import assert_holds
from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import Processes


async def test_readers_of_all_processes_have_the_whole_run_wherever_they_come(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    places = await servers.start(3)
    gate.hold("t run-1 first 3", "t run-1 second 2")
    watcher = places[2].watch("chat", "t")
    await watcher.answered()
    asks = places[0].run("chat", "t", "hi")
    await gate.reached("t run-1 first 3")
    early = [place.connect("chat", "t") for place in places]
    for guest in [watcher, *early]:
        await guest.sees("One two three ")
    gate.open("t run-1 first 3")
    await gate.reached("t run-1 second 2")
    for guest in early:
        await guest.sees("Alpha beta ")
    back = [place.connect("chat", "t", early[0].view) for place in places]
    late = [place.connect("chat", "t") for place in places]
    again = [place.run("chat", "t", "hi") for place in places]  # the id of a run that is running is that run
    for guest in [*back, *late, *again]:
        await guest.sees("Alpha beta ")
    gate.open("*")
    values = await servers.values("chat", "t", await asks.over())
    for guest in [asks, *early, *back, *late, *again]:
        await guest.over()
        assert (guest.end, guest.run_ids, guest.cut) == ("success", ["run-1"], [])
        assert_holds(agui_client, guest, values)
    await watcher.told("RUN_FINISHED")
    assert (watcher.run_ids, watcher.cut) == (["run-1"], [])
    assert watcher.view.messages == late[0].view.messages


ENDS: dict[str, tuple[str, str]] = {
    "it succeeded": ("chat", "success"),
    "its graph raised": ("raising", "ValueError"),
    "it waits for an answer": ("asking", "interrupt"),
}


async def test_how_a_run_ended_is_the_same_in_all_processes(servers: Processes) -> None:
    """A client that has the end finds the thread free everywhere, at once."""
    one, other, third = await servers.start(3)
    for agent, end in ENDS.values():
        asks = await one.run(agent, agent, "hi").over()
        assert asks.end == end
        more = other.run(agent, agent, "hi", "and on", run_id="run-2")
        assert (await third.connect(agent, agent).over()).ends[-1:] == [end]
        await more.over()


async def test_an_interrupt_is_answered_in_another_process(servers: Processes, agui_client: AguiClient) -> None:
    one, other = await servers.start(2)
    asks = await one.run("asking", "t", "hi").over()
    [interrupt] = asks.events[-1]["outcome"]["interrupts"]
    answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}]
    answers = await other.run("asking", "t", "hi", run_id="run-2", resume=answer).over()
    assert answers.texts[-2:] == ["really: yes", SECOND]
    late = await one.connect("asking", "t").over()
    assert_holds(agui_client, late, await servers.values("asking", "t"))
    assert late.texts == [FIRST, "really: yes", SECOND]


async def test_a_reader_that_does_not_read_holds_up_nobody(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    one, other = await servers.start(2)
    gate.hold("t run-1 fast start")
    asks = one.run("fast", "t", "hi")
    await gate.reached("t run-1 fast start")
    deaf, reads = other.connect("fast", "t", paused=True), other.connect("fast", "t")
    for guest in (deaf, reads):
        await guest.answered()
    gate.open("*")
    values = await servers.values("fast", "t", await asks.over())
    await reads.over()
    deaf.resume()
    for guest in (asks, reads, await deaf.over()):
        assert (guest.end, guest.cut) == ("success", [])
        assert_holds(agui_client, guest, values)
