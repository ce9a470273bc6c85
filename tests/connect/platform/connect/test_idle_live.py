"""Connecting to a server's thread on which nothing runs: whatever became of its last run, both real clients accept what
they are told, and end with what the thread holds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from langgraph_agui.connect import Platform, PlatformError
from langgraph_sdk.client import LangGraphClient

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, assert_holds, played, values_of
from tests.support.servers.gates import Gates, asked, gates
from tests.support.servers.platforms.backend import Backend, cases, not_on, on

UNKNOWN = "00000000-0000-4000-8000-000000000001"
SNAPSHOTS = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]


Prepare = Callable[[LangGraphClient, Gates], Awaitable[Started]]


class Case(NamedTuple):
    """How a thread came to be as it is, and the end that is told of its last run."""

    prepare: Prepare
    end: str
    asks: int = 0
    """How many interrupts wait."""


def ran(graph: str, *resumes: Any, **how: Any) -> Prepare:
    """A thread with a run of this graph, and then one for each resume."""

    async def prepare(client: LangGraphClient, gate: Gates) -> Started:
        run = await started(client, graph, gate, **how)
        await run.end()
        for value in resumes:
            run = await run.next(graph, gate, command={"resume": value})
            await run.end()
        return run

    return prepare


def twice(second: str, action: Any = None) -> Prepare:
    """A thread on which one run went well, and then one of `second` came to its end, or was stopped in this way in the
    middle of its second message."""

    async def prepare(client: LangGraphClient, gate: Gates) -> Started:
        first = await ran("gated_chat")(client, gate)
        gate.hold("second 2")
        run = await first.next(second, gate, **FULL)
        await gate.next()
        if action:
            await client.runs.cancel(run.thread_id, run.run_id, wait=True, action=action)
        else:
            gate.open("*")
            await run.end()
        return first if action == "rollback" else run

    return prepare


async def written(client: LangGraphClient, gate: Gates) -> Started:
    """A run that went well, and somebody who wrote the state after it."""
    run = await ran("gated_writer")(client, gate)
    await client.threads.update_state(run.thread_id, {"count": 7}, as_node="second")
    return run


CASES = {
    "well": Case(ran("gated_chat"), "success"),
    "with a call": Case(ran("gated_agent"), "success"),
    "with a subgraph": Case(ran("gated_subgraph"), "success"),
    "with nodes in parallel": Case(ran("gated_parallel"), "success"),
    "with customs": Case(ran("gated_writer"), "success"),
    "with thousands of tokens": Case(ran("gated_fast"), "success"),
    "answered": Case(ran("gated_asking", "yes"), "success"),
    "written": Case(written, "success"),
    "twice": Case(twice("gated_chat"), "success"),
    "asks": Case(ran("gated_asking"), "interrupt", 1),
    "asks for two things": Case(ran("gated_asking_twice"), "interrupt", 2),
    "asks in a subgraph": Case(ran("gated_asking_inside"), "interrupt", 1),
    "stopped at a breakpoint": Case(ran("gated_stopping"), "interrupt", 1),
    "stopped at a breakpoint of its own": Case(ran("gated_chat", interrupt_before=["second"]), "interrupt", 1),
    "stopped after a node": Case(ran("gated_chat", interrupt_after=["first"]), "interrupt", 1),
    "failed": Case(ran("gated_raising"), "ValueError"),
    "failed after one that went well": Case(twice("gated_raising"), "ValueError"),
    "cancelled": Case(twice("gated_chat", "interrupt"), "cancelled"),
    "rolled back": Case(twice("gated_chat", "rollback"), "success"),
}
ALIKE = "has the same as the platform: another case has what may differ"
AEGRA = {
    "rolled back": "has no rollback",
    "with a subgraph": ALIKE,
    "with nodes in parallel": ALIKE,
    "with customs": ALIKE,
    "with thousands of tokens": ALIKE,
    "asks": ALIKE,
    "stopped after a node": ALIKE,
    "failed after one that went well": ALIKE,
}
"""What Aegra can't do, and what would say nothing new on it."""
NAMES = cases(CASES, aegra=AEGRA)
PAUSED = cases([name for name, case in CASES.items() if case.asks], aegra=AEGRA)
IN_TURN = {name: VERSIONS[at % 2] for at, name in enumerate(CASES)}
"""The version of the client that is asked about a case."""
BROKEN = cases(["failed", "failed after one that went well", "cancelled"], aegra=AEGRA)


@pytest.fixture(scope="module")
def threads(backend: Backend) -> dict[str, Started]:
    """A thread for each case, all made at once."""

    async def prepare() -> dict[str, Started]:
        async def of(case: Case) -> Started:
            async with gates() as gate:
                return await case.prepare(client, gate)

        async with backend.client() as client:
            played = on(backend, CASES, aegra=AEGRA)
            return dict(zip(played, await asyncio.gather(*map(of, played.values())), strict=True))

    return asyncio.run(prepare())


async def told(backend: Backend, thread_id: str, version: str = "1.0.0", **how: Any) -> ReaderClient:
    """A guest that has been told what there is."""
    async with backend.client() as client, ReaderClients(client) as guests:
        return await guests.connect(thread_id, version, **how).over()


async def values(backend: Backend, thread_id: str) -> Any:
    async with backend.client() as client:
        return values_of(await client.threads.get_state(thread_id, subgraphs=True))


# --- what every thread has in common ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
async def test_a_client_that_connects_holds_what_the_thread_does(
    backend: Backend, threads: dict[str, Started], agui_client: AguiClient, name: str
) -> None:
    thread_id = threads[name].thread_id
    guest = await told(backend, thread_id, IN_TURN[name])
    assert_holds(agui_client, guest, await values(backend, thread_id))


@pytest.mark.parametrize("name", NAMES)
async def test_an_idle_thread_is_told_as_its_last_run(backend: Backend, threads: dict[str, Started], name: str) -> None:
    guest = await told(backend, threads[name].thread_id, IN_TURN[name])
    assert guest.kinds[:-1] == SNAPSHOTS
    assert guest.run_ids == [threads[name].run_id]
    assert guest.end == CASES[name].end


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PAUSED)
async def test_a_client_is_told_every_interrupt_that_waits(
    backend: Backend, threads: dict[str, Started], agui_client: AguiClient, name: str, version: str
) -> None:
    guest = await told(backend, threads[name].thread_id, version)
    assert len(played(agui_client, guest).pending_interrupts) == CASES[name].asks


@pytest.mark.parametrize("name", cases(["asks", "asks for two things", "asks in a subgraph"], aegra=AEGRA))
async def test_interrupts_have_the_ids_they_are_answered_by(
    backend: Backend, threads: dict[str, Started], name: str
) -> None:
    guest = await told(backend, threads[name].thread_id)
    async with backend.client() as client:
        state: Any = await client.threads.get_state(threads[name].thread_id)
    ids = [each["id"] for each in guest.events[-1]["outcome"]["interrupts"]]
    assert sorted(ids) == sorted(each["id"] for each in state["interrupts"])


@pytest.mark.parametrize("name", NAMES)
async def test_a_client_that_comes_back_with_its_view_is_told_only_how_the_run_ended(
    backend: Backend, threads: dict[str, Started], name: str
) -> None:
    thread_id = threads[name].thread_id
    first = await told(backend, thread_id)
    assert len((await told(backend, thread_id, view=first.view)).events) == 2


# --- threads that never held anything ---------------------------------------------------------------------------------


async def test_a_thread_on_which_nothing_ever_ran_is_an_empty_stream(backend: Backend) -> None:
    async with backend.client() as client:
        thread_id = (await client.threads.create())["thread_id"]
    assert (await told(backend, thread_id)).events == []


@not_on(aegra="has no rollback")
async def test_a_thread_whose_only_run_was_rolled_back_is_an_empty_stream(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 2")
        run = await started(client, "gated_chat", gate)
        await gate.reached("first 2")
        await client.runs.cancel(run.thread_id, run.run_id, wait=True, action="rollback")
    assert (await told(backend, run.thread_id)).events == []


# --- threads that somebody wrote --------------------------------------------------------------------------------------


async def test_a_thread_that_was_only_written_is_told_under_an_id_of_its_checkpoint(
    backend: Backend, agui_client: AguiClient
) -> None:
    async with backend.client() as client:
        thread_id = (await client.threads.create(graph_id="gated_chat"))["thread_id"]
        await client.threads.update_state(thread_id, asked("Written.", "written-1"), as_node="second")
    guest = await told(backend, thread_id)
    assert guest.end == "success"
    assert guest.run_ids[0].startswith("checkpoint-")
    assert_holds(agui_client, guest, await values(backend, thread_id))


@not_on(aegra="has no copies of threads")
async def test_a_copy_of_a_thread_is_told_as_the_thread(
    backend: Backend, threads: dict[str, Started], agui_client: AguiClient
) -> None:
    async with backend.client() as client:
        copied = await client.http.post(f"/threads/{threads['well'].thread_id}/copy", json={})
    guest = await told(backend, copied["thread_id"])
    assert guest.end == "success"
    assert_holds(agui_client, guest, await values(backend, threads["well"].thread_id))


# --- runs that ended badly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", BROKEN)
async def test_a_past_failure_can_be_told_as_a_custom_event(
    backend: Backend, threads: dict[str, Started], agui_client: AguiClient, name: str, version: str
) -> None:
    guest = await told(backend, threads[name].thread_id, version, past_errors="custom")
    assert guest.end == "success"
    assert guest.events[-2]["value"]["code"] == CASES[name].end
    assert_holds(agui_client, guest, await values(backend, threads[name].thread_id))


async def test_a_run_that_failed_says_why(backend: Backend, threads: dict[str, Started]) -> None:
    assert (await told(backend, threads["failed"].thread_id)).events[-1]["message"] == "broken off"


# --- what is shown, and of which run ----------------------------------------------------------------------------------


async def test_without_options_and_runs_those_of_the_threads_graph_are_shown(backend: Backend) -> None:
    async with backend.client() as client:
        thread_id = (await client.threads.create(graph_id="gated_narrow"))["thread_id"]
        written = {"shown": "for all to see", "hidden": "for nobody"}
        await client.threads.update_state(thread_id, written, as_node="fill")
    narrow = await told(backend, thread_id, options=None)
    assert (narrow.view.state["shown"], narrow.view.state.get("hidden")) == ("for all to see", None)


@pytest.mark.parametrize("name", [UNKNOWN, "no_such_graph"])
async def test_of_an_assistant_that_the_server_does_not_know_nothing_may_be_shown(backend: Backend, name: str) -> None:
    async with backend.client() as client:
        with pytest.raises(PlatformError) as refusal:
            await Platform(client, name).options()
    assert refusal.value.code == "not_found"


@pytest.mark.parametrize("name", cases(["well", "asks", "failed", "cancelled"], aegra=AEGRA))
async def test_the_last_run_can_be_asked_for(backend: Backend, threads: dict[str, Started], name: str) -> None:
    run = threads[name]
    guest = await told(backend, run.thread_id, run_id=run.run_id)
    assert (guest.run_ids, guest.end) == ([run.run_id], CASES[name].end)


async def test_a_run_that_is_not_on_the_thread_is_an_error_with_a_code(
    backend: Backend, threads: dict[str, Started]
) -> None:
    guest = await told(backend, threads["well"].thread_id, run_id=UNKNOWN)
    assert [(event["type"], event["code"]) for event in guest.events] == [("RUN_ERROR", "not_found")]
