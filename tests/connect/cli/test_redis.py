"""`serve --redis`: commands that answer for each other's runs."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from fixtures.gated import FIRST, SECOND
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.gates import Gates
from tests.support.servers.processes.command import Serving, asking, command, one_line, serving
from tests.support.servers.serving import WITHIN, events_of, posted, told, until

GATED = """
import os

from fixtures.gated import GATED

gate = {"port": int(os.environ["GATE"]), "run": ""}
graph = GATED["gated_chat"](None).with_config(configurable={"gate": gate})
"""


async def test_a_run_goes_on_while_its_command_ends_and_is_read_at_another(
    tmp_path: Path, gate: Gates, redis_server: RedisServer, database: str
) -> None:
    (tmp_path / "gated.py").write_text(GATED)
    gate.hold("second 2")

    async def served() -> Serving:
        options = ("--postgres", database, "--redis", redis_server.url, "--grace", "0", "--drain", "60")
        process = serving("chat=gated.py:graph", *options, cwd=tmp_path, GATE=str(gate.port))
        lifetime.push_async_callback(asyncio.to_thread, process.__exit__, None, None, None)
        return await asyncio.to_thread(process.__enter__)

    async with AsyncExitStack() as lifetime, httpx.AsyncClient(timeout=WITHIN, trust_env=False) as client:
        one, other = await served(), await served()
        assert one.said[-1] == "Threads are kept in PostgreSQL, runs in Redis."
        assert (await client.get(f"{one.url}/ready")).status_code == 200
        async with client.stream("POST", f"{one.url}/chat", json=asking("hi")) as asked:
            await gate.reached("second 2")
            async with client.stream("POST", f"{other.url}/chat/connect", json=posted("t")) as read:
                events = told(read)
                await until(events, "RUN_STARTED")
                one.process.send_signal(signal.SIGTERM)
                assert events_of(await asked.aread())[-1]["code"] == "shutdown"
                gate.open("*")
                assert (await until(events, "RUN_FINISHED"))["outcome"]["type"] == "success"
        assert await asyncio.to_thread(one.process.wait, WITHIN) == 0
        view = await asyncio.to_thread(other.run, "chat", "and on", run_id="r2")
        assert [message["content"] for message in view.messages if message["role"] == "assistant"] == [
            *(FIRST, SECOND),
            *(FIRST, SECOND),
        ]
        redis_server.kill()
        assert (await client.get(f"{other.url}/ready")).status_code == 503


def test_a_redis_that_cannot_be_reached_is_one_line_without_its_password(tmp_path: Path, database: str) -> None:
    (tmp_path / "gated.py").write_text(GATED)
    url = "redis://:secret@127.0.0.1:9/0"
    arguments = ("serve", "gated.py:graph", "--port", "0", "--postgres", database, "--redis")
    ran = command(*arguments, url, cwd=tmp_path, GATE="1")
    assert ran.stderr.splitlines()[-1].startswith("langgraph-agui: the Redis of --redis can't be used: StoreUnav")
    assert "secret" not in ran.stderr
    assert ran.returncode == 1
    assert one_line(command(*arguments, "nowhere", cwd=tmp_path, GATE="1")).startswith("the Redis of --redis can't")


def test_without_the_package_it_says_how_to_get_it(tmp_path: Path, database: str) -> None:
    (tmp_path / "gated.py").write_text(GATED)
    before = "import sys; sys.modules['redis'] = None"
    arguments = ("gated.py:graph", "--port", "0", "--postgres", database, "--redis", "redis://127.0.0.1:9/0")
    ran = command("serve", *arguments, cwd=tmp_path, before=before, GATE="1")
    assert one_line(ran).endswith(": pip install 'langgraph-agui[redis]'")
