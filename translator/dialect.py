"""The last filter before a client: what its protocol version cannot read, in words it can. Pure, one event at a time.

Clients that declare no version (`@ag-ui/client` 0.0.59, which CopilotKit's React client pins) end the stream, silently,
on the outcome `cancelled`, on `pendingToolCallIds` and on content parts in tool results. Leaving `cancelled` out would
read as success, which the protocol forbids: they get `RUN_ERROR` with the code `cancelled`.
"""

from __future__ import annotations

from .events import Event, run_error

CANCELLED_MESSAGE = "The run was cancelled."


def spoken(event: Event, version: str | None) -> Event:
    """`event` as a client of this protocol version reads it; the event itself where nothing stands against it."""
    if version is not None or event["type"] != "RUN_FINISHED":
        return event
    outcome = event.get("outcome", {})
    if outcome.get("type") == "cancelled":
        return run_error(CANCELLED_MESSAGE, "cancelled", event.get("usage", ()))
    if "pendingToolCallIds" in outcome:
        return {**event, "outcome": {"type": "success"}}
    return event
