"""The routes of agents in a FastAPI app: `add_agui_routes`. Never here: what a route does with a request.

The app that is given adds them, so FastAPI itself is not imported here, but for types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import WebSocketRoute

from ..api import HEARTBEAT
from ..local.store.run_store import RunStore
from .agents import Agents
from .compatible import CompatibleWith
from .limits import Limits
from .requests.users import Authenticate, Authorize
from .routes import AguiRoutes, agui_routes
from .routing import MethodRouter

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI
    from fastapi.params import Depends


def add_agui_routes(
    app: FastAPI | APIRouter,
    agents: Agents,
    path: str = "/agents",
    *,
    dependencies: Sequence[Depends] = (),
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
    """Adds the routes of agents to a FastAPI app, or to a router that it includes afterwards.

        app = FastAPI()
        add_agui_routes(app, {"planner": graph}, dependencies=[Depends(user)])

    `dependencies`: run for each request before its body is read, and may refuse it by raising `HTTPException`; what
    they keep as `request.state.user` is the user that `authorize` gets. `/health`, `/ready` and the files of the
    inspector have none, so that a load balancer can ask, and a browser can load the page; with dependencies there are
    no WebSockets, which have no request. The rest is as for `agui_routes`.

    The lifespan of the routes is entered inside the app's own, so runs are stopped before that closes what they use.
    In an app whose lifespan has begun that is too late: enter the `lifespan` of what is returned there, with
    `async with add_agui_routes(app, ...).lifespan(app): yield`.

    Raises `TypeError` for what is no FastAPI app or router, and as `agui_routes`.
    """
    given: Any = app
    router: APIRouter = getattr(given, "router", given)
    if not hasattr(router, "add_api_route"):
        kind = type(app).__name__
        raise TypeError(
            f"app: expected a FastAPI app or an APIRouter, got {kind}; for Starlette there is agui_routes()"
        )
    made = agui_routes(
        agents,
        path=path,
        authenticate=authenticate,
        authorize=authorize,
        limits=limits,
        heartbeat=heartbeat,
        store=store,
        grace=grace,
        drain=drain,
        compatible_with=compatible_with,
        origins=origins,
        inspector=inspector,
    )
    for route in made:
        if not isinstance(route, WebSocketRoute):
            _add(router, route, dependencies)
        elif not dependencies:  # they are written for requests
            router.add_websocket_route(route.path, route.endpoint)
    _enter(router, made)
    return made


def _add(router: APIRouter, route: Any, dependencies: Sequence[Depends]) -> None:
    """Adds one path: a route of FastAPI for each method, in its schema once; the files of a page are not in it."""
    endpoint: MethodRouter = route.endpoint
    for method in endpoint.methods:
        summary = endpoint.summary(method)
        router.add_api_route(
            route.path,
            endpoint.answer,
            methods=[method],
            dependencies=() if method in endpoint.is_open else dependencies,
            response_model=None,
            include_in_schema=method != "HEAD" and not route.path.endswith("/") and summary != "",
            response_class=Response,
            summary=summary,
            description=f"{summary}.",  # without one, FastAPI takes a docstring that is not of it
            tags=["AG-UI"],
        )


def _enter(router: APIRouter, made: AguiRoutes) -> None:
    outer = router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, made.lifespan(app):
            yield state

    router.lifespan_context = lifespan
