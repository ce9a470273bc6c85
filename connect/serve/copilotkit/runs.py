"""What CopilotKit's client requests, so that a page needs no Node runtime between itself and the graphs.

    GET /info                         the agents, and what each can do
    POST /agent/{agent}/run           a RunAgentInput, and the run as an event stream
    POST /agent/{agent}/connect       the same: the thread, and what runs on it, to its end
    POST /agent/{agent}/stop/{thread} stops what runs on the thread; the body may be empty
    POST /                            all of these in an envelope: {"method": "agent/run", "params": {...}, "body": ...}

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
from .info import described, keeps_changes

ABORT: Final = "abort"
"""The code of an end that the client does not show as a failure."""

_SUGGESTS: Final = "copilotkitSuggest"
_NO_ENDPOINTS: Final = {"inspect": False, "realtimeMetadata": False}
"""What `/info` says of threads that only CopilotKit's own platform answers."""


def endpoints() -> Iterator[Endpoint]:
    """Those of runs, and of the agents."""
    yield Endpoint(
        method="POST",
        path="/",
        summary="Run the only agent, or do what CopilotKit's envelope requests",
        parse=_enveloped,
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


def _enveloped(call: Call) -> Operation | None:
    """What an envelope requests; None for what is no envelope. Raises `Refusal` for an unknown method."""
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


def _run(call: Call, wanted: str, body: Any) -> Run | Decline:
    name = call.agents.named(wanted)
    given = input_of(body, call.limits, name)
    if _is_suggestion(given):
        return Decline(agent=name, input=given)
    return Run(agent=name, input=given, past_errors="custom", is_direct=True, shows_refusals=True)


def _connect(call: Call, wanted: str, body: Any) -> Connect:
    name = call.agents.named(wanted)
    given = input_of(body, call.limits, name, is_run=False)
    return Connect(agent=name, thread_id=given.thread_id, version=given.protocol_version, past_errors="custom")


def _is_envelope(found: Any) -> bool:
    """Whether a body is an envelope, and not the input of a run, which shares its URL where there is one agent."""
    return isinstance(found, dict) and isinstance(found.get("method"), str) and "threadId" not in found


def _is_suggestion(given: RunAgentInput) -> bool:
    props = given.forwarded_props
    choice = props.get("toolChoice") if isinstance(props, dict) else None
    function = choice.get("function") if isinstance(choice, dict) else None
    return isinstance(function, dict) and function.get("name") == _SUGGESTS


def _reply(result: Result) -> Reply:
    match result:
        case AgentList():
            return Reply(_info(result))
        case Declined():
            return Reply(b"".join(map(encode, result.events)), media_type=Sse.media_type)
    return plain_reply(result)


def _info(listed: AgentList) -> dict[str, Any]:
    agents = {name: described(name, agent, has_sockets=listed.has_sockets) for name, agent in listed.agents.items()}
    if listed.only is not None:
        agents.setdefault(DEFAULT, agents[listed.only])
    info = {"version": __version__, "mode": "sse", "agents": agents}
    may_change = listed.may_manage and all(map(keeps_changes, listed.agents.values()))
    endpoints = {"list": listed.may_manage, "mutations": may_change, **_NO_ENDPOINTS}
    off = {"audioFileTranscriptionEnabled": False, "telemetryDisabled": True}
    return {**info, "threadEndpoints": endpoints, **off}


def _wire(call: Call, stream: Stream) -> Wire:
    wire = sse_or_lines(call, stream)
    return wire if stream.version is not None else _WithAborts(wire)


class _WithAborts:
    """The end of a run that was stopped is not shown as a failure (see `streams.endings`, rule 3)."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.media_type, self.heartbeat = wire.media_type, wire.heartbeat

    def encode(self, batch: Batch) -> bytes:
        """The bytes of a batch."""
        return self._wire.encode([_as_abort(each) for each in batch])


def _as_abort(emitted: EncodedEvent) -> EncodedEvent:
    if not is_cancelled(emitted.event):
        return emitted
    return EncodedEvent({**(for_client_version(emitted.event, None) or {}), "code": ABORT})
