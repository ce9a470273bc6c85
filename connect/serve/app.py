"""The app: `agui_app`. Here: what is put together. Never here: what any part of it does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..api import HEARTBEAT
from ..local.run_store import agent_of
from .agents import agents_of
from .agui_routes import Plain
from .body import read
from .copilotkit import CopilotKit, is_envelope
from .errors import Refusal, refused
from .hosts import Hosts
from .limits import Limits
from .routing import routes
from .service import Authenticate, Authorize, Service
from .shutdown import Closing


def agui_app(
    agents: Any,
    *,
    authenticate: Authenticate | None = None,
    authorize: Authorize | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    hosts: Sequence[str] = (),
    heartbeat: float | None = HEARTBEAT,
    grace: float = 5.0,
) -> Starlette:
    """An app that puts graphs behind AG-UI: to run, or to mount into another.

    `agents`: by their names in the URL, each an `Agent`, or what `connect` takes as a source; or a single one, which is
    called `default`. `authenticate`: the user of a request, by its headers, before its body is read; None: any.
    `authorize`: who may do what; None lets everybody do everything. `limits`: how much is taken.
    `origins`: from which pages of other origins browsers may ask (`"*"`: any); none means none. `hosts`: the names
    under which it may be asked, such as `localhost` (why, is in `hosts`); none means any. `heartbeat`: seconds of
    silence after which a comment is sent (None: never). `grace`: seconds that streams are left when the server ends.

    A signal that ends the process ends the streams first; where a server is ended otherwise, await
    `app.state.closing.aclose()` before it waits for its connections. A reader that does not read can't be told
    anything, and only the server can drop it: uvicorn does with `--timeout-graceful-shutdown`.

    Raises `TypeError` and `ValueError` for what can't be served so.
    """
    _check(origins, hosts, heartbeat, grace)
    closing = Closing(grace)
    service = Service(agents_of(agents), authenticate, authorize, limits or Limits(), heartbeat, closing)
    app = Starlette(
        routes=_routes(service),
        middleware=_middleware(origins, hosts),
        exception_handlers={HTTPException: _elsewhere(service)},
        lifespan=_lifespan(service),
    )
    app.router.redirect_slashes = False
    app.state.closing, app.state.service = closing, service
    return app


def _routes(service: Service) -> list[Route]:
    plain, copilotkit = Plain(service), CopilotKit(service)

    async def single(request: Request) -> Response:
        found = await read(request, service.bodies)
        if is_envelope(found):
            return await copilotkit.opened(request, found)
        if service.only is None:
            message = f"There are several agents, POST /{{agent}} asks one: {', '.join(service.agents)}."
            raise Refusal(HTTPStatus.NOT_FOUND, "agent_expected", message)
        return await plain.asked(request, service.only, found)

    return [*routes(service, "/", POST=single), *copilotkit.routes(), *plain.routes()]


def _middleware(origins: Sequence[str], hosts: Sequence[str]) -> list[Middleware]:
    found = [Middleware(Hosts, names=hosts)] if hosts else []
    if origins:
        found.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                allow_credentials="*" not in origins,  # whoever is named may send the user's cookies; anybody may not
                expose_headers=["Retry-After"],
            )
        )
    return found


def _elsewhere(service: Service) -> Any:
    """What answers a path that is no route."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
            names = ", ".join(service.agents)
            message = (
                "There is nothing here. There are: POST /{agent}, /{agent}/connect and /{agent}/stop, "
                f"GET /watch/{{thread}} and /health; the agents are: {names}."
            )
            error = Refusal(HTTPStatus.NOT_FOUND, "not_found", message)
        return refused(error)

    return answer


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.closing.reopen()
        yield
        await service.closing.aclose()
        for source in service.locals:
            await source.runs.stop(agent_of(source.graph, source.agent), source.place)

    return lifespan


def _check(origins: Sequence[str], hosts: Sequence[str], heartbeat: float | None, grace: float) -> None:
    for name, given, example in (("origins", origins, "https://example.org"), ("hosts", hosts, "localhost")):
        if isinstance(given, str):
            raise ValueError(f"{name}: expected several, such as [{example!r}], got the text {given!r}")
    if heartbeat is not None and not heartbeat > 0:
        raise ValueError(f"heartbeat: expected more than 0 seconds, got {heartbeat!r}")
    if not grace >= 0:
        raise ValueError(f"grace: expected 0 seconds or more, got {grace!r}")
