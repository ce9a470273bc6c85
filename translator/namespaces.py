"""Where graphs run: namespaces as LangGraph names them. Nothing of what is told.

A namespace is a path of segments `node:task`. The second graph that one task calls has the namespace of the first and
a bare number behind it: it runs beside the first, not within it.
"""

from __future__ import annotations

Namespace = tuple[str, ...]


def is_within(inner: Namespace, outer: Namespace) -> bool:
    """Whether the graph at `inner` is the one at `outer` or runs within it."""
    depth = len(outer)
    return not outer or (inner[:depth] == outer and (len(inner) == depth or ":" in inner[depth]))
