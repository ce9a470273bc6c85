"""The process that `serving` measures: `python -m benchmarks.served PORT`. Never what is measured of it.

POST /answering           an agent of ours, as `agui_app` serves it
POST /quiet               another, whose run says a word and then nothing
POST /bare                the pieces of one such answer as they were told once, by a bare Starlette stream
POST /alone               the same, a piece for each part of the graph's stream: the graph runs, nothing is translated
GET  /spent               CPU seconds and bytes of memory of the process
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import process_time
from typing import Any

import uvicorn
from ag_ui.core import RunAgentInput
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import run_sse
from langgraph_agui.connect.serve import agui_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from .graphs import ASKED, answering, bare, config

TOKENS = 100
_EVENTS = {"content-type": "text/event-stream"}


def input_of(thread_id: str) -> dict[str, Any]:
    """What a client posts."""
    said = {"threadId": thread_id, "runId": "run", "protocolVersion": "1.0", "messages": ASKED["messages"]}
    return {**said, "state": {}, "tools": [], "context": [], "forwardedProps": {}}


async def app() -> Starlette:
    """All that is measured, in one app."""
    graph = answering(TOKENS)
    given = RunAgentInput.model_validate(input_of("recorded"))
    pieces = [piece async for piece in run_sse(graph, given)]

    async def told(request: Request) -> Response:
        await request.body()
        return StreamingResponse(_one_by_one(pieces), headers=_EVENTS)

    async def alone(request: Request) -> Response:
        await request.body()
        return StreamingResponse(_by_parts(graph, pieces), headers=_EVENTS)

    own = [Route("/bare", told, methods=["POST"]), Route("/alone", alone, methods=["POST"]), Route("/spent", _spent)]
    return Starlette(routes=[*own, Mount("/", agui_app({"answering": graph, "quiet": _quiet()}))])


async def _one_by_one(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)  # as what comes from a model: the streams are told in turn
        yield piece


async def _by_parts(graph: Any, pieces: list[bytes]) -> AsyncIterator[bytes]:
    left = iter(pieces)
    async for _ in bare(graph, ASKED, config()):
        yield next(left, b"")
    for piece in left:
        yield piece


def _quiet() -> Any:
    async def wait(state: MessagesState) -> None:
        await asyncio.Event().wait()

    return StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").compile()


async def _spent(request: Request) -> Response:
    gc.collect()
    return JSONResponse({"cpu": process_time(), "memory": _resident()})


def _resident() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


async def _serve(port: int) -> None:
    settings: dict[str, Any] = {"log_level": "error", "http": "h11", "lifespan": "on", "timeout_graceful_shutdown": 5}
    await uvicorn.Server(uvicorn.Config(await app(), port=port, backlog=4096, **settings)).serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
