"""Plain AG-UI over HTTP: the routes that a stock client, a bare `EventSource` and a load balancer ask.

    POST /{agent}          a RunAgentInput, and the run as an event stream; POST / where there is one agent
    POST /{agent}/connect  a RunAgentInput: the thread's messages and state, and what runs on it, to its end
    POST /{agent}/stop     {"threadId", "runId"?}, {"stopped": bool}; 202 if the run stops later
    GET /watch/{thread}    the thread, and every run of it; ?agent= where there are several; ?events=runs: only their
                           starts and ends
    GET /health            {"status": "ok"}: the process answers
    GET /ready             {"status": "ready"}: checkpointers and platforms answer too; or 503, and whose do not

Here: what of a request is what. Never here: what is done with it (`service`).
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...translator import ClientView
from .copilotkit.endings import answers, readable
from .errors import RETRY_AFTER, Refusal, json_response
from .requests.body import checked_input, read, text_of
from .routing import Endpoint, MethodRouter, routes, thread_of
from .service import Service
from .streams.boundaries import RUNS


class AgentRoutes:
    """The routes of a service's agents."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """All of them; those of agents last, for they take what the others leave."""
        service = self._service
        found = routes(service, "/health", is_open=("GET",), GET=self._health)
        found += routes(service, "/ready", is_open=("GET",), GET=self._ready)
        found += routes(service, "/watch/{thread:path}", GET=self._watch)
        found += routes(service, "/{agent}/connect", POST=self._connect)
        found += routes(service, "/{agent}/stop", POST=self._stop)
        found += routes(service, "/{agent}", POST=self._run)
        return found

    def by_verb(self) -> dict[str, MethodRouter]:
        """What answers a request to run, connect, watch and stop, whatever its path."""
        by_verb: dict[str, dict[str, Endpoint]] = {
            "run": {"POST": self._run},
            "connect": {"POST": self._connect},
            "watch": {"GET": self._watch},
            "stop": {"POST": self._stop},
        }
        return {verb: MethodRouter(self._service, by_method) for verb, by_method in by_verb.items()}

    async def run(self, request: Request, name: str, found: object) -> Response:
        """Starts the run of an input."""
        given = await checked_input(found, self._service.limits, name)
        ends = partial(readable, given=given) if answers(given) else None
        return await self._service.run(request, name, given, adapt=ends)

    async def _run(self, request: Request) -> Response:
        """Run an agent: an AG-UI RunAgentInput, answered with the run as an event stream."""
        name = _agent(request)
        self._service.agent(name)
        return await self.run(request, name, await self._body(request))

    async def _connect(self, request: Request) -> Response:
        """Connect to a thread: its messages and state, and what runs on it, to its end."""
        name = _agent(request)
        self._service.agent(name)
        given = await checked_input(await self._body(request), self._service.limits, name, is_run=False)
        version = given.protocol_version
        view = ClientView(given.messages, given.state, version)
        return await self._service.connect(request, name, given.thread_id, view=view, version=version)

    async def _stop(self, request: Request) -> Response:
        """Stop a run, or what runs on a thread."""
        name = _agent(request)
        self._service.agent(name)
        found = await self._body(request)
        thread_id, run_id = text_of(found, "threadId"), text_of(found, "runId")
        if thread_id is None:
            message = 'Expected {"threadId": ..., "runId": ...}; without a run id, the active run is stopped.'
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
        return await self._service.stop(request, name, thread_id, run_id)

    async def _watch(self, request: Request) -> Response:
        """Watch a thread: its messages and state, and every run of it from then on."""
        name = self._service.named(request.query_params.get("agent") or None)
        events = request.query_params.get("events")
        if events not in (None, RUNS):
            message = f"events: expected {RUNS!r} (the starts and ends of runs), or none for all events."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
        return await self._service.watch(request, name, thread_of(request), only_boundaries=events == RUNS)

    async def _health(self, request: Request) -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        """Whether the agents can be used now."""
        if names := await self._service.readiness.not_ready():
            headers = {"Retry-After": str(RETRY_AFTER)}
            message = f"Not ready: {', '.join(names)}."
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", message, headers)
        return json_response({"status": "ready"})

    async def _body(self, request: Request) -> object:
        return await read(request, self._service.bodies)


def _agent(request: Request) -> str:
    return str(request.path_params["agent"])
