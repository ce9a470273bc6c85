"""`serve --postgres`: threads in a database that several processes may share."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg

from tests.support.servers.processes.command import asking, command, one_line, serving

AGENT = """
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph


async def node(state):
    await get_store().aput(("heard",), "count", {"messages": len(state["messages"])})
    kept = await get_store().aget(("heard",), "count")
    return {"messages": [("ai", f"I heard {kept.value['messages']}")]}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""


def test_threads_and_the_store_are_in_a_database_that_processes_share(tmp_path: Path, database: str) -> None:
    """Each makes the tables when it finds none: also two that start at the same moment. Without Redis one runs at a
    time, and the other one when that has been killed."""
    (tmp_path / "planner.py").write_text(AGENT)
    with ExitStack() as lifetime, ThreadPoolExecutor() as starts:
        by_option = serving("planner:graph", "--postgres", database, cwd=tmp_path)
        by_variable = serving("planner:graph", cwd=tmp_path, AGUI_POSTGRES_URL=database)
        one, other = starts.map(lifetime.enter_context, (by_option, by_variable))
        assert one.said[-1] == other.said[-1] == "Threads are kept in PostgreSQL."
        answers = [httpx.post(f"{each.url}/planner", json=asking("hi"), timeout=30) for each in (one, other)]
        runs, refused = (one, other) if answers[0].status_code == 200 else (other, one)
        assert sorted(answer.status_code for answer in answers) == [200, 503]
        runs.process.kill()
        runs.process.wait()
        assert refused.run("planner", run_id="2").messages[-1]["content"] == "I heard 3"


def test_the_process_that_runs_keeps_its_database_when_that_is_restarted(tmp_path: Path, database: str) -> None:
    (tmp_path / "planner.py").write_text(AGENT)
    with ExitStack() as lifetime:
        runs = lifetime.enter_context(serving("planner:graph", "--postgres", database, cwd=tmp_path))
        other = lifetime.enter_context(serving("planner:graph", "--postgres", database, cwd=tmp_path))
        assert runs.run("planner", run_id="1").messages[-1]["content"] == "I heard 1"
        with psycopg.connect(database, autocommit=True) as admin:
            mine = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = %s"
            )
            admin.execute(mine, [admin.info.dbname])
        assert runs.run("planner", run_id="2").messages[-1]["content"] == "I heard 3"
        assert httpx.post(f"{other.url}/planner", json=asking("hi"), timeout=30).status_code == 503


def test_a_database_that_cannot_be_reached_is_one_line_without_its_password(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text(AGENT)
    url = "postgresql://someone:secret@127.0.0.1:9/threads"
    ran = command("serve", "planner:graph", "--port", "0", "--postgres", url, cwd=tmp_path)
    assert one_line(ran).startswith("the database of --postgres can't be used: OperationalError: connection failed")
    assert "secret" not in ran.stderr
    assert ran.returncode == 1


def test_without_the_package_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text(AGENT)
    before = "import sys; sys.modules['langgraph.checkpoint.postgres.aio'] = None"
    ran = command("serve", "planner:graph", "--port", "0", "--postgres", "postgresql://", cwd=tmp_path, before=before)
    assert one_line(ran).endswith(": pip install 'langgraph-agui[postgres]'")
