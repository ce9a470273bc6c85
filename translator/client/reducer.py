"""What each event does to the messages of a client: the message half of `@ag-ui/client`'s reducer.

Here: one function an event type, for 1.0.0 and (`MessageStore.is_legacy`) 0.0.59, and the merge of a messages snapshot.
Never here: state, runs, what is open, and whether an event was legal.

Rules:
- Events are well formed (`event_fields`). What the client then ignores, with or without a warning, is ignored.
- 0.0.59 appends reasoning to an activity's content, and merges a messages snapshot by other rules.
- Metadata merges key by key; the last write wins.

Rules of a messages snapshot:
- The client keeps its own order for ids it has. Ids new to it follow in the snapshot's order; one that is twice in the
  snapshot is twice afterwards.
- A message that is not in the snapshot is dropped. Reasoning is dropped only if the snapshot has any; an activity only
  if the snapshot has all activities of its type: as its metadata declares (1.0.0), otherwise if it has any.
- Where 0.0.59 keeps messages that may be missing in the snapshot, it also keeps its own copy of those that are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from ..wire.events import Event
from .apply_patch import RefusedError, apply_patch
from .message_store import MessageStore, StoredMessage
from .snapshots import complete_activity_types

__all__ = ["APPENDS", "REDUCES", "after_snapshot", "append_text"]

T = TypeVar("T")


# --- the three that come once per token -------------------------------------------------------------------------------


def append_text(store: MessageStore, event: Event) -> None:
    """TEXT_MESSAGE_CONTENT: text goes to the first message with the id, of any role but activity."""
    try:
        entry = store.entries[event["messageId"]]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if entry.is_activity or delta.__class__ is not str:
        return
    entry.deltas.append(delta)
    if "metadata" in event:
        _merge_metadata(entry, event)


def append_reasoning(store: MessageStore, event: Event) -> None:
    """REASONING_MESSAGE_CONTENT: as text; 0.0.59 writes over an activity's content."""
    try:
        entry = store.entries[event["messageId"]]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if (entry.is_activity and not store.is_legacy) or delta.__class__ is not str:
        return
    entry.deltas.append(delta)
    if "metadata" in event:
        _merge_metadata(entry, event)


def append_arguments(store: MessageStore, event: Event) -> None:
    """TOOL_CALL_ARGS: arguments go to the first tool call with the id."""
    try:
        call = store.calls[event["toolCallId"]][1]
        delta = event["delta"]
    except (KeyError, TypeError):
        return
    if delta.__class__ is not str:
        return
    call.deltas.append(delta)
    if "metadata" in event:
        _merge_call_metadata(store, event)


APPENDS: Mapping[Any, Callable[[MessageStore, Event], None]] = {
    "TEXT_MESSAGE_CONTENT": append_text,
    "REASONING_MESSAGE_CONTENT": append_reasoning,
    "TOOL_CALL_ARGS": append_arguments,
}
"""The events that append a delta, which need no check: a delta of another shape is ignored."""


# --- text and reasoning -----------------------------------------------------------------------------------------------


def _text_start(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is None:
        message = {"id": event["messageId"], "role": event.get("role", "assistant"), "content": ""}
        entry = store.append(message | _fields(event, "name", "subagentRunId"))
    if not entry.is_activity:
        _merge_metadata(entry, event)


def _text_end(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is not None and not entry.is_activity:
        _merge_metadata(entry, event)


def _reasoning_start(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is None:
        message = {"id": event["messageId"], "role": "reasoning", "content": ""}
        entry = store.append(message | _fields(event, "subagentRunId"))
    if store.is_legacy or not entry.is_activity:
        _merge_metadata(entry, event)


def _reasoning_end(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is not None and (store.is_legacy or not entry.is_activity):
        _merge_metadata(entry, event)


def _encrypted(store: MessageStore, event: Event) -> None:
    entity, value = event["entityId"], event["encryptedValue"]
    if event["subtype"] == "tool-call":
        found = store.calls.get(entity)
        if found is not None:
            entry, call = found
            call.wire = {**call.wire, "encryptedValue": value}
            entry.is_stale = True
        return
    message = store.entries.get(entity)
    if message is not None and not message.is_activity:
        message.set(encryptedValue=value)


# --- tool calls -------------------------------------------------------------------------------------------------------


def _call_start(store: MessageStore, event: Event) -> None:
    call_id, name = event["toolCallId"], event["toolCallName"]
    found = store.calls.get(call_id)
    if found is not None:
        entry, call = found
        if call.wire["function"]["name"] != name:
            call.rename(name)
            entry.is_stale = True
    else:
        entry = _call_parent(store, event)
        store.add_call(entry, {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}})
    _merge_call_metadata(store, event)


def _call_parent(store: MessageStore, event: Event) -> StoredMessage:
    """The assistant message of a new tool call: the parent, a new one under its id, or one under the call's id."""
    message_id = event["toolCallId"]
    parent_id = event.get("parentMessageId")
    if parent_id:
        parent = store.entries.get(parent_id)
        if parent is not None and parent.message["role"] == "assistant":
            return parent
        if parent is None:
            message_id = parent_id
    message = {"id": message_id, "role": "assistant", "toolCalls": []}
    if message_id not in store.entries:
        message |= _fields(event, "subagentRunId")
    return store.append(message)


def _call_result(store: MessageStore, event: Event) -> None:
    """Results follow the message with their call, in the order they came; none replaces another."""
    message = {
        "id": event["messageId"],
        "toolCallId": event["toolCallId"],
        "role": event.get("role") or "tool",
        "content": event["content"],
        **_fields(event, "subagentRunId", "metadata"),
    }
    found = store.calls.get(event["toolCallId"])
    if found is None:
        store.append(message)
    else:
        store.insert(store.after_results(found[0]), message)


# --- activities -------------------------------------------------------------------------------------------------------


def _activity_snapshot(store: MessageStore, event: Event) -> None:
    message = {
        "id": event["messageId"],
        "role": "activity",
        "activityType": event["activityType"],
        "content": event["content"],
        **_fields(event, "subagentRunId"),
    }
    entry = store.entries.get(event["messageId"])
    replaces = event.get("replace", True)
    if entry is None:
        entry = store.append(message)
    elif entry.is_activity:
        if replaces:
            kept = {key: value for key, value in entry.read().items() if key != "subagentRunId"}
            entry = store.replace(entry, kept | message)
    elif replaces:
        entry = store.replace(entry, message)
    else:
        return
    _merge_metadata(entry, event)


def _activity_delta(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is None or not entry.is_activity:
        return
    _merge_metadata(entry, event)
    message = entry.read()
    content = message.get("content")
    try:
        content = apply_patch({} if content is None else content, event["patch"])
    except RefusedError:
        return
    store.replace(entry, {**message, "content": content, "activityType": event["activityType"]})


# --- whole histories --------------------------------------------------------------------------------------------------


def _run_started(store: MessageStore, event: Event) -> None:
    for message in event.get("input", {}).get("messages", ()):
        if message["id"] not in store.entries:
            store.append(message)


def _messages_snapshot(store: MessageStore, event: Event) -> None:
    def stored(message: Event) -> StoredMessage:
        return StoredMessage(message, 0)

    store.set_order(_merge_snapshot(store.order, event, stored, attrgetter("message"), is_legacy=store.is_legacy))


def after_snapshot(messages: list[Event], event: Event, *, is_legacy: bool) -> list[Event]:
    """The messages that a client has after a messages snapshot, in its order, if it has `messages` before."""
    return _merge_snapshot(messages, event, _itself, _itself, is_legacy=is_legacy)


def _itself(message: Event) -> Event:
    return message


def _merge_snapshot(
    order: Iterable[T], event: Event, make: Callable[[Event], T], wire: Callable[[T], Event], *, is_legacy: bool
) -> list[T]:
    """A client's messages merged with those of a snapshot, in the client's order.

    The messages are of any kind: `make` makes one of a wire dict, `wire` gives its wire dict.
    """
    messages: list[Event] = event["messages"]
    fresh = {message["id"]: make(message) for message in messages}
    has_reasoning = any(message["role"] == "reasoning" for message in messages)
    complete = complete_activity_types(event, is_legacy=is_legacy)

    def is_kept(message: Event) -> bool:
        if message["role"] == "activity":
            return complete is not None and message.get("activityType") not in complete
        return message["role"] == "reasoning" and not has_reasoning

    merged: list[T] = []
    for item in order:
        message = wire(item)
        if is_legacy and is_kept(message):
            merged.append(item)
        elif message["id"] in fresh:
            merged.append(fresh[message["id"]])
        elif is_kept(message):
            merged.append(item)
    known = {wire(item)["id"] for item in merged}
    for message in messages:
        if message["id"] not in known:
            first = fresh[message["id"]]
            merged.append(first if wire(first) is message else make(message))
    return merged


# --- metadata ---------------------------------------------------------------------------------------------------------


def _merge_metadata(entry: StoredMessage, event: Event) -> None:
    if isinstance(event.get("metadata"), dict):
        entry.set(metadata=_merged(entry.message, event))


def _merge_call_metadata(store: MessageStore, event: Event) -> None:
    found = store.calls.get(event["toolCallId"])
    if found is not None and isinstance(event.get("metadata"), dict):
        entry, call = found
        call.wire = {**call.wire, "metadata": _merged(call.wire, event)}
        entry.is_stale = True


def _merged(wire: Mapping[str, Any], event: Event) -> dict[str, Any]:
    before = wire.get("metadata")
    return {**(before if isinstance(before, dict) else {}), **event["metadata"]}


def _fields(event: Event, *names: str) -> dict[str, Any]:
    return {name: event[name] for name in names if name in event}


REDUCES: Mapping[Any, Callable[[MessageStore, Event], None]] = {
    "TEXT_MESSAGE_START": _text_start,
    "TEXT_MESSAGE_END": _text_end,
    "REASONING_MESSAGE_START": _reasoning_start,
    "REASONING_MESSAGE_END": _reasoning_end,
    "REASONING_ENCRYPTED_VALUE": _encrypted,
    "TOOL_CALL_START": _call_start,
    "TOOL_CALL_END": _merge_call_metadata,
    "TOOL_CALL_RESULT": _call_result,
    "ACTIVITY_SNAPSHOT": _activity_snapshot,
    "ACTIVITY_DELTA": _activity_delta,
    "MESSAGES_SNAPSHOT": _messages_snapshot,
    "RUN_STARTED": _run_started,
}
"""The other events that change messages."""
