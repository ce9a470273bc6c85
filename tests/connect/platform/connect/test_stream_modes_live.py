"""Connecting to runs of a server that do not stream what is best: other modes, or the server's newer event protocol.

Whoever comes is told what those modes allow, and in the end what the thread holds; never an end without it."""

import asyncio
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.runs import started
from tests.support.clients.platform.visits import all_visited, made, partial_said
from tests.support.clients.reader_clients import ReaderClients, assert_holds
from tests.support.servers.gates import asked, gates
from tests.support.servers.platforms.backend import Backend, cases, on
from tests.support.sweeps import SWEEP

MODES = ["values", "messages-tuple", "messages", "updates", "custom", "events", "tasks", "checkpoints", "debug"]
ENDS = {"gated_chat": "success", "gated_asking": "interrupt", "gated_raising": "ValueError"}
RUNS = [("gated_chat", True), ("gated_chat", False), ("gated_asking", True), ("gated_raising", False)]
"""Graphs, and whether the server keeps what their runs stream."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    f"{graph}, {mode}, {'kept' if kept else 'not kept'}": (
        graph,
        {"stream_mode": [mode], "stream_resumable": kept, "partial": False, "stops": [("first 3",), ("first over",)]},
    )
    for graph, kept in RUNS
    for mode in MODES
}
ON_AEGRA = [
    *(f"gated_chat, {mode}, kept" for mode in ("values", "messages-tuple", "updates", "events")),
    "gated_asking, values, kept",
    "gated_raising, messages-tuple, not kept",
    "gated_raising, events, not kept",
]
AEGRA = dict.fromkeys(CASES.keys() - set(ON_AEGRA), "keeps every run, and streams these modes as it does others")
"""What would say nothing new on Aegra."""
IN_TURN = {
    name for place, name in enumerate(CASES) if place < len(MODES) or place % (len(RUNS) - 1) == place // len(MODES) - 1
}
"""The first run in every mode, and one of the others in each."""
NAMES = [
    each if name in IN_TURN or name in ON_AEGRA else pytest.param(name, marks=[SWEEP, *getattr(each, "marks", ())])
    for name, each in zip(CASES, cases(CASES, aegra=AEGRA), strict=True)
]


@pytest.fixture(scope="module")
def visits(backend: Backend, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A visited run for each case that is asked for, all made at once."""
    given = [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    asked_for = {params.get("name") for params in given}
    rows = on(backend, CASES, aegra=AEGRA)
    return asyncio.run(all_visited(backend, {name: row for name, row in rows.items() if name in asked_for}))


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_streamed_the_end_is_what_the_thread_holds(
    visits: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    visit = made(visits, name)
    for guest in visit.guests:
        assert_holds(agui_client, guest, visit.values)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_streamed_the_end_is_the_runs(visits: dict[str, Any], name: str) -> None:
    visit = made(visits, name)
    told = {(guest.end, *guest.run_ids) for guest in visit.guests}
    assert told == {(ENDS[visit.graph], visit.run_id)}


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_streamed_nothing_is_shown_cut(visits: dict[str, Any], name: str) -> None:
    assert [guest.cut for guest in made(visits, name).guests if guest.cut] == []


async def commanded(client: LangGraphClient, thread_id: str, graph: str, config: Any) -> str:
    """The id of a run that was started by the newer protocol."""
    params = {"assistant_id": graph, "input": asked(), "config": config}
    command = {"id": 1, "method": "run.start", "params": params}
    said: Any = await client.http.post(f"/threads/{thread_id}/commands", json=command)
    return str(said["result"]["run_id"])


@pytest.mark.parametrize("graph", ["gated_chat", "gated_agent", "gated_asking", "gated_raising", "gated_writer"])
async def test_a_run_of_the_newer_protocol_is_shown_as_it_goes_and_ends_with_what_the_thread_holds(
    backend: Backend, agui_client: AguiClient, graph: str
) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        gate.hold("first 3", "call 3", "percent 50")
        thread_id = (await client.threads.create())["thread_id"]
        watcher = guests.watch(thread_id)
        run_id = await commanded(client, thread_id, graph, gate.config())
        came = [guests.connect(thread_id)]
        point = await gate.next()
        came += [guests.connect(thread_id, version) for version in VERSIONS]
        for guest in [watcher, *came]:
            if backend.name == "dev":
                await guest.sees(partial_said([point]))
            else:
                await guest.told("RUN_STARTED")
        gate.open(point)
        for guest in came:
            await guest.over()
        await watcher.told("RUN_ERROR" if graph == "gated_raising" else "RUN_FINISHED")
        values = (await client.threads.get_state(thread_id))["values"]
    for guest in came:
        assert_holds(agui_client, guest, values)
        assert (guest.run_ids, guest.end, guest.cut) == ([run_id], ENDS.get(graph, "success"), [])


@pytest.mark.parametrize("subgraphs", [True, False])
async def test_without_its_subgraphs_a_run_ends_with_what_the_thread_holds(
    backend: Backend, agui_client: AguiClient, subgraphs: bool
) -> None:
    modes: Any = {"stream_mode": ["values", "messages-tuple"], "stream_subgraphs": subgraphs, "stream_resumable": True}
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        gate.hold("inside 3")
        run = await started(client, "gated_subgraph", gate, **modes)
        await gate.reached("inside 3")
        came = [guests.connect(run.thread_id, version) for version in VERSIONS]
        for guest in came:
            await guest.told("RUN_STARTED")
        gate.open("*")
        for guest in came:
            assert_holds(agui_client, await guest.over(), (await run.state())["values"])
