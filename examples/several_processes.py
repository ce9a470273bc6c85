"""A graph that two processes serve on one port: threads are in PostgreSQL, and each process answers for any run.

    createdb threads && redis-server --save '' &
    export AGUI_POSTGRES_URL=postgresql:///threads AGUI_REDIS_URL=redis://localhost
    python -m examples.several_processes

makes the tables, then serves http://127.0.0.1:8000/agents/counter. Begin a run, stop one process with SIGTERM, and
connect to the thread again: the other one has the run. `uvicorn examples.several_processes:app --factory --workers 4`
is the same, without the tables.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import RedisRunStore
from langgraph_agui.connect.serve import add_agui_routes
from langgraph_agui.connect.testing import ScriptedChatModel
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

COUNTED = " ".join(map(str, range(1, 61)))


async def count(state: MessagesState) -> dict[str, Any]:
    """A model that counts to sixty, slowly."""
    model = ScriptedChatModel(turns=[COUNTED], delay=float(os.environ.get("PAUSE", "0.5")), turn_of=lambda messages: 0)
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState).add_node(count).add_edge(START, "count")


def app() -> FastAPI:
    """The app of one process."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        settings: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
        pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
            os.environ["AGUI_POSTGRES_URL"], kwargs=settings, open=False
        )
        async with pool:
            graph = builder.compile(checkpointer=AsyncPostgresSaver(pool))
            store = RedisRunStore(os.environ["AGUI_REDIS_URL"])
            async with add_agui_routes(app, {"counter": graph}, store=store).lifespan(app):
                yield

    return FastAPI(lifespan=lifespan)


async def make_tables() -> None:
    """Makes the tables of the checkpointer: once for all processes."""
    async with AsyncPostgresSaver.from_conn_string(os.environ["AGUI_POSTGRES_URL"]) as saver:
        await saver.setup()


if __name__ == "__main__":
    asyncio.run(make_tables())
    port = int(os.environ.get("PORT", "8000"))
    uvicorn.run(
        "examples.several_processes:app",
        factory=True,
        workers=2,
        port=port,
        timeout_graceful_shutdown=5,
        timeout_worker_healthcheck=60,  # a worker that is silent for longer is killed: imports and CPU work take time
    )
