"""Plain AG-UI over HTTP: the routes that a stock client, a bare `EventSource` and a load balancer ask.

    POST /{agent}                the run of a RunAgentInput, as an event stream
    POST /{agent}/connect        a RunAgentInput: the thread's messages and state, and what runs on it, to its end
    POST /{agent}/stop           {"threadId", "runId"?}, {"stopped": bool}; 202 if the run stops later
    GET /{agent}/watch/{thread}  the thread, and every run of it; ?events=runs: only their starts and ends
    GET /watch/{thread}          the same; ?agent= if there are several agents
    GET /health                  {"status": "ok"}: the process answers
    GET /ready                   {"status": "ready"}: checkpointers and platforms answer too; else 503

If there is one agent, the first four are served without its name too.

Here: what of a request is what. Never here: what is done with it (`service`).
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...translator import ClientView
from ..inputs.off_loop import off_loop, size_of
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
        if service.only is not None:  # `POST /` is among the routes of the root, which also take CopilotKit's envelopes
            found += [] if service.only == "connect" else routes(service, "/connect", POST=self._connect_only)
            found += [] if service.only == "stop" else routes(service, "/stop", POST=self._stop_only)
        found += routes(service, "/{agent}/watch/{thread:path}", GET=self._watch_below)
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
        name = self._agent(request)
        return await self.run(request, name, await self._body(request))

    async def _connect(self, request: Request) -> Response:
        """Connect to a thread: its messages and state, and what runs on it, to its end."""
        name = self._agent(request)
        given = await checked_input(await self._body(request), self._service.limits, name, is_run=False)
        version = given.protocol_version
        view = await off_loop(ClientView, size_of(given), given.messages, given.state, version)
        return await self._service.connect(request, name, given.thread_id, view=view, version=version)

    async def _connect_only(self, request: Request) -> Response:
        """Connect to a thread of the only agent."""
        return await self._connect(request)

    async def _stop(self, request: Request) -> Response:
        """Stop a run, or what runs on a thread."""
        name = self._agent(request)
        found = await self._body(request)
        thread_id, run_id = text_of(found, "threadId"), text_of(found, "runId")
        if thread_id is None:
            message = 'Expected {"threadId": ..., "runId": ...}; without a run id, the active run is stopped.'
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
        return await self._service.stop(request, name, thread_id, run_id)

    async def _stop_only(self, request: Request) -> Response:
        """Stop a run of the only agent, or what runs on a thread of it."""
        return await self._stop(request)

    async def _watch(self, request: Request) -> Response:
        """Watch a thread: its messages and state, and every run of it from then on."""
        in_path = request.path_params.get("agent")
        name = self._service.named(in_path or request.query_params.get("agent") or None)
        events = request.query_params.get("events")
        if events not in (None, RUNS):
            message = f"events: expected {RUNS!r} (the starts and ends of runs), or none for all events."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
        return await self._service.watch(request, name, thread_of(request), only_boundaries=events == RUNS)

    async def _watch_below(self, request: Request) -> Response:
        """Watch a thread of this agent: its messages and state, and every run of it from then on."""
        return await self._watch(request)

    async def _health(self, request: Request) -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        """Whether the agents can be used now."""
        if await self._service.readiness.not_ready():
            headers = {"Retry-After": str(RETRY_AFTER)}
            message = "Not ready. The server's log names the agents, and the reason."  # anybody may ask here
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", message, headers)
        return json_response({"status": "ready"})

    def _agent(self, request: Request) -> str:
        """The name of the agent in the path, or else of the only agent. Raises `Refusal` if no agent has this name."""
        name = str(request.path_params.get("agent", self._service.only))
        self._service.agent(name)
        return name

    async def _body(self, request: Request) -> object:
        return await read(request, self._service.bodies)
