"""What each event does to the messages a client holds.

Here: the message half of `@ag-ui/client`'s reducer (`apply/default`), an event type each, for 1.0.0 and 0.0.59.
Never here: state, runs, what is open, and any judgement whether an event was legal.

Rules:
- Events come well formed (`shapes`); what the reducer then ignores (with or without a warning) is ignored.
- `old` tells the two clients apart: 0.0.59 lets reasoning run into an activity's content, and merges a messages
  snapshot by other rules (`reducer_snapshot`).
- Metadata merges key by key, the last write wins.
"""

from collections.abc import Callable
from typing import Any

from .apply_patch import RefusedError, patched
from .message_store import Entry, MessageStore
from .snapshots import messages_snapshot

__all__ = ["APPENDS", "REDUCES", "append_text"]

Event = dict[str, Any]


# --- the three that come once per token -------------------------------------------------------------------------------


def append_text(held: MessageStore, event: Event, old: bool) -> None:
    """TEXT_MESSAGE_CONTENT: text goes to the first message of that id, whatever its role, but into no activity."""
    try:
        entry = held.entries[event["messageId"]]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if entry.activity or delta.__class__ is not str:
        return
    entry.pieces.append(delta)
    if "metadata" in event:
        _merge(entry, event)


def append_reasoning(held: MessageStore, event: Event, old: bool) -> None:
    """REASONING_MESSAGE_CONTENT: as text; 0.0.59 writes over an activity's content."""
    try:
        entry = held.entries[event["messageId"]]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if (entry.activity and not old) or delta.__class__ is not str:
        return
    entry.pieces.append(delta)
    if "metadata" in event:
        _merge(entry, event)


def append_arguments(held: MessageStore, event: Event, old: bool) -> None:
    """TOOL_CALL_ARGS: arguments go to the first call of that id."""
    try:
        call = held.calls[event["toolCallId"]][1]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if delta.__class__ is not str:
        return
    call.pieces.append(delta)
    if "metadata" in event:
        _merge_call(held, event)


APPENDS: dict[str, Callable[[MessageStore, Event, bool], None]] = {
    "TEXT_MESSAGE_CONTENT": append_text,
    "REASONING_MESSAGE_CONTENT": append_reasoning,
    "TOOL_CALL_ARGS": append_arguments,
}


# --- text and reasoning -----------------------------------------------------------------------------------------------


def _text_start(held: MessageStore, event: Event, old: bool) -> None:
    entry = held.entries.get(event["messageId"])
    if entry is None:
        message = {"id": event["messageId"], "role": event.get("role", "assistant"), "content": ""}
        entry = held.append(message | _kept(event, "name", "subagentRunId"))
    if not entry.activity:
        _merge(entry, event)


def _text_end(held: MessageStore, event: Event, old: bool) -> None:
    entry = held.entries.get(event["messageId"])
    if entry is not None and not entry.activity:
        _merge(entry, event)


def _reasoning_start(held: MessageStore, event: Event, old: bool) -> None:
    entry = held.entries.get(event["messageId"])
    if entry is None:
        message = {"id": event["messageId"], "role": "reasoning", "content": ""}
        entry = held.append(message | _kept(event, "subagentRunId"))
    if old or not entry.activity:
        _merge(entry, event)


def _reasoning_end(held: MessageStore, event: Event, old: bool) -> None:
    entry = held.entries.get(event["messageId"])
    if entry is not None and (old or not entry.activity):
        _merge(entry, event)


def _encrypted(held: MessageStore, event: Event, old: bool) -> None:
    entity, value = event["entityId"], event["encryptedValue"]
    if event["subtype"] == "tool-call":
        found = held.calls.get(entity)
        if found is not None:
            entry, call = found
            call.wire = {**call.wire, "encryptedValue": value}
            entry.stale = True
        return
    message = held.entries.get(entity)
    if message is not None and not message.activity:
        message.put(encryptedValue=value)


# --- tool calls -------------------------------------------------------------------------------------------------------


def _call_start(held: MessageStore, event: Event, old: bool) -> None:
    call_id, name = event["toolCallId"], event["toolCallName"]
    found = held.calls.get(call_id)
    if found is not None:
        entry, call = found
        if call.wire["function"]["name"] != name:
            call.rename(name)
            entry.stale = True
    else:
        entry = _call_parent(held, event)
        held.add_call(entry, {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}})
    _merge_call(held, event)


def _call_parent(held: MessageStore, event: Event) -> Entry:
    """The assistant message a new call goes to: the parent, a new one under its id, or one under the call's id."""
    message_id = event["toolCallId"]
    parent_id = event.get("parentMessageId")
    if parent_id:
        parent = held.entries.get(parent_id)
        if parent is not None and parent.message["role"] == "assistant":
            return parent
        if parent is None:
            message_id = parent_id
    message = {"id": message_id, "role": "assistant", "toolCalls": []}
    if message_id not in held.entries:
        message |= _kept(event, "subagentRunId")
    return held.append(message)


def _call_end(held: MessageStore, event: Event, old: bool) -> None:
    _merge_call(held, event)


def _call_result(held: MessageStore, event: Event, old: bool) -> None:
    """Results stand behind the message that called, in the order they came; none replaces another."""
    message = {
        "id": event["messageId"],
        "toolCallId": event["toolCallId"],
        "role": event.get("role") or "tool",
        "content": event["content"],
        **_kept(event, "subagentRunId", "metadata"),
    }
    found = held.calls.get(event["toolCallId"])
    if found is None:
        held.append(message)
        return
    held.insert(held.after_answers(found[0]), message)


# --- activities -------------------------------------------------------------------------------------------------------


def _activity_snapshot(held: MessageStore, event: Event, old: bool) -> None:
    message = {
        "id": event["messageId"],
        "role": "activity",
        "activityType": event["activityType"],
        "content": event["content"],
        **_kept(event, "subagentRunId"),
    }
    entry = held.entries.get(event["messageId"])
    replace = event.get("replace", True)
    if entry is None:
        entry = held.append(message)
    elif entry.activity:
        if replace:
            kept = {key: value for key, value in entry.read().items() if key != "subagentRunId"}
            entry = held.swap(entry, kept | message)
    elif replace:
        entry = held.swap(entry, message)
    else:
        return
    _merge(entry, event)


def _activity_delta(held: MessageStore, event: Event, old: bool) -> None:
    entry = held.entries.get(event["messageId"])
    if entry is None or not entry.activity:
        return
    _merge(entry, event)
    message = entry.read()
    content = message.get("content")
    try:
        content = patched({} if content is None else content, event["patch"])
    except RefusedError:
        return
    held.swap(entry, {**message, "content": content, "activityType": event["activityType"]})


# --- whole histories --------------------------------------------------------------------------------------------------


def _run_started(held: MessageStore, event: Event, old: bool) -> None:
    for message in event.get("input", {}).get("messages", ()):
        if message["id"] not in held.entries:
            held.append(message)


# --- metadata ---------------------------------------------------------------------------------------------------------


def _merge(entry: Entry, event: Event) -> None:
    metadata = event.get("metadata")
    if isinstance(metadata, dict):
        entry.put(metadata={**entry.message.get("metadata", {}), **metadata})


def _merge_call(held: MessageStore, event: Event) -> None:
    metadata = event.get("metadata")
    found = held.calls.get(event["toolCallId"])
    if isinstance(metadata, dict) and found is not None:
        entry, call = found
        call.wire = {**call.wire, "metadata": {**call.wire.get("metadata", {}), **metadata}}
        entry.stale = True


def _kept(event: Event, *names: str) -> dict[str, Any]:
    return {name: event[name] for name in names if name in event}


REDUCES: dict[str, Callable[[MessageStore, Event, bool], None]] = {
    "TEXT_MESSAGE_START": _text_start,
    "TEXT_MESSAGE_END": _text_end,
    "REASONING_MESSAGE_START": _reasoning_start,
    "REASONING_MESSAGE_END": _reasoning_end,
    "REASONING_ENCRYPTED_VALUE": _encrypted,
    "TOOL_CALL_START": _call_start,
    "TOOL_CALL_END": _call_end,
    "TOOL_CALL_RESULT": _call_result,
    "ACTIVITY_SNAPSHOT": _activity_snapshot,
    "ACTIVITY_DELTA": _activity_delta,
    "MESSAGES_SNAPSHOT": messages_snapshot,
    "RUN_STARTED": _run_started,
}
