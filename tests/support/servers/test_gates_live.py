"""The gated graphs on the servers that live tests run on: all of them run, and a test sets their pace."""

from fixtures.gated import FIRST
from tests.support.clients.platform.runs import started
from tests.support.servers.gates import CHATS, asked, gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.platforms.mortal_server import MortalServer


async def test_a_server_runs_every_gated_graph(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        runs = [await started(client, name, gate, run=name) for name in CHATS]
        for run, name in zip(runs, CHATS, strict=True):
            await run.end()
            assert (await run.state())["values"]["messages"], name
            assert any(point.startswith(f"{name} ") for point in gate.passed), name


async def test_a_run_on_a_server_is_held_and_goes_on(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("second 2")
        thread_id = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread_id, "gated_chat", input=asked(), config=gate.config())
        await gate.reached("second 2")
        assert (await client.runs.get(thread_id, run["run_id"]))["status"] == "running"
        gate.open("*")
        values = await client.runs.join(thread_id, run["run_id"])
        assert isinstance(values, dict)
        assert values["messages"][1]["content"] == FIRST


async def test_a_cancelled_run_on_a_server_leaves_its_point(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 2")
        thread_id = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread_id, "gated_chat", input=asked(), config=gate.config())
        await gate.reached("first 2")
        await client.runs.cancel(thread_id, run["run_id"])
        await gate.left("first 2")
        assert "first 3" not in gate.passed


async def test_a_killed_server_executes_its_run_again(mortal_server: MortalServer) -> None:
    async with gates() as gate, Backend("dev", mortal_server.url).client() as client:
        gate.hold("second 2")
        thread_id = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread_id, "gated_chat", input=asked(), config=gate.config())
        await gate.reached("second 2")
        await mortal_server.kill()
        await gate.left("second 2")
        await mortal_server.start()
        await gate.reached("second 2", times=2)
        assert gate.passed.count("first 0") == 1
        gate.open("*")
        await client.runs.join(thread_id, run["run_id"])
