"""Apps with the gated graphs, as a process serves them: `app`, and `mounted`, in which it is a part, and `embedded`,
which has its routes.

Nothing but a server imports this module. The variable `GRACE` is their `grace`, 1 second without it.

A run is held at the gates that its request names: the header `x-gate` has their port.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, add_agui_routes, agui_app
from starlette.requests import Request

from fixtures.gated import GATED


def _intake(request: Request) -> Intake:
    port = request.headers.get("x-gate")
    config: Any = {"configurable": {"gate": {"port": int(port), "run": ""}}} if port else {}
    return Intake(config=config)


def _agents() -> dict[str, Agent]:
    return {name: Agent(source=build(InMemorySaver()), intake=_intake) for name, build in GATED.items()}


_GRACE = float(os.environ.get("GRACE", "1"))

app = agui_app(_agents(), grace=_GRACE)

_inner = agui_app(_agents(), grace=_GRACE)


@asynccontextmanager
async def _lifespan(outer: FastAPI) -> AsyncIterator[None]:
    """Of a mounted app no server runs the lifespan."""
    async with _inner.router.lifespan_context(_inner):
        yield


mounted = FastAPI(lifespan=_lifespan)
mounted.mount("/agui", _inner)


embedded = FastAPI()
add_agui_routes(embedded, _agents(), "/agui", grace=_GRACE)


@embedded.get("/health")
@mounted.get("/health")
async def health() -> str:
    """The outer app's own."""
    return "ok"
