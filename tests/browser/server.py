"""Serves the planner: `python -m tests.browser.server PORT DATABASE ORIGIN GATE`, as somebody would who has one agent.

The threads are in a SQLite file, so that the server may be killed and started again; the pages of `ORIGIN` may ask it.
With `PLANNER_RUNS`, a file, the runs are there, and are continued when the server is back.
"""

import asyncio
import os
import sys

import uvicorn
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Intake, SqliteRunStore, options_for
from langgraph_agui.connect.serve import Agent, agui_app

from .planner import planner

_LEASE = 2.0
"""Seconds; tests wait for less time than people whose server was killed."""


async def serve(port: int, database: str, origin: str, gate: int) -> None:
    """Serves until it is told to stop."""
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        graph = planner(saver).copy({"store": InMemoryStore()})  # names of threads are kept there
        runs = os.environ.get("PLANNER_RUNS")
        gated = Intake(
            config={"configurable": {"gate": {"port": gate, "run": ""}}}, on_lost="continue" if runs else "error"
        )
        options = options_for(graph, plan="todos", error_detail="code")
        store = SqliteRunStore(runs, lease=_LEASE) if runs else None
        app = agui_app({"planner": Agent(source=graph, intake=gated, options=options)}, store=store, origins=[origin])
        # Pages keep a stream open, which uvicorn would wait for.
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
