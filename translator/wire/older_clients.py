"""What clients that declare no protocol version get: `for_client_version`, the last step before an event leaves.

These clients are `@ag-ui/client` 0.0.59, which CopilotKit's React client pins, and all versions before it. What they
cannot read ends their stream without a message to the user: CopilotKit turns a schema error into an end of the stream.
For them:

1. The outcome `cancelled` becomes `RUN_ERROR` with the code `cancelled`. Leaving the outcome out would read as success,
   which the protocol forbids. `pendingToolCallIds` is left out, and the content parts of a tool result become text.
2. `SUBAGENT_*` events are left out: clients up to 0.0.58 do not know them. The steps of subagents are left out too,
   because without its owner a step's name may be open twice, which ends the stream. `subagentRunId` stays on all other
   events: 0.0.58 ignores it, and 0.0.59 keeps it in its messages, so that later runs know whose they are.
"""

from __future__ import annotations

from typing import Any

import orjson

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."


def for_client_version(event: Event, version: str | None) -> Event | None:
    """The event as a client of this protocol version reads it; None if the client must not get it.

    `version`: the version that the client declares; None: it declares none. The event is not changed; if nothing needs
    to be different, it is returned itself.
    """
    if version is not None:
        return event
    kind = event["type"]
    if kind.startswith(("SUBAGENT_", "STEP_")):
        return None if "subagentRunId" in event else event
    convert = _CONVERSIONS.get(kind)
    return event if convert is None else convert(event)


def result_content(content: Any, version: str | None) -> Any:
    """The content of a tool result as a client of this protocol version reads it: content parts as they are, or as text
    for a client that declares no version."""
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
