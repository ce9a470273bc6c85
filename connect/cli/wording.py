"""What a value is called in a line of text: a message, a change of the state, JSON. Pure; no console here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

LONGEST: Final = 2_000
"""Characters of a value that are printed."""


def message_line(message: Mapping[str, Any]) -> str:
    """A message: its role, its text and its tool calls."""
    called = [call["function"] for call in message.get("toolCalls") or []]
    parts = [text(message["content"])] if message.get("content") else []
    parts += [f"calls {function['name']} {function['arguments']}" for function in called]
    return f"{message['role']}: {'; '.join(parts)}"


def changes(before: Any, after: Any) -> Iterator[str]:
    """What differs between two states, channel by channel."""
    if not isinstance(after, Mapping):
        if before != after:
            yield f"= {as_json(after)}"
        return
    known = before if isinstance(before, Mapping) else {}
    for name, value in after.items():
        if name not in known or known[name] != value:
            yield f"{name} = {as_json(value)}"
    for name in known:
        if name not in after:
            yield f"{name} is gone"


def operation_line(operation: Any) -> str:
    """An operation of JSON Patch, as a short path and the value there."""
    fields = operation if isinstance(operation, Mapping) else operation.model_dump(by_alias=True)
    steps = [step.replace("~1", "/").replace("~0", "~") for step in str(fields["path"]).split("/")[1:]]
    path = ".".join(steps)
    match fields["op"]:
        case "remove":
            return f"{path} is gone"
        case "move" | "copy":
            return f"{path} = what was at {fields['from']}"
        case _:
            return f"{path} = {as_json(fields.get('value'))}"


def text(content: Any) -> str:
    """Text as it is, parts of a message as JSON."""
    return content if isinstance(content, str) else as_json(content)


def as_json(value: Any) -> str:
    """The value as JSON, truncated where it is longer than a person reads."""
    encoded = json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(exclude_none=True))
    return encoded if len(encoded) <= LONGEST else f"{encoded[:LONGEST]}… ({len(encoded):,} characters)"
