"""Describes the input and the runtime context of a compiled graph as JSON schemas: `input_schema_of` and
`context_schema_of`. Which part of them clients get is decided by `inputs.input_schemas`.

LangGraph lets pydantic describe the owner's type. That fails for the whole type if one field has no JSON schema, and
for every `typing.TypedDict` before Python 3.12 (https://errors.pydantic.dev/2/u/typed-dict-version). Then the type is
described field by field, and a field that can't be described takes any value.
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


def input_schema_of(graph: Pregel[Any, Any, Any, Any]) -> Schema | None:
    """Returns the JSON schema of a graph's input; None if nothing is known of it."""
    owners = graph.builder.input_schema if isinstance(graph, CompiledStateGraph) else None
    return _described(graph.get_input_jsonschema, owners)


def context_schema_of(graph: Pregel[Any, Any, Any, Any]) -> Schema | None:
    """Returns the JSON schema of a graph's runtime context; None if it has none, or nothing is known of it."""
    owners = getattr(graph, "context_schema", None)
    if owners is None:
        return None
    if graph not in _context_schemas:
        _context_schemas[graph] = _described(graph.get_context_jsonschema, owners)
    return _context_schemas[graph]


def _described(describe: Callable[[], Schema | None], owners: Any) -> Schema | None:
    """Returns what LangGraph says of the owner's type, or else a description of its fields."""
    try:
        return describe()
    except Exception:  # pydantic's own errors, and those of the owner's types
        return _by_field(owners)


def _by_field(owners: Any) -> Schema | None:
    try:
        hints = get_type_hints(owners, include_extras=True)
    except Exception:  # a name in an annotation that is not defined, or no type at all
        hints = dict.fromkeys(getattr(owners, "__annotations__", ()), Any)
    if not hints:
        return None
    definitions: dict[str, Any] = {}
    properties = {name: _of_hint(name, hint, definitions) for name, hint in hints.items()}
    required = sorted(getattr(owners, "__required_keys__", frozenset()) & properties.keys())
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({_DEFINITIONS: definitions} if definitions else {}),
    }


def _of_hint(name: str, hint: Any, definitions: dict[str, Any]) -> Schema:
    """Returns the schema of one field, and adds the definitions that it refers to."""
    while get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    title = name.replace("_", " ").title()
    try:
        schema = TypeAdapter(hint).json_schema()
    except Exception:  # see `_described`
        return {"title": title}
    definitions.update(schema.pop(_DEFINITIONS, {}))
    return {"title": title, **schema}
