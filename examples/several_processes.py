"""A graph that two processes serve on one port: threads are in PostgreSQL, and each process answers for any run.

    make example-processes      # or: python -m examples.several_processes

starts a Redis and a PostgreSQL of its own, from the packages `redis-server` and `postgresql`, makes the tables, and
serves http://127.0.0.1:8000/agents/counter until Ctrl-C. With AGUI_REDIS_URL and AGUI_POSTGRES_URL it uses those
instead. Start a run, end the worker that has it with SIGTERM, and connect to the thread: the other one has the run.

`uvicorn examples.several_processes:app --factory --workers 4` is the same, without databases and tables.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
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

from .databases import own_postgres, own_redis

REDIS, POSTGRES = "AGUI_REDIS_URL", "AGUI_POSTGRES_URL"
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
            os.environ[POSTGRES], kwargs=settings, open=False
        )
        async with pool:
            graph = builder.compile(checkpointer=AsyncPostgresSaver(pool))
            store = RedisRunStore(os.environ[REDIS])
            async with add_agui_routes(app, {"counter": graph}, store=store).lifespan(app):
                yield

    return FastAPI(lifespan=lifespan)


async def make_tables() -> None:
    """Makes the tables of the checkpointer: once for all processes."""
    async with AsyncPostgresSaver.from_conn_string(os.environ[POSTGRES]) as saver:
        await saver.setup()


def main() -> None:
    """Serves until Ctrl-C. Exits with a message that names the package where Redis or PostgreSQL is missing."""
    port = int(os.environ.get("PORT", "8000"))
    with ExitStack() as lifetime:
        try:
            if REDIS not in os.environ:
                os.environ[REDIS] = lifetime.enter_context(own_redis())
            if POSTGRES not in os.environ:
                with socket.create_server(("127.0.0.1", 0)) as probe:
                    free_port = probe.getsockname()[1]
                os.environ[POSTGRES] = lifetime.enter_context(own_postgres(free_port))
        except FileNotFoundError as error:
            sys.exit(str(error))
        asyncio.run(make_tables())
        print(f"Two processes serve http://127.0.0.1:{port}/agents/counter. Start a run on thread t:")
        given = '{"threadId": "t", "runId": "1", "messages": [{"id": "1", "role": "user", "content": "Count."}]}'
        print(f"  curl -N http://127.0.0.1:{port}/agents/counter --json '{given}'", flush=True)
        uvicorn.run(
            "examples.several_processes:app",
            factory=True,
            workers=2,
            port=port,
            timeout_worker_healthcheck=60,  # a worker that is silent for longer is killed, also while it imports
        )


if __name__ == "__main__":
    main()
