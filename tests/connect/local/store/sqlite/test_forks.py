"""A store in a file that is forked, before and after it was used, and left without being closed."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.servers.processes.server_process import python_path
from tests.support.servers.serving import WITHIN

_FORKED = """
import asyncio, os

from langgraph_agui.connect import SqliteRunStore

store = SqliteRunStore({path!r}, lease=600.0)

async def use():
    await store.ping()
    locks = "/proc/locks"
    has_locks = not os.path.exists(locks) or any(f" {{os.getpid()}} " in line for line in open(locks))
    await store.aclose()
    return 0 if has_locks else 1

runner, children = asyncio.Runner(), []
if {is_used}:
    runner.run(store.ping())
for _ in range(2):
    if not (child := os.fork()):
        os._exit(asyncio.run(use()))
    children.append(child)
runner.run(store.ping())
raise SystemExit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""
_LEFT = """
import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Runs, SqliteRunStore
from langgraph_agui.connect.testing import Pause

from tests.support.streams.pausing_graphs import HELLO, on, speaking

async def use():
    point, runs = Pause(), Runs(SqliteRunStore({path!r}, lease=600.0))
    await runs.start(speaking(point, InMemorySaver()), HELLO, on("t"), agent="chat")
    await point.reached.wait()

asyncio.run(use())
"""


@pytest.mark.parametrize(
    ("script", "processes"),
    [(_FORKED.replace("{is_used}", "False"), 3), (_FORKED.replace("{is_used}", "True"), 3), (_LEFT, 1)],
    ids=["forked before its first use", "forked while it is used", "not closed"],
)
async def test_a_store_is_one_of_its_own_after_a_fork_and_keeps_no_interpreter_alive(
    tmp_path: Path, script: str, processes: int
) -> None:
    path = tmp_path / "runs.db"
    environment = {**os.environ, "PYTHONPATH": python_path(), "PYTHONWARNINGS": "ignore"}
    code = script.format(path=str(path))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=environment)
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == 0
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(DISTINCT process) FROM contacts").fetchone() == (processes,)
