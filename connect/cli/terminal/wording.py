"""Turns values into lines of text: messages, activities, changes of the state, plans, interrupts and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ....translator import decision_schemas

LONGEST: Final = 2_000
"""How many characters of a value are printed."""
_MARKS: Final = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
"""Marks of a plan's steps by their status."""


def message_line(message: Mapping[str, Any]) -> str:
    """Describes a message by its role, its text and its tool calls. An activity is described by `activity_line`."""
    if message["role"] == "activity":
        return f"{message.get('activityType')}: {activity_line(message)}"
    functions = [call["function"] for call in message.get("toolCalls") or []]
    parts = [text(message["content"])] if message.get("content") else []
    parts += [f"calls {function['name']} {function['arguments']}" for function in functions]
    return f"{message['role']}: {'; '.join(parts)}"


def activity_line(activity: Mapping[str, Any]) -> str:
    """Describes the content of an activity: the progress of a tool and a plan in words, any other content as JSON."""
    kind, content = activity.get("activityType"), activity.get("content")
    if kind == "tool_progress" and isinstance(content, Mapping):
        return _progress(content)
    steps = [plan(value) for value in content.values()] if kind == "plan" and isinstance(content, Mapping) else []
    return "\n".join(filter(None, steps)) or as_json(content)


def _progress(content: Mapping[str, Any]) -> str:
    """Describes the progress of a tool: its name, its status unless it is running, and the last part of its output."""
    output = content.get("output")
    parts = [content["status"]] if content.get("status") not in (None, "running") else []
    parts += [content["progress"]] if "progress" in content else []
    parts += output[-1:] if isinstance(output, list) else []
    return "  ".join([text(content.get("toolName")), *map(text, parts)])


def plan(value: Any) -> str | None:
    """Returns the steps of a plan (`todos` of LangChain's agents), one on each line, or None if it is not a plan."""
    steps = value if isinstance(value, list) else []
    marks = [_MARKS.get(text(_at(step, "status"))) for step in steps]
    if not steps or None in marks:
        return None
    return "\n".join(f"{mark} {text(_at(step, 'content'))}" for mark, step in zip(marks, steps, strict=True))


def question(interrupt: Mapping[str, Any]) -> str:
    """Describes an interrupt: its question, the tool calls it is about, the choices if they are known, and the answer
    that a client can put into the input of a run."""
    value, message = _at(interrupt, "metadata", "value"), interrupt.get("message")
    decisions = [_choices(schema) for schema in decision_schemas(value) or ()]
    lines = [message or interrupt["reason"]]
    if decisions:
        requests = zip(_at(value, "action_requests"), decisions, strict=True)
        lines += [
            f"{text(_at(request, 'name'))} {as_json(_at(request, 'args'))}: {_join(choices)}"
            for request, choices in requests
        ]
        payload: Any = {"decisions": [{"type": choices[0] if choices else "approve"} for choices in decisions]}
    else:
        choices = _options(value) or _choices(interrupt.get("responseSchema"))
        lines += [] if value in (None, message) else [as_json(value)]
        lines += [f"choices: {_join(choices)}"] if choices else []
        payload = choices[0] if choices else "..."
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
    return "\n".join([*lines, f'answer with "resume": [{as_json(answer)}]'])


def _join(choices: Sequence[Any]) -> str:
    return ", ".join(map(text, choices)) or "any decision"


def _options(value: Any) -> list[Any]:
    """Returns the choices that the value of an interrupt lists under a usual name."""
    lists = (_at(value, name) for name in ("options", "choices"))
    return next((choices for choices in lists if isinstance(choices, list) and choices), [])


def _choices(schema: Any) -> list[Any]:
    """Returns the choices that the JSON schema of an answer or a decision lists, or an empty list."""
    if _at(schema, "type") == "boolean":
        return [True, False]
    choices, kinds = _at(schema, "enum"), _at(schema, "oneOf")
    if isinstance(choices, list):
        return choices
    schemas = kinds if isinstance(kinds, list) else [schema]
    types = (_at(kind, "properties", "type", "const") for kind in schemas)
    return [kind for kind in types if kind is not None]


def _at(value: Any, *names: str) -> Any:
    """Follows the names through nested mappings, and returns the value there, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def changes(before: Any, after: Any) -> Iterator[str]:
    """Describes the differences between two states, one line for each channel."""
    if not isinstance(after, Mapping):
        if before != after:
            yield f"= {as_json(after)}"
        return
    old = before if isinstance(before, Mapping) else {}
    for name, value in after.items():
        if name not in old or old[name] != value:
            yield channel_line(name, value)
    for name in old:
        if name not in after:
            yield f"{name} is gone"


def channel_line(name: str, value: Any) -> str:
    """Describes a channel of the state and its value. A plan is shown step by step."""
    steps = plan(value)
    return f"{name} = {as_json(value)}" if steps is None else f"{name}:\n{steps}"


def patch_lines(patch: Sequence[Any], state: Any) -> Iterator[str]:
    """Describes what a patch changes; `state` is the state after it. A plan that changes is shown as a whole."""
    plans: set[str] = set()
    for operation in patch:
        name = _steps(_fields(operation))[:1]
        value = _at(state, *name)
        if not name or plan(value) is None:
            yield operation_line(operation)
        elif name[0] not in plans:
            plans.add(name[0])
            yield channel_line(name[0], value)


def _fields(operation: Any) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = operation if isinstance(operation, Mapping) else operation.model_dump(by_alias=True)
    return fields


def _steps(operation: Mapping[str, Any]) -> list[str]:
    """Splits the path of an operation."""
    return [step.replace("~1", "/").replace("~0", "~") for step in str(operation["path"]).split("/")[1:]]


def operation_line(operation: Any) -> str:
    """Describes an operation of JSON Patch by a short path and the value there."""
    fields = _fields(operation)
    path = ".".join(_steps(fields))
    match fields["op"]:
        case "remove":
            return f"{path} is gone"
        case "move" | "copy":
            return f"{path} = what was at {fields['from']}"
        case _:
            return f"{path} = {as_json(fields.get('value'))}"


def text(content: Any) -> str:
    """Returns text as it is, and the parts of a message as JSON."""
    return content if isinstance(content, str) else as_json(content)


def as_json(value: Any) -> str:
    """Returns a value as JSON, truncated after `LONGEST` characters."""
    encoded = json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(exclude_none=True))
    return encoded if len(encoded) <= LONGEST else f"{encoded[:LONGEST]}… ({len(encoded):,} characters)"
