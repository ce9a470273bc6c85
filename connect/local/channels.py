"""Finds the channels and context fields in which a compiled graph takes its input: `input_channels_of`. What goes into
them is decided by `inputs.channels`."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from typing import Any

from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.channels.base import BaseChannel
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import Overwrite
from pydantic import BaseModel

from ..inputs.channels import InputChannels, if_taken, properties_of
from .schemas import context_schema_of

try:
    from langgraph.channels.delta import DeltaChannel
except ImportError:  # an older LangGraph
    _REDUCED: tuple[type[BaseChannel[Any, Any, Any]], ...] = (BinaryOperatorAggregate,)
else:
    _REDUCED = (BinaryOperatorAggregate, DeltaChannel)


def input_channels_of(graph: Pregel[Any, Any, Any, Any], messages_key: str) -> InputChannels:
    """Returns the input channels of a compiled graph. `messages_key`: the channel of the conversation."""
    names = _taken_by(graph)
    reduced = {name: channel for name, channel in graph.channels.items() if isinstance(channel, _REDUCED)}
    begun = {name: partial(_reduced, channel) for name, channel in reduced.items() if channel.is_available()}
    schema = getattr(graph, "context_schema", None)
    return InputChannels(
        if_taken(messages_key, names),
        names,
        reducers=frozenset(reduced),
        begun=begun,
        context=_fields_of(schema),
        context_schema=context_schema_of(graph),
        model=_model_of(graph),
        has_default_context=_has_defaults(schema),
        is_plain=isinstance(graph.channels.get(messages_key), LastValue),
    )


def _reduced(channel: BaseChannel[Any, Any, Any], value: Any) -> Any:
    """Returns what a channel has if its value was replaced and a node then writes the one with which it began. Raises
    what its reducer raises."""
    changed = channel.copy()
    changed.update([Overwrite(value)])
    changed.update([channel.get()])
    return changed.get()


def _taken_by(graph: Pregel[Any, Any, Any, Any]) -> frozenset[str] | None:
    """Returns the names of the channels that the graph's input can write; None if they are not known. The input of a
    function is a single value, and only its type may say which names it takes."""
    if isinstance(graph, CompiledStateGraph):
        schema = graph.builder.schemas[graph.builder.input_schema]
        return frozenset(name for name in schema if name in graph.channels)
    if not isinstance(graph.input_channels, str):
        return frozenset(graph.input_channels)
    try:
        return properties_of(graph.get_input_jsonschema())
    except Exception:  # the owner's type has no JSON schema
        return None


def _model_of(graph: Pregel[Any, Any, Any, Any]) -> type[BaseModel] | None:
    """Returns the pydantic model of the graph's input, which checks what the nodes get, or None if the input has
    another type."""
    schema = graph.builder.input_schema if isinstance(graph, CompiledStateGraph) else None
    return schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None


def _fields_of(schema: Any) -> frozenset[str]:
    """Returns the fields of a context schema, which is a dataclass, a pydantic model or a typed dictionary."""
    if is_dataclass(schema):
        return frozenset(field.name for field in fields(schema))
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return frozenset(field.alias or name for name, field in schema.model_fields.items())
    return frozenset(getattr(schema, "__annotations__", ()))


def _has_defaults(schema: Any) -> bool:
    """Returns whether a context schema is a dataclass or a pydantic model, and all of its fields have defaults."""
    if is_dataclass(schema):
        defaults = ((field.default, field.default_factory) for field in fields(schema) if field.init)
        return all(any(default is not MISSING for default in pair) for pair in defaults)
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    return is_model and not any(field.is_required() for field in schema.model_fields.values())
