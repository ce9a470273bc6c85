"""What a client must have after a run: `expected`, the one function that tests ask, and how messages compare.

Pure: no stream is read and no client is driven here.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph_agui.translator import Options
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.jsonable.to_json import to_json
from langgraph_agui.translator.parts.channels import channels

Wire = Mapping[str, Any]


class Expected(NamedTuple):
    """Messages and state of a client."""

    messages: list[Wire]
    state: Any


def expected(checkpoint: Any, options: Options | None = None, *, waiting: Iterable[Wire] = ()) -> Expected:
    """What a client must hold after success or an interrupt.

    `checkpoint`: the thread's values. `waiting`: messages that namespaces with a pending interrupt have emitted; they
    stay beside the checkpoint's, because the run goes on under the same ids. After an error, a cancel or a loss
    nothing is expected: partial text stays until the next snapshot.
    """
    options = options or Options()
    named = channels(checkpoint)
    stored = (named or {}).get(options.messages_key)
    listed: Sequence[Any] = stored if isinstance(stored, list | tuple) else ()
    by_id: dict[str, Wire] = {}
    for position, message in enumerate(listed):
        for made in to_agui(message, position, options):
            by_id.setdefault(made["id"], made)
    for wire in waiting:
        by_id.setdefault(wire["id"], wire)
    if named is None:
        return Expected([*by_id.values()], to_json(checkpoint))
    channels_shown = {name: value for name, value in named.items() if options.shows_channel(name)}
    return Expected([*by_id.values()], to_json(channels_shown))


def comparable(messages: Iterable[Wire], beside: Collection[str] = ()) -> list[Any]:
    """Messages in the form that compares: only the order that counts, arguments as JSON, empty content as none.

    Users' and assistants' messages stand in order, each with the tool results behind it in any order. Reasoning,
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
    form["toolCalls"] = [_call(call) for call in message.get("toolCalls") or ()]
    return json.dumps(form, sort_keys=True)


def _call(call: Wire) -> Any:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError:
        arguments = function["arguments"]
    return {**call, "function": {"name": function["name"], "arguments": arguments}}
