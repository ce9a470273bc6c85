"""Decides where a client's state, tools and context go: into those channels and context fields that the graph's schema
has for them. No I/O: for graphs of a platform, `platform` requests the schemas.

| name | part of the | content |
|---|---|---|
| a channel that `Intake.state` names | state | the value that the client's state has under this name |
| a field that `Intake.context_fields` names | context | the value that `forwardedProps.context` has under this name |
| `tools` | state, context | the front end's tools: `[{"name", "description", "parameters"}]`, for `bind_tools` |
| `copilotkit` | state, context | `{"actions": tools, "context": context}` |
| `ag-ui`; in the context also `ag_ui` | state, context | `{"tools": tools, "context": context}` |
| `context` | context | `[{"description", "value"}]` |

"State" means the keys of the graph's input schema, and "context" the fields of its `context_schema`.

Rules:

1. A value replaces the thread's value, and is not reduced with it. A value that the thread already has, as a client
   sees it, is not written, so a client that sends its state back changes nothing. What the client leaves out stays.
2. A channel with a reducer is written with LangGraph's `Overwrite`. A channel without one would store the `Overwrite`
   itself, and so would a channel with a reducer that has no value yet. For graphs of this process, `local.channels`
   reads which channels have a reducer. For graphs of a platform, `Intake.replaced` names them, and all others count as
   plain.
3. Of `copilotkit` and `ag-ui`, only the front end's part is written, and what the graph itself keeps there stays. A
   client without tools writes an empty list, because tools of an earlier client can't be called any longer.
4. A context that the owner sets (`Intake.context`, `Prepared.context`) takes precedence over the client's, field by
   field. A context that is not a mapping is left as it is.
5. The conversation is not state: its channel can't be named, and no value may claim to be an `Overwrite`.
6. Values that the graph's schemas are known to refuse are refused before the run (`client_values`).
7. The client's fields of the context are also in the `configurable` of the run's config (`configurable_of`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import RunAgentInput, Tool
from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite
from pydantic import BaseModel

from ...translator import CLIENT_CHANNELS, Options, message_ids, same_json, to_json
from ..errors import InvalidInputError
from .client_values import Reduce, check_context, check_reduced, check_values, object_schema
from .intake import ALL, WITHOUT_MESSAGES, Intake
from .messages import as_json
from .thread_state import ThreadState

OVERWRITE: Final = "__overwrite__"
"""Marks an overwrite in JSON: as a key of an object, or as its type."""
_WHY: Final = {
    "messages": "its input takes none (Options.messages_key), and Intake.prepare, which would read them, is not set",
    "tools": "neither its state nor its context has a field for them (`copilotkit`, `ag-ui`, `tools`)",
    "context": "neither its state nor its context has a field for it (`copilotkit`, `ag-ui`, `context`)",
    "state": "Intake.state does not name what was changed",
    "forwardedProps": "Intake.prepare, which would read them, is not set",
}
"""Reasons why something that a client sends does not reach a graph, by kind."""
_CONTEXT: Final = "context"
"""The field of `forwardedProps` that has the values of a client for the runtime context."""
_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
_CHANNELS: Final = ("tools", "copilotkit", "ag-ui")
_FIELDS: Final = (*_CHANNELS, "ag_ui", "context")
CONVENTIONS: Final = frozenset(_FIELDS)
"""Names of channels and fields for a front end's tools and context. A client can write nothing else there."""
TOOLS: Final = frozenset({*_CHANNELS, "ag_ui"})
"""Names under which the front end's tools may be found, in the state or the context."""

_IDS: Final = frozenset({"thread_id", "run_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"})
"""The keys of `configurable` that say on which thread and from which checkpoint a graph runs."""
_RESERVED: Final = ("langgraph_", "agui_")
"""How the other keys of `configurable` begin that no client may set, such as that of the user."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InputChannels:
    """Where a graph takes its input from."""

    messages_key: str | None
    """The channel of the conversation; None if the graph has none."""
    names: frozenset[str] | None = None
    """The channels that its input can write; None if they are not known."""
    reducers: frozenset[str] | None = None
    """The channels that have a reducer; None if they are not known."""
    begun: Mapping[str, Reduce] = field(default_factory=dict)
    """The channels with a reducer that are known to have a value from the start, such as an empty list. Each has a
    function that reduces another value with that one."""
    context: frozenset[str] = frozenset()
    """The fields of its runtime context."""
    has_default_context: bool = False
    """Whether every field of its runtime context has a default, so that a context can be made without any value."""
    model: type[BaseModel] | None = None
    """The pydantic model of its input, which checks what nodes get; None for an input of another kind."""
    context_schema: Mapping[str, Any] | None = None
    """The JSON schema of its runtime context; None if it is not known."""
    is_plain: bool = False
    """Whether the channel of the conversation is known to have no reducer, so that a write replaces its value."""


def input_channels_of_schemas(schemas: Mapping[str, Any] | None, messages_key: str) -> InputChannels:
    """Returns the input channels of a platform's graph, given the schemas of its assistant. They do not show which
    channels have a reducer."""
    by_name = schemas or {}
    names = properties_of(by_name.get("input_schema"))
    return InputChannels(
        if_taken(messages_key, names),
        names,
        context=properties_of(by_name.get("context_schema")) or frozenset(),
        context_schema=by_name.get("context_schema"),
    )


def check(channels: InputChannels, intake: Intake) -> None:
    """Raises `ValueError` if `Intake.state` names the channel of the conversation or a channel that does not exist, or
    if `Intake.context_fields` names a field that does not exist."""
    unknown = set[str]() if intake.context_fields == ALL else set(intake.context_fields) - channels.context
    if unknown and channels.names is not None:
        raise ValueError(
            f"Intake.context_fields: the graph's context has no fields {', '.join(map(repr, sorted(unknown)))}"
        )
    if isinstance(intake.state, str):
        return
    if channels.messages_key in intake.state:
        raise ValueError(
            f"Intake.state: expected channels of the state, got {channels.messages_key!r}, which is the conversation"
        )
    missing = sorted(set(intake.state) - channels.names) if channels.names is not None else []
    if missing:
        raise ValueError(f"Intake.state: the graph's input has no channels {', '.join(map(repr, missing))}")


def channel_values(
    channels: InputChannels, run_input: RunAgentInput, intake: Intake, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns what an input writes to channels other than the conversation's. `values` are those of the thread, as
    objects or JSON.

    Raises `InvalidInputError` for a state that can't be written, and `ValueError` if `Intake.state` names a channel
    that the graph's input does not have.
    """
    state = _state(channels, run_input, intake)
    updates = {**state, **_conventions(channels, run_input, values)}
    changed = {name: value for name, value in updates.items() if name not in values or _differ(values[name], value)}
    written = {name: value for name, value in changed.items() if name in state}
    check_values(channels.model, written)
    check_reduced(channels.begun, written)
    reduced = channels.reducers or frozenset()
    return {
        name: Overwrite(value) if name in reduced and name in (values.keys() | channels.begun.keys()) else value
        for name, value in changed.items()
    }


def note_unused(
    noted: set[str],
    channels: InputChannels,
    run_input: RunAgentInput,
    intake: Intake,
    thread: ThreadState,
    options: Options,
    label: str,
) -> list[str]:
    """Returns the names in the client's state that it has changed and may not write, for the client to be told. Logs
    once for each kind of content (a key of `_WHY`) that a client sends although no graph receives it, and adds
    the kind to `noted`, which `/info` shows. This is not an error, because a page sends its tools and its state to
    every agent. But an owner whose tool is never called must be able to find out why.

    A client sends back the messages and the state that it has received. Only messages that the thread lacks, and state
    that the client has changed, count. `label` is a context for log lines; see `errors.log_context`.
    """
    names, fields_of = channels.names or frozenset(), channels.context
    state, values = run_input.state if isinstance(run_input.state, Mapping) else {}, thread.values
    stored = set(message_ids(thread.messages))
    unnamed = state.keys() - writable(channels, intake) - CLIENT_CHANNELS - {options.messages_key}
    unwritten = sorted(name for name in unnamed if name not in values or _differ(values[name], state[name]))
    lost = {
        "messages": takes_no_messages(channels, intake)
        and any(message.role == "user" and message.id not in stored for message in run_input.messages),
        "tools": run_input.tools and names.isdisjoint(_CHANNELS) and fields_of.isdisjoint(TOOLS),
        "context": run_input.context and names.isdisjoint(_CHANNELS[1:]) and fields_of.isdisjoint(_FIELDS[1:]),
        "state": unwritten,
        "forwardedProps": intake.prepare is None
        and bool(_context_sent(run_input).keys() - settable(channels, intake) or _brings(run_input.forwarded_props)),
    }
    for kind, is_lost in lost.items():
        if is_lost and kind not in noted:
            noted.add(kind)
            _log.warning(
                "What clients send as %s reaches no graph (%s): %s. This is logged once.", kind, label, _WHY[kind]
            )
    return unwritten


def writable(channels: InputChannels, intake: Intake) -> Set[str]:
    """Returns the channels that the client's state may be written to."""
    if not isinstance(intake.state, str):
        return frozenset(intake.state)
    if intake.state == WITHOUT_MESSAGES and channels.messages_key is not None:
        return frozenset()
    public = {name for name in channels.names or () if not name.startswith("_")}
    return public - {channels.messages_key, *_CHANNELS}


def settable(channels: InputChannels, intake: Intake) -> Set[str]:
    """Returns the fields of the runtime context that a client may set."""
    names = channels.context if intake.context_fields == ALL else channels.context & set(intake.context_fields)
    return frozenset(name for name in names if not name.startswith("_")) - CONVENTIONS


def takes_no_messages(channels: InputChannels, intake: Intake) -> bool:
    """Whether users' messages are lost, because the graph's input has no channel for them and no hook reads them."""
    return channels.messages_key is None and intake.prepare is None


def context_of(channels: InputChannels, run_input: RunAgentInput, intake: Intake, base: Any) -> Any:
    """Returns the runtime context with the client's tools and context added, and the values of the fields that the
    client may set. `base` is the owner's context. If nothing is added, returns `base`. Raises `InvalidInputError` for a
    value that does not fit the schema of the context.

    If nobody sets a context, and all of its fields have defaults, a context with these defaults is made, as on a
    LangGraph server. Graphs that were written for one read `runtime.context.model` without a check
    (https://github.com/langchain-ai/react-agent).
    """
    front_end = _front_end(run_input)
    fields: dict[str, Any] = {name: front_end[name] for name in _FIELDS if name in channels.context}
    fields |= _fields(channels, run_input, intake)
    if base is None and channels.has_default_context:
        return fields
    if not fields or not (base is None or isinstance(base, Mapping)):
        return base
    return {**fields, **(base or {})}


def configurable_of(channels: InputChannels, run_input: RunAgentInput, intake: Intake, context: Any) -> dict[str, Any]:
    """Returns the fields that the client sets of `context`, which is the result of `context_of`, for the `configurable`
    of the run's config. Graphs with a `config_schema`, from before LangGraph had a runtime context, read them there. A
    LangGraph server also gives graphs both.

    What the owner sets is not in it, because LangGraph stores the strings and numbers of `configurable` in checkpoints.
    A name with a meaning for LangGraph or for an agent's app is not in it either.
    """
    if not isinstance(context, Mapping):
        return {}
    sent = _context_sent(run_input)
    names = {name for name in settable(channels, intake) & sent.keys() if context.get(name) is sent[name]}
    owned = intake.config.get("configurable") or {}
    return {name: sent[name] for name in sorted(names - _IDS - owned.keys()) if not name.startswith(_RESERVED)}


def json_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of channels in the form that a platform accepts, including messages and overwrites."""
    return {name: _as_json(value) for name, value in values.items()}


def _differ(first: Any, second: Any) -> bool:
    return not same_json(to_json(first), to_json(second))


def _as_json(value: Any) -> Any:
    if isinstance(value, Overwrite):
        return {OVERWRITE: _as_json(value.value)}
    if isinstance(value, BaseMessage):
        return as_json(value)
    return [_as_json(item) for item in value] if isinstance(value, list | tuple) else to_json(value)


def _state(channels: InputChannels, run_input: RunAgentInput, intake: Intake) -> dict[str, Any]:
    """Returns the part of the client's state that may be written."""
    check(channels, intake)
    names = writable(channels, intake)
    if not names or run_input.state is None:
        return {}
    if not isinstance(run_input.state, Mapping):
        raise InvalidInputError(f"state: expected an object, got {type(run_input.state).__name__}")
    values = {name: run_input.state[name] for name in names if name in run_input.state}
    for name, value in values.items():
        if isinstance(value, Mapping) and (OVERWRITE in value or value.get("type") == OVERWRITE):
            raise InvalidInputError(f"state: {name!r} has a value that only LangGraph may write")
    return values


def _context_sent(run_input: RunAgentInput) -> Mapping[str, Any]:
    """Returns the values that a client has sent for fields of the runtime context, even those that it may not set."""
    props = run_input.forwarded_props
    sent = props.get(_CONTEXT) if isinstance(props, Mapping) else None
    return sent if isinstance(sent, Mapping) else {}


def _fields(channels: InputChannels, run_input: RunAgentInput, intake: Intake) -> dict[str, Any]:
    """Returns the client's values for the context fields that it may set. Raises `InvalidInputError` for a value that
    does not fit the schema of the context."""
    sent, names = _context_sent(run_input), settable(channels, intake)
    fields = {name: sent[name] for name in sorted(names) if name in sent}
    check_context(channels.context_schema, fields)
    return fields


def _conventions(channels: InputChannels, run_input: RunAgentInput, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the client's tools and context for the channels that exist, merged with what the graph keeps there."""
    front_end = _front_end(run_input)
    updates: dict[str, Any] = {}
    for name in _CHANNELS:
        if name in (channels.names or ()):
            value, old = front_end[name], values.get(name)
            updates[name] = {**old, **value} if isinstance(value, dict) and isinstance(old, Mapping) else value
    return updates


def _front_end(run_input: RunAgentInput) -> dict[str, Any]:
    """Returns the client's tools and context, by the names under which graphs read them."""
    tools = [_tool(tool) for tool in run_input.tools or ()]
    context = [{"description": item.description, "value": item.value} for item in run_input.context or ()]
    ag_ui = {"tools": tools, "context": context}
    copilotkit = {"actions": tools, "context": context}
    return {"tools": tools, "copilotkit": copilotkit, "ag-ui": ag_ui, "ag_ui": ag_ui, "context": context}


def _brings(forwarded: Any) -> bool:
    """Whether `forwardedProps` contains anything but a `command` and values for the runtime context."""
    if not isinstance(forwarded, Mapping):
        return bool(forwarded)
    return bool(set(forwarded) - {"command", *([_CONTEXT] if isinstance(forwarded.get(_CONTEXT), Mapping) else [])})


def _tool(tool: Tool) -> dict[str, Any]:
    """Returns a tool as every adapter's `bind_tools` accepts it, which requires parameters. A client may omit them."""
    parameters = {**_NO_ARGUMENTS, **(tool.parameters if isinstance(tool.parameters, Mapping) else {})}
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def if_taken(messages_key: str, names: frozenset[str] | None) -> str | None:
    """Returns the channel of the conversation, if the input can write it or if it is not known what the input can
    write."""
    return messages_key if names is None or messages_key in names else None


def properties_of(schema: Any) -> frozenset[str] | None:
    """Returns the names of the properties that a JSON schema lists, or None if it lists none."""
    properties = object_schema(schema).get("properties")
    return frozenset(properties) if isinstance(properties, Mapping) else None
