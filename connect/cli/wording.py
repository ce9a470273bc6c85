"""What a value is called in a line of text: a message, a change of the state, JSON. Pure; no console here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

LONGEST: Final = 2_000
"""Characters of a value that are shown."""


def message_line(message: Mapping[str, Any]) -> str:
    """A message: who says what, and what is called."""
    called = [call["function"] for call in message.get("toolCalls") or []]
    said = [text(message["content"])] if message.get("content") else []
    said += [f"calls {function['name']} {function['arguments']}" for function in called]
    return f"{message['role']}: {'; '.join(said)}"


def changes(before: Any, after: Any) -> Iterator[str]:
    """What is otherwise in a state than before, channel by channel."""
    if not isinstance(after, Mapping):
        if before != after:
            yield f"= {as_json(after)}"
        return
    held = before if isinstance(before, Mapping) else {}
    for name, value in after.items():
        if name not in held or held[name] != value:
            yield f"{name} = {as_json(value)}"
    for name in held:
        if name not in after:
            yield f"{name} is gone"


def operation_line(operation: Any) -> str:
    """An operation of JSON Patch, as a short path and the value there."""
    said = operation if isinstance(operation, Mapping) else operation.model_dump(by_alias=True)
    steps = [step.replace("~1", "/").replace("~0", "~") for step in str(said["path"]).split("/")[1:]]
    path = ".".join(steps)
    match said["op"]:
        case "remove":
            return f"{path} is gone"
        case "move" | "copy":
            return f"{path} = what was at {said['from']}"
        case _:
            return f"{path} = {as_json(said.get('value'))}"


def text(content: Any) -> str:
    """Text as it is, parts of a message as JSON."""
    return content if isinstance(content, str) else as_json(content)


def as_json(value: Any) -> str:
    """The value as JSON, cut where it is longer than a person reads."""
    said = json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(exclude_none=True))
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}… ({len(said):,} characters)"
