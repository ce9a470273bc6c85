"""One server process of the run: `python -m tests.chaos.server SETTINGS`, with the JSON of `Settings`.

It serves the graph of `graph`, which journals what it does. So does a thread, twice a second: a process that writes
nothing got no time from the machine, as if it was frozen.
"""

import asyncio
import json
import os
import select
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import uvicorn
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.chaos.graph import build, write_to
from tests.support.servers.databases.run_databases import RUN_DATABASES

OnLost = Literal["error", "continue"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is given. `database`, `address`: the name of the run database, and where it is. `lease`: seconds.
    `journal`: the path of the journal, which all processes share. `on_lost`: as for an `Intake`."""

    port: int
    database: str
    address: str
    postgres: str
    journal: str
    lease: float
    on_lost: OnLost = "error"

    @property
    def argument(self) -> str:
        """As an argument of the command."""
        return json.dumps(asdict(self))


def _app(settings: Settings) -> Any:
    asked: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        settings.postgres, kwargs=asked, min_size=1, max_size=8, open=False, timeout=5.0
    )
    graph = build(AsyncPostgresSaver(pool), settings.journal)
    agents = {
        "queued": Agent(graph, intake=Intake(busy="queue", on_lost=settings.on_lost)),
        "strict": Agent(graph, intake=Intake(busy="reject", on_lost=settings.on_lost)),
    }
    shared = RUN_DATABASES[settings.database]
    store = shared.store_at(settings.address, lease=settings.lease, timeout=settings.lease / 4)
    app = agui_app(agents, store=store, grace=1.0, drain=3.0, limits=Limits(runs=1_000, readers=500))
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with pool, inner(app) as state:
            yield state

    async def pid(request: Request) -> JSONResponse:
        return JSONResponse(os.getpid())

    app.router.lifespan_context = lifespan
    app.router.routes.insert(0, Route("/pid", pid))
    return app


def _beat(journal: str) -> None:
    while True:
        write_to(journal, {"pid": os.getpid(), "is": "alive"})
        select.select([], [], [], 0.5)


async def _serve(settings: Settings) -> None:
    config = uvicorn.Config(_app(settings), host="127.0.0.1", port=settings.port, log_level="info", access_log=False)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    given = Settings(**json.loads(sys.argv[1]))
    threading.Thread(target=_beat, args=(given.journal,), daemon=True).start()
    asyncio.run(_serve(given))
