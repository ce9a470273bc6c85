"""Conversations compared: two copies of a message, two orders, one put into the other. Pure functions on wire messages.

Nothing here knows what a client holds or is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ..wire.events import Event


def by_id(wires: Iterable[Event]) -> dict[str, Event]:
    """Messages by id. One whose id another has already (a list without a reducer may hold one twice) is not told
    twice."""
    found: dict[str, Event] = {}
    for wire in wires:
        found.setdefault(wire["id"], wire)
    return found


def count_calls(wanted: Mapping[str, Event]) -> Counter[str]:
    """How many of these messages have a tool call of each id."""
    return Counter(call["id"] for wire in wanted.values() for call in wire.get("toolCalls", ()))


def is_same_message(held: Mapping[str, Any], wire: Mapping[str, Any]) -> bool:
    """Whether the client's copy says what the checkpoint's does: arguments as JSON, empty content as none."""
    if held is wire:
        return True
    for key in ("role", "name", "toolCallId", "metadata", "encryptedValue", "activityType"):
        if held.get(key) != wire.get(key):
            return False
    if (held.get("content") or "") != (wire.get("content") or ""):
        return False
    if held.get("role") != "assistant":
        return True  # other roles have no calls: what a client puts there can be anything
    calls, others = held.get("toolCalls") or (), wire.get("toolCalls") or ()
    return len(calls) == len(others) and all(map(_same_call, calls, others))


def _same_call(held: Mapping[str, Any], wire: Mapping[str, Any]) -> bool:
    mine, its = held["function"], wire["function"]
    if held["id"] != wire["id"] or mine["name"] != its["name"]:
        return False
    if held.get("encryptedValue") != wire.get("encryptedValue"):
        return False
    return bool(mine["arguments"] == its["arguments"] or same_arguments(mine["arguments"], its["arguments"]))


def same_arguments(mine: Any, its: Any) -> bool:
    """Whether a call's arguments are the same JSON, none being an empty object; what is no JSON compares as text."""
    return bool(json_arguments(mine) == json_arguments(its))


def json_arguments(text: Any) -> Any:
    """A call's arguments in a form that compares: canonical JSON, or the text if it is none (cut short, say)."""
    try:
        return orjson.dumps(orjson.loads(text or "{}"), option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError):
        return text


def with_json_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message with the arguments of its calls in the form that compares."""
    calls = message.get("toolCalls")
    if not calls:
        return message
    functions = (
        {**call["function"], "arguments": str(json_arguments(call["function"]["arguments"]))} for call in calls
    )
    return {
        **message,
        "toolCalls": [{**call, "function": function} for call, function in zip(calls, functions, strict=True)],
    }


def same_order(ids: list[str], wanted: Mapping[str, Event]) -> bool:
    """Whether ids stand in the order of the wanted messages, as far as order counts."""
    return ids == list(wanted) or _sequence(ids, wanted) == _sequence(wanted, wanted)


def _sequence(ids: Iterable[str], wanted: Mapping[str, Event]) -> list[Any]:
    """The order that counts: users' and assistants' messages, and after each, unordered, the results that follow it."""
    sequence: list[Any] = []
    for message_id in ids:
        role = wanted[message_id]["role"]
        if role == "tool":
            if not sequence or not isinstance(sequence[-1], set):
                sequence.append(set())
            sequence[-1].add(message_id)
        elif role not in ("reasoning", "activity"):
            sequence.append(message_id)
    return sequence


def common_length(left: list[str], right: list[str]) -> int:
    """How many ids two orders begin with in common."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (mine, its) in enumerate(pairs) if mine != its), min(len(left), len(right)))


def merge(wanted: Mapping[str, Event], order: list[str], view: Any) -> list[Event]:
    """The wanted messages, and beside them the others of `order`, each behind what it stands behind now."""
    after: dict[str | None, list[Event]] = {}
    anchor: str | None = None
    for message_id in order:
        if message_id in wanted:
            anchor = message_id
        else:
            after.setdefault(anchor, []).append(view.message(message_id))
    merged = after.get(None, [])
    for message_id, wire in wanted.items():
        merged.append(wire)
        merged += after.get(message_id, ())
    return merged
