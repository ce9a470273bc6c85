"""Two processes that share their runs in Redis: `python -m tests.browser.inspector_processes PORT GATE OTHER`.

Both serve the browser tests' planner, on the same SQLite file: one with the inspector at PORT, one at OTHER.
"""

import asyncio
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import uvicorn
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect import Intake, RedisRunStore
from langgraph_agui.connect.serve import Agent, agui_app

from tests.support.servers.databases.redis_server import running_redis

from .planner import planner


async def serve(port: int, gate: int, redis: str, threads: str) -> None:
    """Serves one of them until a signal comes."""
    gated = Intake(config={"configurable": {"gate": {"port": gate, "run": ""}}})
    async with AsyncSqliteSaver.from_conn_string(threads) as saver:
        app = agui_app({"planner": Agent(planner(saver), intake=gated)}, store=RedisRunStore(redis), inspector=True)
        await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).serve()


def main(port: int, gate: int, other: int) -> None:
    """Serves both until a signal comes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again at its end, and all this ends too
    with running_redis() as redis, tempfile.TemporaryDirectory() as folder:
        threads = str(Path(folder) / "threads.db")
        given = [str(gate), redis.url, threads]
        with subprocess.Popen([sys.executable, "-m", __spec__.name, str(other), *given]) as second:
            try:
                asyncio.run(serve(port, gate, redis.url, threads))
            finally:
                second.terminate()


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(*map(int, sys.argv[1:]))
    else:
        asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
