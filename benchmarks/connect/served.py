"""The process that `serving` measures: `python -m benchmarks.connect.served PORT`. Never what is measured of it.

POST /answering           an agent, as `agui_app` serves it
POST /answering-N         the same with N tokens, for each N of `SIZES`
POST /quiet               another, whose run starts and then emits nothing
POST /bare                the events of one such answer, sent by a bare Starlette stream
POST /alone, /alone-N     the same, an event for each part of the graph's stream: the graph runs, nothing is translated
GET  /spent               `?what=cpu`: CPU seconds of the process; `?what=memory`: bytes, after a collection of garbage

The garbage collector is set up as `serve` does it, and that for all of these.
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
from langgraph_agui.connect.cli.serving.collector import set_up_collector
from langgraph_agui.connect.serve import agui_routes
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..graphs import ASKED, answering, bare, config

TOKENS = 100
SIZES = (20, 200)
"""Tokens of the answers of which the cost of a run and the cost of an event are told apart."""
_EVENTS = {"content-type": "text/event-stream"}


def input_of(thread_id: str) -> dict[str, Any]:
    """What a client posts."""
    given = {"threadId": thread_id, "runId": "run", "protocolVersion": "1.0", "messages": ASKED["messages"]}
    return {**given, "state": {}, "tools": [], "context": [], "forwardedProps": {}}


async def app() -> Starlette:
    """All that is measured, in one app."""
    graphs = {"": answering(TOKENS), **{f"-{tokens}": answering(tokens) for tokens in SIZES}}
    given = RunAgentInput.model_validate(input_of("recorded"))
    frames = {suffix: await _frames(graph, given) for suffix, graph in graphs.items()}

    async def sent(request: Request) -> Response:
        await request.body()
        return StreamingResponse(_one_by_one(frames[""]), headers=_EVENTS)

    async def alone(request: Request) -> Response:
        await request.body()
        suffix = request.url.path.removeprefix("/alone")
        return StreamingResponse(_by_parts(graphs[suffix], frames[suffix]), headers=_EVENTS)

    own = [Route("/bare", sent, methods=["POST"]), Route("/spent", _spent)]
    own += [Route(f"/alone{suffix}", alone, methods=["POST"]) for suffix in graphs]
    agents = {f"answering{suffix}": graph for suffix, graph in graphs.items()}
    served = agui_routes({**agents, "quiet": _quiet()}, path="")
    return Starlette(routes=[*own, *served], lifespan=served.lifespan)


async def _frames(graph: Any, given: RunAgentInput) -> list[bytes]:
    """The frames of an answer, one for each event."""
    body = b"".join([batch async for batch in run_sse(graph, given)])
    return [frame + b"\n\n" for frame in body.split(b"\n\n")[:-1]]


async def _one_by_one(frames: list[bytes]) -> AsyncIterator[bytes]:
    for frame in frames:
        await asyncio.sleep(0)  # as what comes from a model: each stream has its turn
        yield frame


async def _by_parts(graph: Any, frames: list[bytes]) -> AsyncIterator[bytes]:
    left = iter(frames)
    async for _ in bare(graph, ASKED, config()):
        yield next(left, b"")
    for frame in left:
        yield frame


def _quiet() -> Any:
    async def wait(state: MessagesState) -> None:
        await asyncio.Event().wait()

    return StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").compile()


async def _spent(request: Request) -> Response:
    if request.query_params["what"] == "cpu":
        return JSONResponse(process_time())
    gc.collect()
    return JSONResponse(_resident())


def _resident() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


async def _serve(port: int) -> None:
    settings: dict[str, Any] = {"log_level": "error", "http": "h11", "lifespan": "on", "timeout_graceful_shutdown": 5}
    served = await app()
    set_up_collector()
    await uvicorn.Server(uvicorn.Config(served, port=port, backlog=4096, **settings)).serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
