"""Answers the requests of CopilotKit's client for agents and runs, so that a page needs no Node runtime.

    GET /info                         the agents, and what each can do
    POST /agent/{agent}/run           a RunAgentInput; answered with the run as an event stream
    POST /agent/{agent}/connect       the same; answered with the thread, and its active run until that ends
    POST /agent/{agent}/stop/{thread} stops the thread's active run; the body may be empty
    POST /                            all of these in an envelope: {"method": "agent/run", "params": {...}, "body": ...}

What was observed in CopilotKit's client 1.74, and how it is answered:

- A page that names no agent requests `default`. If only one agent is served, `default` is another name for it.
- A page connects once or twice when it loads, and drops the first connection. An earlier failure is emitted as a custom
  event, because the client displays every `RUN_ERROR` as if it had happened now.
- A page connects with the messages that it displays, or only a part of them (`messageFilter`). So it receives
  everything that the thread has.
- The answer to an interrupt has the run id of the interrupted run. Run ids may be repeated.
- A page that was loaded in the middle of a run stops it without knowing its id, and on a platform no page knows the id.
  So the request stops whatever run is active on the thread.
- To generate suggestions (`useConfigureSuggestions`), the client starts a run on a new thread, in which the model is to
  call a tool of the client. Graphs choose their tools themselves, so they would do what they always do, and leave a
  thread each time. Therefore such a run ends at once, without running anything. Suggestions that the page itself
  provides need no run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ag_ui.core import RunAgentInput

from .... import __version__
from ....translator import encode, for_client_version
from ...events.encoded import Batch, EncodedEvent
from ...events.streams import Sse, Wire
from ..agents import DEFAULT
from ..operations import AgentList, Connect, Decline, Declined, DescribeAgents, Operation, Result, Run, Stop
from ..protocol import Call, Endpoint, Reply, invalid, plain_reply, sse_or_lines
from ..requests.body import input_of, text_of
from ..streams.endings import is_cancelled
from ..streams.transmission import Stream
from .info import describe, keeps_changes

ABORT: Final = "abort"
"""The error code of an end that the client does not display as a failure."""

_SUGGESTS: Final = "copilotkitSuggest"
_NO_ENDPOINTS: Final = {"inspect": False, "realtimeMetadata": False}
"""What `/info` says about routes for threads that only CopilotKit's own platform has."""


def endpoints() -> Iterator[Endpoint]:
    """Yields the endpoints of runs and of agents."""
    yield Endpoint(
        method="POST",
        path="/",
        summary="Run the only agent, or do what CopilotKit's envelope requests",
        parse=_parse_envelope,
        wire=_wire,
        reply=_reply,
    )
    yield Endpoint(
        method="GET",
        path="/info",
        summary="The agents, and what each can do (CopilotKit)",
        parse=lambda call: DescribeAgents(),
        reply=_reply,
    )
    yield Endpoint(
        method="POST",
        path="/agent/{agent}/run",
        summary="Run an agent (CopilotKit)",
        parse=lambda call: _run(call, call.path["agent"], call.body),
        wire=_wire,
        reply=_reply,
    )
    yield Endpoint(
        method="POST",
        path="/agent/{agent}/connect",
        summary="Connect to a thread (CopilotKit)",
        parse=lambda call: _connect(call, call.path["agent"], call.body),
        wire=_wire,
    )
    yield Endpoint(
        method="POST",
        path="/agent/{agent}/stop/{thread:path}",
        summary="Stop what runs on a thread (CopilotKit)",
        parse=lambda call: Stop(agent=call.agents.named(call.path["agent"]), thread_id=call.path["thread"]),
    )


def _parse_envelope(call: Call) -> Operation | None:
    """Returns the operation that an envelope requests, or None if the body is not an envelope. Raises `Refusal` for an
    unknown method."""
    if not _is_envelope(call.body):
        return None
    method, params, body = call.body["method"], call.body.get("params"), call.body.get("body")
    if method == "info":
        return DescribeAgents()
    name, thread_id = text_of(params, "agentId"), text_of(params, "threadId")
    if name is None:
        raise invalid('params: expected {"agentId": ...}.')
    match method:
        case "agent/run":
            return _run(call, name, body)
        case "agent/connect":
            return _connect(call, name, body)
        case "agent/stop" if thread_id is not None:
            return Stop(agent=call.agents.named(name), thread_id=thread_id)
        case "agent/stop":
            raise invalid('params: expected {"agentId": ..., "threadId": ...}.')
    raise invalid("method: expected one of info, agent/run, agent/connect, agent/stop.")


def _run(call: Call, agent: str, body: Any) -> Run | Decline:
    name = call.agents.named(agent)
    run_input = input_of(body, call.limits, name)
    if _is_suggestion(run_input):
        return Decline(agent=name, input=run_input)
    return Run(agent=name, input=run_input, past_errors="custom", is_direct=True, shows_refusals=True)


def _connect(call: Call, agent: str, body: Any) -> Connect:
    name = call.agents.named(agent)
    run_input = input_of(body, call.limits, name, is_run=False)
    return Connect(agent=name, thread_id=run_input.thread_id, version=run_input.protocol_version, past_errors="custom")


def _is_envelope(body: Any) -> bool:
    """Whether a body is an envelope, and not the input of a run. If only one agent is served, both have the same
    URL."""
    return isinstance(body, dict) and isinstance(body.get("method"), str) and "threadId" not in body


def _is_suggestion(run_input: RunAgentInput) -> bool:
    props = run_input.forwarded_props
    choice = props.get("toolChoice") if isinstance(props, dict) else None
    function = choice.get("function") if isinstance(choice, dict) else None
    return isinstance(function, dict) and function.get("name") == _SUGGESTS


def _reply(call: Call, result: Result) -> Reply:
    match result:
        case AgentList():
            return Reply(_info(result))
        case Declined():
            return Reply(b"".join(map(encode, result.events)), media_type=Sse.media_type)
    return plain_reply(result)


def _info(result: AgentList) -> dict[str, Any]:
    agents = {name: describe(name, agent, has_sockets=result.has_sockets) for name, agent in result.agents.items()}
    if result.only is not None:
        agents.setdefault(DEFAULT, agents[result.only])
    info = {"version": __version__, "mode": "sse", "agents": agents}
    may_change = result.may_manage and all(map(keeps_changes, result.agents.values()))
    endpoints = {"list": result.may_manage, "mutations": may_change, **_NO_ENDPOINTS}
    off = {"audioFileTranscriptionEnabled": False, "telemetryDisabled": True}
    return {**info, "threadEndpoints": endpoints, **off}


def _wire(call: Call, stream: Stream) -> Wire:
    wire = sse_or_lines(call, stream)
    return wire if stream.version is not None else _WithAborts(wire)


class _WithAborts:
    """Encodes the end of a stopped run so that the client does not display it as a failure (`streams.endings`, rule
    3)."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.media_type, self.heartbeat = wire.media_type, wire.heartbeat

    def encode(self, batch: Batch) -> bytes:
        """Returns the bytes of a batch."""
        return self._wire.encode([_as_abort(encoded) for encoded in batch])


def _as_abort(encoded: EncodedEvent) -> EncodedEvent:
    if not is_cancelled(encoded.event):
        return encoded
    return EncodedEvent({**(for_client_version(encoded.event, None) or {}), "code": ABORT})
