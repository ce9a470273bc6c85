"""The last filter before a client: what its protocol version cannot read, in a form that it can. Pure, event by event.

What clients that declare no version cannot read ends their stream, silently. They are `@ag-ui/client` 0.0.59, which
CopilotKit's React client pins, and all before it. For them:

1. The outcome `cancelled` becomes `RUN_ERROR` with the code `cancelled`: without an outcome it would read as success,
   which the protocol forbids. `pendingToolCallIds` is left out, and content parts in tool results become text.
2. Clients up to 0.0.58 know no subagents. `SUBAGENT_*` events are left out, and the steps of subagents with them:
   without its owner, the name of a step may be open twice, which ends the stream. `subagentRunId` stays where else it
   is: those clients ignore it, and 0.0.59 keeps it in its messages, so that later runs know them as a subagent's.
"""

from __future__ import annotations

from typing import Any

import orjson

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."


def for_client_version(event: Event, version: str | None) -> Event | None:
    """The event as a client of this protocol version takes it; None if the client must not get it.

    `version`: as the client declares it; None: it declares none. The event itself is never changed: it is what is
    returned where nothing needs to change.
    """
    if version is not None:
        return event
    kind = event["type"]
    if kind.startswith(("SUBAGENT_", "STEP_")):
        return None if "subagentRunId" in event else event
    convert = _CONVERSIONS.get(kind)
    return event if convert is None else convert(event)


def parts_as_text(parts: list[Any]) -> str:
    """The content parts of a tool result, for a client that takes only text there."""
    return orjson.dumps(parts).decode()


def _finished(event: Event) -> Event:
    outcome = event.get("outcome", {})
    if outcome.get("type") == "cancelled":
        return run_error(CANCELLED_MESSAGE, "cancelled", event.get("usage", ()), event.get("metadata"))
    if "pendingToolCallIds" in outcome:
        return {**event, "outcome": {"type": "success"}}
    return event


def _result(event: Event) -> Event:
    content = event["content"]
    return {**event, "content": parts_as_text(content)} if isinstance(content, list) else event


def _snapshot(event: Event) -> Event:
    before = event["messages"]
    messages = [_result(each) if each["role"] == "tool" else each for each in before]
    is_same = all(message is each for message, each in zip(messages, before, strict=True))
    return event if is_same else {**event, "messages": messages}


_CONVERSIONS = {"RUN_FINISHED": _finished, "TOOL_CALL_RESULT": _result, "MESSAGES_SNAPSHOT": _snapshot}
