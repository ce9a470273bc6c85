"""The events for what nodes write to the stream themselves (`get_stream_writer`).

Rules:

1. An AG-UI `ACTIVITY_SNAPSHOT` or `ACTIVITY_DELTA` passes as itself if it is valid and the client can apply it: its id
   is not that of another kind of message, and its patch fits the activity, which it does not nest so deeply that no
   snapshot could have it.
2. A mapping of just `name` and `value`, or an AG-UI `CUSTOM` event, is `CUSTOM` with that name. Anything else, any
   other AG-UI event included, is `CUSTOM` with the name `custom` and the payload as its value.
3. A mapping of just `name`, which is `agui_state`, and `value`, a mapping, is state that a node writes while it runs:
   values by channel. They are emitted as state, and stay until a node has written their channel or the run ends
   (`checkpoint/state.py`). A subagent has a state of its own: what it writes is a `CUSTOM` event with its id.
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
"""The fields of an activity event that pass."""


STATE: Final = "agui_state"
"""The name under which a node writes state while it runs."""


def written_state(value: Any) -> dict[str, Any] | None:
    """The values by channel that a payload of the `custom` mode, as JSON, writes (rule 3); None: it writes none."""
    is_state = isinstance(value, dict) and value.keys() == {"name", "value"} and value["name"] == STATE
    return value["value"] if is_state and isinstance(value["value"], dict) else None


def custom_event(value: Any, view: ClientView, subagent: str | None) -> Event:
    """The event for a payload of the `custom` mode, as JSON; `view`: the client's; `subagent`: whose it is."""
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
    """The activity event that a payload is; None if it is not valid, or the client cannot apply it (rule 1)."""
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
    except ValueError:  # no event of the protocol, or a patch that is refused
        return None
    is_of_activity = current is None or current["role"] == "activity"
    return event if is_of_activity and isinstance(content, dict) else None


def _reach(patch: list[Event]) -> int:
    """How deep the values of a patch may lie: one that is moved or copied is not in the patch, and may be of any
    depth."""
    moves = any(item["op"] in ("move", "copy") for item in patch)
    return MAX_DEPTH + 1 if moves else max(item["path"].count("/") + nesting(item.get("value")) for item in patch)
