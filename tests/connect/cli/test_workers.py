"""`serve --workers`: several processes that share a port and their runs."""

import os
import signal
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.support.servers.processes.command import Serving, command, one_line, serving

AGENT = """
import os

from langgraph.graph import START, MessagesState, StateGraph


async def node(state):
    return {"messages": [("ai", str(os.getpid()))]}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""


def other_than(server: Serving, known: set[int], thread_id: str) -> int:
    """The first process that answers and is none of these."""
    while True:
        try:
            pid = int(server.run("agent", thread_id=thread_id, run_id=uuid4().hex).messages[-1]["content"])
        except httpx.TransportError:  # of the process that is killed
            continue
        if pid not in known:
            return pid


@pytest.mark.services
def test_several_processes_serve_a_port_and_another_starts_when_one_dies(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with serving("./agent.py:graph", "--sqlite", "threads.db", "--workers", "2", cwd=tmp_path) as server:
        assert server.said[-1] == "Threads are kept in threads.db and runs next to it."
        first = other_than(server, set(), "t")
        second = other_than(server, {first}, "t")
        os.kill(first, signal.SIGKILL)
        third = other_than(server, {first, second}, "t")
        assert len({first, second, third}) == 3
        listed = httpx.get(f"{server.url}/threads", headers=server.bearer, timeout=30)
        assert [thread["id"] for thread in listed.json()["threads"]] == ["t"]
    assert server.process.returncode == 0


IMPORTS_WHILE_HELD = """
import os
from pathlib import Path

while os.path.exists("hold"):
    Path(str(os.getpid())).touch()
"""


@pytest.mark.services
def test_a_process_that_is_killed_before_it_serves_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT + IMPORTS_WHILE_HELD)
    with serving("./agent.py:graph", "--sqlite", "threads.db", "--workers", "2", cwd=tmp_path) as server:
        first = other_than(server, set(), "t")
        second = other_than(server, {first}, "t")
        (tmp_path / "hold").touch()
        os.kill(first, signal.SIGKILL)
        while not (importing := [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]):
            pass
        os.kill(importing[0], signal.SIGKILL)
        (tmp_path / "hold").unlink()
        assert other_than(server, {first, second}, "t") not in importing
    assert server.process.returncode == 0


def test_what_cannot_be_served_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("graph = what is not + Python")
    ran = command("serve", "./agent.py:graph", "--port", "0", "--sqlite", "t.db", "--workers", "3", cwd=tmp_path)
    assert one_line(ran).startswith("./agent.py:graph can't be imported: NameError")
    assert ran.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["./agent.py:graph", "--workers", "4"],
            "--workers 4: the processes must share their threads and runs: add --sqlite FILE, or --postgres URL "
            "with --redis URL",
        ),
        (
            ["./agent.py:graph", "--workers", "2", "--postgres", "postgresql://127.0.0.1:9/none"],
            "--workers 2: the processes must share their threads and runs: add --sqlite FILE, or --postgres URL "
            "with --redis URL",
        ),
        (
            ["./agent.py:graph", "--workers", "2", "--sqlite", "t.db", "--reload"],
            "--reload works with one process only; remove --workers",
        ),
        (
            ["http://127.0.0.1:9", "--workers", "2"],
            "--workers is only for your own graphs",
        ),
    ],
)
def test_workers_that_would_share_nothing_are_refused(tmp_path: Path, arguments: list[str], says: str) -> None:
    ran = command("serve", *arguments, cwd=tmp_path)
    assert (ran.returncode, one_line(ran)) == (2, says)
