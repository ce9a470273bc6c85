"""The app, `agui_app`: the routes, with allowed hosts and origins and an answer to unknown paths."""

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
    """Returns a Starlette app that serves graphs to AG-UI clients. Run it with a server, or mount it into another app.

    `agents`: the agents by their names in the URL, each an `Agent` or a graph (any source that `connect` takes); or a
    single one, whose name is `default`. `authenticate`: returns the user of a request, given its headers, before its
    body is read. None: requests have no user. `authorize`: decides what a user may do (see `Authorize`). None: whoever
    knows a thread's id may read and run the thread. `token`: the token that listing, changing and deleting threads
    requires if there is no `authorize`. Clients send it as `Authorization: Bearer TOKEN`. It consists of visible ASCII
    characters, for example `secrets.token_urlsafe()`. None: the environment variable `AGUI_TOKEN`, which all workers of
    a server share. Without either, nobody can list, change or delete threads.
    `limits`: how much the app accepts at most. `origins`: the origins of pages that browsers let in (`"*"`: any), none
    by default. `hosts`: the host names that the app answers to, such as `localhost` (the module `hosts` says why). If
    empty, any. `heartbeat`: seconds without an event after which a comment is sent (None: never). `runs`: the `Runs` of
    graphs that have none of their own, with their store and `after_run`. The app does not close them. `store`: a run
    store to use instead of `runs`. The app closes it at the end of its lifespan. Neither: the runs of the event loop,
    for one process. Within the lifespan, `start`, `connect`, `watch`, `cancel`, `thread` and `threads` use the same
    runs for a graph that is served.
    `grace`: seconds that open streams have to end when the server stops. `drain`: seconds that runs have after that to
    finish before they are cancelled, if other processes share their store. `inspector`: whether `GET /` is a page that
    shows the threads live. Anyone who can reach the app can load the page's files, which contain no data. The page's
    requests pass `authenticate` and `authorize` like those of any client. `websocket`: whether the app serves
    WebSockets. None: only with `authenticate`, which applies to them too. Middleware that sees only HTTP requests never
    sees them. That includes such middleware of an app into which this one is mounted.

    `signals`: whether SIGTERM and SIGINT begin the end of open streams. From the start of the lifespan to its end, and
    only in the main thread, a handler of the app then runs before the server's handler, and calls it. If the same
    signal comes again, all streams end at once.

    When the server stops, streams end within `grace` seconds. A stream between two runs ends at once, without an event.
    A stream in a run ends with `RUN_ERROR`, code `shutdown`. A reader that does not read receives no last event. After
    `grace` and `drain`, runs are handed over (`Intake.on_lost`) or cancelled, and the lifespan ends within four more
    seconds, even if the store does not answer. This needs no option of uvicorn (even with `--reload` or `--workers`),
    or of gunicorn with uvicorn's worker. Hypercorn does not pass signals to its workers: its `graceful_timeout` (3
    seconds) ends the streams. If `signals` is False, await `app.state.closing.aclose()` when the server begins to stop.
    Otherwise streams last until the server cancels them (uvicorn's `--timeout-graceful-shutdown`).

    Starlette does not run the lifespan of a mounted app. Enter it in the lifespan of the outer app, with
    `async with mounted.router.lifespan_context(mounted): yield`, or use `agui_routes` or `add_agui_routes` instead.

    Raises `TypeError` and `ValueError` for agents and arguments that can't be served.
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
    middleware = [Middleware(Hosts, names=hosts)] if hosts else []
    if origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST", "PATCH", "DELETE"],
                allow_headers=["*"],
                allow_credentials="*" not in origins,  # only named origins may send the user's cookies
                expose_headers=["Retry-After"],
            )
        )
    return middleware


def _not_found(router: Router, service: Service) -> ASGIApp:
    """Returns the app that answers unknown paths."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await router.not_found(scope, receive, send)
            return
        message = (
            "There is nothing at this path. The paths are: POST /{agent}, /{agent}/connect and /{agent}/stop, "
            f"GET /watch/{{thread}} and /health.{service.names.sentence()}"
        )
        response = refused(Refusal(HTTPStatus.NOT_FOUND, "not_found", message), Request(scope))
        await response(scope, receive, send)

    return answer


def _check(origins: Sequence[str], hosts: Sequence[str]) -> None:
    for name, values, example in (("origins", origins, "https://example.org"), ("hosts", hosts, "localhost")):
        if isinstance(values, str):
            raise ValueError(f"{name}: expected a list, such as [{example!r}], got the string {values!r}")
