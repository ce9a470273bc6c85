"""What servers say of threads and runs: the facts that connecting stands on. A newer server that differs fails here.

What their streams hold is in `join/test_stream_facts.py`.
"""

from typing import Any

import httpx
import pytest
from langgraph_sdk.errors import ConflictError, InternalServerError, NotFoundError, UnprocessableEntityError

from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.servers.gates import Gates, asked, gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.serving import WITHIN

UNKNOWN = "00000000-0000-4000-8000-000000000001"


async def statuses(of: Started) -> tuple[Any, Any]:
    """Those of a run and its thread."""
    return (await of.run())["status"], (await of.thread())["status"]


async def answered(backend: Backend, path: str) -> int:
    async with httpx.AsyncClient(base_url=backend.url, timeout=WITHIN) as client:
        return (await client.get(path)).status_code


async def ended(backend: Backend, graph: str, **how: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """How a run of this graph ended: both statuses, and the thread's state."""
    async with gates() as gate, backend.client() as client:
        run = await started(client, graph, gate, **how)
        await run.end()
        return await statuses(run), await run.state()


async def test_info_tells_which_server_it_is(backend: Backend) -> None:
    async with httpx.AsyncClient(base_url=backend.url, timeout=WITHIN) as client:
        info = (await client.get("/info")).json()
    assert ("langgraph_py_version" in info, info.get("name")) == {"dev": (True, None), "aegra": (False, "Aegra")}[
        backend.name
    ]


async def test_an_unknown_thread_is_not_found(backend: Backend) -> None:
    paths = [f"/threads/{UNKNOWN}", f"/threads/{UNKNOWN}/state", f"/threads/{UNKNOWN}/runs"]
    runs = {"dev": 404, "aegra": 200}[backend.name]  # Aegra lists the runs of a thread that is not
    assert [await answered(backend, path) for path in paths] == [404, 404, runs]


async def test_a_thread_id_that_is_no_uuid_is_refused(backend: Backend) -> None:
    assert await answered(backend, "/threads/nope/state") == {"dev": 422, "aegra": 404}[backend.name]


async def test_a_run_that_is_not_on_the_thread_is_not_found(backend: Backend) -> None:
    async with backend.client() as client:
        thread_id = (await client.threads.create())["thread_id"]
        with pytest.raises(NotFoundError):
            await client.runs.get(thread_id, UNKNOWN)


async def test_a_new_thread_has_no_runs_and_no_checkpoint(backend: Backend) -> None:
    async with backend.client() as client:
        thread_id = (await client.threads.create())["thread_id"]
        state: Any = await client.threads.get_state(thread_id)
        assert (state["values"], state["next"], state["checkpoint_id"]) == ({}, [], None)
        assert await client.runs.list(thread_id) == []


async def test_a_run_says_how_it_streams_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_chat", gate, **FULL)
        told: Any = (await run.run()).get("kwargs")
        await run.end()
    if backend.name == "aegra":
        assert told is None
    else:
        assert (told["stream_mode"], told["resumable"], told["subgraphs"]) == (FULL["stream_mode"], True, True)


async def test_a_run_that_goes_on_is_running_and_its_thread_busy(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_chat", gate)
        await gate.reached("second 2")
        assert await statuses(run) == ("running", "busy")
        assert [one["run_id"] for one in await client.runs.list(run.thread_id, status="running")] == [run.run_id]
        assert len((await run.state())["values"]["messages"]) == 2  # as of the last step, not of the last run


async def test_runs_are_listed_newest_first(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        first = await started(client, "gated_chat", gate)
        await first.end()
        second = await first.next("gated_chat", gate)
        await second.end()
        assert [run["run_id"] for run in await client.runs.list(first.thread_id)] == [second.run_id, first.run_id]


async def test_a_run_that_went_well(backend: Backend) -> None:
    said, state = await ended(backend, "gated_chat")
    assert (said, state["next"]) == (("success", "idle"), [])


@pytest.mark.parametrize(
    ("graph", "count"), [("gated_asking", 1), ("gated_asking_twice", 2), ("gated_asking_inside", 1)]
)
async def test_a_run_that_asks(backend: Backend, graph: str, count: int) -> None:
    said, state = await ended(backend, graph)
    assert said == ({"dev": "success", "aegra": "interrupted"}[backend.name], "interrupted")
    assert len(state["interrupts"]) == count


@pytest.mark.parametrize(("graph", "how"), [("gated_stopping", {}), ("gated_chat", {"interrupt_before": ["second"]})])
async def test_a_run_that_stops_at_a_breakpoint(backend: Backend, graph: str, how: Any) -> None:
    said, state = await ended(backend, graph, stream_mode=["updates"], **how)
    assert said == ({"dev": "success", "aegra": "interrupted"}[backend.name], "interrupted")
    assert (state["interrupts"], state["next"], state["tasks"][0]["error"]) == ([], ["second"], None)


async def test_a_breakpoint_that_no_update_tells_is_a_success_for_aegra(backend: Backend) -> None:
    said, state = await ended(backend, "gated_stopping", stream_mode=["values"])
    assert said == ("success", {"dev": "interrupted", "aegra": "idle"}[backend.name])
    assert (state["interrupts"], state["next"]) == ([], ["second"])


async def test_a_run_that_failed(backend: Backend) -> None:
    said, state = await ended(backend, "gated_raising")
    assert said == ("error", "error")
    assert state["tasks"][0]["error"] == "ValueError('broken off')"


async def test_where_a_failure_is_told(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_raising", gate)
        await run.end()
        of_thread, of_run = (await run.thread()).get("error"), (await run.run()).get("error_message")
    told = {"error": "ValueError", "message": "broken off"}
    assert (of_thread, of_run) == {"dev": (told, None), "aegra": (None, "broken off")}[backend.name]


@pytest.mark.parametrize(("mode", "error"), [("values", None), ("messages-tuple", "CancelledError()")])
async def test_a_run_that_was_cancelled(backend: Backend, mode: str, error: str | None) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_chat", gate, stream_mode=[mode])
        await gate.reached("second 2")
        await client.runs.cancel(run.thread_id, run.run_id, wait=True)
        state = await run.state()
        assert await statuses(run) == ("interrupted", {"dev": "interrupted", "aegra": "idle"}[backend.name])
        assert (state["interrupts"], state["next"], state["tasks"][0]["error"]) == ([], ["second"], error)


async def test_a_run_that_is_over_cannot_be_cancelled(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_chat", gate)
        await run.end()
        if backend.name == "aegra":  # takes it, and does nothing
            await client.runs.cancel(run.thread_id, run.run_id)
        else:
            with pytest.raises(NotFoundError):
                await client.runs.cancel(run.thread_id, run.run_id)
        assert (await run.run())["status"] == "success"


async def test_a_rollback_takes_the_run_away_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_chat", gate)
        await gate.reached("second 2")
        if backend.name == "aegra":
            with pytest.raises(httpx.HTTPStatusError, match="422"):
                await client.runs.cancel(run.thread_id, run.run_id, action="rollback", wait=True)
            return
        await client.runs.cancel(run.thread_id, run.run_id, action="rollback", wait=True)
        with pytest.raises(NotFoundError):
            await run.run()
        assert ((await run.thread())["status"], (await run.state())["values"]) == ("idle", {})


async def second_run(gate: Gates, backend: Backend, strategy: str) -> tuple[list[Any], list[Any]]:
    """The statuses of two runs, the second started while the first is held: at once, and when the second is over."""
    async with backend.client() as client:
        gate.hold("a second 2")
        first = await started(client, "gated_chat", gate, run="a")
        await gate.reached("a second 2")
        second = await first.next("gated_chat", gate, run="b", multitask_strategy=strategy)
        before = [run["status"] for run in await client.runs.list(first.thread_id)]
        if strategy == "enqueue":
            gate.open("*")
        await second.end()
        return before, [run["status"] for run in await client.runs.list(first.thread_id)]


async def test_an_enqueued_run_waits_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate:
        before, after = await second_run(gate, backend, "enqueue")
    if backend.name == "dev":
        assert (before, after) == (["pending", "running"], ["success", "success"])
    assert {"dev": gate.passed.index("b first 0") > gate.passed.index("a second over"), "aegra": True}[backend.name]


@pytest.mark.parametrize(("strategy", "left"), [("interrupt", ["success", "interrupted"]), ("rollback", ["success"])])
async def test_a_run_that_takes_anothers_place(backend: Backend, strategy: str, left: list[str]) -> None:
    async with gates() as gate:
        _, after = await second_run(gate, backend, strategy)
    assert after == {"dev": left, "aegra": ["success", "running"]}[backend.name]  # Aegra lets both run


async def test_a_rejected_run_is_a_conflict_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate:
        if backend.name == "aegra":
            assert (await second_run(gate, backend, "reject"))[1] == ["success", "running"]
            return
        with pytest.raises(ConflictError):
            await second_run(gate, backend, "reject")


async def test_a_delayed_run_is_pending_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 1")
        run = await started(client, "gated_chat", gate, after_seconds=60)
        if backend.name == "aegra":  # it does not wait
            await gate.reached("first 1")
        else:
            assert await statuses(run) == ("pending", "busy")
            await client.runs.cancel(run.thread_id, run.run_id)


async def test_an_update_of_the_state_is_a_checkpoint_of_no_run(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_writer", gate)
        await run.end()
        before = await run.state()
        await client.threads.update_state(run.thread_id, {"count": 7}, as_node="second")
        after = await run.state()
        assert after["checkpoint_id"] != before["checkpoint_id"]
        assert before["metadata"]["run_id"] == run.run_id
        assert (after["metadata"]["source"], after["metadata"].get("run_id")) == ("update", None)


async def test_states_are_found_by_the_run_that_made_them_on_the_platform_only(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        await (first := await started(client, "gated_chat", gate)).end()
        await (second := await first.next("gated_chat", gate)).end()
        states: Any = await client.threads.get_history(first.thread_id, limit=20)
        assert [state["metadata"]["run_id"] for state in states] == [second.run_id] * 4 + [first.run_id] * 4
        asked = client.threads.get_history(first.thread_id, limit=1, metadata={"run_id": first.run_id})
        if backend.name == "aegra":
            with pytest.raises(InternalServerError):
                await asked
        else:
            assert [state["checkpoint"] for state in await asked] == [states[4]["checkpoint"]]


async def test_schemas_are_asked_for_by_the_id_of_an_assistant(backend: Backend) -> None:
    async with backend.client() as client:
        with pytest.raises({"dev": UnprocessableEntityError, "aegra": NotFoundError}[backend.name]):
            await client.assistants.get_schemas("gated_narrow")
        found = await client.assistants.search(graph_id="gated_narrow")
        schemas = await client.assistants.get_schemas(found[0]["assistant_id"])
        assert "hidden" not in (schemas["output_schema"] or {})["properties"]


async def test_a_cron_with_seconds_fires_every_second(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        thread_id = (await client.threads.create())["thread_id"]
        every = {"schedule": "* * * * * *", "input": asked(), "config": gate.config()}
        await client.crons.create_for_thread(thread_id, "gated_chat", **every)
        await gate.reached("first 0", times=2)
        for cron in await client.crons.search(thread_id=thread_id):
            await client.crons.delete(cron["cron_id"])
        assert len(await client.runs.list(thread_id)) >= 2


async def test_the_threads_of_stateless_crons_are_found_while_they_are_busy(dev_server: str) -> None:
    async with gates() as gate, Backend("dev", dev_server).client() as client:
        gate.hold("first 1")
        assistant = (await client.assistants.create("gated_chat"))["assistant_id"]  # no other test's threads are its
        every: Any = {"schedule": "* * * * * *", "input": asked(), "config": gate.config()}
        cron = await client.crons.create(assistant, **every)
        await gate.reached("first 1")
        await client.crons.delete(cron["cron_id"])  # type: ignore[typeddict-item]
        found = await client.threads.search(status="busy", metadata={"assistant_id": assistant})
        run = (await client.runs.list(found[0]["thread_id"]))[0]
        assert run["kwargs"]["config"]["configurable"]["cron_id"] == cron["cron_id"]  # type: ignore[typeddict-item]


async def test_a_killed_server_has_the_same_run_again(mortal_server: MortalServer) -> None:
    async with gates() as gate, Backend("dev", mortal_server.url).client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("second 2")
        await mortal_server.kill()
        await gate.left("second 2")
        await mortal_server.start()
        await gate.reached("second 2", times=2)
        assert [one["run_id"] for one in await client.runs.list(run.thread_id)] == [run.run_id]
        assert gate.passed.count("first 0") == 1  # it goes on from its checkpoint
