"""Serves the planner: `python -m tests.browser.server PORT DATABASE ORIGIN GATE`, as somebody would who has one agent.

The threads are in a SQLite file, so that the server may be killed and started again; the pages of `ORIGIN` may ask it.
"""

import asyncio
import sys

import uvicorn
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Intake, options_for
from langgraph_agui.connect.serve import Agent, agui_app

from .planner import planner


async def serve(port: int, database: str, origin: str, gate: int) -> None:
    """Serves until it is told to stop."""
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        graph = planner(saver).copy({"store": InMemoryStore()})  # names of threads are kept there
        gated = Intake(config={"configurable": {"gate": {"port": gate, "run": ""}}})
        options = options_for(graph, plan="todos", error_detail="code")
        app = agui_app({"planner": Agent(source=graph, intake=gated, options=options)}, origins=[origin])
        # Pages keep a stream open, which uvicorn would wait for.
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
