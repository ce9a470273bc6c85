"""The app: `agui_app`, the routes with allowed hosts and origins, and an answer to unknown paths."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ..api import HEARTBEAT
from ..local.run.runs import Runs
from ..local.store.run_store import RunStore
from .agents import Agents
from .compatible import CompatibleWith
from .errors import Refusal, refused
from .limits import Limits
from .requests.hosts import Hosts
from .requests.users import Authenticate, Authorize
from .routes import agui_routes
from .service import Service

_ENTER_LIFESPAN = (
    "write in the lifespan of the app that mounts it: async with mounted.router.lifespan_context(mounted): yield"
)


def agui_app(
    agents: Agents,
    *,
    authenticate: Authenticate | None = None,
    authorize: Authorize | None = None,
    token: str | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    hosts: Sequence[str] = (),
    heartbeat: float | None = HEARTBEAT,
    store: RunStore | None = None,
    runs: Runs | None = None,
    grace: float = 5.0,
    drain: float = 20.0,
    compatible_with: CompatibleWith | None = None,
    inspector: bool = False,
    websocket: bool | None = None,
    signals: bool = True,
) -> Starlette:
    """A Starlette app that serves graphs to AG-UI clients: run it with a server, or mount it into another app.

    `agents`: by their names in the URL, each an `Agent` or a graph (what `connect` takes as a source); or a single one,
    which is called `default`. `authenticate`: gives the user of a request from its headers, before its body is read;
    None: no user. `authorize`: what a user may do (see `Authorize`); None: whoever knows a thread's id may read and run
    it. `token`: what lists, changes and deletions of threads need if there is no `authorize`, sent as `Authorization:
    Bearer TOKEN`: visible ASCII characters, for example `secrets.token_urlsafe()`. None: the environment variable
    `AGUI_TOKEN`, which all workers of a server share; without either, nobody lists, changes or deletes threads.
    `limits`: what is accepted at most. `origins`: the pages' origins that browsers let in (`"*"`: any); none by
    default. `hosts`: the host names that are answered, such as `localhost` (the module `hosts` says why); none means
    any. `heartbeat`: seconds without an event after which a comment is sent (None: never). `runs`: the `Runs` of graphs
    that have none of their own, with their store and `after_run`; they are not closed. `store`: a run store in their
    place, which is closed at the end of the app's lifespan. Neither: the runs of the event loop, for one process.
    Within the lifespan `start`, `connect`, `watch`, `cancel`, `thread` and `threads` use the same runs for a graph that
    is served.
    `grace`: seconds that open streams have to end when the server stops. `drain`: seconds that runs have then
    to end by themselves before they are cancelled, if other processes share their store. `inspector`: whether `GET /`
    is a page that shows the threads live. Its files are open to all who reach the app, and have no data; what it shows
    and does passes `authenticate` and `authorize` like any client's requests. `websocket`: whether there are
    WebSockets; None: if there is `authenticate`, which decides on them too. Middleware for HTTP requests only, that of
    an app into which this one is mounted included, never sees them.

    `signals`: whether SIGTERM and SIGINT begin the end of open streams. From the start of the lifespan to its end, in
    the main thread only, a handler of the app then runs before the server's, which it calls; the same signal again
    ends all streams at once.

    When the server stops, streams end within `grace` seconds: between two runs at once and without an event, in a run
    with `RUN_ERROR`, code `shutdown`. A reader that does not read gets no last event. After `grace` and `drain` runs
    are cancelled, and the lifespan ends within four seconds more, even if the store does not answer. This needs no
    option of uvicorn (`--reload` and `--workers` included) or of gunicorn with uvicorn's worker. Hypercorn gives its
    workers no signal: its `graceful_timeout` (3 seconds) ends the streams. If `signals` is False, await
    `app.state.closing.aclose()` when the server begins to stop; otherwise streams last until the server cancels them
    (uvicorn's `--timeout-graceful-shutdown`).

    A mounted app's own lifespan is not run: enter it in the outer app's,
    `async with mounted.router.lifespan_context(mounted): yield`, or take `agui_routes` or `add_agui_routes`.

    Raises `TypeError` and `ValueError` for what can't be served.
    """
    _check(origins, hosts)
    routes = agui_routes(
        agents,
        path="",
        authenticate=authenticate,
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
    service = routes.service
    app = Starlette(
        routes=routes,
        middleware=_middleware(origins, hosts),
        lifespan=routes.lifespan,
    )
    service.enter_lifespan = _ENTER_LIFESPAN
    app.router.redirect_slashes = False
    app.router.default = _not_found(app.router, service)
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


def _not_found(router: Router, service: Service) -> ASGIApp:
    """Answers a path that is no route."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await router.not_found(scope, receive, send)
            return
        message = (
            "There is nothing here. There are: POST /{agent}, /{agent}/connect and /{agent}/stop, "
            f"GET /watch/{{thread}} and /health.{service.names.sentence()}"
        )
        response = refused(Refusal(HTTPStatus.NOT_FOUND, "not_found", message), Request(scope))
        await response(scope, receive, send)

    return answer


def _check(origins: Sequence[str], hosts: Sequence[str]) -> None:
    for name, given, example in (("origins", origins, "https://example.org"), ("hosts", hosts, "localhost")):
        if isinstance(given, str):
            raise ValueError(f"{name}: expected several, such as [{example!r}], got the text {given!r}")
