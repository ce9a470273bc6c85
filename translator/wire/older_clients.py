"""Converts events for clients that declare no protocol version. `for_client_version` is called for every event before
it is framed, applied to the view and emitted.

These clients are `@ag-ui/client` 0.0.59, which CopilotKit's React client pins, and all versions before it. If such a
client gets an event that it cannot read, its stream ends without an error message, because CopilotKit treats a schema
error as the end of the stream. So events are converted as follows:

1. The outcome `cancelled` becomes `RUN_ERROR` with the code `cancelled`. If the outcome were simply left out, the
   cancelled run would look successful, which the protocol forbids. `pendingToolCallIds` is left out, and the content
   parts of a tool result become text.
2. `SUBAGENT_*` events are left out, because clients up to 0.0.58 do not know them. The steps of subagents are left out
   too. A client that ignores `subagentRunId` identifies a step by its name alone, and ends its stream if two open steps
   have the same name. `subagentRunId` stays on all other events. 0.0.58 ignores the field, and 0.0.59 stores it in the
   messages, so that later runs know which subagent each message belongs to.
"""

from __future__ import annotations

from typing import Any

import orjson

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."


def for_client_version(event: Event, version: str | None) -> Event | None:
    """Returns the event in a form that a client with this protocol version can read, or None if the event must not be
    sent.

    `version` is the version that the client declares, or None if it declares none. The event itself is never changed.
    If no conversion is needed, the same dict is returned.
    """
    if version is not None:
        return event
    kind = event["type"]
    if kind.startswith(("SUBAGENT_", "STEP_")):
        return None if "subagentRunId" in event else event
    convert = _CONVERSIONS.get(kind)
    return event if convert is None else convert(event)


def result_content(content: Any, version: str | None) -> Any:
    """Returns the content of a tool result in a form that a client with this protocol version can read. Content parts
    become JSON text for a client that declares no version, and stay unchanged for others."""
    return orjson.dumps(content).decode() if version is None and isinstance(content, list) else content


def _finished(event: Event) -> Event:
    outcome = event.get("outcome", {})
    if outcome.get("type") == "cancelled":
        return run_error(CANCELLED_MESSAGE, "cancelled", event.get("usage", ()), event.get("metadata"))
    if "pendingToolCallIds" in outcome:
        return {**event, "outcome": {"type": "success"}}
    return event


def _result(event: Event) -> Event:
    content = result_content(event["content"], None)
    return event if content is event["content"] else {**event, "content": content}


def _snapshot(event: Event) -> Event:
    messages = [_result(message) if message["role"] == "tool" else message for message in event["messages"]]
    is_same = all(new is old for new, old in zip(messages, event["messages"], strict=True))
    return event if is_same else {**event, "messages": messages}


_CONVERSIONS = {"RUN_FINISHED": _finished, "TOOL_CALL_RESULT": _result, "MESSAGES_SNAPSHOT": _snapshot}
