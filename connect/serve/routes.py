"""Makes the routes of a set of agents for a Starlette app, and the lifespan that stops their runs: `agui_routes`. Each
protocol is an entry in `PROTOCOLS`.

`agui_app` and `add_agui_routes` are built on this. How a route answers a request is decided in `routing`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated, Any, get_origin

from starlette.routing import BaseRoute, Route, WebSocketRoute

from ..api import HEARTBEAT
from ..local.run.runs import Runs, serving
from ..local.store.run_store import RunStore
from .agents import Agents, agents_of
from .agui import endpoints as agui
from .compatible import CompatibleWith
from .copilotkit import endpoints as copilotkit
from .files import quiet_accepting
from .history import endpoints as history
from .inspector import pages as inspector_pages
from .limits import Limits
from .npm import pages as npm_pages
from .protocol import EndpointFactory
from .readiness import pages as health_pages
from .requests.token import token_of
from .requests.users import Authenticate, Authorize, Users
from .routing import routes
from .service import Service
from .streams.shutdown import Closing
from .streams.signals import end_at_signals
from .usechat import endpoints as usechat
from .websocket import WebSockets

PROTOCOLS: tuple[EndpointFactory, ...] = (history, copilotkit, usechat, agui)
"""The protocols over HTTP. If endpoints have the same method and path, the first one that recognizes a request answers
it. The paths of plain AG-UI come last, because they begin with an agent's name, which may be almost anything."""

_ENTER_LIFESPAN = (
    "write Starlette(routes=routes, lifespan=routes.lifespan), or in the app's own lifespan: "
    "async with routes.lifespan(app): yield"
)
_log = logging.getLogger(__name__)


class AguiRoutes(list[BaseRoute]):
    """Routes, with the `lifespan` that their app has to enter. `agui_routes` and `add_agui_routes` return them.
    `closing` ends their open requests and streams: await `closing.aclose()` when a server begins to stop without a
    signal."""

    def __init__(self, routes: Iterable[BaseRoute], service: Service, store: RunStore | None, *, signals: bool) -> None:
        super().__init__(routes)
        self.service = service
        self.closing = service.closing
        self._store = store
        self._signals = signals

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """The lifespan of these routes. `app` is the app that has them. At a signal, or when the lifespan ends, streams
        end within `grace` seconds. Runs in a store that other processes share then have `drain` seconds to finish.
        After that, runs that other processes can continue are handed over (`Intake.on_lost`), the other runs and the
        queued inputs of this process are cancelled, and the store that was given is closed.
        Enter the lifespan inside the resources that the graphs need (a checkpointer's connections), so that runs stop
        before those are closed. It may be entered again. While it lasts, `start`, `connect`, `watch`, `cancel`,
        `thread` and `threads` use the runs of these routes for their graphs.

        Raises `RuntimeError` if `WEB_CONCURRENCY` asks for several processes, but only this process knows its runs.
        """
        service = self.service
        if not all(source.outlives_server for source in service.locals):
            _check_one_process()
        closing = self.closing
        closing.reopen()
        service.has_lifespan = True
        signals = end_at_signals(closing) if self._signals else nullcontext()
        served = [entry for agent in service.agents.values() if (entry := agent.served()) is not None]
        for agent in served:
            if agent.continue_run is not None and not agent.runs.store.is_shared:
                _log.info(
                    "on_lost='continue' has no effect on agent %r: its run store is in memory and ends with the "
                    "process.",
                    agent.name,
                )
        with signals, quiet_accepting(), serving(served) as service.continue_none:
            try:
                await service.prepare()
                yield
            finally:
                await closing.aclose()
                await closing.drained(
                    source.runs.ended(source.agent_key) for source in service.locals if source.outlives_server
                )
                await closing.stopped(self._stop_runs())
                # A server may end the process right after the lifespan, so the store is closed here.
                if self._store is not None and not await closing.stopped(self._store.aclose()):
                    _log.error("The run store did not close in time: other processes may take the last runs for lost.")

    async def _stop_runs(self) -> None:
        await asyncio.gather(*(source.runs.hand_over(source.agent_key) for source in self.service.locals))
        for source in self.service.locals:
            await source.stop()
        for source in self.service.locals:  # other processes may run on their threads now
            await source.release_threads()


def agui_routes(
    agents: Agents,
    *,
    path: str = "/agents",
    authenticate: Authenticate | None = None,
    authorize: Authorize | None = None,
    token: str | None = None,
    limits: Limits | None = None,
    heartbeat: float | None = HEARTBEAT,
    store: RunStore | None = None,
    runs: Runs | None = None,
    grace: float = 5.0,
    drain: float = 20.0,
    compatible_with: CompatibleWith | None = None,
    origins: Sequence[str] = (),
    inspector: bool = False,
    websocket: bool | None = None,
    signals: bool = True,
) -> AguiRoutes:
    """Returns the routes of agents, for a Starlette app that has other routes too. For FastAPI see `add_agui_routes`.

        routes = agui_routes({"planner": graph}, authorize=may_use)
        app = Starlette(routes=[*my_routes, *routes], lifespan=routes.lifespan)

    Routes of Starlette have no lifespan of their own, so the app's lifespan has to be `routes.lifespan`, or has to
    enter it: `async with routes.lifespan(app): yield`. Otherwise runs are not stopped before the process ends. The app
    itself has to set up middleware, CORS and allowed hosts.

    `path`: the beginning of all URLs, such as `/agents` (`POST /agents/planner`). It may be empty, but then all other
    routes of the app have to come before these. `origins`: the origins of pages that may open a WebSocket, in addition
    to the app's own (`"*"`: any). CORS does not apply to WebSockets. For the other arguments see `agui_app`.

    `websocket`: whether WebSockets are served. None: only with `authenticate`, which applies to them too. A WebSocket
    is not an HTTP request, so middleware that sees only HTTP requests (`@app.middleware("http")`, `BaseHTTPMiddleware`)
    never sees it. Pass True in an app that determines its users with `authenticate`, or with middleware that sees
    WebSockets too, such as Starlette's `AuthenticationMiddleware`.

    Raises `TypeError` and `ValueError` for agents and arguments that can't be served.
    """
    if path and (not path.startswith("/") or path.endswith("/")):
        raise ValueError(f"path: expected a path such as '/agents', or '', got {path!r}")
    if heartbeat is not None and not heartbeat > 0:
        raise ValueError(f"heartbeat: expected more than 0 seconds, got {heartbeat!r}")
    for name, seconds in (("grace", grace), ("drain", drain)):
        if not seconds >= 0:
            raise ValueError(f"{name}: expected 0 seconds or more, got {seconds!r}")
    for name, hook in (("authenticate", authenticate), ("authorize", authorize)):
        if hook is not None and (not callable(hook) or get_origin(hook) is Annotated):
            raise TypeError(
                f"{name}: expected a function, got {hook!r}; add_agui_routes() of a FastAPI app takes Depends(...) as "
                "authenticate"
            )
    if authorize is not None and token is not None:
        raise ValueError(
            "token: expected no token together with authorize, which alone decides who may list, change and delete"
        )
    users = Users(authenticate, authorize, token_of(token) if authorize is None else None)
    if store is not None and runs is not None:
        raise ValueError("store: expected no store together with runs, which have one: Runs(store)")
    made = agents_of(agents, compatible_with, Runs(store) if runs is None and store is not None else runs)
    service = Service(made, users, limits or Limits(), heartbeat, Closing(grace, drain))
    pages = {**(inspector_pages() if inspector else {}), **health_pages(service.readiness), **npm_pages()}
    below = routes(service, (endpoint for protocol in PROTOCOLS for endpoint in protocol(service.names)), pages)
    service.enter_lifespan = _ENTER_LIFESPAN
    service.has_sockets = authenticate is not None if websocket is None else websocket
    sockets = WebSockets(service, origins).routes() if service.has_sockets else ()
    prefixed: list[BaseRoute] = [WebSocketRoute(path + socket.path, socket.endpoint) for socket in sockets]
    prefixed += [Route(route_path, route.endpoint) for route in below for route_path in _paths(path, route)]
    return AguiRoutes(prefixed, service, store, signals=signals)


def _check_one_process() -> None:
    """Raises `RuntimeError` if the server is to start several processes. They would not know each other's runs: another
    process would answer a reload or a stop as if nothing ran, and two could run on one thread at once."""
    processes = os.environ.get("WEB_CONCURRENCY", "")
    if processes.isdecimal() and int(processes) > 1:
        raise RuntimeError(
            f"WEB_CONCURRENCY={processes} asks for several processes, and runs of graphs are known only in the process "
            "that started them. Set WEB_CONCURRENCY=1, give the app a run store that the processes share (store=), or "
            "run the graphs on a LangGraph server and serve Platform(client) here."
        )


def _paths(path: str, route: Route) -> list[str]:
    """Returns the paths of a route below `path`. The root is served with and without a slash at its end."""
    return [path, f"{path}/"] if path and route.path == "/" else [path + route.path]
