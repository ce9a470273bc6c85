"""Forms: a question as fields that an editor displays (`form_of`, `Form.of_values`), what a filled-in form says
(`read_form`), and what a text in the chat says in its place (`parsed`).

Editors have fields for texts, numbers, truth values and choices alone. An answer that is an object of such fields is
one field each; any other is one field, `answer`, in JSON where its schema is not one of these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson

Schema = dict[str, Any]

_ANSWER: Final = "answer"
_PRIMITIVES: Final = ("string", "number", "integer", "boolean")
_KEPT: Final = ("title", "description", "minLength", "maxLength", "pattern", "minimum", "maximum")


@dataclass(frozen=True, slots=True)
class Form:
    """A form. Its answer is the fields by name; None: it was not filled in."""

    message: str
    properties: Mapping[str, Schema]
    required: Sequence[str] = ()
    tool_call_id: str | None = None
    """The call it is about."""
    choices: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options of `answer`, by label."""
    shape: Literal["fields", "one", "json"] = "fields"
    """What the answer is: the fields, the one field `answer`, or the JSON that is in it."""

    @classmethod
    def of_values(cls, message: str, values: Mapping[str, Any], tool_call_id: str | None) -> Form:
        """A form to change values in: one field each if all are primitive, else one with their JSON."""
        types = {name: _type_of(value) for name, value in values.items()}
        if values and all(types.values()):
            fields: dict[str, Schema] = {
                name: {"type": types[name], "default": value} for name, value in values.items()
            }
            return cls(message, fields, list(fields), tool_call_id)
        default = orjson.dumps(values, option=orjson.OPT_INDENT_2).decode()
        return cls(message, {_ANSWER: {"type": "string", "default": default}}, [_ANSWER], tool_call_id, shape="json")

    @property
    def schema(self) -> Schema:
        """The form as the protocol has it."""
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)}


def form_of(message: str, schema: Any, options: Sequence[tuple[str, Any]], tool_call_id: str | None) -> Form:
    """The form of a question. `schema`: of the answer; None is any text. `options`: each with its label."""
    if options:
        labels = [label for label, _ in options]
        return Form(
            message, {_ANSWER: {"type": "string", "enum": labels}}, [_ANSWER], tool_call_id, dict(options), "one"
        )
    wanted: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {"type": "string"}
    if wanted.get("type") == "object" and isinstance(wanted.get("properties"), Mapping) and wanted["properties"]:
        found = {str(name): _field(each) for name, each in wanted["properties"].items()}
        fields = {name: each for name, each in found.items() if each is not None}
        if len(fields) == len(found):
            return Form(
                message, fields, [name for name in wanted.get("required") or () if name in fields], tool_call_id
            )
    one = _field(wanted)
    if one is not None:
        return Form(message, {_ANSWER: one}, [_ANSWER], tool_call_id, shape="one")
    return Form(message, {_ANSWER: {"type": "string", "title": "JSON"}}, [_ANSWER], tool_call_id, shape="json")


def read_form(form: Form, content: Mapping[str, Any]) -> Any:
    """The answer in a form that was filled in."""
    if form.shape == "fields":
        return {name: content[name] for name in form.properties if content.get(name) is not None}
    answer = content.get(_ANSWER)
    if form.choices:
        return form.choices.get(str(answer), answer)
    return _json(answer) if form.shape == "json" else answer


def parsed(text: str, schema: Any) -> Any:
    """The answer in a text of the chat: JSON, where the schema wants anything but a text."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or wanted == "string":
        return text
    if wanted == "boolean" and text.strip().lower() in ("yes", "no", "y", "n"):
        return text.strip().lower().startswith("y")
    return _json(text)


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except (ValueError, TypeError):
        return text


def _type_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string" if isinstance(value, str) else None


def _field(schema: Any) -> Schema | None:
    """The field of a value with this schema; None if editors have none for it."""
    if not isinstance(schema, Mapping):
        return None
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
        return {"type": "string", "enum": list(values), **_kept(schema)}
    if schema.get("type") not in _PRIMITIVES:
        return None
    return {"type": schema["type"], **_kept(schema)}


def _kept(schema: Mapping[str, Any]) -> Schema:
    found = {name: schema[name] for name in _KEPT if schema.get(name) is not None}
    default = schema.get("default")
    return {**found, "default": default} if _type_of(default) is not None else found
