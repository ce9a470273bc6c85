"""`Part`: the one shape in which a `Translator` sees what LangGraph streams; what to ask for, and where a graph runs.

The shapes in which parts come are `reader`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from langgraph.types import StreamMode
    from langgraph_sdk.schema import StreamMode as PlatformStreamMode

STREAM_MODES: Final[list[StreamMode]] = ["messages", "updates", "values", "custom"]
"""What to ask a local graph for: `graph.astream(..., stream_mode=STREAM_MODES)`. A list, for LangGraph loses the names
of the modes when it is given a tuple. With `"tasks"` added, a step begins when its node does."""

PLATFORM_STREAM_MODES: Final[list[PlatformStreamMode]] = ["messages-tuple", "updates", "values", "custom"]
"""What to ask LangGraph Platform for: `client.runs.stream(..., stream_mode=PLATFORM_STREAM_MODES)`."""

IGNORED_MODES: Final = frozenset(
    {"checkpoints", "debug", "events", "lifecycle", "feedback", "end", "heartbeat", "messages-tuple"}
)
"""Modes and events of LangGraph that are ignored. A part of any other mode is ignored with a log line: its payload may
have come without a mode."""

NOTE: Final = "agui/note"
"""The mode of a part by which a `PartReader` says something of the whole stream: its data is a line for the log."""
UNREAD: Final = "agui/unread"
"""The mode of a part that a `PartReader` makes for what it could not read: its data is what that was, and the
exception. A translator counts it as lost."""

Namespace = tuple[str, ...]
"""Where a graph runs: a path of segments `node:task`, empty for the root graph. The second graph that one task calls
has the namespace of the first and a bare number behind it: it runs beside the first, not within it."""


class Part(NamedTuple):
    """One part of a stream, in the one shape that a `Translator` works on.

    `ns`: the namespace of the graph that it is of; `()` is the root graph. `mode`, `data`: the stream mode, and its
    payload. `id`: a platform's, by which a stream can be joined again. `interrupts`: those that came next to `values`.
    `from_start`: of `messages`, whether nothing of the message before this part can be missing, wherever the stream was
    joined.
    """

    ns: Namespace
    mode: str
    data: Any
    id: str | None = None
    interrupts: Sequence[Any] = ()
    from_start: bool = False


def is_within(inner: Namespace, outer: Namespace) -> bool:
    """Whether the graph at `inner` is the one at `outer` or runs within it."""
    depth = len(outer)
    return not outer or (inner[:depth] == outer and (len(inner) == depth or ":" in inner[depth]))


def task_path(ns: Namespace, metadata: Mapping[str, Any]) -> Namespace:
    """The path of the task that a message of the graph at `ns` comes from: its graph's namespace and its own segment.

    The message's metadata names it also where a stream loses namespaces.
    """
    path = metadata.get("langgraph_checkpoint_ns")
    if isinstance(path, str) and path:
        return tuple(path.split("|"))
    return (*ns, str(metadata.get("langgraph_node", "")))
