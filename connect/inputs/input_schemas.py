"""Describes to clients what they may send to a graph: `ClientSchemas`, from which a page can make a form. Pure.

Only what clients may write is described: the channels that their state is written to, and the fields of the context
that they may set. The names of the other channels and fields are listed separately, for clients that may manage the
agent's threads. Only the owner can let clients write them.
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

    - `input`, `context`: JSON schemas of objects: the state that the client may write, and the context that it may set.
      None if the graph's schemas are not known.
    - `messages`: whether the graph takes messages.
    - `closed_input`, `closed_context`: the names of the other channels of the graph's input, and of the other fields of
      its context, which clients may not write.
    """

    input: Schema | None
    context: Schema | None
    messages: bool
    closed_input: tuple[str, ...] = ()
    closed_context: tuple[str, ...] = ()


def client_schemas(schemas: Mapping[str, Any], channels: InputChannels, intake: Intake) -> ClientSchemas:
    """Returns what a client may send. `schemas`: those of the graph, under the names that a LangGraph server gives them
    (`input_schema`, `context_schema`)."""
    names, fields = writable(channels, intake), settable(channels, intake)
    return ClientSchemas(
        input=_select(schemas.get("input_schema"), names, is_checked=channels.model is not None),
        context=_select(schemas.get("context_schema"), fields, is_checked=True),
        messages=not takes_no_messages(channels, intake),
        closed_input=_without(names | CONVENTIONS | {channels.messages_key}, channels.names or ()),
        closed_context=_without(fields | CONVENTIONS, channels.context),
    )


def _without(open_names: Set[str | None], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name not in open_names and not name.startswith("_")))


def _select(schema: Any, names: Set[str], *, is_checked: bool) -> Schema | None:
    """Returns the schema of an object with only these properties, and the definitions that they refer to. Returns None
    for a schema without properties. `is_checked`: whether the graph refuses an object without its required properties.
    In the schema of a `TypedDict` all properties are required, even those that only the graph's nodes write."""
    if not isinstance(schema, Mapping):
        return None
    definitions, described = schema.get(_DEFINITIONS), object_schema(schema)
    definitions = definitions if isinstance(definitions, Mapping) else {}
    properties = described.get("properties")
    if not isinstance(properties, Mapping):
        return None
    selected = {name: value for name, value in properties.items() if name in names}
    required = [name for name in described.get("required") or () if name in selected] if is_checked else []
    used = _definitions_in(selected, definitions)
    return {
        "type": "object",
        "properties": selected,
        **({"required": required} if required else {}),
        **({_DEFINITIONS: {name: value for name, value in definitions.items() if name in used}} if used else {}),
    }


def _definitions_in(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
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
