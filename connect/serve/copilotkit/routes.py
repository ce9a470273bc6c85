"""What CopilotKit's client requests, so that a page needs no Node runtime between itself and the graphs.

    GET /info                         the agents, and what each can do
    POST /agent/{agent}/run           a RunAgentInput, and the run as an event stream
    POST /agent/{agent}/connect       the same: the thread, and what runs on it, to its end
    POST /agent/{agent}/stop/{thread} stops what runs on the thread; the body may be empty
    POST /                            all of these in an envelope: {"method": "agent/run", "params": {...}, "body": ...}

Here: what of a request is what. Never here: what is done with it (`service`), and how runs end for it (`endings`).

As its client of 1.74 was watched doing it:

- A page that names no agent requests `default`: that is also the name of an agent that is served alone.
- Pages connect once or twice when they are loaded, and let go of the first. What failed before is emitted as a custom
  event: the client shows every `RUN_ERROR` as if it had happened now.
- A page connects with what it shows, or with a part of it (`messageFilter`), so it gets all that the thread has.
- An answer to an interrupt comes under the run id of the interrupted run. Run ids may come again.
- A page that was loaded in the middle of a run stops it without knowing its id; on a platform no page knows it. So
  what is stopped is what runs on the thread.
- To make suggestions (`useConfigureSuggestions`) it starts a run on a new thread, in which the model is to call a
  tool of its own. Graphs choose their tools themselves, would do what they always do, and leave a thread each time.
  So such a run ends at once, and nothing is run; suggestions that a page itself gives need none.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from ag_ui.core import RunAgentInput
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .... import __version__
from ....translator import encode
from ....translator import events as agui
from ...events.streams import Sse
from ..agents import DEFAULT
from ..errors import Refusal, json_response, log_refusal, refusal_of
from ..requests.body import checked_input, read, text_of
from ..routing import routes, thread_of
from ..service import Service
from ..streams.stream import HEADERS
from .endings import answers, readable, unbegun
from .info import described, keeps_changes

_SUGGESTS: Final = "copilotkitSuggest"
_NO_ENDPOINTS: Final = {"inspect": False, "realtimeMetadata": False}
"""What `/info` says of threads that only CopilotKit's own platform answers."""
_KEPT_OUT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""Refusals after which nothing of the thread is sent."""


class CopilotKit:
    """The routes of one app."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """All of them, but that of the envelope."""
        service = self._service
        found = routes(service, "/info", GET=self._info)
        found += routes(service, "/agent/{agent}/run", POST=self._run)
        found += routes(service, "/agent/{agent}/connect", POST=self._connect)
        found += routes(service, "/agent/{agent}/stop/{thread:path}", POST=self._stop)
        return found

    async def opened(self, request: Request, envelope: dict[str, Any]) -> Response:
        """What an envelope requests. Raises `Refusal` for an unknown method."""
        method, params, body = envelope["method"], envelope.get("params"), envelope.get("body")
        if method == "info":
            return await self._described(request)
        name, thread_id = text_of(params, "agentId"), text_of(params, "threadId")
        if name is None:
            raise _invalid('params: expected {"agentId": ...}.')
        match method:
            case "agent/run":
                return await self._started(request, name, body)
            case "agent/connect":
                return await self._connected(request, name, body)
            case "agent/stop" if thread_id is not None:
                return await self._stopped(request, name, thread_id)
            case "agent/stop":
                raise _invalid('params: expected {"agentId": ..., "threadId": ...}.')
        raise _invalid("method: expected one of info, agent/run, agent/connect, agent/stop.")

    async def _info(self, request: Request) -> Response:
        """The agents, and what each can do (CopilotKit)."""
        return await self._described(request)

    async def _run(self, request: Request) -> Response:
        """Run an agent (CopilotKit)."""
        return await self._started(request, request.path_params["agent"], await self._body(request))

    async def _connect(self, request: Request) -> Response:
        """Connect to a thread (CopilotKit)."""
        return await self._connected(request, request.path_params["agent"], await self._body(request))

    async def _stop(self, request: Request) -> Response:
        """Stop what runs on a thread (CopilotKit)."""
        await self._body(request)
        return await self._stopped(request, request.path_params["agent"], thread_of(request))

    async def _described(self, request: Request) -> Response:
        listed = await self._service.listed(request)
        has_sockets = self._service.has_sockets
        agents = {name: described(name, agent, has_sockets=has_sockets) for name, agent in listed.items()}
        only = self._service.only
        if only is not None:
            agents.setdefault(DEFAULT, agents[only])
        info = {"version": __version__, "mode": "sse", "agents": agents}
        may_manage = self._service.users.may_manage(request)
        may_change = may_manage and all(map(keeps_changes, listed.values()))
        endpoints = {"list": may_manage, "mutations": may_change, **_NO_ENDPOINTS}
        off = {"audioFileTranscriptionEnabled": False, "telemetryDisabled": True}
        return json_response({**info, "threadEndpoints": endpoints, **off})

    async def _started(self, request: Request, wanted: str, body: Any) -> Response:
        name = self._service.named(wanted)
        given = await checked_input(body, self._service.limits, name)
        if _is_suggestion(given):
            await self._service.admit(request, "run", name, given.thread_id)
            return _over(given)
        ends = partial(readable, given=given)
        try:
            return await self._service.run(request, name, given, past_errors="custom", adapt=ends, is_direct=True)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None or refusal.status in _KEPT_OUT or not answers(given):
                raise
            log_refusal(error, request)
            why = agui.run_error(refusal.message, refusal.code)
        return await self._service.connect(
            request,
            name,
            given.thread_id,
            version=None,
            past_errors="custom",
            adapt=partial(unbegun, why, given=given),
            refuses=False,
        )

    async def _connected(self, request: Request, wanted: str, body: Any) -> Response:
        name = self._service.named(wanted)
        given = await checked_input(body, self._service.limits, name, is_run=False)
        ends = partial(readable, given=given)
        version = given.protocol_version
        return await self._service.connect(
            request, name, given.thread_id, version=version, past_errors="custom", adapt=ends
        )

    async def _stopped(self, request: Request, wanted: str, thread_id: str) -> Response:
        return await self._service.stop(request, self._service.named(wanted), thread_id)

    async def _body(self, request: Request) -> Any:
        return await read(request, self._service.bodies)


def is_envelope(found: Any) -> bool:
    """Whether a body is an envelope, and not the input of a run, which shares its URL where there is one agent."""
    return isinstance(found, dict) and isinstance(found.get("method"), str) and "threadId" not in found


def _is_suggestion(given: RunAgentInput) -> bool:
    props = given.forwarded_props
    choice = props.get("toolChoice") if isinstance(props, dict) else None
    function = choice.get("function") if isinstance(choice, dict) else None
    return isinstance(function, dict) and function.get("name") == _SUGGESTS


def _over(given: RunAgentInput) -> Response:
    """A run in which nothing happened."""
    events = [
        agui.run_started(given.thread_id, given.run_id, given.protocol_version),
        agui.run_finished(given.thread_id, given.run_id, {"type": "success"}),
    ]
    return Response(b"".join(map(encode, events)), headers={"Content-Type": Sse.media_type, **HEADERS})


def _invalid(message: str) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
