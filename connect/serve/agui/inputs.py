"""Describes over HTTP what a client may send to an agent, so that a page can make a form.

    GET /{agent}/schemas    {"input": schema, "context": schema, "messages": bool, "closed": {"input", "context"}}

`input` is the JSON schema of the state that a client may write (`Intake.state`), and `context` is the JSON schema of
the fields that it may set in `forwardedProps.context` (`Intake.context_fields`). They are null if the graph's schemas
are not known. `closed` has the names of the other channels and fields, which clients may not write; see
`inputs.input_schemas`. Only a client with the app's token gets these names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..operations import DescribeInput, InputDescription, Result
from ..protocol import Call, Endpoint, Reply, plain_reply


def endpoints() -> Iterator[Endpoint]:
    """Yields the endpoint."""
    summary = "What a client may send to this agent, as JSON schemas"
    yield Endpoint(method="GET", path="/{agent}/schemas", summary=summary, check=_agent, parse=_parse, reply=_reply)


def _agent(call: Call) -> str:
    return call.agents.checked(call.path["agent"])


def _parse(call: Call) -> DescribeInput:
    return DescribeInput(agent=_agent(call))


def _reply(call: Call, result: Result) -> Reply:
    if not isinstance(result, InputDescription):
        return plain_reply(result)
    schemas = result.schemas
    content: dict[str, Any] = {"input": schemas.input, "context": schemas.context, "messages": schemas.messages}
    if result.has_token:
        content["closed"] = {"input": [*schemas.closed_input], "context": [*schemas.closed_context]}
    return Reply(content)
