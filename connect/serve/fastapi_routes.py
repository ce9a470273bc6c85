"""Adds the routes of agents to a FastAPI app: `add_agui_routes`. How a route answers a request is decided in `routing`.

FastAPI is imported only for types, and in functions that are called with a FastAPI app.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, Final, get_origin

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import WebSocketRoute

from ..api import HEARTBEAT
from ..local.run.runs import Runs
from ..local.store.run_store import RunStore
from .agents import Agents
from .compatible import CompatibleWith
from .limits import Limits
from .requests.users import Authenticate, Authorize, user_of
from .routes import AguiRoutes, agui_routes
from .routing import Handler, MethodRouter

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI
    from fastapi.params import Depends

_PARAMETER: Final = re.compile(r"{(\w+)(?::\w+)?}")
_ENTER_LIFESPAN: Final = (
    "where the routes are added in a lifespan, write there: async with add_agui_routes(app, ...).lifespan(app): yield; "
    "where the app is mounted, write in the lifespan of the outer app: "
    "async with mounted.router.lifespan_context(mounted): yield"
)
_TAGS: Final[list[str | Enum]] = ["AG-UI"]
_USER_PARAMETER: Final = "found_user"
_USER: Final = "langgraph_agui.user"
"""The key in a request's scope for the user that a dependency returned."""

_log = logging.getLogger(__name__)


def add_agui_routes(
    app: FastAPI | APIRouter,
    agents: Agents,
    path: str = "/agents",
    *,
    dependencies: Sequence[Depends] = (),
    authenticate: Authenticate | Depends | None = None,
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
    """Adds the routes of agents to a FastAPI app, or to a router that it includes afterwards.

        app = FastAPI()
        add_agui_routes(app, {"planner": graph}, authenticate=Depends(current_user))

    `authenticate`: returns the user of a request. It is a function, as for `agui_app`, or a dependency that returns the
    user, `Depends(current_user)` or `Annotated[User, Depends(current_user)]`. `dependencies`: run for each request
    before its body is read, and may refuse it by raising `HTTPException`. If one of them sets `request.state.user`,
    `authorize` receives that as the user. It does not receive their return values, because such a value may be an API
    key. `/health`, `/ready` and the files of the inspector require neither, so that a load balancer can request them
    and a browser can load the page.

    `websocket`: whether WebSockets are served. None: only with `authenticate`, which applies to them too. The handshake
    of a socket passes all dependencies that the app's requests pass: these, those of the router and the app, and those
    of `include_router`. Middleware for HTTP (`@app.middleware("http")`) never sees a socket. If such middleware decides
    who may use the app, do not pass True, or turn the middleware into a dependency. For the other arguments see
    `agui_routes`.

    The lifespan of the routes is entered inside the app's own, so runs are stopped before the app closes the resources
    that they use. If the app's lifespan has already begun, that is too late: enter the `lifespan` of the returned
    routes in the app's lifespan, with `async with add_agui_routes(app, ...).lifespan(app): yield`.

    Raises `TypeError` for an app that is not a FastAPI app, and for a dependency that is written without `Depends`, and
    also what `agui_routes` raises.
    """
    target: Any = app
    router: APIRouter = getattr(target, "router", target)
    if not hasattr(router, "add_api_route"):
        kind = type(app).__name__
        raise TypeError(
            f"app: expected a FastAPI app or an APIRouter, got {kind}; for a Starlette app use agui_routes()"
        )
    _check_dependencies(dependencies)
    user = _dependency(authenticate)
    passes = _Passes(dependencies, user, authorizes=authorize is not None)
    made = agui_routes(
        agents,
        path=path,
        authenticate=authenticate if user is None else _kept_user,  # type: ignore[arg-type]
        authorize=authorize,
        token=token,
        limits=limits,
        heartbeat=heartbeat,
        store=store,
        runs=runs,
        grace=grace,
        drain=drain,
        compatible_with=compatible_with,
        origins=origins,
        inspector=inspector,
        websocket=websocket,
        signals=signals,
    )
    for route in made:
        if isinstance(route, WebSocketRoute):
            _add_socket(router, route, passes)
        else:
            _add(router, route, passes, path)
    _enter(router, made)
    made.service.enter_lifespan = _ENTER_LIFESPAN
    return made


def _dependency(authenticate: Any) -> Parameter | None:
    """Returns the parameter for which FastAPI calls `authenticate` if it is a dependency, or None if it is a function
    that takes a request. Raises `TypeError` for a function that only FastAPI can call, because calling it with a
    request would refuse or accept every request."""
    from fastapi.params import Body, Depends, Param

    if isinstance(authenticate, Depends):
        return Parameter(_USER_PARAMETER, Parameter.KEYWORD_ONLY, annotation=Any, default=authenticate)
    if get_origin(getattr(authenticate, "__value__", authenticate)) is Annotated:
        return Parameter(_USER_PARAMETER, Parameter.KEYWORD_ONLY, annotation=authenticate)
    try:
        parameters = inspect.signature(authenticate, eval_str=True).parameters.values()
    except (TypeError, ValueError, NameError):
        return None
    marks = [
        mark
        for parameter in parameters
        for mark in (parameter.default, *getattr(parameter.annotation, "__metadata__", ()))
    ]
    if any(isinstance(mark, Depends | Param | Body) for mark in marks):
        name = getattr(authenticate, "__name__", type(authenticate).__name__)
        raise TypeError(
            f"authenticate: {name} has parameters that FastAPI fills in, so write authenticate=Depends({name})"
        )
    return None


def _check_dependencies(dependencies: Sequence[Any]) -> None:
    """Raises `TypeError` for a dependency without `Depends`. FastAPI would take it for a query parameter, and never
    call it."""
    from fastapi.params import Depends

    for dependency in dependencies:
        if not isinstance(dependency, Depends):
            name = getattr(dependency, "__name__", None)
            written = f"Depends({name})" if name else "Depends(...)"
            kind = name or type(dependency).__name__
            raise TypeError(f"dependencies: expected {written}, got {kind} without Depends")


class _Passes:
    """The dependencies that a request passes before its body is read. `dependencies`: those that may refuse it. `user`:
    the parameter for the dependency that returns the user, or None if the user is found by `user_of`. `authorizes`:
    whether the app has `authorize`."""

    def __init__(self, dependencies: Sequence[Depends], user: Parameter | None, *, authorizes: bool) -> None:
        self._dependencies = {f"passed_{number}": dependency for number, dependency in enumerate(dependencies)}
        self._user = user
        self._authorizes = authorizes

    def endpoint(
        self, answer: Handler, path: str, query: Mapping[str, Any] | None = None, *, is_open: bool = False
    ) -> Handler:
        """Returns the function that FastAPI calls for a request, with the values of all dependencies. `answer` makes
        the response. `path`: the path of the route with the prefix of its router, whose parameters are declared to
        FastAPI.
        `query`: the schemas of the query parameters, by name. They are declared for the documentation only, under names
        that no dependency has, and `answer` reads them.
        `is_open`: whether the request passes no dependencies."""

        async def endpoint(request: Request, **values: Any) -> Response:
            if self._user is not None and not is_open:
                request.scope[_USER] = values[_USER_PARAMETER]
            elif self._authorizes and user_of(request) is None:
                self._warn_of_users(values)
            return await answer(request)

        from fastapi import Query

        passed: dict[str, Any] = {} if is_open else dict(self._dependencies)
        parameters = [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)]
        parameters += [Parameter(name, Parameter.KEYWORD_ONLY, annotation=str) for name in _PARAMETER.findall(path)]
        for name, schema in (query or {}).items():
            passed[f"query_{name}"] = Query(None, alias=name, json_schema_extra=schema)
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=Any, default=default) for name, default in passed.items()
        ]
        if self._user is not None and not is_open:
            parameters.append(self._user)
        endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return endpoint

    def _warn_of_users(self, values: Mapping[str, Any]) -> None:
        """Warns once about a dependency whose value may be meant as the user. The value is not used as the user,
        because it may just as well be an API key."""
        for name, dependency in self._dependencies.items():
            if (value := values.get(name)) is not None:
                written = getattr(dependency.dependency, "__name__", type(dependency.dependency).__name__)
                _log.warning(
                    "The dependency %s returned a %s, and authorize gets no user: if it is the user, write "
                    "authenticate=Depends(%s), or keep it as request.state.user.",
                    written,
                    type(value).__name__,
                    written,
                )
                self._authorizes = False
                return


def _kept_user(request: Request) -> Any:
    """Returns the user that a dependency returned."""
    return request.scope.get(_USER)


def _add(router: APIRouter, route: Any, passes: _Passes, path: str) -> None:
    """Adds one path, as a FastAPI route for each method. The schema contains the path once, and no files of pages."""
    from .openapi import described, query_of

    endpoint: MethodRouter = route.endpoint
    for method in endpoint.methods:
        summary, below = endpoint.summary(method), route.path.removeprefix(path) or "/"
        router.add_api_route(
            route.path,
            passes.endpoint(
                endpoint.answer,
                router.prefix + route.path,
                query_of(method, below),
                is_open=method in endpoint.is_open,
            ),
            methods=[method],
            response_model=None,
            include_in_schema=method != "HEAD" and not route.path.endswith("/") and summary != "",
            response_class=Response,
            name=_name(router, method, route.path),
            summary=summary,
            description=f"{summary}.",  # otherwise FastAPI takes the docstring of `endpoint`
            tags=_TAGS,
            **described(method, below),
        )


def _add_socket(router: APIRouter, route: WebSocketRoute, passes: _Passes) -> None:
    """Adds the path of a WebSocket, whose handshake passes the same dependencies as the app's requests."""
    from .fastapi_sockets import AcceptedHandshake, SocketRoute

    serve = route.endpoint

    async def accept(request: Request) -> Response:
        return AcceptedHandshake(request, serve)

    router.add_api_route(
        route.path,
        passes.endpoint(accept, route.path),
        response_model=None,
        include_in_schema=False,
        name=_name(router, "ws", route.path),
        tags=_TAGS,
        route_class_override=SocketRoute.based_on(router.route_class),
    )


def _name(router: APIRouter, method: str, path: str) -> str:
    """Returns a unique name for a route, because an app may make its operation ids from names and tags
    (https://fastapi.tiangolo.com/advanced/generate-clients/)."""
    return method.lower() + re.sub(r"\W", "_", f"{router.prefix}{path}".replace(":path}", "}"))


def _enter(router: APIRouter, made: AguiRoutes) -> None:
    outer = router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, made.lifespan(app):
            yield state

    router.lifespan_context = lifespan
