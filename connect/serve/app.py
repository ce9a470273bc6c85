"""The app: `agui_app`, the routes with allowed hosts and origins, and an answer to unknown paths."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from ..api import HEARTBEAT
from ..local.store.run_store import RunStore
from .agents import Agents
from .compatible import CompatibleWith
from .errors import Refusal, refused
from .limits import Limits
from .requests.hosts import Hosts
from .requests.users import Authenticate, Authorize
from .routes import agui_routes
from .service import Service


def agui_app(
    agents: Agents,
    *,
    authenticate: Authenticate | None = None,
    authorize: Authorize | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    hosts: Sequence[str] = (),
    heartbeat: float | None = HEARTBEAT,
    store: RunStore | None = None,
    grace: float = 5.0,
    drain: float = 20.0,
    compatible_with: CompatibleWith | None = None,
    inspector: bool = False,
) -> Starlette:
    """A Starlette app that serves graphs to AG-UI clients: run it with a server, or mount it into another app.

    `agents`: by their names in the URL, each an `Agent` or a graph (what `connect` takes as a source); or a single one,
    which is called `default`. `authenticate`: gives the user of a request from its headers, before its body is read;
    None: no user. `authorize`: what a user may do (see `Authorize`); None: everything. `limits`: what is accepted at
    most. `origins`: the pages' origins that browsers let in (`"*"`: any); none by default. `hosts`: the host names
    that are answered, such as `localhost` (the module `hosts` says why); none means any. `heartbeat`: seconds without
    an event after which a comment is sent (None: never). `store`: the run store of graphs that have no `Runs` of their
    own, which is closed at the end of the app's lifespan; None: that of the event loop, for one process. `grace`:
    seconds that open streams have to end when the server stops. `drain`: seconds that runs have then to end by
    themselves before they are cancelled, if other processes share their store. `inspector`: whether `GET /` is a page
    that shows the threads live. Its files are open to all who reach the app, and have no data; what it shows and does
    passes `authenticate` and `authorize` like any client's requests.

    The end of the app's lifespan stops its runs. A mounted app's own lifespan is not run: enter it in the outer app's,
    `async with mounted.router.lifespan_context(mounted): yield`, or take `agui_routes` or `add_agui_routes`.
    The app handles no signals, and a server waits for open streams before it ends a lifespan: run uvicorn with
    `--timeout-graceful-shutdown SECONDS`, after which it ends each stream (`RUN_ERROR`, code `shutdown`; where the
    lifespan is not entered the connection may break instead), or await
    `app.state.closing.aclose()` before the server waits. The command `serve` does that. A reader that does not read
    gets no last event.

    Raises `TypeError` and `ValueError` for what can't be served.
    """
    _check(origins, hosts)
    routes = agui_routes(
        agents,
        path="",
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
    service = routes.service
    app = Starlette(
        routes=routes,
        middleware=_middleware(origins, hosts),
        exception_handlers={HTTPException: _not_found(service)},
        lifespan=routes.lifespan,
    )
    app.router.redirect_slashes = False
    app.state.closing, app.state.service = service.closing, service
    return app


def _middleware(origins: Sequence[str], hosts: Sequence[str]) -> list[Middleware]:
    found = [Middleware(Hosts, names=hosts)] if hosts else []
    if origins:
        found.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST", "PATCH", "DELETE"],
                allow_headers=["*"],
                allow_credentials="*" not in origins,  # only named origins may send the user's cookies
                expose_headers=["Retry-After"],
            )
        )
    return found


def _not_found(service: Service) -> Any:
    """Answers a path that is no route."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
            message = (
                "There is nothing here. There are: POST /{agent}, /{agent}/connect and /{agent}/stop, "
                f"GET /watch/{{thread}} and /health.{service.names()}"
            )
            error = Refusal(HTTPStatus.NOT_FOUND, "not_found", message)
        return refused(error, request)

    return answer


def _check(origins: Sequence[str], hosts: Sequence[str]) -> None:
    for name, given, example in (("origins", origins, "https://example.org"), ("hosts", hosts, "localhost")):
        if isinstance(given, str):
            raise ValueError(f"{name}: expected several, such as [{example!r}], got the text {given!r}")
