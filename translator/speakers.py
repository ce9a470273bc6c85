"""Whose speech is told while it streams. Nothing about how it is told, nor about what the checkpoint keeps of it.

Rules:

1. What a model says to a middleware (a summary: `lc_source`, and whatever carries `lc_internal_call`) or inside a tool
   is not told. A node is a tool node if it is called `tools`, or once a tool result has come from it.
2. The `speakers` option replaces rule 1: names of nodes or tags, or a predicate over the call's metadata. A predicate
   that raises says no.
3. The metadata keys `emit-messages` and `emit-tool-calls` of a model call mute its text or its calls, as they do in
   `ag-ui-langgraph` (there also with the prefix `copilotkit:`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .namespaces import Namespace
from .options import Options


class Speakers:
    """Who may speak in one run."""

    def __init__(self, options: Options) -> None:
        self._speakers = options.speakers
        self._tool_nodes = {"tools"}

    def answered(self, metadata: Mapping[str, Any]) -> None:
        """A tool result came from a node: it runs tools."""
        node = metadata.get("langgraph_node")
        if isinstance(node, str):
            self._tool_nodes.add(node)

    def in_tool(self, ns: Namespace) -> bool:
        """Whether the graph at `ns` was called by a tool."""
        return any(segment.split(":", 1)[0] in self._tool_nodes for segment in ns)

    def is_silent(self, ns: Namespace, metadata: Mapping[str, Any]) -> bool:
        """Whether a call's speech is held back (rules 1 and 2); `ns` is counted from the subagent it belongs to."""
        speakers = self._speakers
        if speakers is None:
            source, node = metadata.get("lc_source"), metadata.get("langgraph_node")
            if "lc_internal_call" in metadata or (isinstance(source, str) and source == "summarization"):
                return True
            return (isinstance(node, str) and node in self._tool_nodes) or self.in_tool(ns)
        if callable(speakers):
            try:
                return not speakers(metadata)
            except Exception:  # an owner's predicate must not end a stream
                return True
        tags = metadata.get("tags")
        names = [metadata.get("langgraph_node"), *(tags if isinstance(tags, list | tuple) else ())]
        return speakers.isdisjoint(name for name in names if isinstance(name, str))


def is_muted(metadata: Mapping[str, Any], what: str) -> bool:
    """Whether the call's own metadata asks for silence about `what`: `messages` or `tool-calls` (rule 3)."""
    return any(metadata.get(f"{prefix}emit-{what}") is False for prefix in ("", "copilotkit:"))
