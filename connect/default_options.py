"""Which channels of a graph are visible by default: those of its output schema, but for a front end's own
(`CLIENT_CHANNELS`); and which of them is the conversation.

The conversation is the channel `messages`, unless it is another one by its reducer: exactly one channel has LangGraph's
`add_messages`, bare, with arguments, in a delta channel, or called by a reducer of the graph's own, and `messages` has
not. Several such channels are not chosen from: the option `messages_key` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from langgraph.graph import add_messages
from langgraph.pregel import Pregel

from ..translator import CLIENT_CHANNELS, Options

_DEPTH: Final = 3
"""How many reducers deep `add_messages` is looked for."""


def options_for(graph: Pregel[Any, Any, Any, Any], **choices: Any) -> Options:
    """The options that show the channels of a compiled graph's output schema, and no other; the conversation always.
    `copilotkit` and `ag-ui`, a front end's own, are visible only where `state_include` names them.

    The conversation is found by its reducer. `choices` are fields of `Options`, which win. Raises `TypeError` for what
    is no compiled graph, and what `Options` raises. (A platform's graphs are asked by `connect` itself.)
    """
    if not isinstance(graph, Pregel):
        raise TypeError(f"expected a compiled graph, got {type(graph).__name__}")
    outputs = graph.output_channels
    visible: dict[str, Any] = (
        {} if isinstance(outputs, str) else {"state_include": frozenset(outputs) - CLIENT_CHANNELS}
    )
    return Options(**{**visible, "messages_key": messages_key_of(graph), **choices})


def messages_key_of(graph: Pregel[Any, Any, Any, Any]) -> str:
    """The name of the channel of a compiled graph's conversation."""
    found = [
        name
        for name, channel in graph.channels.items()
        if not name.startswith("_") and _reduces_messages(_reducer_of(channel))
    ]
    return found[0] if len(found) == 1 else Options().messages_key


def _reducer_of(channel: Any) -> Any:
    """What a channel reduces by; a delta channel names it otherwise."""
    return getattr(channel, "operator", None) or getattr(channel, "reducer", None)


def _reduces_messages(reducer: Any, depth: int = 0) -> bool:
    """Whether a reducer is `add_messages`, or calls it: wrapped, bound to arguments, in a closure, or by its name."""
    if not callable(reducer) or depth > _DEPTH:
        return False
    if getattr(reducer, "__module__", None) == add_messages.__module__:
        return True
    return any(_reduces_messages(each, depth + 1) for each in _called_by(reducer))


def _called_by(reducer: Any) -> Iterator[Any]:
    """What a reducer may call, as far as can be seen without calling it."""
    if isinstance(reducer, partial):
        yield reducer.func
    elif isinstance(reducer, FunctionType):
        names = reducer.__code__.co_names
        yield from (reducer.__globals__[name] for name in names if name in reducer.__globals__)
        for cell in reducer.__closure__ or ():
            with suppress(ValueError):  # not filled yet
                yield cell.cell_contents
    elif isinstance(reducer, MethodType):
        yield reducer.__func__
    elif not isinstance(reducer, type | BuiltinFunctionType):
        yield type(reducer).__call__


def options_for_schemas(schemas: Mapping[str, Any] | None) -> Options:
    """The options that show what a platform's assistant says its graph puts out; all channels if it does not say."""
    output = (schemas or {}).get("output_schema")
    properties = output.get("properties") if isinstance(output, Mapping) else None
    if not isinstance(properties, Mapping):
        return Options()
    return Options(state_include=frozenset(properties) - CLIENT_CHANNELS)
