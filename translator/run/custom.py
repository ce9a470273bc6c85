"""Creates the events for payloads that nodes write to the stream with `get_stream_writer`
(https://docs.langchain.com/oss/python/langgraph/streaming).

Rules:

1. An AG-UI `ACTIVITY_SNAPSHOT` or `ACTIVITY_DELTA` (https://docs.ag-ui.com/concepts/events) is emitted unchanged if it
   is valid and the client can apply it. The client can apply it if its id does not belong to another kind of message,
   if its patch fits the activity, and if the patched activity is not nested too deeply for a snapshot.
2. A mapping with exactly the keys `name` and `value`, or an AG-UI `CUSTOM` event, becomes a `CUSTOM` event with the
   same name and value. Any other payload, even another AG-UI event, becomes a `CUSTOM` event whose name is `custom` and
   whose value is the payload.
3. A node can also write state while it is running. To do so it writes a mapping with exactly two keys: `name`, which is
   `agui_state`, and `value`, a mapping from channel names to values. These values are emitted as state. Each value is
   kept until a node writes to its channel or the run ends (`checkpoint/state.py`). A subagent has a state of its own,
   so a mapping from a subagent becomes a `CUSTOM` event with the subagent's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..client.apply_patch import apply_patch
from ..client.view import ClientView
from ..jsonable.to_json import MAX_DEPTH, nesting
from ..wire import events
from ..wire.events import Event
from ..wire.sse import to_model

_ACTIVITIES: Final = ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
_FIELDS = frozenset({"type", "messageId", "activityType", "content", "replace", "patch"})
"""The fields of an activity event that are kept."""


STATE: Final = "agui_state"
"""The value of `name` in a mapping with which a running node writes state."""


def written_state(value: Any) -> dict[str, Any] | None:
    """Returns the state in a payload in `custom` mode (rule 3), as a mapping from channel names to values; None if
    the payload is not state. `value`: the payload as JSON."""
    is_state = isinstance(value, dict) and value.keys() == {"name", "value"} and value["name"] == STATE
    return value["value"] if is_state and isinstance(value["value"], dict) else None


def custom_event(value: Any, view: ClientView, subagent: str | None) -> Event:
    """Returns the event for a payload of the `custom` mode. `value`: the payload as JSON. `view`: the client's messages
    and state.
    `subagent`: the id of the subagent that wrote the payload; None if no subagent did."""
    if isinstance(value, dict):
        kind = value.get("type")
        if kind in _ACTIVITIES:
            activity = _activity(value, view, subagent)
            if activity is not None:
                return activity
        is_custom = kind == "CUSTOM" or value.keys() == {"name", "value"}
        if is_custom and isinstance(value.get("name"), str) and "value" in value:
            return events.custom(value["name"], value["value"], subagent)
    return events.custom("custom", value, subagent)


def _activity(value: Mapping[str, Any], view: ClientView, subagent: str | None) -> Event | None:
    """Returns the activity event in a payload; None if the event is not valid or the client cannot apply it (rule
    1)."""
    event = {key: item for key, item in value.items() if key in _FIELDS and item is not None}
    if subagent is not None:
        event["subagentRunId"] = subagent
    try:
        to_model(event)
        current = view.message(event["messageId"])
        if event["type"] == "ACTIVITY_SNAPSHOT":
            content = event["content"]
        else:
            content = None if current is None else apply_patch(current.get("content"), event["patch"])
            if event["patch"] and _reach(event["patch"]) > MAX_DEPTH and nesting(content) > MAX_DEPTH:
                return None
    except ValueError:  # the event is not valid, or its patch cannot be applied
        return None
    is_of_activity = current is None or current["role"] == "activity"
    return event if is_of_activity and isinstance(content, dict) else None


def _reach(patch: list[Event]) -> int:
    """Returns how deeply a patch may nest values in the document. A patch does not contain the values that it moves or
    copies, so for such a patch the depth is unknown, and the result is greater than `MAX_DEPTH`."""
    moves = any(item["op"] in ("move", "copy") for item in patch)
    return MAX_DEPTH + 1 if moves else max(item["path"].count("/") + nesting(item.get("value")) for item in patch)
