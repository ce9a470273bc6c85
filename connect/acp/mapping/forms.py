"""Turns questions into forms that an editor displays (`form_of`, `Form.of_values`), reads the answer from a form
(`read_form`), and reads an answer that was written in the chat instead (`parse_answer`).

Editors display fields only for strings, numbers, booleans and choices. If the answer is an object with only such
values, the form has a field for each. Otherwise it has the single field `answer`, which contains JSON if the schema of
the answer is not one of these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson

Schema = dict[str, Any]

_ANSWER: Final = "answer"
_PRIMITIVES: Final = ("string", "number", "integer", "boolean")
_ATTRIBUTES: Final = ("title", "description", "minLength", "maxLength", "pattern", "minimum", "maximum")


@dataclass(frozen=True, slots=True)
class Form:
    """A form. Its answer is a mapping of field names to values, or None if the user did not fill it in."""

    message: str
    properties: Mapping[str, Schema]
    required: Sequence[str] = ()
    tool_call_id: str | None = None
    """The id of the tool call that the question is about."""
    choices: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options for the field `answer`, by label."""
    shape: Literal["fields", "one", "json"] = "fields"
    """What the answer consists of: all fields, the field `answer`, or the JSON in that field."""

    @classmethod
    def of_values(cls, message: str, values: Mapping[str, Any], tool_call_id: str | None) -> Form:
        """Returns a form for editing values. It has a field for each value if all of them are primitive, and otherwise
        a single field with their JSON."""
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
        """The form in the protocol's format."""
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)}


def form_of(message: str, schema: Any, options: Sequence[tuple[str, Any]], tool_call_id: str | None) -> Form:
    """Returns the form for a question. `schema` is that of the answer, and None allows any text. `options` are pairs of
    a label and a value."""
    if options:
        labels = [label for label, _ in options]
        return Form(
            message, {_ANSWER: {"type": "string", "enum": labels}}, [_ANSWER], tool_call_id, dict(options), "one"
        )
    answer: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {"type": "string"}
    if answer.get("type") == "object" and isinstance(answer.get("properties"), Mapping) and answer["properties"]:
        properties = {str(name): _field(value) for name, value in answer["properties"].items()}
        fields = {name: value for name, value in properties.items() if value is not None}
        if len(fields) == len(properties):
            required = [name for name in answer.get("required") or () if name in fields]
            return Form(message, fields, required, tool_call_id)
    single = _field(answer)
    if single is not None:
        return Form(message, {_ANSWER: single}, [_ANSWER], tool_call_id, shape="one")
    return Form(message, {_ANSWER: {"type": "string", "title": "JSON"}}, [_ANSWER], tool_call_id, shape="json")


def read_form(form: Form, content: Mapping[str, Any]) -> Any:
    """Returns the answer from a form that the user filled in."""
    if form.shape == "fields":
        return {name: content[name] for name in form.properties if content.get(name) is not None}
    answer = content.get(_ANSWER)
    if form.choices:
        return form.choices.get(str(answer), answer)
    return _json(answer) if form.shape == "json" else answer


def parse_answer(text: str, schema: Any) -> Any:
    """Returns the answer from a text in the chat. If the schema requires anything but a string, the text is JSON."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or kind == "string":
        return text
    if kind == "boolean" and text.strip().lower() in ("yes", "no", "y", "n"):
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
    """Returns the field for a value with this schema, or None if editors have no field for it."""
    if not isinstance(schema, Mapping):
        return None
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"type": "string", "enum": list(values), **_attributes(schema)}
    if schema.get("type") not in _PRIMITIVES:
        return None
    return {"type": schema["type"], **_attributes(schema)}


def _attributes(schema: Mapping[str, Any]) -> Schema:
    attributes = {name: schema[name] for name in _ATTRIBUTES if schema.get(name) is not None}
    default = schema.get("default")
    return {**attributes, "default": default} if _type_of(default) is not None else attributes
