"""Which channels and context fields a compiled graph takes its input in: `input_channels_of`. What is put into them:
`inputs.channels`."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import BaseModel

from ..inputs.channels import InputChannels, if_taken, properties_of

try:
    from langgraph.channels.delta import DeltaChannel
except ImportError:  # LangGraph before it had any
    _REDUCED: tuple[type, ...] = (BinaryOperatorAggregate,)
else:
    _REDUCED = (BinaryOperatorAggregate, DeltaChannel)


def input_channels_of(graph: Pregel[Any, Any, Any, Any], messages_key: str) -> InputChannels:
    """Those of a compiled graph."""
    names = _taken_by(graph)
    reduced = {name for name, channel in graph.channels.items() if isinstance(channel, _REDUCED)}
    begun = {name for name in reduced if graph.channels[name].is_available()}  # type: ignore[union-attr]
    schema = getattr(graph, "context_schema", None)
    return InputChannels(
        if_taken(messages_key, names),
        names,
        reducers=frozenset(reduced),
        begun=frozenset(begun),
        context=_fields_of(schema),
        has_default_context=_has_defaults(schema),
        is_plain=isinstance(graph.channels.get(messages_key), LastValue),
    )


def _taken_by(graph: Pregel[Any, Any, Any, Any]) -> frozenset[str] | None:
    """What the input of a graph can write. A function's is one value, of which only its type may say what it takes."""
    if isinstance(graph, CompiledStateGraph):
        schema = graph.builder.schemas[graph.builder.input_schema]
        return frozenset(name for name in schema if name in graph.channels)
    if not isinstance(graph.input_channels, str):
        return frozenset(graph.input_channels)
    try:
        return properties_of(graph.get_input_jsonschema())
    except Exception:  # a type of the owner's that has no JSON schema
        return None


def _fields_of(schema: Any) -> frozenset[str]:
    """The fields of a context's class: a dataclass, a pydantic model or a typed dictionary."""
    if is_dataclass(schema):
        return frozenset(field.name for field in fields(schema))
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return frozenset(field.alias or name for name, field in schema.model_fields.items())
    return frozenset(getattr(schema, "__annotations__", ()))


def _has_defaults(schema: Any) -> bool:
    """Whether a context's class is a dataclass or a pydantic model each field of which has a default."""
    if is_dataclass(schema):
        defaults = ((field.default, field.default_factory) for field in fields(schema) if field.init)
        return all(any(default is not MISSING for default in pair) for pair in defaults)
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    return is_model and not any(field.is_required() for field in schema.model_fields.values())
