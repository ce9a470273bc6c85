"""Two server processes with the same threads, and no run store that they share: one of them runs."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect.serve import Agent, agui_app

from tests.support.clients.locally import SharedStore
from tests.support.servers.processes.command import asking, serving
from tests.support.servers.processes.server_process import ServerProcess, free_port, python_path
from tests.support.servers.serving import posted, served
from tests.support.streams.pausing_graphs import quick

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph


def node(state):
    return {"messages": [("ai", f"I heard {len(state['messages'])}")]}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""
FORKS = """
import os
import signal


def node(state):
    child = os.path.exists("child") or os.fork()
    if child == 0:
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        signal.pause()
    if child is not True:
        open("child", "w").write(str(child))
"""
"""A node whose first call leaves a child."""
APP = """
from contextlib import asynccontextmanager

from fastapi import FastAPI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect.serve import add_agui_routes

import planner


@asynccontextmanager
async def lifespan(app):
    async with AsyncSqliteSaver.from_conn_string("threads.db") as saver:
        graph = planner.graph.builder.compile(saver)
        async with add_agui_routes(app, {"planner": graph}, "").lifespan(app):
            yield


app = FastAPI(lifespan=lifespan)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "planner.py").write_text(AGENT)
    (tmp_path / "own.py").write_text(APP)
    return tmp_path


def test_of_two_processes_with_one_file_the_first_runs_and_both_read(folder: Path) -> None:
    def start(name: str = "planner") -> Any:
        (folder / "langgraph.json").write_text(
            f'{{"dependencies": ["."], "graphs": {{"{name}": "./planner.py:graph"}}}}'
        )
        return lifetime.enter_context(serving("--sqlite", "threads.db", cwd=folder))

    with ExitStack() as lifetime:
        first, second, other = start(), start(), start("other")
        assert first.run("planner", run_id="1").messages[-1]["content"] == "I heard 1"
        for method, path, body in (
            ("POST", "/planner", asking("more", run_id="2")),
            ("POST", "/agent/planner/run", asking("more", run_id="2")),
            ("POST", "/planner/stop", {"threadId": "t"}),
        ):
            answer = httpx.request(method, f"{second.url}{path}", json=body, timeout=30)
            assert (answer.status_code, answer.json()["error"]) == (503, "other_process"), path
            assert "uvicorn --workers 1" in answer.json()["message"]
            assert "retry-after" in answer.headers
        read = httpx.post(f"{second.url}/planner/connect", json=asking("more"), timeout=30)
        assert "I heard 1" in read.text
        assert other.run("other", thread_id="its own").messages[-1]["content"] == "I heard 1"
        first.process.send_signal(signal.SIGINT)
        first.process.wait()
        assert second.run("planner", run_id="2").messages[-1]["content"] == "I heard 3"


@pytest.mark.services
def test_a_process_that_is_killed_leaves_no_lock(folder: Path) -> None:
    """Nor does a child that survives it."""
    (folder / "planner.py").write_text(AGENT.replace("def node(state):\n", FORKS))
    with ExitStack() as lifetime:
        first = lifetime.enter_context(serving("planner:graph", "--sqlite", "threads.db", cwd=folder))
        second = lifetime.enter_context(serving("planner:graph", "--sqlite", "threads.db", cwd=folder))
        first.run("planner", run_id="1")
        child = int((folder / "child").read_text())
        lifetime.callback(os.kill, child, signal.SIGKILL)
        first.process.kill()
        first.process.wait()
        assert second.run("planner", run_id="2").messages[-1]["content"] == "I heard 3"
        os.kill(child, 0)


@pytest.mark.services
@pytest.mark.parametrize("option", ["workers", "reload"])
def test_workers_of_uvicorn_run_a_thread_in_one_of_them_and_a_reload_passes(folder: Path, option: str) -> None:
    port = free_port()
    options = ["--workers", "2"] if option == "workers" else ["--reload"]
    command = [sys.executable, "-m", "uvicorn", "own:app", "--port", str(port), *options]
    process = ServerProcess(command, folder, {"PYTHONPATH": f"{python_path()}{os.pathsep}{folder}"}, port, "/health")
    process.start()
    try:
        answers: list[str] = []

        def post() -> str:
            try:
                body = asking("hi", run_id=str(len(answers)))
                answers.append(httpx.post(f"{process.url}/planner", json=body, timeout=30).text)
            except httpx.TransportError:  # the old process has ended, and the new one has not begun
                answers.append("")
            assert len(answers) < 2_000, answers[-3:]
            return answers[-1]

        if option == "workers":
            while "I heard" not in post() or "other_process" not in "".join(answers):
                pass  # each has a connection of its own, which one of the workers takes
        else:
            assert "I heard" in post()
            (folder / "planner.py").write_text(AGENT.replace("I heard", "Now I heard"))
            while "Now I heard" not in post():
                pass
            assert "other_process" not in "".join(answers)
    finally:
        process.stop()


async def test_apps_of_one_process_share_its_lock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = tmp_path / "threads.db"
    with another_process(database) as tried:
        async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:

            def app(**more: Any) -> Any:
                return agui_app({"planner": Agent(source=quick(saver))}, **more)

            async with served(app()) as one, one.client() as client:
                async with served(app()) as other, other.client() as too:
                    assert (await client.post("/planner", json=posted("t", "hi"))).status_code == 200
                    assert (await too.post("/planner", json=posted("u", "hi"))).status_code == 200
                assert tried() == "refused"  # the other app has ended, this one has not
                assert (await client.post("/planner", json=posted("t", "hi", "more", run_id="2"))).status_code == 200
            assert tried() == "taken"
            async with served(app(store=SharedStore())) as shared, shared.client() as client:
                assert (await client.post("/planner", json=posted("v", "hi"))).status_code == 200
                assert tried() == "taken"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@contextmanager
def another_process(database: Path) -> Iterator[Callable[[], str]]:
    """Gives what becomes of the lock in a process of its own, and in a child that it forks when it has it."""
    script = f"""
        import asyncio, os
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        from langgraph_agui.connect.errors import OtherProcessError
        from langgraph_agui.connect.local.process_lock import ProcessLock

        async def take():
            async with AsyncSqliteSaver.from_conn_string({str(database)!r}) as saver:
                lock = ProcessLock(saver, ["planner"])
                try:
                    await lock.take(10.0, waits=False)
                except OtherProcessError:
                    return "refused"
                return "taken"

        while input():
            if os.fork() == 0:  # the end of this process frees the lock
                mine = asyncio.run(take())
                if mine == "taken":
                    child = os.fork()
                    if child == 0:
                        os._exit(asyncio.run(take()) != "refused")
                    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                print(mine, flush=True)
                os._exit(0)
            assert os.wait()[1] == 0
    """
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "PYTHONPATH": python_path()}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said, heard = process.stdin, process.stdout

        def tried() -> str:
            said.write("again\n")
            return heard.readline().strip()

        try:
            yield tried
        finally:
            said.write("\n")
            said.close()
    assert process.returncode == 0
