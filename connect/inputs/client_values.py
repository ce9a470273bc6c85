"""Checks the values that a client sends for a graph's channels and context fields against the graph's schemas. Pure.

A value is refused only if the run would fail with it:

- a value for a channel, if the schema of the graph's input is a pydantic model and refuses it. LangGraph validates what
  nodes get with this model. Any other input schema is an annotation that nothing enforces, and existing pages may send
  what it does not allow.
- a value for a channel, if the channel's reducer raises with it. More than the run would fail: what the next node
  writes is stored next to the checkpoint, and LangGraph applies the reducer whenever it reads the thread, which could
  never be read again.
- a value for a context field, if it does not fit the JSON schema of the context.

An error text names the place of each value and what is expected there (`state.trip.seats: expected a valid integer`),
so that a page can show it at the field. It quotes no value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from ..errors import InvalidInputError
from .answers.schemas import misfit

_SHOULD: Final = "Input should be "
_MOST: Final = 5
"""Values that one error text names, at most."""

Reduce = Callable[[Any], object]
"""Reduces a value with the one with which a channel begins. Raises what the reducer raises."""


def check_values(model: type[BaseModel] | None, values: Mapping[str, Any]) -> None:
    """Raises `InvalidInputError` if the model of a graph's input refuses some of these values, which are channels by
    name. Channels that are missing may be written by the graph."""
    if model is None or not values:
        return
    try:
        model.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        wrong = [detail for detail in details if detail["loc"] and detail["loc"][0] in values]
        if wrong:
            raise InvalidInputError("; ".join(_misfit_of(detail, values) for detail in wrong[:_MOST])) from None
    except Exception:  # from a validator of the owner: the run raises it again, and logs it
        return


def check_reduced(reducers: Mapping[str, Reduce], values: Mapping[str, Any]) -> None:
    """Raises `InvalidInputError` if the reducers of some channels do not take these values, which are channels by
    name."""
    wrong = [name for name in values if name in reducers and not _is_taken(reducers[name], values[name])]
    if wrong:
        raise InvalidInputError("; ".join(f"state.{name}: expected another value" for name in wrong[:_MOST]))


def check_context(schema: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> None:
    """Raises `InvalidInputError` if some of these fields do not fit the JSON schema of a graph's context."""
    properties = object_schema(schema).get("properties")
    if not isinstance(properties, Mapping):
        return
    checked = (misfit(value, properties.get(name), f"context.{name}", schema) for name, value in fields.items())
    if wrong := [text for text in checked if text is not None]:
        raise InvalidInputError("; ".join(wrong[:_MOST]))


def object_schema(schema: Any) -> Mapping[str, Any]:
    """Returns a JSON schema, or the definition that it refers to. Returns an empty mapping for anything else."""
    if not isinstance(schema, Mapping):
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions = schema.get("$defs")
        schema = (definitions if isinstance(definitions, Mapping) else {}).get(reference.rpartition("/")[2])
    return schema if isinstance(schema, Mapping) else {}


def _is_taken(reduce: Reduce, value: Any) -> bool:
    try:
        reduce(copy.deepcopy(value))  # a reducer may change what it gets
    except Exception:  # of the owner's own reducer
        return False
    return True


def _misfit_of(detail: Any, values: Any) -> str:
    """Returns the place of a value that a model has refused, and what is expected there. `loc` may also contain names
    of types, which are no part of the place."""
    where, value, last = "state", values, detail["loc"][-1]
    for part in detail["loc"]:
        if isinstance(value, Mapping) and isinstance(part, str):
            if part in value or (part == last and detail["type"] == "missing"):
                where, value = f"{where}.{part}", value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            where, value = f"{where}[{part}]", value[part]
    message = str(detail["msg"])
    if detail["type"] == "missing":
        return f"{where}: expected a value"
    return f"{where}: expected {message.removeprefix(_SHOULD) if message.startswith(_SHOULD) else 'another value'}"
