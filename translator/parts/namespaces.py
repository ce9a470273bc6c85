"""Where graphs run: namespaces as LangGraph names them. Nothing of what is told.

A namespace is a path of segments `node:task`. The second graph that one task calls has the namespace of the first and
a bare number behind it: it runs beside the first, not within it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Namespace = tuple[str, ...]


def is_within(inner: Namespace, outer: Namespace) -> bool:
    """Whether the graph at `inner` is the one at `outer` or runs within it."""
    depth = len(outer)
    return not outer or (inner[:depth] == outer and (len(inner) == depth or ":" in inner[depth]))


def task_path(ns: Namespace, metadata: Mapping[str, Any]) -> Namespace:
    """The whole path of the task that a message of the graph at `ns` comes from: its graph's namespace and its own
    segment. Message metadata names it also where a stream loses namespaces."""
    path = metadata.get("langgraph_checkpoint_ns")
    if isinstance(path, str) and path:
        return tuple(path.split("|"))
    return (*ns, str(metadata.get("langgraph_node", "")))
