"""Owners of runs that are silent for longer than a lease and go on: what readers elsewhere get of such a run."""

import asyncio
import json
import signal
from typing import Any

from langgraph_agui.translator import ClientView

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import assert_holds
from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import SHORT, Process, Processes
from tests.support.servers.serving import WITHIN, data_of, posted


async def test_a_process_whose_loop_is_blocked_keeps_its_threads(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    one, other = await servers.start(2, lease=SHORT)
    gate.hold("t run-1 first over", "t run-1 first blocks")
    watcher = other.watch("blocking", "t")
    await watcher.answered()
    asks = one.run("blocking", "t", "hi")
    await gate.reached("t run-1 first over")
    reads = other.connect("blocking", "t")
    await reads.sees(FIRST)
    gate.open("t run-1 first over")
    await gate.reached("t run-1 first blocks")
    await servers.renewed("t", 3 * SHORT)
    assert (await other.run("blocking", "t", "hi", "and on", run_id="run-2").over()).status == 409
    gate.open("*")
    values = await servers.values("blocking", "t", await asks.over())
    for guest in (asks, await reads.over()):
        assert (guest.end, guest.run_ids, guest.cut) == ("success", ["run-1"], [])
        assert_holds(agui_client, guest, values)
    await watcher.told("RUN_FINISHED")
    assert (watcher.run_ids, watcher.cut, watcher.texts) == (["run-1"], [], [FIRST, SECOND])


async def test_a_run_whose_process_was_silent_and_goes_on_reaches_its_readers_again(
    servers: Processes, gate: Gates, agui_client: AguiClient
) -> None:
    """Frozen, and with an event loop that was blocked for longer than it may."""
    silent = (("f", "chat", "first 3", "One two three "), ("b", "blocking", "first over", FIRST))
    for thread, agent, point, said in silent:
        one, other = await servers.start(2, lease=SHORT, blocked=0.5)
        gate.hold(f"{thread} run-1 {point}", f"{thread} run-1 first blocks", f"{thread} run-1 second 2")
        watcher = other.watch(agent, thread)
        await watcher.answered()
        asks = one.run(agent, thread, "hi")
        await gate.reached(f"{thread} run-1 {point}")
        reads = other.connect(agent, thread)
        for guest in (watcher, reads):
            await guest.sees(said)
        if agent == "chat":
            one.send(signal.SIGSTOP)
        else:
            gate.open(f"{thread} run-1 {point}")
        assert (await reads.over()).end == "unfinished"
        await watcher.told("RUN_ERROR")
        if agent == "chat":
            one.send(signal.SIGCONT)
        gate.open(f"{thread} run-1 first *")
        await watcher.sees("Alpha beta ")
        gate.open("*")
        values = await servers.values(agent, thread, await asks.over())
        assert (asks.end, asks.run_ids) == ("success", ["run-1"])
        assert_holds(agui_client, asks, values)
        await watcher.told("RUN_FINISHED")
        assert (watcher.run_ids, watcher.ends, watcher.cut) == (["run-1"] * 2, ["unfinished", "success"], [])
        assert watcher.texts == [FIRST, SECOND]
        assert_holds(agui_client, await other.connect(agent, thread).over(), values)


async def test_what_another_process_makes_up_of_a_lost_run_has_no_id_to_continue_after(
    servers: Processes, gate: Gates
) -> None:
    """The client that comes back has all of the run once the owner goes on: its id is cleared, and the owner's last one
    is good."""
    one, other = await servers.start(2, lease=SHORT)
    gate.hold("t run-1 first 3")
    one.run("chat", "t", "hi")
    await gate.reached("t run-1 first 3")
    lost = asyncio.create_task(_with_ids(other))
    await other.connect("chat", "t").sees("One two three ")
    one.send(signal.SIGSTOP)
    first = await lost
    made_up = first[-3:]
    assert [event["type"] for _, event in made_up] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]
    assert [event_id for event_id, _ in made_up] == ["", None, None]
    real = [event_id for event_id, _ in first if event_id]
    one.send(signal.SIGCONT)
    await servers.renewed("t", SHORT / 2)
    back = [asyncio.create_task(_with_ids(other, last_id)) for last_id in (real[-1], "")]
    gate.open("*")
    continued, begun = [await each for each in back]
    assert begun[0][1]["type"] == "RUN_STARTED"
    held = first[:-3] if continued[0][1]["type"] != "RUN_STARTED" else []
    for events in (held + continued, begun):
        view = ClientView([], {})
        for _, event in events:
            view.apply(event)
        assert [message["content"] for message in view.messages] == ["hi", FIRST, SECOND]


async def _with_ids(process: Process, last_id: str = "") -> list[tuple[str | None, dict[str, Any]]]:
    """The events of a connection, each with its id."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    async with asyncio.timeout(WITHIN):
        answer = await process.client.post("/chat/connect", json=posted("t"), headers=headers)
    frames = [frame for frame in answer.text.split("\n\n") if "data: " in frame]
    return [(_id_of(frame), json.loads(data_of(frame))) for frame in frames]


def _id_of(frame: str) -> str | None:
    return next((line[3:].strip() for line in frame.split("\n") if line.startswith("id:")), None)
