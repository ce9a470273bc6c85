"""Describes the input and the runtime context of a compiled graph as JSON schemas: `input_schema_of` and
`context_schema_of`. `inputs.input_schemas` decides which part of them clients get.

LangGraph lets pydantic describe the owner's type. That fails for the whole type if one field has no JSON schema, and
for every `typing.TypedDict` before Python 3.12 (https://errors.pydantic.dev/2/u/typed-dict-version). In these cases
the type is described field by field, and the schema of a field that can't be described accepts any value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NotRequired, Required, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import TypeAdapter

Schema = dict[str, Any]

_DEFINITIONS: Final = "$defs"

_context_schemas: WeakKeyDictionary[Pregel[Any, Any, Any, Any], Schema | None] = WeakKeyDictionary()
"""By graph, because the input channels are read again for each source and each description of an agent."""


def input_schema_of(graph: Pregel[Any, Any, Any, Any]) -> Schema | None:
    """Returns the JSON schema of a graph's input; None if nothing is known of it."""
    owner_type = graph.builder.input_schema if isinstance(graph, CompiledStateGraph) else None
    return _describe(graph.get_input_jsonschema, owner_type)


def context_schema_of(graph: Pregel[Any, Any, Any, Any]) -> Schema | None:
    """Returns the JSON schema of a graph's runtime context; None if the graph has no context, or if nothing is known of
    it."""
    owner_type = getattr(graph, "context_schema", None)
    if owner_type is None:
        return None
    if graph not in _context_schemas:
        _context_schemas[graph] = _describe(graph.get_context_jsonschema, owner_type)
    return _context_schemas[graph]


def _describe(by_langgraph: Callable[[], Schema | None], owner_type: Any) -> Schema | None:
    """Returns the schema that LangGraph makes of the owner's type, or else one that is made field by field."""
    try:
        return by_langgraph()
    except Exception:  # pydantic's own errors, and those of the owner's types
        return _describe_fields(owner_type)


def _describe_fields(owner_type: Any) -> Schema | None:
    try:
        hints = get_type_hints(owner_type, include_extras=True)
    except Exception:  # an annotation has an undefined name, or this is not a type
        hints = dict.fromkeys(getattr(owner_type, "__annotations__", ()), Any)
    if not hints:
        return None
    definitions: dict[str, Any] = {}
    properties = {name: _describe_field(name, hint, definitions) for name, hint in hints.items()}
    required = sorted(getattr(owner_type, "__required_keys__", frozenset()) & properties.keys())
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({_DEFINITIONS: definitions} if definitions else {}),
    }


def _describe_field(name: str, hint: Any, definitions: dict[str, Any]) -> Schema:
    """Returns the schema of one field, and puts the definitions that it refers to into `definitions`."""
    while get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    title = name.replace("_", " ").title()
    try:
        schema = TypeAdapter(hint).json_schema()
    except Exception:  # see `_describe`
        return {"title": title}
    definitions.update(schema.pop(_DEFINITIONS, {}))
    return {"title": title, **schema}
