"""The events for what nodes write to the stream themselves, with `get_stream_writer`
(https://docs.langchain.com/oss/python/langgraph/streaming).

Rules:

1. An AG-UI `ACTIVITY_SNAPSHOT` or `ACTIVITY_DELTA` is emitted as it is, if it is valid and the client can apply it.
   Its id must not belong to another kind of message, its patch must fit the activity, and the patched activity must not
   be nested so deeply that a snapshot could not hold it.
2. A mapping of only `name` and `value`, or an AG-UI `CUSTOM` event, becomes `CUSTOM` with that name. Anything else,
   even another AG-UI event, becomes `CUSTOM` with the name `custom` and the payload as its value.
3. A mapping of only `name`, which is `agui_state`, and `value`, a mapping of values by channel, is state that a node
   writes while it runs. The values are emitted as state. They stay until a node has written their channel or the run
   ends (`checkpoint/state.py`). A subagent has its own state, so what it writes becomes a `CUSTOM` event with its id.
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
    """The values by channel that a payload of the `custom` mode, as JSON, writes (rule 3); None for other payloads."""
    is_state = isinstance(value, dict) and value.keys() == {"name", "value"} and value["name"] == STATE
    return value["value"] if is_state and isinstance(value["value"], dict) else None


def custom_event(value: Any, view: ClientView, subagent: str | None) -> Event:
    """The event for a payload of the `custom` mode, as JSON. `view`: what the client has; `subagent`: the id of the
    subagent that wrote it, if one did."""
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
    """The activity event in a payload; None if it is not valid or the client cannot apply it (rule 1)."""
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
    except ValueError:  # not an event of the protocol, or a patch that cannot be applied
        return None
    is_of_activity = current is None or current["role"] == "activity"
    return event if is_of_activity and isinstance(content, dict) else None


def _reach(patch: list[Event]) -> int:
    """How deeply the values of a patch may be nested. A value that is moved or copied is not in the patch, so it may
    have any depth."""
    moves = any(item["op"] in ("move", "copy") for item in patch)
    return MAX_DEPTH + 1 if moves else max(item["path"].count("/") + nesting(item.get("value")) for item in patch)
