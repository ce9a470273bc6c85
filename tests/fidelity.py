"""What fidelity (G2) means, for tests: how a client's conversation and state are compared with a checkpoint's.

Only comparing lives here.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph_agui.translator import Options
from langgraph_agui.translator.agui_messages import shown
from langgraph_agui.translator.channels import channels
from langgraph_agui.translator.plain import plain

Wire = Mapping[str, Any]


def conversation(messages: Iterable[Wire]) -> list[Any]:
    """Messages in the form that is compared: arguments as JSON, empty content as none, and the order that counts.

    Users' and assistants' messages in order, with the results that follow each; reasoning and activities beside.
    """
    order: list[Any] = []
    results: list[Any] = []
    beside: list[Any] = []
    for message in messages:
        form = _form(message)
        if message["role"] in ("reasoning", "activity"):
            beside.append(form)
        elif message["role"] == "tool":
            results.append(form)
        else:
            order.append(sorted(results))
            order.append(form)
            results = []
    return [*order, sorted(results), sorted(beside)]


def stored(values: Any, options: Options) -> list[Any]:
    """The conversation of a checkpoint's values."""
    messages = (channels(values) or {}).get(options.messages_key)
    listed: Sequence[Any] = messages if isinstance(messages, list | tuple) else ()
    told = [wire for position, message in enumerate(listed) for wire in shown(message, position, options)]
    return conversation(
        {wire["id"]: wire for wire in reversed(told)}[key] for key in dict.fromkeys(w["id"] for w in told)
    )


def state(values: Any, options: Options) -> Any:
    """The state of a checkpoint's values, as a client is to hold it."""
    named = channels(values)
    if named is None:
        return plain(values)
    return plain({name: value for name, value in named.items() if options.shows_channel(name)})


def unattributed(messages: Iterable[Wire]) -> list[Wire]:
    """The messages that no subagent said."""
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
