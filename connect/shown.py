"""Which channels of a graph are shown when nobody chose: those of its output schema, but for a front end's own
(`CLIENT_CHANNELS`). Never how they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.pregel import Pregel

from ..translator import Options
from ..translator.options import CLIENT_CHANNELS


def options_for(graph: Pregel[Any, Any, Any, Any], **choices: Any) -> Options:
    """The options that show the channels of a compiled graph's output schema, and no other; the conversation always.
    `copilotkit` and `ag-ui`, a front end's own, are shown only where `state_include` names them.

    `choices` are fields of `Options`, which win. Raises `TypeError` for what is no compiled graph, `InvalidOptionError`
    as `Options` does. (A platform's graphs are asked by `connect` itself.)
    """
    if not isinstance(graph, Pregel):
        raise TypeError(f"expected a compiled graph, got {type(graph).__name__}")
    outputs = graph.output_channels
    shown = {} if isinstance(outputs, str) else {"state_include": frozenset(outputs) - CLIENT_CHANNELS}
    return Options(**{**shown, **choices})


def options_for_schemas(schemas: Mapping[str, Any] | None) -> Options:
    """The options that show what a platform's assistant says its graph puts out; all channels if it does not say."""
    output = (schemas or {}).get("output_schema")
    properties = output.get("properties") if isinstance(output, Mapping) else None
    if not isinstance(properties, Mapping):
        return Options()
    return Options(state_include=frozenset(properties) - CLIENT_CHANNELS)
