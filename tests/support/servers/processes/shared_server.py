"""One of several server processes that share a run database and a checkpointer in PostgreSQL.

`python -m tests.support.servers.processes.shared_server SETTINGS` is the command; `SETTINGS` is the JSON of `Settings`.
The points of a run have the ids of its thread and its own before them (`t run-1 first 3`): each is held by itself.
"""

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

import uvicorn
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from fixtures.gated import BLOCKING, GATED
from tests.support.servers.databases.run_databases import RUN_DATABASES

GRAPHS = {**GATED, **BLOCKING}
AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("gated_chat", {}),
    "queued": ("gated_chat", {"busy": "queue"}),
    "queued-left": ("gated_chat", {"busy": "queue", "on_disconnect": "cancel"}),
    "replaced": ("gated_chat", {"busy": "cancel"}),
    "left": ("gated_chat", {"on_disconnect": "cancel"}),
    "raising": ("gated_raising", {}),
    "asking": ("gated_asking", {}),
    "fast": ("gated_fast", {}),
    "parallel": ("gated_parallel", {}),
    "blocking": ("gated_blocking", {}),
    "free": ("gated_chat", {"prepare": None}),
}
"""The agents: the gated graph of each, and its intake. The runs of `free` come to no gates."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server process is given. `database`, `address`: the name of the run database, and where it is. `gate`: the
    port of the gates."""

    port: int
    database: str
    address: str
    postgres: str
    gate: int
    lease: float
    grace: float
    drain: float
    blocked: float = 300.0

    @property
    def argument(self) -> str:
        """As an argument of the command."""
        return json.dumps(asdict(self))


async def _serve(settings: Settings) -> None:
    def prepare(given: RunAgentInput) -> Prepared:
        gate = {"port": settings.gate, "run": f"{given.thread_id} {given.run_id}"}
        return Prepared(config={"configurable": {"gate": gate}})

    asked: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        settings.postgres, kwargs=asked, min_size=1, max_size=4, open=False
    )
    shared = RUN_DATABASES[settings.database]
    store = shared.store_at(settings.address, lease=settings.lease, blocked=settings.blocked)
    async with pool:
        saver = AsyncPostgresSaver(pool)
        agents = {
            name: Agent(GRAPHS[graph](saver), intake=Intake(**{"prepare": prepare, **intake}))
            for name, (graph, intake) in AGENTS.items()
        }
        app = agui_app(
            agents, store=store, grace=settings.grace, drain=settings.drain, limits=Limits(runs=1000, readers=1000)
        )

        async def pid(request: Request) -> JSONResponse:
            return JSONResponse(os.getpid())

        app.router.routes.insert(0, Route("/pid", pid))
        config = uvicorn.Config(app, host="127.0.0.1", port=settings.port, log_level="warning", ws="none")
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(_serve(Settings(**json.loads(sys.argv[1]))))
