"""Plain AG-UI over HTTP: the requests of AG-UI's own client and of a bare `EventSource`.

    POST /{agent}                a RunAgentInput; answered with its run as an event stream
    POST /{agent}/connect        the same; answered with the thread, and its active run until that ends
    POST /{agent}/stop           {"threadId", "runId"?}; answered with {"stopped": bool}, or 202 if the run stops later
    GET /{agent}/watch/{thread}  the thread, and every run of it; with ?events=runs only their starts and ends
    GET /watch/{thread}          the same; with ?agent= if there are several agents

If there is only one agent, the first three are also served without its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final

from ....translator import ClientView
from ...events.readers import Offset, offset_of
from ...events.streams import SseWithIds, Wire
from ..agents import AgentNames
from ..errors import Refusal
from ..operations import Connect, Run, Stop, Watch
from ..protocol import Call, Endpoint, invalid, sse_or_lines, wants_lines
from ..requests.body import input_of, text_of
from ..streams.boundaries import RUNS, OnlyBoundaries
from ..streams.transmission import Stream

_LAST_EVENT_ID: Final = "last-event-id"
"""The header with the last id that a client received before it reconnects."""


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    """Yields the endpoints. Those with an agent's name come last, because they match the paths of the others too."""
    watches = "Watch a thread: its messages and state, and every run of it from then on"
    yield Endpoint(method="GET", path="/watch/{thread:path}", summary=watches, parse=_watch, wire=_watch_wire)
    yield Endpoint(method="POST", path="/", summary="Run the only agent", parse=_run_only, wire=_wire)
    if agents.only not in (None, "connect"):
        connects = "Connect to a thread of the only agent"
        yield Endpoint(method="POST", path="/connect", summary=connects, parse=_connect, wire=_wire)
    if agents.only not in (None, "stop"):
        stops = "Stop a run of the only agent, or what runs on a thread of it"
        yield Endpoint(method="POST", path="/stop", summary=stops, parse=_stop)
    watches = "Watch a thread of this agent: its messages and state, and every run of it from then on"
    yield Endpoint(method="GET", path="/{agent}/watch/{thread:path}", summary=watches, parse=_watch, wire=_watch_wire)
    connects = "Connect to a thread: its messages and state, and what runs on it, to its end"
    yield Endpoint(method="POST", path="/{agent}/connect", summary=connects, check=_agent, parse=_connect, wire=_wire)
    stops = "Stop a run, or what runs on a thread"
    yield Endpoint(method="POST", path="/{agent}/stop", summary=stops, check=_agent, parse=_stop)
    runs = "Run an agent: an AG-UI RunAgentInput, answered with the run as an event stream"
    yield Endpoint(method="POST", path="/{agent}", summary=runs, check=_agent, parse=_run, wire=_wire)


def _run(call: Call) -> Run:
    name = _agent(call)
    return Run(agent=name, input=input_of(call.body, call.limits, name))


def _run_only(call: Call) -> Run:
    if call.agents.only is None:
        message = f"There are several agents. Send the POST request to one of them.{call.agents.sentence()}"
        raise Refusal(HTTPStatus.NOT_FOUND, "agent_expected", message)
    return _run(call)


def _connect(call: Call) -> Connect:
    name = _agent(call)
    run_input = input_of(call.body, call.limits, name, is_run=False)
    version = run_input.protocol_version
    view = ClientView(run_input.messages, run_input.state, version)
    return Connect(agent=name, thread_id=run_input.thread_id, view=view, version=version, after=_after(call.headers))


def _stop(call: Call) -> Stop:
    name = _agent(call)
    thread_id, run_id = text_of(call.body, "threadId"), text_of(call.body, "runId")
    if thread_id is None:
        raise invalid('Expected {"threadId": ..., "runId": ...}; without a run id, the active run is stopped.')
    return Stop(agent=name, thread_id=thread_id, run_id=run_id)


def _watch(call: Call) -> Watch:
    name = call.agents.named(call.path.get("agent") or call.query.get("agent") or None)
    events = call.query.get("events")
    if events not in (None, RUNS):
        raise invalid(f"events: expected {RUNS!r} (the starts and ends of runs), or none for all events.")
    after = _after(call.headers)
    return Watch(agent=name, thread_id=call.path["thread"], after=after)


def _wire(call: Call, stream: Stream) -> Wire:
    """Returns the wire that the client accepts: lines of JSON, or server-sent events with ids from which a client can
    continue."""
    wire = sse_or_lines(call, stream)
    if stream.has_offsets and not wants_lines(call.headers):
        wire = SseWithIds(stream.version, has_id=_LAST_EVENT_ID in call.headers)
    return wire


def _watch_wire(call: Call, stream: Stream) -> Wire:
    wire = _wire(call, stream)
    return OnlyBoundaries(wire) if call.query.get("events") == RUNS else wire


def _after(headers: Mapping[str, str]) -> Offset | None:
    """Returns the position of a client that reconnects, or None if the client is new."""
    return offset_of(headers.get(_LAST_EVENT_ID))


def _agent(call: Call) -> str:
    """Returns the name of the agent in the path, or else of the only agent. Raises `Refusal` if no agent has this
    name."""
    return call.agents.checked(str(call.path.get("agent", call.agents.only)))
