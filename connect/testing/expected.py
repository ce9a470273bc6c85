"""Computes what a client must have after a run (`expected`), and puts messages into a form for comparison. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ...translator import Options, client_contents

Wire = Mapping[str, Any]


class Expected(NamedTuple):
    """What a client must have: its messages as dictionaries, and its state."""

    messages: list[Wire]
    state: Any


def expected(values: Any, options: Options | None = None, *, waiting: Iterable[Wire] = ()) -> Expected:
    """Returns what a client must have after success or an interrupt.

    `values` are those of the thread's checkpoint, and `options` those of the stream. `waiting` are messages of
    namespaces with a pending interrupt. They stay displayed in addition to the stored ones, because the run continues
    with the same ids. After an error, a cancellation or a loss nothing is expected, because partial text stays until
    the next snapshot.

    Example:
        target = expected({"messages": [HumanMessage("Hi!", id="1")], "count": 2})
        assert target.messages == [{"id": "1", "role": "user", "content": "Hi!"}]
        assert target.state == {"count": 2}
    """
    stored, state = client_contents(values, options)
    by_id: dict[str, Wire] = {wire["id"]: wire for wire in stored}
    for wire in waiting:
        by_id.setdefault(wire["id"], wire)
    return Expected([*by_id.values()], state)


def comparable(messages: Iterable[Wire], unordered_ids: Collection[str] = ()) -> list[Any]:
    """Returns messages in a form for comparison. Only the order that matters is kept, arguments are compared as JSON,
    and empty content as missing.

    Messages of users and assistants are in order, each followed by its tool results in any order. Reasoning, activities
    and messages with an id in `unordered_ids` are compared as a set.
    """
    order: list[Any] = []
    results: list[str] = []
    unordered: list[str] = []
    for message in messages:
        form = _form(message)
        if message["role"] in ("reasoning", "activity") or message["id"] in unordered_ids:
            unordered.append(form)
        elif message["role"] == "tool":
            results.append(form)
        else:
            order += [sorted(results), form]
            results = []
    return [*order, sorted(results), sorted(unordered)]


def unattributed(messages: Iterable[Wire]) -> list[Wire]:
    """Returns the messages that no subagent has emitted. A checkpoint contains no others."""
    return [message for message in messages if "subagentRunId" not in message]


def _form(message: Wire) -> str:
    form = {key: value for key, value in message.items() if value not in ("", [], None)}
    if message["role"] == "tool":
        form.pop("error", None)  # only in snapshots, not in events; the metadata contain the same
    form["toolCalls"] = [_call(call) for call in message.get("toolCalls") or ()]
    return json.dumps(form, sort_keys=True)


def _call(call: Wire) -> Any:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError:
        arguments = function["arguments"]
    return {**call, "function": {"name": function["name"], "arguments": arguments}}
