"""What a client must have after a run, `expected`, and how messages compare. Pure: no stream is read here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ...translator import Options, client_contents

Wire = Mapping[str, Any]


class Expected(NamedTuple):
    """What a client must have: its messages as wire dicts, and its state."""

    messages: list[Wire]
    state: Any


def expected(values: Any, options: Options | None = None, *, waiting: Iterable[Wire] = ()) -> Expected:
    """What a client must have after success or an interrupt.

    `values`: those of the thread's checkpoint. `options`: those of the stream. `waiting`: messages that namespaces with
    a pending interrupt have emitted; they stay beside the checkpoint's, because the run continues under the same ids.
    After an error, a cancel or a loss nothing is expected: partial text stays until the next snapshot.

    Example:
        wanted = expected({"messages": [HumanMessage("Hi!", id="1")], "count": 2})
        assert wanted.messages == [{"id": "1", "role": "user", "content": "Hi!"}]
        assert wanted.state == {"count": 2}
    """
    stored, state = client_contents(values, options)
    by_id: dict[str, Wire] = {wire["id"]: wire for wire in stored}
    for wire in waiting:
        by_id.setdefault(wire["id"], wire)
    return Expected([*by_id.values()], state)


def comparable(messages: Iterable[Wire], beside: Collection[str] = ()) -> list[Any]:
    """Messages in the form that compares: only the order that counts, arguments as JSON, empty content as none.

    Users' and assistants' messages are in order, each with the tool results behind it in any order. Reasoning,
    activities and the messages with an id in `beside` compare as a set.
    """
    order: list[Any] = []
    results: list[str] = []
    unordered: list[str] = []
    for message in messages:
        form = _form(message)
        if message["role"] in ("reasoning", "activity") or message["id"] in beside:
            unordered.append(form)
        elif message["role"] == "tool":
            results.append(form)
        else:
            order += [sorted(results), form]
            results = []
    return [*order, sorted(results), sorted(unordered)]


def unattributed(messages: Iterable[Wire]) -> list[Wire]:
    """The messages that no subagent emitted: a checkpoint has no others."""
    return [message for message in messages if "subagentRunId" not in message]


def _form(message: Wire) -> str:
    form = {key: value for key, value in message.items() if value not in ("", [], None)}
    if message["role"] == "tool":
        form.pop("error", None)  # no event has it: only a snapshot brings it, next to the same in the metadata
    form["toolCalls"] = [_call(call) for call in message.get("toolCalls") or ()]
    return json.dumps(form, sort_keys=True)


def _call(call: Wire) -> Any:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError:
        arguments = function["arguments"]
    return {**call, "function": {"name": function["name"], "arguments": arguments}}
