"""The last filter before a client: what its protocol version cannot read, in words it can. Pure, one event at a time.

Clients that declare no version (`@ag-ui/client` 0.0.59, which CopilotKit's React client pins) end the stream, silently,
on the outcome `cancelled`, on `pendingToolCallIds` and on content parts in tool results. Leaving `cancelled` out would
read as success, which the protocol forbids: they get `RUN_ERROR` with the code `cancelled`.
"""

from __future__ import annotations

from typing import Any

import orjson

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."


def for_client_version(event: Event, version: str | None) -> Event:
    """The event as a client of this protocol version takes it; the same object where nothing needs to change.

    `version`: as the client declares it; None: it declares none. The event itself is never changed.
    """
    if version is not None:
        return event
    translate = _TRANSLATIONS.get(event["type"])
    return event if translate is None else translate(event)


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
    told = [_result(message) if message["role"] == "tool" else message for message in event["messages"]]
    same = all(message is before for message, before in zip(told, event["messages"], strict=True))
    return event if same else {**event, "messages": told}


_TRANSLATIONS = {"RUN_FINISHED": _finished, "TOOL_CALL_RESULT": _result, "MESSAGES_SNAPSHOT": _snapshot}
