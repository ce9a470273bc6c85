"""A protocol that nobody speaks: all that a new one needs, but for its line in `routes.PROTOCOLS`.

POST /{agent}/say      {"to": thread, "say": text}: the answer as lines of JSON, [number, text]
POST /{agent}/silence  {"to": thread}: stops it
"""

from collections.abc import Iterator

import orjson
from ag_ui.core import RunAgentInput
from langgraph_agui.connect.events.encoded import Batch
from langgraph_agui.connect.serve.agents import AgentNames
from langgraph_agui.connect.serve.operations import Operation, Run, Stop
from langgraph_agui.connect.serve.protocol import Call, Endpoint, invalid
from langgraph_agui.connect.serve.requests.body import text_of


class NumberedLines:
    """A line for each piece of text; it counts them."""

    media_type, heartbeat = "application/x-toy", b"\n"

    def __init__(self) -> None:
        self._count = 0

    def encode(self, batch: Batch) -> bytes:
        texts = [each.event["delta"] for each in batch if each.event["type"] == "TEXT_MESSAGE_CONTENT"]
        self._count += len(texts)
        lines = [orjson.dumps([self._count - len(texts) + at, text]) + b"\n" for at, text in enumerate(texts, 1)]
        return b"".join(lines)


def parse(call: Call) -> Operation:
    name, thread_id, text = call.agents.checked(call.path["agent"]), text_of(call.body, "to"), text_of(call.body, "say")
    if thread_id is None:
        raise invalid('Expected {"to": ...}.')
    if text is None:
        return Stop(agent=name, thread_id=thread_id)
    said = {"messages": [{"id": text, "role": "user", "content": text}]}
    rest = {"runId": text, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return Run(agent=name, input=RunAgentInput.model_validate({"threadId": thread_id, **said, **rest}))


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    def wire(*_: object) -> NumberedLines:
        return NumberedLines()

    yield Endpoint(method="POST", path="/{agent}/say", summary="Say something", parse=parse, wire=wire)
    yield Endpoint(method="POST", path="/{agent}/silence", summary="Stop it", parse=parse)
