"""What a value is called in lines of text: a message, an activity, a change of the state, a plan, a question, JSON.
Pure; no console here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ....translator import decision_schemas

LONGEST: Final = 2_000
"""Characters of a value that are printed."""
_MARKS: Final = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
"""By the status of a step of a plan."""


def message_line(message: Mapping[str, Any]) -> str:
    """A message: its role, its text and its tool calls; an activity as `activity_line` has it."""
    if message["role"] == "activity":
        return f"{message.get('activityType')}: {activity_line(message)}"
    called = [call["function"] for call in message.get("toolCalls") or []]
    parts = [text(message["content"])] if message.get("content") else []
    parts += [f"calls {function['name']} {function['arguments']}" for function in called]
    return f"{message['role']}: {'; '.join(parts)}"


def activity_line(activity: Mapping[str, Any]) -> str:
    """The content of an activity: the progress of a tool and a plan for a person, any other as JSON."""
    kind, content = activity.get("activityType"), activity.get("content")
    if kind == "tool_progress" and isinstance(content, Mapping):
        return _progress(content)
    steps = [plan(value) for value in content.values()] if kind == "plan" and isinstance(content, Mapping) else []
    return "\n".join(filter(None, steps)) or as_json(content)


def _progress(content: Mapping[str, Any]) -> str:
    """The tool, its status unless it runs, its progress and the last part of its output."""
    output = content.get("output")
    parts = [content["status"]] if content.get("status") not in (None, "running") else []
    parts += [content["progress"]] if "progress" in content else []
    parts += output[-1:] if isinstance(output, list) else []
    return "  ".join([text(content.get("toolName")), *map(text, parts)])


def plan(value: Any) -> str | None:
    """The steps of a plan as LangChain's agents keep it (`todos`), one on each line; None if it is no plan."""
    steps = value if isinstance(value, list) else []
    marks = [_MARKS.get(text(_at(step, "status"))) for step in steps]
    if not steps or None in marks:
        return None
    return "\n".join(f"{mark} {text(_at(step, 'content'))}" for mark, step in zip(marks, steps, strict=True))


def question(interrupt: Mapping[str, Any]) -> str:
    """An interrupt: what is asked, about which tool calls, the choices where they are known, and the answer as a client
    gives it in the input of a run."""
    value, asked = _at(interrupt, "metadata", "value"), interrupt.get("message")
    decisions = [_choices(each) for each in decision_schemas(value) or ()]
    lines = [asked or interrupt["reason"]]
    if decisions:
        requests = zip(_at(value, "action_requests"), decisions, strict=True)
        lines += [f"{text(_at(one, 'name'))} {as_json(_at(one, 'args'))}: {_listed(found)}" for one, found in requests]
        payload: Any = {"decisions": [{"type": found[0] if found else "approve"} for found in decisions]}
    else:
        choices = _options(value) or _choices(interrupt.get("responseSchema"))
        lines += [] if value in (None, asked) else [as_json(value)]
        lines += [f"choices: {_listed(choices)}"] if choices else []
        payload = choices[0] if choices else "..."
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
    return "\n".join([*lines, f'answer with "resume": [{as_json(answer)}]'])


def _listed(choices: Sequence[Any]) -> str:
    return ", ".join(map(text, choices)) or "any decision"


def _options(value: Any) -> list[Any]:
    """The choices that an interrupt's value lists, as graphs write them."""
    listed = (_at(value, name) for name in ("options", "choices"))
    return next((found for found in listed if isinstance(found, list) and found), [])


def _choices(schema: Any) -> list[Any]:
    """The choices that the JSON schema of an answer, or of a decision, allows; none if it does not list them."""
    if _at(schema, "type") == "boolean":
        return [True, False]
    found, kinds = _at(schema, "enum"), _at(schema, "oneOf")
    if isinstance(found, list):
        return found
    each = (_at(kind, "properties", "type", "const") for kind in (kinds if isinstance(kinds, list) else [schema]))
    return [kind for kind in each if kind is not None]


def _at(value: Any, *names: str) -> Any:
    """What is under these names, one in the other; None if there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def changes(before: Any, after: Any) -> Iterator[str]:
    """What differs between two states, channel by channel."""
    if not isinstance(after, Mapping):
        if before != after:
            yield f"= {as_json(after)}"
        return
    known = before if isinstance(before, Mapping) else {}
    for name, value in after.items():
        if name not in known or known[name] != value:
            yield channel_line(name, value)
    for name in known:
        if name not in after:
            yield f"{name} is gone"


def channel_line(name: str, value: Any) -> str:
    """A channel of the state and its value; a plan step by step."""
    steps = plan(value)
    return f"{name} = {as_json(value)}" if steps is None else f"{name}:\n{steps}"


def patch_lines(patch: Sequence[Any], state: Any) -> Iterator[str]:
    """What a patch changes in a state; `state`: the state after it. A plan that changes is given whole."""
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
    """The path of an operation, step by step."""
    return [step.replace("~1", "/").replace("~0", "~") for step in str(operation["path"]).split("/")[1:]]


def operation_line(operation: Any) -> str:
    """An operation of JSON Patch, as a short path and the value there."""
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
    """Text as it is, parts of a message as JSON."""
    return content if isinstance(content, str) else as_json(content)


def as_json(value: Any) -> str:
    """The value as JSON, truncated where it is longer than a person reads."""
    encoded = json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(exclude_none=True))
    return encoded if len(encoded) <= LONGEST else f"{encoded[:LONGEST]}… ({len(encoded):,} characters)"
