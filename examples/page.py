"""The guide and its page behind one address: `make example`, or `python -m examples.page` once the page is built.

    GET  /                      the page: what `npm run build:guide` made of `examples/copilotkit/guide.html`
         /agui/...              the agent, and the list of its threads, which needs the token
    POST /briefing/{thread}     a run that no page has started, as a scheduler would start one: every open page shows it

Threads are in memory, and gone when it ends. For one person, on this machine: the address that is printed has the token
in its fragment, which a browser sends to no server. The page takes it from there (`examples/copilotkit/src/page.ts`).
"""

import argparse
import asyncio
import os
import secrets
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Intake, Local, RunConflictError, options_for, start, thread
from langgraph_agui.connect.serve import Agent, agui_routes
from langgraph_agui.translator import Options
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from .guide import city_guide
from .guide_script import PACE, Rest

BUILT = Path(__file__).parent / "copilotkit" / "dist-guide"
HOST, PORT = "127.0.0.1", 8000
NAME = "default"
BRIEFING = "What is new today?"


def page_app(rest: Rest = PACE, built: Path = BUILT, token: str | None = None) -> Starlette:
    """The app. `rest`: the guide's pace. `built`: the folder of the built page. `token`: what the list of threads
    needs; None: AGUI_TOKEN of the environment.

    Raises `RuntimeError` where the page is not built."""
    graph = city_guide(rest).copy({"checkpointer": InMemorySaver(), "store": InMemoryStore()})
    options = options_for(graph, plan="todos", error_detail="code")
    agent = Agent(Local(graph, agent=NAME), intake=Intake(state={"stops", "budget"}), options=options)
    agui = agui_routes({NAME: agent}, path="/agui", token=token, grace=2.0)
    index = built / "guide.html"
    if not index.exists():
        raise RuntimeError(f"the page is not built: {index} is missing; `make example` builds it")

    async def brief(request: Request) -> JSONResponse:
        return await _brief(graph, options, request.path_params["thread"])

    async def page(_: Request) -> FileResponse:
        return FileResponse(index)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/briefing/{thread}", brief, methods=["POST"]),
            Mount("/assets", StaticFiles(directory=built / "assets")),
            *agui,
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["localhost", HOST])],
        lifespan=agui.lifespan,
    )


async def _brief(graph: CompiledStateGraph[Any, Any, Any, Any], options: Options, thread_id: str) -> JSONResponse:
    """Starts the run that a scheduler would start; not while the thread waits for a person's answer."""
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    state = await thread(Local(graph, agent=NAME), thread_id)
    if state is not None and state.status == "waiting":
        return JSONResponse({"error": "waiting"}, status_code=409)
    question = HumanMessage(BRIEFING, name="schedule")
    try:
        run = await start(graph, {"messages": [question]}, config, agent=NAME, options=options)
    except RunConflictError:
        return JSONResponse({"error": "busy"}, status_code=409)
    return JSONResponse({"runId": run.run_id}, status_code=202)


class _Server(uvicorn.Server):
    """Prints the address when it answers."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Open {self._url} (and once more, in a second tab). Ctrl-C ends it.", flush=True)


def _bound(port: int) -> socket.socket:
    """A socket on this port, or on any free one where it is taken."""
    for each in (port, 0):
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, each))
        except OSError:
            bound.close()
        else:
            return bound
    raise RuntimeError(f"{HOST} has no free port")


def main() -> None:
    """Serves until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m examples.page", description="Serves the guide and its page.")
    parser.add_argument("--port", type=int, default=PORT, help="any other, if it is in use (default: %(default)s)")
    parser.add_argument("--page", type=Path, default=BUILT, metavar="FOLDER", help="the built page")
    choices = parser.parse_args()
    token = os.environ.get("AGUI_TOKEN") or secrets.token_urlsafe()
    app = page_app(built=choices.page, token=token)
    with closing(_bound(choices.port)) as bound, suppress(KeyboardInterrupt):
        url = f"http://{HOST}:{bound.getsockname()[1]}/#token={quote(token, safe='')}"
        asyncio.run(_Server(uvicorn.Config(app, log_level="warning"), url).serve([bound]))


if __name__ == "__main__":
    main()
