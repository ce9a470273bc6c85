"""Decides which channels of a graph are visible by default, and which of them is the conversation.

Visible are the channels of the output schema, except those of a front end (`CLIENT_CHANNELS`).

The conversation is the one channel whose reducer is LangGraph's `add_messages`: bare, with arguments, in a delta
channel, or called by a reducer of the graph. If no channel has it, or several have, the conversation is `messages`, or
the channel that the option `messages_key` names.
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
"""How many calls deep `add_messages` is looked for in a reducer."""


def options_for(graph: Pregel[Any, Any, Any, Any], **choices: Any) -> Options:
    """Returns the options that show the conversation and the channels of a compiled graph's output schema, and no
    others. The channels `copilotkit` and `ag-ui` belong to the front end, and are visible only if `state_include` names
    them.

    The conversation is found by its reducer. `choices` are fields of `Options`, and take precedence. Raises `TypeError`
    for any other object than a compiled graph, and what `Options` raises. (For a platform, `connect` requests the
    output schema itself.)
    """
    if not isinstance(graph, Pregel):
        raise TypeError(f"expected a compiled graph, got {type(graph).__name__}")
    outputs = graph.output_channels
    visible: dict[str, Any] = (
        {} if isinstance(outputs, str) else {"state_include": frozenset(outputs) - CLIENT_CHANNELS}
    )
    return Options(**{**visible, "messages_key": messages_key_of(graph), **choices})


def messages_key_of(graph: Pregel[Any, Any, Any, Any]) -> str:
    """Returns the name of the channel that is a compiled graph's conversation."""
    keys = [
        name
        for name, channel in graph.channels.items()
        if not name.startswith("_") and _reduces_messages(_reducer_of(channel))
    ]
    return keys[0] if len(keys) == 1 else Options().messages_key


def _reducer_of(channel: Any) -> Any:
    """Returns a channel's reducer, which is `operator` in most channels, and `reducer` in a delta channel."""
    return getattr(channel, "operator", None) or getattr(channel, "reducer", None)


def _reduces_messages(reducer: Any, depth: int = 0) -> bool:
    """Returns whether a reducer is `add_messages`, or calls it: wrapped, bound to arguments, in a closure, or by
    name."""
    if not callable(reducer) or depth > _DEPTH:
        return False
    if getattr(reducer, "__module__", None) == add_messages.__module__:
        return True
    return any(_reduces_messages(callee, depth + 1) for callee in _callees_of(reducer))


def _callees_of(reducer: Any) -> Iterator[Any]:
    """Yields the objects that a reducer may call, as far as can be seen without calling it."""
    if isinstance(reducer, partial):
        yield reducer.func
    elif isinstance(reducer, FunctionType):
        names = reducer.__code__.co_names
        yield from (reducer.__globals__[name] for name in names if name in reducer.__globals__)
        for cell in reducer.__closure__ or ():
            with suppress(ValueError):  # the cell is still empty
                yield cell.cell_contents
    elif isinstance(reducer, MethodType):
        yield reducer.__func__
    elif not isinstance(reducer, type | BuiltinFunctionType):
        yield type(reducer).__call__


def options_for_schemas(schemas: Mapping[str, Any] | None) -> Options:
    """Returns the options that show the channels of the output schema of a platform's assistant; all channels if it has
    no output schema."""
    output = (schemas or {}).get("output_schema")
    properties = output.get("properties") if isinstance(output, Mapping) else None
    if not isinstance(properties, Mapping):
        return Options()
    return Options(state_include=frozenset(properties) - CLIENT_CHANNELS)
