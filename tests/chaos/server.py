"""One server process of the run: `python -m tests.chaos.server SETTINGS`, with the JSON of `Settings`.

Its graph has three steps: a model streams what it thinks, some work is done, a model streams an answer. The text of the
message says how: `words 20` is the length, `block 6` blocks the event loop for so many seconds in the second step.
Each step writes a line to the journal when it begins and when it ends: who runs what, and when. So does a thread, twice
a second: a process that writes nothing got no time from the machine, as if it was frozen.
"""

import asyncio
import json
import os
import re
import select
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import uvicorn
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text
from langgraph_agui.connect.testing.scripts import Script
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.support.servers.databases.run_databases import RUN_DATABASES

STEPS = ("think", "work", "answer")
_NUMBERS = re.compile(r"(words|block) (\d+)")


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


class _Model(ScriptedChatModel):
    """A model that streams as many words as it is asked for."""

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        return list(text(" ".join(f"w{number}" for number in range(_asked(messages).get("words", 10)))))


def _asked(messages: Sequence[BaseMessage]) -> dict[str, int]:
    last = next(message for message in reversed(messages) if message.type == "human")
    return {name: int(number) for name, number in _NUMBERS.findall(str(last.content))}


def build(saver: AsyncPostgresSaver, journal: str) -> Any:
    """The graph."""
    model = _Model(turns=["-"], delay=0.02)

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def work(state: MessagesState) -> dict[str, Any]:
        if seconds := _asked(state["messages"]).get("block"):
            select.select([], [], [], seconds)  # blocks the event loop; time.sleep fails where the clock is shifted
        return {}

    graph = StateGraph(MessagesState)
    before = START
    for name, step in zip(STEPS, (speak, work, speak), strict=True):
        graph.add_node(name, _journaled(name, step, journal)).add_edge(before, name)
        before = name
    return graph.compile(checkpointer=saver)


def _journaled(name: str, step: Callable[[MessagesState], Awaitable[dict[str, Any]]], journal: str) -> Any:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        ids = config["configurable"]
        who = {"thread": ids["thread_id"], "run": ids["run_id"], "step": name, "pid": os.getpid()}
        _write(journal, {**who, "is": "begun"})
        try:
            return await step(state)
        finally:
            _write(journal, {**who, "is": "over"})

    return node


def _write(journal: str, line: dict[str, Any]) -> None:
    with open(journal, "ab", buffering=0) as file:
        file.write(json.dumps({**line, "at": time.monotonic()}).encode() + b"\n")


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
        _write(journal, {"pid": os.getpid(), "is": "alive"})
        select.select([], [], [], 0.5)


async def _serve(settings: Settings) -> None:
    config = uvicorn.Config(_app(settings), host="127.0.0.1", port=settings.port, log_level="info", access_log=False)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    given = Settings(**json.loads(sys.argv[1]))
    threading.Thread(target=_beat, args=(given.journal,), daemon=True).start()
    asyncio.run(_serve(given))
