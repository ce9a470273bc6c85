"""Applies events to a client's messages as the reducer of `@ag-ui/client` does
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts).

Each kind of event has its own function. This module follows version 1.0.0, or 0.0.59 if `MessageStore.is_legacy` is
set. It does not handle state, runs and open items, and does not check events.

Rules:

- Events must be well formed. `ClientView.apply` checks the events from other producers. An event that the client
  ignores, with or without a warning, is ignored here too.
- Metadata is merged key by key. The last value for a key replaces earlier ones.
- 0.0.59 appends reasoning to the content of an activity that has the same id, and merges messages snapshots
  differently.

Rules for messages snapshots:

- The client keeps its own order for the ids that it already has. New ids follow in the order of the snapshot. If the
  snapshot contains a new id twice, the client then has two messages with that id.
- A message that is missing from the snapshot is dropped, with two exceptions. Reasoning stays if the snapshot contains
  no reasoning at all. An activity stays unless the snapshot is complete for its activity type. 1.0.0 reads the complete
  types from the snapshot's metadata. Without such metadata, a snapshot that contains any activity counts as complete
  for all types.
- If one of these exceptions applies to a message, 0.0.59 keeps its own copy even if the snapshot contains the message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ..wire.events import Event
from .apply_patch import RefusedError, apply_patch
from .message_store import MessageStore, StoredMessage
from .snapshot_rules import staying

# --- text and reasoning -----------------------------------------------------------------------------------------------


def append_text(store: MessageStore, event: Event) -> None:
    """Appends the text of a TEXT_MESSAGE_CONTENT or REASONING_MESSAGE_CONTENT event to the first message with the
    event's message id."""
    entry = store.entries.get(event["messageId"])
    if entry is None or (entry.is_activity and not _changes_activities(store, event)):
        return
    entry.append_text(event["delta"])
    if "metadata" in event:
        _merge_metadata(entry, event)


def _text_start(store: MessageStore, event: Event) -> None:
    if event["messageId"] not in store.entries:
        message = {"id": event["messageId"], "role": event.get("role", "assistant"), "content": ""}
        store.append(message | _fields(event, "name", "subagentRunId"))
    if "metadata" in event:
        _text_end(store, event)


def _text_end(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is not None and (not entry.is_activity or _changes_activities(store, event)):
        _merge_metadata(entry, event)


def _changes_activities(store: MessageStore, event: Event) -> bool:
    """Whether a message event also changes an activity that has the same id. Only reasoning events do so, and only in
    0.0.59."""
    return store.is_legacy and event["type"].startswith("REASONING_")


def _encrypted(store: MessageStore, event: Event) -> None:
    entity, value = event["entityId"], event["encryptedValue"]
    if event["subtype"] == "tool-call":
        _change_call(store, entity, encryptedValue=value)
    elif (entry := store.entries.get(entity)) is not None and not entry.is_activity:
        entry.set(encryptedValue=value)


# --- tool calls -------------------------------------------------------------------------------------------------------


def _call_start(store: MessageStore, event: Event) -> None:
    call_id, name = event["toolCallId"], event["toolCallName"]
    if call_id in store.calls:
        function = store.calls[call_id][1].wire["function"]
        _change_call(store, call_id, function={**function, "name": name})
    else:
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        store.add_call(_call_parent(store, event), call)
    _call_end(store, event)


def _call_parent(store: MessageStore, event: Event) -> StoredMessage:
    """Returns the assistant message to which a new tool call is added. If the store does not contain the parent message
    that the event names, an assistant message with the parent's id is appended. If the event names no parent, or if the
    parent is not an assistant message, an assistant message with the id of the tool call is appended."""
    parent_id = event.get("parentMessageId")
    parent = store.entries.get(parent_id) if parent_id else None
    if parent is not None and parent.message["role"] == "assistant":
        return parent
    message_id = parent_id if parent_id and parent is None else event["toolCallId"]
    message = {"id": message_id, "role": "assistant", "toolCalls": []}
    if message_id not in store.entries:
        message |= _fields(event, "subagentRunId")
    return store.append(message)


def append_arguments(store: MessageStore, event: Event) -> None:
    """Appends the delta of a TOOL_CALL_ARGS event to the arguments of the first tool call with the event's tool call
    id."""
    if (indexed := store.calls.get(event["toolCallId"])) is not None:
        entry, call = indexed
        call.deltas.append(event["delta"])
        entry.is_stale = True
        _call_end(store, event)


def _call_end(store: MessageStore, event: Event) -> None:
    indexed = store.calls.get(event["toolCallId"])
    if indexed is not None and "metadata" in event:
        _change_call(store, event["toolCallId"], metadata=_merged(indexed[1].wire, event))


def _change_call(store: MessageStore, call_id: str, **fields: Any) -> None:
    if (indexed := store.calls.get(call_id)) is not None:
        entry, call = indexed
        call.wire = {**call.wire, **fields}
        entry.is_stale = True


def _call_result(store: MessageStore, event: Event) -> None:
    """Inserts a tool result after the message that contains the tool call and after the results that already follow
    that message. An existing result is never replaced. A result for an unknown tool call is appended at the end."""
    message = {
        "id": event["messageId"],
        "toolCallId": event["toolCallId"],
        "role": event.get("role", "tool"),
        "content": event["content"],
        **_fields(event, "subagentRunId", "metadata"),
    }
    indexed = store.calls.get(event["toolCallId"])
    if indexed is None:
        store.append(message)
        return
    caller, _ = indexed
    position = caller.position + 1 + caller.results
    while position < len(store.order) and store.order[position].message["role"] == "tool":
        position += 1
    store.insert(position, message)
    caller.results = position - caller.position


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
    if entry is None:
        entry = store.append(message)
    elif event.get("replace", True):
        kept = _fields(entry.message, "metadata") if entry.is_activity else {}
        entry = store.replace(entry, kept | message)
    elif not entry.is_activity:
        return
    _merge_metadata(entry, event)


def _activity_delta(store: MessageStore, event: Event) -> None:
    entry = store.entries.get(event["messageId"])
    if entry is None or not entry.is_activity:
        return
    _merge_metadata(entry, event)
    message = entry.read()
    content = message.get("content")
    with suppress(RefusedError):
        content = apply_patch({} if content is None else content, event["patch"])
        store.replace(entry, {**message, "content": content, "activityType": event["activityType"]})


# --- whole histories --------------------------------------------------------------------------------------------------


def _run_started(store: MessageStore, event: Event) -> None:
    for message in event.get("input", {}).get("messages", ()):
        if message["id"] not in store.entries:
            store.append(message)


def _messages_snapshot(store: MessageStore, event: Event) -> None:
    messages: list[Event] = event["messages"]
    if not store.ids:
        store.set_messages(messages)
        return
    wires = {message["id"]: message for message in messages}
    stays = staying(event, is_legacy=store.is_legacy)
    merged: list[StoredMessage] = []
    fresh: dict[str, StoredMessage] = {}
    for entry in store.order:
        wire = wires.get(entry.id)
        if (wire is None or store.is_legacy) and stays(entry.message):
            merged.append(entry)
        elif wire is not None:
            if entry.id not in fresh:  # if the client has a message twice, both positions share one object
                fresh[entry.id] = StoredMessage(wire, 0)
            merged.append(fresh[entry.id])
    known = {entry.id for entry in merged}
    added = [message for message in messages if message["id"] not in known]
    store.set_order(merged + [StoredMessage(message, 0) for message in added])


# --- metadata ---------------------------------------------------------------------------------------------------------


def _merge_metadata(entry: StoredMessage, event: Event) -> None:
    if "metadata" in event:
        entry.set(metadata=_merged(entry.message, event))


def _merged(wire: Mapping[str, Any], event: Event) -> dict[str, Any]:
    before = wire.get("metadata")
    return {**(before if isinstance(before, dict) else {}), **event["metadata"]}


def _fields(wire: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: wire[name] for name in names if name in wire}


REDUCES: Mapping[str, Callable[[MessageStore, Event], None]] = {
    "TEXT_MESSAGE_START": _text_start,
    "TEXT_MESSAGE_CONTENT": append_text,
    "TEXT_MESSAGE_END": _text_end,
    "REASONING_MESSAGE_START": _text_start,
    "REASONING_MESSAGE_CONTENT": append_text,
    "REASONING_MESSAGE_END": _text_end,
    "REASONING_ENCRYPTED_VALUE": _encrypted,
    "TOOL_CALL_START": _call_start,
    "TOOL_CALL_ARGS": append_arguments,
    "TOOL_CALL_END": _call_end,
    "TOOL_CALL_RESULT": _call_result,
    "ACTIVITY_SNAPSHOT": _activity_snapshot,
    "ACTIVITY_DELTA": _activity_delta,
    "MESSAGES_SNAPSHOT": _messages_snapshot,
    "RUN_STARTED": _run_started,
}
"""For each event type, the function that applies such events to the messages. Events of other types do not change
messages."""
