"""Where a client's state, tools and context go into a graph: into the channels and context fields that its schema has
for them, and no others. No I/O: what a platform's graph has, `platform` requests.

| name | in the | content |
|---|---|---|
| a channel that `Intake.state` names | state | what the client's state has under that name |
| `tools` | state, context | the front end's tools: `[{"name", "description", "parameters"}]`, for `bind_tools` |
| `copilotkit` | state, context | `{"actions": tools, "context": context}` |
| `ag-ui`; in the context `ag_ui` too | state, context | `{"tools": tools, "context": context}` |
| `context` | context | `[{"description", "value"}]` |

The state are the keys of the graph's input schema, the context the fields of its `context_schema`.

Rules:

1. What is written replaces the value of the thread; it is not reduced with it. What the thread has already, as
   a client sees it, is not written: a client that sends back its state changes nothing. What it leaves out stays.
2. A channel with a reducer is written with LangGraph's `Overwrite`. A plain channel would keep that as its value, and
   so would one with a reducer and no value yet. Which are which is read from a graph of this process
   (`local.channels`); of a platform's graph `Intake.replaced` names those with a reducer. All others are plain.
3. Only the front end's part of `copilotkit` and `ag-ui` is written: what the graph keeps there besides stays. A client
   without tools has none: those of an earlier one are no longer there to be called.
4. A context that the owner gives (`Intake.context`, `Prepared.context`) wins over the client's, field by field; one
   that is no mapping is left as it is.
5. The conversation is no state: its channel can't be named. Nor may a value say that it is an overwrite.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import RunAgentInput, Tool
from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite

from ...translator import CLIENT_CHANNELS, Options, message_ids, same_json, to_json
from ..errors import InvalidInputError
from .intake import ALL, Intake
from .messages import as_json
from .thread_state import ThreadState

OVERWRITE: Final = "__overwrite__"
"""What marks an overwrite in JSON; as a key, or as the type of an object."""
_WHY: Final = {
    "messages": "its input takes none (Options.messages_key), and Intake.prepare, which would read them, is not set",
    "tools": "neither its state nor its context has a field for them (`copilotkit`, `ag-ui`, `tools`)",
    "context": "neither its state nor its context has a field for it (`copilotkit`, `ag-ui`, `context`)",
    "state": "Intake.state does not name what was changed",
    "forwardedProps": "Intake.prepare, which would read them, is not set",
}
"""By kind: why it reaches no graph."""
_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
_CHANNELS: Final = ("tools", "copilotkit", "ag-ui")
_FIELDS: Final = (*_CHANNELS, "ag_ui", "context")
TOOLS: Final = frozenset({*_CHANNELS, "ag_ui"})
"""Where the front end's tools are to be found, in the state or the context."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InputChannels:
    """Where one graph takes its input."""

    messages_key: str | None
    """The channel of the conversation; None if it has none."""
    names: frozenset[str] | None = None
    """What its input can write; None if that is not known."""
    reducers: frozenset[str] | None = None
    """Of the channels, those that have a reducer; None if that is not known."""
    begun: frozenset[str] = frozenset()
    """Of those, the ones known to have a value from the start: an empty list, say."""
    context: frozenset[str] = frozenset()
    """The fields of its runtime context."""
    has_default_context: bool = False
    """Whether its runtime context can be made of nothing: every field has a default."""
    is_plain: bool = False
    """Whether the conversation's channel is known to have no reducer: what is written replaces its value."""


def input_channels_of_schemas(schemas: Mapping[str, Any] | None, messages_key: str) -> InputChannels:
    """Those of a platform's graph, by the schemas of its assistant. What it has reducers for is not known."""
    named = schemas or {}
    names = properties_of(named.get("input_schema"))
    return InputChannels(
        if_taken(messages_key, names), names, context=properties_of(named.get("context_schema")) or frozenset()
    )


def check(channels: InputChannels, intake: Intake) -> None:
    """Raises `ValueError` for channels in `Intake.state` that are none, or the conversation's."""
    if intake.state == ALL:
        return
    if channels.messages_key in intake.state:
        raise ValueError(f"Intake.state: {channels.messages_key!r} is the conversation, which is no state")
    missing = sorted(set(intake.state) - channels.names) if channels.names is not None else []
    if missing:
        raise ValueError(f"Intake.state: the graph's input has no channels {', '.join(map(repr, missing))}")


def written(channels: InputChannels, given: RunAgentInput, intake: Intake, values: Mapping[str, Any]) -> dict[str, Any]:
    """What an input writes to channels other than the conversation's; `values` are the thread's, objects or their JSON.

    Raises `InvalidInputError` for a state that can't be written, and `ValueError` for channels in `Intake.state` that
    the graph's input does not have.
    """
    wanted = {**_state(channels, given, intake), **_conventions(channels, given, values)}
    reduced = channels.reducers or frozenset()
    return {
        name: Overwrite(value) if name in reduced and name in (values.keys() | channels.begun) else value
        for name, value in wanted.items()
        if name not in values or _differ(values[name], value)
    }


def note_unused(
    known: set[str],
    channels: InputChannels,
    given: RunAgentInput,
    intake: Intake,
    thread: ThreadState,
    options: Options,
    label: str,
) -> None:
    """Adds the kinds of what a client sends and no graph gets (the keys of `_WHY`) to those `known`, which `/info` has,
    and logs each that is new. This is not an error: a page sends its tools and its state to every agent. But an owner
    whose tool is never called must find out why.

    A client sends back the messages and the state that it got: only messages that the thread does not have, and state
    that the client changed, count. `label`: as `errors.log_context`.
    """
    names, fields_of = channels.names or frozenset(), channels.context
    state, values = given.state if isinstance(given.state, Mapping) else {}, thread.values
    stored = set(message_ids(thread.messages))
    unnamed = state.keys() - _writable(channels, intake) - CLIENT_CHANNELS - {options.messages_key}
    lost = {
        "messages": takes_no_messages(channels, intake)
        and any(message.role == "user" and message.id not in stored for message in given.messages),
        "tools": given.tools and names.isdisjoint(_CHANNELS) and fields_of.isdisjoint(TOOLS),
        "context": given.context and names.isdisjoint(_CHANNELS[1:]) and fields_of.isdisjoint(_FIELDS[1:]),
        "state": any(name not in values or _differ(values[name], state[name]) for name in unnamed),
        "forwardedProps": intake.prepare is None and _brings(given.forwarded_props),
    }
    for kind, is_lost in lost.items():
        if is_lost and kind not in known:
            known.add(kind)
            _log.warning(
                "What clients send as %s reaches no graph (%s): %s. This is logged once.", kind, label, _WHY[kind]
            )


def takes_no_messages(channels: InputChannels, intake: Intake) -> bool:
    """Whether what a user says reaches nothing: the graph's input has no channel for it, and no hook reads it."""
    return channels.messages_key is None and intake.prepare is None


def context_of(channels: InputChannels, given: RunAgentInput, base: Any) -> Any:
    """The runtime context with the client's tools and context in it; `base` is the owner's. None if there is nothing
    for it.

    A context of defaults is made if nobody gives one, as a LangGraph server makes it: graphs that were written for one
    read `runtime.context.model` without a check (https://github.com/langchain-ai/react-agent).
    """
    front_end = _front_end(given)
    found = {name: front_end[name] for name in _FIELDS if name in channels.context}
    if base is None and channels.has_default_context:
        return found
    if not found or not (base is None or isinstance(base, Mapping)):
        return base
    return {**found, **(base or {})}


def json_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for channels, messages and overwrites among them, as a platform takes them."""
    return {name: _as_json(value) for name, value in values.items()}


def _differ(first: Any, second: Any) -> bool:
    return not same_json(to_json(first), to_json(second))


def _as_json(value: Any) -> Any:
    if isinstance(value, Overwrite):
        return {OVERWRITE: _as_json(value.value)}
    if isinstance(value, BaseMessage):
        return as_json(value)
    return [_as_json(item) for item in value] if isinstance(value, list | tuple) else to_json(value)


def _state(channels: InputChannels, given: RunAgentInput, intake: Intake) -> dict[str, Any]:
    """What of the client's state may be written."""
    check(channels, intake)
    names = _writable(channels, intake)
    if not names or given.state is None:
        return {}
    if not isinstance(given.state, Mapping):
        raise InvalidInputError(f"state: expected an object, got {type(given.state).__name__}")
    found = {name: given.state[name] for name in names if name in given.state}
    for name, value in found.items():
        if isinstance(value, Mapping) and (OVERWRITE in value or value.get("type") == OVERWRITE):
            raise InvalidInputError(f"state: {name!r} has a value that only LangGraph may write")
    return found


def _writable(channels: InputChannels, intake: Intake) -> Set[str]:
    """The channels that the client's state is written to."""
    if intake.state != ALL:
        return frozenset(intake.state)
    named = {name for name in channels.names or () if not name.startswith("_")}
    return named - {channels.messages_key, *_CHANNELS}


def _conventions(channels: InputChannels, given: RunAgentInput, values: Mapping[str, Any]) -> dict[str, Any]:
    """The client's tools and context, where there are channels for them, beside what the graph keeps there."""
    front_end = _front_end(given)
    found: dict[str, Any] = {}
    for name in _CHANNELS:
        if name in (channels.names or ()):
            value, kept = front_end[name], values.get(name)
            found[name] = {**kept, **value} if isinstance(value, dict) and isinstance(kept, Mapping) else value
    return found


def _front_end(given: RunAgentInput) -> dict[str, Any]:
    """The client's tools and context, by the names under which graphs take them."""
    tools = [_tool(tool) for tool in given.tools or ()]
    context = [{"description": item.description, "value": item.value} for item in given.context or ()]
    ag_ui = {"tools": tools, "context": context}
    copilotkit = {"actions": tools, "context": context}
    return {"tools": tools, "copilotkit": copilotkit, "ag-ui": ag_ui, "ag_ui": ag_ui, "context": context}


def _brings(forwarded: Any) -> bool:
    """Whether there is anything in `forwardedProps` but an older client's answer."""
    return bool(set(forwarded) - {"command"}) if isinstance(forwarded, Mapping) else bool(forwarded)


def _tool(tool: Tool) -> dict[str, Any]:
    """A tool as `bind_tools` of every adapter takes it: with parameters, which a client may leave out."""
    given = tool.parameters
    parameters = {**_NO_ARGUMENTS, **(given if isinstance(given, Mapping) else {})}
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def if_taken(messages_key: str, names: frozenset[str] | None) -> str | None:
    """The conversation's channel, if it is among those that an input can write, or these are not known."""
    return messages_key if names is None or messages_key in names else None


def properties_of(schema: Any) -> frozenset[str] | None:
    """The properties that a JSON schema names; None if it names none."""
    if not isinstance(schema, Mapping):
        return None
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions = schema.get("$defs")
        schema = (definitions if isinstance(definitions, Mapping) else {}).get(reference.rpartition("/")[2])
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return frozenset(properties) if isinstance(properties, Mapping) else None
