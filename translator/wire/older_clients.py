"""The last filter before a client: what its protocol version cannot read, in a form that it can. Pure, event by event.

What clients that declare no version cannot read ends their stream, silently. They are `@ag-ui/client` 0.0.59, which
CopilotKit's React client pins, and all before it. For them:

1. The outcome `cancelled` becomes `RUN_ERROR` with the code `cancelled`: without an outcome it would read as success,
   which the protocol forbids. `pendingToolCallIds` is left out, and content parts in tool results become text.
2. Subagents are unknown to clients up to 0.0.58. `SUBAGENT_*` events are left out, and what subagents emit is the main
   agent's. Their steps are left out too: without its owner, a step's name may be open twice, which ends the stream.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."

_OWNER: Final = "subagentRunId"


def for_client_version(event: Event, version: str | None) -> Event | None:
    """The event as a client of this protocol version takes it; None if the client must not get it.

    `version`: as the client declares it; None: it declares none. The event itself is never changed: it is what is
    returned where nothing needs to change.
    """
    if version is not None:
        return event
    kind = event["type"]
    if _OWNER in event:
        if kind.startswith(("SUBAGENT_", "STEP_")):
            return None
        event = _unowned(event)
    convert = _CONVERSIONS.get(kind)
    return event if convert is None else convert(event)


def parts_as_text(parts: list[Any]) -> str:
    """The content parts of a tool result, for a client that takes only text there."""
    return orjson.dumps(parts).decode()


def _unowned(item: Event) -> Event:
    """An event, a message or an interrupt as one of the main agent."""
    return {name: value for name, value in item.items() if name != _OWNER} if _OWNER in item else item


def _finished(event: Event) -> Event:
    outcome = event.get("outcome", {})
    if outcome.get("type") == "cancelled":
        return run_error(CANCELLED_MESSAGE, "cancelled", event.get("usage", ()), event.get("metadata"))
    if "pendingToolCallIds" in outcome:
        return {**event, "outcome": {"type": "success"}}
    if any(_OWNER in interrupt for interrupt in outcome.get("interrupts", ())):
        interrupts = [_unowned(interrupt) for interrupt in outcome["interrupts"]]
        return {**event, "outcome": {**outcome, "interrupts": interrupts}}
    return event


def _result(event: Event) -> Event:
    content = event["content"]
    return {**event, "content": parts_as_text(content)} if isinstance(content, list) else event


def _snapshot(event: Event) -> Event:
    before = event["messages"]
    messages = [_result(each) if each["role"] == "tool" else each for each in map(_unowned, before)]
    is_same = all(message is each for message, each in zip(messages, before, strict=True))
    return event if is_same else {**event, "messages": messages}


_CONVERSIONS = {"RUN_FINISHED": _finished, "TOOL_CALL_RESULT": _result, "MESSAGES_SNAPSHOT": _snapshot}
