"""Apps of FastAPI and Starlette that are protected in one of the usual ways, on real servers with a real client of
WebSockets: nobody gets in by a socket whom the same app keeps out over HTTP."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import Action, add_agui_routes, agui_app, agui_routes
from starlette.applications import Starlette
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
    SimpleUser,
    requires,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.servers.serving import Served, kinds_of, posted, served
from tests.support.streams.pausing_graphs import quick

KEY = {"x-key": "ada"}


def check_request(request: Request) -> None:
    if request.headers.get("x-key") != "ada":
        raise HTTPException(401)


def check_scheme(key: Annotated[str, Depends(APIKeyHeader(name="x-key"))]) -> None:
    if key != "ada":
        raise HTTPException(401)


def check_connection(connection: HTTPConnection) -> None:
    if connection.headers.get("x-key") != "ada":
        raise HTTPException(401)


def graphs() -> dict[str, Any]:
    return {"chat": quick(InMemorySaver())}


def of_the_app(**how: Any) -> FastAPI:
    app = FastAPI(dependencies=[Depends(check_request)])
    add_agui_routes(app, graphs(), **how)
    return app


def of_a_scheme(**how: Any) -> FastAPI:
    app = FastAPI(dependencies=[Depends(check_scheme)])
    add_agui_routes(app, graphs(), **how)
    return app


def of_the_routes(**how: Any) -> FastAPI:
    app = FastAPI()
    add_agui_routes(app, graphs(), dependencies=[Depends(check_connection)], **how)
    return app


def of_the_router(**how: Any) -> FastAPI:
    app, router = FastAPI(), APIRouter(dependencies=[Depends(check_request)])
    add_agui_routes(router, graphs(), **how)
    app.include_router(router)
    return app


def of_an_inclusion(**how: Any) -> FastAPI:
    app, outer, router = FastAPI(), APIRouter(), APIRouter()
    add_agui_routes(router, graphs(), **how)
    outer.include_router(router, dependencies=[Depends(check_request)])
    app.include_router(outer)
    return app


class CheckedRoute(APIRoute):
    """A router's own class of routes."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        inner = super().get_route_handler()

        async def checked(request: Request) -> Response:
            check_request(request)
            return await inner(request)

        return checked


def of_a_class_of_routes(**how: Any) -> FastAPI:
    app, router = FastAPI(), APIRouter(route_class=CheckedRoute)
    add_agui_routes(router, graphs(), **how)
    app.include_router(router)
    return app


def of_http_middleware(**how: Any) -> FastAPI:
    app = FastAPI()
    add_agui_routes(app, graphs(), **how)

    @app.middleware("http")
    async def check(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        return await call_next(request) if request.headers.get("x-key") == "ada" else JSONResponse({}, 401)

    return app


def mounted_below_http_middleware(**how: Any) -> FastAPI:
    app = FastAPI()
    app.mount("/agents", agui_app(graphs(), **how))

    @app.middleware("http")
    async def check(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        return await call_next(request) if request.headers.get("x-key") == "ada" else JSONResponse({}, 401)

    return app


class Named(SimpleUser):
    """As Starlette's own users are in older versions."""

    @property
    def identity(self) -> str:
        raise NotImplementedError


class Keys(AuthenticationBackend):
    """Knows one key; who has none is refused, or is nobody."""

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        if conn.headers.get("x-key") == "ada":
            return AuthCredentials(["authenticated"]), Named("ada")
        if self._refuses:
            raise AuthenticationError("Who are you?")
        return None


def of_starlettes_middleware(*, refuses: bool = True, **how: Any) -> Starlette:
    routes = agui_routes(graphs(), **how)
    middleware = [Middleware(AuthenticationMiddleware, backend=Keys(refuses=refuses))]
    return Starlette(routes=routes, lifespan=routes.lifespan, middleware=middleware)


def known_only(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
    return isinstance(user, SimpleUser) and user.username == "ada"


@requires("authenticated", status_code=401)
async def required(request: Request) -> Any:
    return request.user


def by_key(request: Request) -> bool:
    return request.headers.get("x-key") == "ada"


def of_the_user(**how: Any) -> Starlette:
    return of_starlettes_middleware(refuses=False, **{"authorize": known_only, **how})


def of_what_it_requires(**how: Any) -> Starlette:
    return of_starlettes_middleware(refuses=False, **{"authorize": known_only, "authenticate": required, **how})


def of_whoever_it_is(**how: Any) -> Starlette:
    return of_starlettes_middleware(refuses=False, **{"authenticate": lambda request: request.user, **how})


def mounted_below_starlettes_middleware(**how: Any) -> Starlette:
    middleware = [Middleware(AuthenticationMiddleware, backend=Keys(refuses=True))]
    return Starlette(routes=[Mount("/agents", agui_app(graphs(), **how))], middleware=middleware)


SEE_SOCKETS = [
    of_the_app,
    of_a_scheme,
    of_the_routes,
    of_the_router,
    of_an_inclusion,
    of_a_class_of_routes,
    of_starlettes_middleware,
    of_the_user,
    mounted_below_starlettes_middleware,
]
SEE_REQUESTS_ALONE = [of_http_middleware, mounted_below_http_middleware]
AUTHENTICATE = [of_what_it_requires, of_whoever_it_is]


async def over_http(server: Served, headers: dict[str, str]) -> httpx.Response:
    async with server.client(headers=headers) as client:
        return await client.post("/agents/chat", json=posted("t", "hi"))


async def over_a_socket(server: Served, headers: dict[str, str]) -> tuple[int, list[str]]:
    """The status of a run, and the types of its events; raises `InvalidStatus` where the socket is refused."""
    kinds: list[str] = []
    url = f"ws://127.0.0.1:{server.port}/agents/chat/ws?thread=socket"
    async with connect(url, proxy=None, additional_headers=headers) as socket:
        await socket.send(json.dumps({"do": "run", "input": posted("socket", "hi")}))
        async for line in socket:
            found = json.loads(line)
            if "do" in found:
                return found["status"], kinds
            kinds.append(found["type"])
    raise AssertionError("the socket was closed before the run was answered")


async def status_of_a_socket(server: Served, headers: dict[str, str]) -> int:
    """The status with which a socket is refused, or whatever it is asked for."""
    try:
        status, kinds = await over_a_socket(server, headers)
    except InvalidStatus as refused:
        return refused.response.status_code
    assert not kinds
    return status


async def check_http(server: Served) -> None:
    assert (await over_http(server, {})).status_code in (400, 401, 403)
    allowed = await over_http(server, KEY)
    assert (allowed.status_code, kinds_of(allowed.text)[-1]) == (200, "RUN_FINISHED")


@pytest.mark.parametrize("app_of", [*SEE_SOCKETS, *SEE_REQUESTS_ALONE])
async def test_there_are_no_sockets_that_were_not_asked_for(app_of: Callable[..., Starlette]) -> None:
    async with served(app_of(), ws="websockets-sansio") as server:
        await check_http(server)
        for headers in ({}, KEY, {"x-key": "eve"}):
            assert 400 <= await status_of_a_socket(server, headers) < 500


@pytest.mark.parametrize("app_of", SEE_SOCKETS)
async def test_a_socket_passes_what_a_request_passes(app_of: Callable[..., Starlette]) -> None:
    async with served(app_of(websocket=True), ws="websockets-sansio") as server:
        await check_http(server)
        for headers in ({}, {"x-key": "eve"}):
            assert 400 <= await status_of_a_socket(server, headers) < 500
        assert (await over_a_socket(server, KEY))[1][-1] == "RUN_FINISHED"
        async with server.client(headers=KEY) as client:
            assert (await client.get("/agents/chat/ws?thread=t")).status_code in (404, 405)


@pytest.mark.parametrize("app_of", [*SEE_SOCKETS, *SEE_REQUESTS_ALONE, *AUTHENTICATE])
async def test_with_authenticate_there_are_sockets_that_pass_it(app_of: Callable[..., Starlette]) -> None:
    how: dict[str, Any] = {} if app_of in AUTHENTICATE else {"authenticate": by_key}
    if app_of is of_the_user:
        how["authorize"] = None
    async with served(app_of(**how), ws="websockets-sansio") as server:
        await check_http(server)
        for headers in ({}, {"x-key": "eve"}):
            assert 400 <= await status_of_a_socket(server, headers) < 500
        assert (await over_a_socket(server, KEY))[1][-1] == "RUN_FINISHED"
    async with served(app_of(**how, websocket=False), ws="websockets-sansio") as server:
        assert 400 <= await status_of_a_socket(server, KEY) < 500
