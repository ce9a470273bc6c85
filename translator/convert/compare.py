"""Compares and merges messages in wire form: two copies of one message, two orders of messages, or two lists of
messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import orjson

from ..wire.events import Event

_FIELDS: Final = ("role", "name", "toolCallId", "metadata", "encryptedValue", "activityType")


def by_id(wires: Sequence[Event]) -> dict[str, Event]:
    """Maps ids to messages. If several messages have the same id, the first one is used. A channel without a reducer
    may contain such messages."""
    indexed = {wire["id"]: wire for wire in wires}
    if len(indexed) < len(wires):
        indexed = {wire["id"]: wire for wire in reversed(wires)}
        indexed = {wire["id"]: indexed[wire["id"]] for wire in wires}
    return indexed


def count_calls(wanted: Mapping[str, Event]) -> Counter[str]:
    """For each tool call id, counts how often the tool call occurs in these messages."""
    return Counter(call["id"] for wire in wanted.values() for call in wire.get("toolCalls", ()))


def is_same_message(mine: Mapping[str, Any], wire: Mapping[str, Any]) -> bool:
    """Whether the client's copy of a message equals the checkpoint's copy. Arguments are compared as JSON, and empty
    content equals missing content."""
    if mine is wire or mine == wire:
        return True
    if any(mine.get(field) != wire.get(field) for field in _FIELDS):
        return False
    if (mine.get("content") or "") != (wire.get("content") or ""):
        return False
    if mine.get("role") != "assistant":
        return True  # only assistant messages contain tool calls; in other messages the field may have any value
    return [*map(_call, mine.get("toolCalls") or ())] == [*map(_call, wire.get("toolCalls") or ())]


def _call(call: Mapping[str, Any]) -> tuple[Any, ...]:
    """Extracts the values of a tool call that are compared."""
    function = call["function"]
    return call["id"], function["name"], json_arguments(function["arguments"]), call.get("encryptedValue")


def same_arguments(mine: Any, its: Any) -> bool:
    """Whether the arguments of two tool calls are equivalent as JSON. Missing arguments are treated as an empty object,
    and arguments that are not JSON are compared as text."""
    return bool(json_arguments(mine) == json_arguments(its))


def json_arguments(text: Any) -> Any:
    """Converts tool call arguments to a form that can be compared, which is canonical JSON. Text that is not JSON, for
    example because it was truncated, is returned unchanged."""
    try:
        return orjson.dumps(orjson.loads(text or "{}"), option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError):
        return text


def with_json_arguments(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copies a message and converts its tool call arguments with `json_arguments`. A message without tool calls is
    returned unchanged."""
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


def has_edited_arguments(present: list[Event], calls: list[Event]) -> bool:
    """Whether the calls differ from the present ones, and only in their arguments."""

    def keys(listed: list[Event]) -> list[tuple[str, str]]:
        return [(call["id"], call["function"]["name"]) for call in listed]

    def arguments(listed: list[Event]) -> list[Any]:
        return [json_arguments(call["function"]["arguments"]) for call in listed]

    return keys(present) == keys(calls) and arguments(present) != arguments(calls)


def same_order(ids: list[str], wanted: Mapping[str, Event]) -> bool:
    """Whether `ids` are in the same order as the wanted messages, as far as the order matters."""
    pairs = zip_longest(_sequence(ids, wanted), _sequence(wanted, wanted))
    return ids == list(wanted) or all(mine == its for mine, its in pairs)


def _sequence(ids: Iterable[str], wanted: Mapping[str, Event]) -> Iterator[Any]:
    """Yields the order in a form that leaves out the differences that do not matter. Tool results that follow each
    other are collected in a set, because their order does not matter. Reasoning and activities are skipped. The ids of
    all other messages are yielded one by one, each preceded by the set of the results before it. The results at the end
    are the last set."""
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
    """Counts the equal ids at the beginning of two orders."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (mine, its) in enumerate(pairs) if mine != its), min(len(left), len(right)))


def merge(wanted: Mapping[str, Event], order: list[str], copy: Callable[[str], Event | None]) -> list[Event]:
    """Merges the wanted messages with the other messages in `order`. Each of the other messages is placed after the
    wanted message that precedes it in `order`.

    `copy`: returns the client's copy of the message with this id, or None.
    """
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
