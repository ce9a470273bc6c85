"""Checks which events a client accepts after which, as `@ag-ui/client` does, one event at a time. No I/O.

In addition to what that client refuses or warns about, it reports these mistakes: a run that ends is not the one that
has started, two interrupts have the same id, or an item is open when the run fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import jsonpatch
from pydantic import ValidationError

from ...translator import ClientView, to_model

Event = dict[str, Any]

_ITEMS = {
    "TEXT_MESSAGE": ("texts", "messageId"),
    "TOOL_CALL": ("calls", "toolCallId"),
    "REASONING_MESSAGE": ("reasonings", "messageId"),
    "REASONING": ("spans", "messageId"),
}
"""Items with a START, deltas and an END: the field of `OpenItems` that lists them, and the event's field with their
key."""
_CHANGES = ("START", "CONTENT", "ARGS", "END")
_NULLABLE = {"snapshot", "value", "event"}
_PATCHES = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError)


class Grammar:
    """Finds the mistakes in the events of one stream, for a client of version 1.0 with this view. Call `mistakes` for
    each event before the view applies it."""

    def __init__(self, view: ClientView) -> None:
        self._view = view
        self._owners: dict[tuple[str, str], str | None] = {}
        """The subagent that each message, call and reasoning of the run belongs to; None if it is not a subagent's."""

    def mistakes(self, event: Event) -> Iterator[str]:
        """Yields what is wrong with the next event, as sentences."""
        view, kind = self._view, event.get("type")
        try:
            unknown = to_model(event).model_extra
        except ValidationError as error:
            yield f"it is not an event of the protocol: {error}"
            return
        if unknown or (nulls := [name for name, value in event.items() if value is None and name not in _NULLABLE]):
            yield f"its fields {[*(unknown or nulls)]} are unknown, or are null and must be left out"
        yield from _of_run(view, event)
        yield from _of_item(view, event)
        yield from self._of_owner(event)
        yield from _of_step_or_subagent(view, event)
        if kind == "STATE_DELTA":
            yield from _of_patch(view.state, event["delta"])
        elif kind == "ACTIVITY_DELTA":
            current = view.message(event["messageId"])
            yield from (
                ["the activity does not exist"] if current is None else _of_patch(current["content"], event["patch"])
            )

    def _of_owner(self, event: Event) -> Iterator[str]:
        """Checks that a message, a call or reasoning belongs to the same subagent, or to none, from beginning to
        end."""
        kind, owner, owners = event["type"], event.get("subagentRunId"), self._owners
        item, _, change = kind.rpartition("_")
        if kind == "RUN_STARTED":
            owners.clear()
        elif kind == "TOOL_CALL_RESULT":
            owners["TEXT_MESSAGE", event["messageId"]] = owner
        elif kind == "MESSAGES_SNAPSHOT":
            for message in event["messages"]:
                of = message.get("subagentRunId")
                owners["REASONING" if message["role"] == "reasoning" else "TEXT_MESSAGE", message["id"]] = of
                owners |= {("TOOL_CALL", call["id"]): of for call in message.get("toolCalls", ())}
        elif item in _ITEMS and change in _CHANGES:
            key = item.removesuffix("_MESSAGE") if item != "TEXT_MESSAGE" else item, event[_ITEMS[item][1]]
            parent = "TEXT_MESSAGE", event.get("parentMessageId", "")
            if any(part in owners and owners[part] != owner for part in (key, parent)) and owner is not None:
                yield f"{key[1]} does not belong to the subagent {owner}"
            elif owner is None and {key, parent} <= owners.keys() and owners[key] != owners[parent]:
                yield f"{key[1]} and its message do not belong to the same subagent"
            owners.setdefault(key, owners.get(parent) if owner is None else owner)


def _of_run(view: ClientView, event: Event) -> Iterator[str]:
    kind = event["type"]
    if kind.endswith("_CHUNK"):
        yield "chunks can't be mixed with START, CONTENT and END events"
    if kind == "RUN_STARTED" and view.live:
        yield "the run before has not ended"
    elif kind not in ("RUN_STARTED", "RUN_ERROR") and not view.live:
        yield "no run has started" if view.terminal is None else "the run has ended"
    elif kind == "RUN_ERROR" and not view.live and view.terminal is not None and view.outcome is None:
        yield "the run has already failed"
    elif kind == "RUN_FINISHED":
        if (event["threadId"], event["runId"]) != (view.thread_id, view.run_id):
            yield f"the run that started is {view.run_id} of thread {view.thread_id}"
        interrupts = [interrupt["id"] for interrupt in event.get("outcome", {}).get("interrupts", ())]
        if len({*interrupts}) < len(interrupts):
            yield f"two interrupts have the same id: {interrupts}"
    if kind in ("RUN_FINISHED", "RUN_ERROR"):
        items = view.open
        ids = [*items.texts, *items.calls, *items.spans, *items.reasonings, *items.steps, *items.subagents]
        if ids:
            yield f"still open: {ids}"


def _of_item(view: ClientView, event: Event) -> Iterator[str]:
    item, _, change = event["type"].rpartition("_")
    if item not in _ITEMS or change not in _CHANGES:
        return
    name, id_field = _ITEMS[item]
    key = event[id_field]
    is_open = key in getattr(view.open, name)
    if is_open == (change == "START"):
        yield f"{key} is already open" if is_open else f"{key} is not open"
    message_id = view.message_of_call(key) if item == "TOOL_CALL" else key
    message = None if message_id is None else view.message(message_id)
    if change == "START":
        parent_id = event.get("parentMessageId")
        message = message or (view.message(parent_id) if parent_id else None)
        if item == "TOOL_CALL" and message is not None and message["role"] != "assistant":
            yield f"the message {parent_id} is not from an assistant"
        call = view.call(key) if item == "TOOL_CALL" else None
        if call is not None and call["function"]["name"] != event["toolCallName"]:
            yield f"the call {key} has another name: {call['function']['name']}"
    elif message is None and item != "REASONING":
        yield f"the client has no {key}, because a snapshot has left it out"
    if message is not None and item != "TOOL_CALL" and message["role"] == "activity":
        yield f"{key} is an activity"


def _of_step_or_subagent(view: ClientView, event: Event) -> Iterator[str]:
    kind, items, subagent = event["type"], view.open, event.get("subagentRunId")
    if kind in ("STEP_STARTED", "STEP_FINISHED"):
        is_open = (subagent, event["stepName"]) in items.steps
        if is_open == (kind == "STEP_STARTED"):
            yield f"the step {event['stepName']} is {'already open' if is_open else 'not open'}"
    elif kind == "SUBAGENT_STARTED":
        if subagent in items.started:
            yield f"the subagent {subagent} has already started"
        parent = event.get("parentSubagentRunId")
        if parent is not None and parent not in items.started:
            yield f"its parent {parent} has not started"
    elif kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR") and subagent not in items.subagents:
        yield f"the subagent {subagent} is not open"


def _of_patch(document: Any, patch: list[Mapping[str, Any]]) -> Iterator[str]:
    try:
        jsonpatch.apply_patch(document, deepcopy(patch))
    except _PATCHES as error:
        yield f"the patch cannot be applied: {error!r}"
