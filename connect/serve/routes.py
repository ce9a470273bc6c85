"""All routes of a set of agents, and the lifespan that stops their runs: `agui_routes`, for a Starlette app.

`agui_app` and `add_agui_routes` are made of this. Never here: what a route does with a request.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from ..api import HEARTBEAT
from ..local.run.runs import Runs
from ..local.store.run_store import RunStore
from .agent_routes import AgentRoutes
from .agents import Agents, agents_of
from .compatible import CompatibleWith
from .copilotkit.routes import CopilotKit, is_envelope
from .errors import Refusal
from .inspector import file_routes, page_endpoint
from .limits import Limits
from .requests.body import read
from .requests.users import Authenticate, Authorize, Users
from .routing import routes
from .service import Service
from .streams.shutdown import Closing
from .threads import ThreadRoutes
from .websocket import WebSockets


class AguiRoutes(list[BaseRoute]):
    """Routes, and what the app that has them owes them: `lifespan`. Made by `agui_routes` and `add_agui_routes`."""

    def __init__(self, made: Iterable[BaseRoute], service: Service, store: RunStore | None) -> None:
        super().__init__(made)
        self.service = service
        self._store = store

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """The lifespan of these routes, `app` being the app that has them: at its end streams end within `grace`
        seconds; then runs whose store other processes share have `drain` seconds to end by themselves; then runs and
        queued inputs of this process are cancelled, and the store that was given is closed. Enter it inside what the
        graphs need (a checkpointer's connections), so that runs stop before that is closed. It may be entered again.

        Raises `RuntimeError` where `WEB_CONCURRENCY` asks for several processes and runs are known in this one alone.
        """
        service = self.service
        if not all(source.outlives_server for source in service.locals):
            _check_one_process()
        service.closing.reopen()
        try:
            yield
        finally:
            await service.closing.aclose()
            await service.closing.drained(source.ended() for source in service.locals if source.outlives_server)
            for source in service.locals:
                await source.stop()
            if self._store is not None:  # a server may end the process right after this
                await self._store.aclose()


def agui_routes(
    agents: Agents,
    *,
    path: str = "/agents",
    authenticate: Authenticate | None = None,
    authorize: Authorize | None = None,
    limits: Limits | None = None,
    heartbeat: float | None = HEARTBEAT,
    store: RunStore | None = None,
    grace: float = 5.0,
    drain: float = 20.0,
    compatible_with: CompatibleWith | None = None,
    origins: Sequence[str] = (),
    inspector: bool = False,
) -> AguiRoutes:
    """The routes of agents, for a Starlette app that has other routes too. For FastAPI see `add_agui_routes`.

        routes = agui_routes({"planner": graph}, authorize=may_use)
        app = Starlette(routes=[*my_routes, *routes], lifespan=routes.lifespan)

    Starlette gives routes no lifespan of their own, so the app's has to be `routes.lifespan`, or has to enter it:
    `async with routes.lifespan(app): yield`. Without it runs are not stopped before the process ends. Middleware, CORS
    and allowed hosts are the app's.

    `path`: what all URLs begin with, such as `/agents` (`POST /agents/planner`); `""`: nothing, and then all other
    routes of the app have to come first. `origins`: the pages' origins that may open a WebSocket, beside the app's own
    (`"*"`: any); CORS does not cover these. The rest is as for `agui_app`.

    Raises `TypeError` and `ValueError` for what can't be served.
    """
    if path and (not path.startswith("/") or path.endswith("/")):
        raise ValueError(f"path: expected a path such as '/agents', or '', got {path!r}")
    if heartbeat is not None and not heartbeat > 0:
        raise ValueError(f"heartbeat: expected more than 0 seconds, got {heartbeat!r}")
    for name, given in (("grace", grace), ("drain", drain)):
        if not given >= 0:
            raise ValueError(f"{name}: expected 0 seconds or more, got {given!r}")
    made = agents_of(agents, compatible_with, None if store is None else Runs(store))
    service = Service(made, Users(authenticate, authorize), limits or Limits(), heartbeat, Closing(grace, drain))
    below = [
        *(file_routes(service) if inspector else ()),
        *_root(service, inspector=inspector),
        *CopilotKit(service).routes(),
        *ThreadRoutes(service).routes(),
        *AgentRoutes(service).routes(),
    ]
    found: list[BaseRoute] = [
        WebSocketRoute(path + each.path, each.endpoint) for each in WebSockets(service, origins).routes()
    ]
    found += [Route(each, route.endpoint) for route in below for each in _paths(path, route)]
    return AguiRoutes(found, service, store)


def _check_one_process() -> None:
    """Processes do not know each other's runs: another one would answer a reload or a stop as if nothing ran, and two
    could run on one thread at once."""
    wanted = os.environ.get("WEB_CONCURRENCY", "")
    if wanted.isdecimal() and int(wanted) > 1:
        raise RuntimeError(
            f"WEB_CONCURRENCY={wanted} asks for several processes, and runs of graphs are known only in the process "
            "that started them. Set WEB_CONCURRENCY=1, give the app a run store that the processes share (store=), or "
            "run the graphs on a LangGraph server and serve Platform(client) here."
        )


def _paths(path: str, route: Route) -> list[str]:
    """The root is found with and without a slash at its end too."""
    return [path, f"{path}/"] if path and route.path == "/" else [path + route.path]


def _root(service: Service, *, inspector: bool) -> list[Route]:
    """The root takes CopilotKit's envelopes, and the inputs of a single agent; a browser gets the inspector."""
    copilotkit, agent_routes = CopilotKit(service), AgentRoutes(service)

    async def root(request: Request) -> Response:
        """Run the only agent, or do what CopilotKit's envelope requests."""
        found = await read(request, service.bodies)
        if is_envelope(found):
            return await copilotkit.opened(request, found)
        if service.only is None:
            message = f"There are several agents: POST to one of them.{service.names()}"
            raise Refusal(HTTPStatus.NOT_FOUND, "agent_expected", message)
        return await agent_routes.run(request, service.only, found)

    if inspector:
        return routes(service, "/", is_open=("GET",), GET=page_endpoint(), POST=root)
    return routes(service, "/", POST=root)
