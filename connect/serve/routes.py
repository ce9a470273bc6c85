"""All routes of a set of agents, and the lifespan that stops their runs: `agui_routes`, for a Starlette app. A protocol
is one line here: in `PROTOCOLS`.

`agui_app` and `add_agui_routes` are made of this. Never here: what a route does with a request.
"""

from __future__ import annotations

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
from .inspector import pages as inspector_pages
from .limits import Limits
from .protocol import Protocol
from .readiness import pages as health_pages
from .requests.token import token_of
from .requests.users import Authenticate, Authorize, Users
from .routing import routes
from .service import Service
from .streams.shutdown import Closing
from .streams.signals import end_at_signals
from .websocket import WebSockets

PROTOCOLS: tuple[Protocol, ...] = (copilotkit, agui)
"""What is spoken over HTTP. Of endpoints with the same method and path the first whose request it is answers it; the
paths of plain AG-UI come last, since an agent's name may be anything."""

_ENTER_LIFESPAN = (
    "write Starlette(routes=routes, lifespan=routes.lifespan), or in the app's own lifespan: "
    "async with routes.lifespan(app): yield"
)
_log = logging.getLogger(__name__)


class AguiRoutes(list[BaseRoute]):
    """Routes, and what the app that has them owes them: `lifespan`. Made by `agui_routes` and `add_agui_routes`.
    `closing` ends what is open of them: await `closing.aclose()` when a server begins to stop without a signal."""

    def __init__(self, made: Iterable[BaseRoute], service: Service, store: RunStore | None, *, signals: bool) -> None:
        super().__init__(made)
        self.service = service
        self.closing = service.closing
        self._store = store
        self._signals = signals

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """The lifespan of these routes, `app` being the app that has them. At a signal, or at its end, streams end
        within `grace` seconds; then runs whose store other processes share have `drain` seconds to end by themselves;
        then runs and queued inputs of this process are cancelled, and the store that was given is closed. Enter it
        inside what the graphs need (a checkpointer's connections), so that runs stop before that is closed. It may be
        entered again. While it lasts, `start`, `connect`, `watch`, `cancel`, `thread` and `threads` use the runs of
        these routes for their graphs.

        Raises `RuntimeError` where `WEB_CONCURRENCY` asks for several processes and runs are known in this one alone.
        """
        service = self.service
        if not all(source.outlives_server for source in service.locals):
            _check_one_process()
        closing = self.closing
        closing.reopen()
        service.has_lifespan = True
        signals = end_at_signals(closing) if self._signals else nullcontext()
        served = [source.served() for source in service.locals]
        with signals, quiet_accepting(), serving(served):
            try:
                await service.prepare()
                await service.hold_threads()
                yield
            finally:
                await closing.aclose()
                await closing.drained(source.ended() for source in service.locals if source.outlives_server)
                await closing.stopped(self._stop_runs())
                # Here and not later: a server may end the process right after its lifespan.
                if self._store is not None and not await closing.stopped(self._store.aclose()):
                    _log.error("The run store did not close in time: other processes may take the last runs for lost.")

    async def _stop_runs(self) -> None:
        for source in self.service.locals:
            await source.stop()
        await self.service.release_threads()


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
    """The routes of agents, for a Starlette app that has other routes too. For FastAPI see `add_agui_routes`.

        routes = agui_routes({"planner": graph}, authorize=may_use)
        app = Starlette(routes=[*my_routes, *routes], lifespan=routes.lifespan)

    Starlette gives routes no lifespan of their own, so the app's has to be `routes.lifespan`, or has to enter it:
    `async with routes.lifespan(app): yield`. Without it runs are not stopped before the process ends. Middleware, CORS
    and allowed hosts are the app's.

    `path`: what all URLs begin with, such as `/agents` (`POST /agents/planner`); `""`: nothing, and then all other
    routes of the app have to come first. `origins`: the pages' origins that may open a WebSocket, beside the app's own
    (`"*"`: any); CORS does not cover these. The rest is as for `agui_app`.

    `websocket`: whether there are WebSockets; None: if there is `authenticate`, which decides on them too. A WebSocket
    is not an HTTP request: middleware that reads requests only (`@app.middleware("http")`, `BaseHTTPMiddleware`) never
    sees it. True is for an app whose users are known by `authenticate`, or by middleware that sees WebSockets too, such
    as Starlette's `AuthenticationMiddleware`.

    Raises `TypeError` and `ValueError` for what can't be served.
    """
    if path and (not path.startswith("/") or path.endswith("/")):
        raise ValueError(f"path: expected a path such as '/agents', or '', got {path!r}")
    if heartbeat is not None and not heartbeat > 0:
        raise ValueError(f"heartbeat: expected more than 0 seconds, got {heartbeat!r}")
    for name, given in (("grace", grace), ("drain", drain)):
        if not given >= 0:
            raise ValueError(f"{name}: expected 0 seconds or more, got {given!r}")
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
    pages = {**(inspector_pages() if inspector else {}), **health_pages(service.readiness)}
    below = routes(service, (each for protocol in PROTOCOLS for each in protocol(service.names)), pages)
    service.enter_lifespan = _ENTER_LIFESPAN
    service.has_sockets = authenticate is not None if websocket is None else websocket
    sockets = WebSockets(service, origins).routes() if service.has_sockets else ()
    found: list[BaseRoute] = [WebSocketRoute(path + each.path, each.endpoint) for each in sockets]
    found += [Route(each, route.endpoint) for route in below for each in _paths(path, route)]
    return AguiRoutes(found, service, store, signals=signals)


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
