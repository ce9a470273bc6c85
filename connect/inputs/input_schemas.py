"""Describes to clients what they may send to a graph: `ClientSchemas`, for pages that make a form of it. Pure.

Only what clients may write is described: the channels that their state may be written to, and the fields of the context
that they may set. The names of the others are listed apart, for whoever may manage the agent: it is the owner who may
open them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from .channels import CONVENTIONS, InputChannels, settable, takes_no_messages, writable
from .client_values import object_schema
from .intake import Intake

_DEFINITIONS: Final = "$defs"
_PREFIX: Final = f"#/{_DEFINITIONS}/"

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSchemas:
    """What a client may send to a graph.

    - `input`, `context`: JSON schemas of objects: the state that it may write, and the context that it may set. None if
      the graph's schemas are not known.
    - `messages`: whether the graph takes messages.
    - `closed_input`, `closed_context`: the names of the other channels of the graph's input, and of the other fields of
      its context. Clients may not write them.
    """

    input: Schema | None
    context: Schema | None
    messages: bool
    closed_input: tuple[str, ...] = ()
    closed_context: tuple[str, ...] = ()


def client_schemas(schemas: Mapping[str, Any], channels: InputChannels, intake: Intake) -> ClientSchemas:
    """Returns what a client may send. `schemas`: those of the graph, as a LangGraph server describes them
    (`input_schema`, `context_schema`)."""
    names, fields = writable(channels, intake), settable(channels, intake)
    own = {channels.messages_key, *CONVENTIONS}
    return ClientSchemas(
        input=_selected(schemas.get("input_schema"), names, is_checked=channels.model is not None),
        context=_selected(schemas.get("context_schema"), fields, is_checked=True),
        messages=not takes_no_messages(channels, intake),
        closed_input=_others(channels.names or (), names | own),
        closed_context=_others(channels.context, fields | CONVENTIONS),
    )


def _others(names: Iterable[str], known: Set[str | None]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name not in known and not name.startswith("_")))


def _selected(schema: Any, names: Set[str], *, is_checked: bool) -> Schema | None:
    """Returns the schema of an object with these properties only, and the definitions that they refer to. None for a
    schema without properties. `is_checked`: whether the graph insists on the properties that are required. Those of a
    `TypedDict` are all required, also those that only the graph's nodes write."""
    if not isinstance(schema, Mapping):
        return None
    definitions, described = schema.get(_DEFINITIONS), object_schema(schema)
    definitions = definitions if isinstance(definitions, Mapping) else {}
    properties = described.get("properties")
    if not isinstance(properties, Mapping):
        return None
    selected = {name: value for name, value in properties.items() if name in names}
    required = [name for name in described.get("required") or () if name in selected] if is_checked else []
    used = _used(selected, definitions)
    return {
        "type": "object",
        "properties": selected,
        **({"required": required} if required else {}),
        **({_DEFINITIONS: {name: value for name, value in definitions.items() if name in used}} if used else {}),
    }


def _used(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    """Returns the names of the definitions that a schema refers to, and that those refer to."""
    used, parts = set[str](), [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, Mapping):
            reference = part.get("$ref")
            name = reference.removeprefix(_PREFIX) if isinstance(reference, str) else ""
            if name in definitions and name not in used:
                used.add(name)
                parts.append(definitions[name])
            parts += part.values()
    return used
