"""Messages compared and merged: two copies of one, two orders, one list put into another. On wire messages only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

import orjson

from ..wire.events import Event

_FIELDS: Final = ("role", "name", "toolCallId", "metadata", "encryptedValue", "activityType")


def by_id(wires: Iterable[Event]) -> dict[str, Event]:
    """Messages by id. Of several with one id (a list without a reducer may have one twice) the first counts."""
    listed = list(wires)
    found = {wire["id"]: wire for wire in listed}
    if len(found) < len(listed):
        found = {wire["id"]: wire for wire in reversed(listed)}
        found = {wire["id"]: found[wire["id"]] for wire in listed}
    return found


def count_calls(wanted: Mapping[str, Event]) -> Counter[str]:
    """How many of these messages have a tool call of each id."""
    return Counter(call["id"] for wire in wanted.values() for call in wire.get("toolCalls", ()))


def is_same_message(mine: Mapping[str, Any], wire: Mapping[str, Any]) -> bool:
    """Whether the client's copy of a message equals the checkpoint's: arguments as JSON, empty content as none."""
    if mine is wire or mine == wire:
        return True
    if any(mine.get(field) != wire.get(field) for field in _FIELDS):
        return False
    if (mine.get("content") or "") != (wire.get("content") or ""):
        return False
    if mine.get("role") != "assistant":
        return True  # other roles have no calls: what a client puts there can be anything
    return [*map(_call, mine.get("toolCalls") or ())] == [*map(_call, wire.get("toolCalls") or ())]


def _call(call: Mapping[str, Any]) -> tuple[Any, ...]:
    """What of a tool call is compared."""
    function = call["function"]
    return call["id"], function["name"], json_arguments(function["arguments"]), call.get("encryptedValue")


def same_arguments(mine: Any, its: Any) -> bool:
    """Whether a call's arguments are the same JSON, none being an empty object; what is no JSON compares as text."""
    return bool(json_arguments(mine) == json_arguments(its))


def json_arguments(text: Any) -> Any:
    """A call's arguments in a form that compares: canonical JSON, or the text if it is none (truncated, say)."""
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
    """Whether ids have the order of the wanted messages, as far as order counts."""
    pairs = zip_longest(_sequence(ids, wanted), _sequence(wanted, wanted))
    return ids == list(wanted) or all(mine == its for mine, its in pairs)


def _sequence(ids: Iterable[str], wanted: Mapping[str, Event]) -> Iterator[Any]:
    """The order that counts: users' and assistants' messages, and before each, unordered, the results in between."""
    results: set[str] = set()
    for message_id in ids:
        role = wanted[message_id]["role"]
        if role == "tool":
            results.add(message_id)
        elif role not in ("reasoning", "activity"):
            yield results
            yield message_id
            results = set()
    yield results


def common_length(left: list[str], right: list[str]) -> int:
    """How many ids two orders begin with in common."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (mine, its) in enumerate(pairs) if mine != its), min(len(left), len(right)))


def merge(wanted: Mapping[str, Event], order: list[str], copy: Callable[[str], Event | None]) -> list[Event]:
    """The wanted messages, and among them the others of `order`, each after the wanted one that it follows there.

    `copy` gives the client's copy of a message."""
    after: dict[str | None, list[Event]] = {}
    anchor: str | None = None
    for message_id in order:
        if message_id in wanted:
            anchor = message_id
        elif (message := copy(message_id)) is not None:
            after.setdefault(anchor, []).append(message)
    if not after:
        return list(wanted.values())
    merged = after.get(None, [])
    for message_id, wire in wanted.items():
        merged.append(wire)
        merged += after.get(message_id, ())
    return merged
