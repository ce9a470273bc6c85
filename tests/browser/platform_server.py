"""Serves the planner of a real `langgraph dev`, with the inspector:
`python -m tests.browser.platform_server PORT ORIGIN GATE`.

The agents `planner` and `planner_v3` have the same assistant, and share its threads. Runs of `planner_v3` have the mark
of those that LangChain's `useStream` starts, so that its pages show them token by token. Requests with the header
`x-stranger` are refused.

    GET  /guide/            the guide's page, which talks to the planner
    GET  /platform          the address of the LangGraph server
    POST /platform/kill     it is killed
    POST /platform/start    it is started again, on the same port and with the threads that it had
"""

import asyncio
import signal
import sys

import uvicorn
from langgraph_agui.connect import Intake, Platform, RetryPolicy
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from examples.page import BUILT
from tests.support.servers.platforms.dev_server import mortal_dev_server
from tests.support.servers.platforms.mortal_server import MortalServer

GRAPHS = {"planner": "tests.browser.served_planner:graph"}
MARKED = Intake(config={"configurable": {"__event_streaming_v2": True}})
SOON = RetryPolicy(max_delay=0.5)
"""Tests wait for less time than people who have lost a server."""


async def serve(port: int, origin: str, platform: MortalServer) -> None:
    """Serves until a signal comes."""

    async def address(_: Request) -> PlainTextResponse:
        return PlainTextResponse(platform.url)

    async def kill(_: Request) -> PlainTextResponse:
        await platform.kill()
        return PlainTextResponse("")

    async def start(_: Request) -> PlainTextResponse:
        await platform.start()
        return PlainTextResponse("")

    def authenticate(request: Request) -> str | None:
        return None if "x-stranger" in request.headers else "ada"

    client = get_client(url=platform.url)
    agents = {
        "planner": Agent(Platform(client, "planner", shares_threads_with=["planner_v3"]), retry=SOON),
        "planner_v3": Agent(Platform(client, "planner", shares_threads_with=["planner"]), intake=MARKED, retry=SOON),
    }
    agui = agui_app(agents, authenticate=authenticate, origins=[origin], inspector=True)
    routes = [
        Route("/platform", address),
        Route("/platform/kill", kill, methods=["POST"]),
        Route("/platform/start", start, methods=["POST"]),
        Mount("/guide/agui", agui),
        Mount("/guide", StaticFiles(directory=BUILT, check_dir=False)),
        Mount("/", agui),
    ]
    app = Starlette(routes=routes, lifespan=agui.router.lifespan_context)
    # Pages keep a stream open, which uvicorn would wait for.
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again at its end, and all this ends too
    with mortal_dev_server(GRAPHS, {"PLANNER_GATE": sys.argv[3]}) as found:
        asyncio.run(serve(int(sys.argv[1]), sys.argv[2], found))
