"""`Part`: the one shape in which a `Translator` sees what LangGraph streams; also the stream modes to ask for, and
namespaces. `reader` knows the shapes in which parts arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from langgraph.types import StreamMode
    from langgraph_sdk.schema import StreamMode as PlatformStreamMode

STREAM_MODES: Final[list[StreamMode]] = ["messages", "updates", "values", "custom"]
"""The modes to ask a local graph for: `graph.astream(..., stream_mode=STREAM_MODES)`. This must be a list, because
LangGraph drops the names of the modes if it gets a tuple. With `"tasks"` added, a step begins when its node does."""

PLATFORM_STREAM_MODES: Final[list[PlatformStreamMode]] = ["messages-tuple", "updates", "values", "custom"]
"""The modes to ask LangGraph Platform for: `client.runs.stream(..., stream_mode=PLATFORM_STREAM_MODES)`."""

IGNORED_MODES: Final = frozenset(
    {"checkpoints", "debug", "events", "lifecycle", "feedback", "end", "heartbeat", "messages-tuple"}
)
"""Modes and events of LangGraph that are ignored silently. A part of any other unknown mode is ignored with a log line,
because it may be a payload that came without a mode."""

NOTE: Final = "agui/note"
"""The mode of a part with which a `PartReader` says something about the whole stream: its data is a line for the
log."""
UNREAD: Final = "agui/unread"
"""The mode of a part that a `PartReader` makes for something it could not read: its data says what that was, and has
the exception. A translator counts it as lost."""

Namespace = tuple[str, ...]
"""Where a graph runs: a path of segments `node:task`, empty for the root graph. The second graph that a task calls has
the namespace of the first, followed by a bare number. It runs next to the first graph, not within it."""


class Part(NamedTuple):
    """One part of a stream, in the one shape that a `Translator` works on.

    `ns`: the namespace of the graph that it comes from; `()` is the root graph. `mode`, `data`: the stream mode, and
    its payload. `id`: the id that a platform gave it, with which the stream can be joined again. `interrupts`: the
    interrupts that came next to `values`. `from_start`: for the mode `messages`, whether everything of the message
    before this part is certain to have been read, wherever the stream was joined.
    """

    ns: Namespace
    mode: str
    data: Any
    id: str | None = None
    interrupts: Sequence[Any] = ()
    from_start: bool = False


def is_within(inner: Namespace, outer: Namespace) -> bool:
    """Whether the graph at `inner` is the graph at `outer`, or runs within it."""
    depth = len(outer)
    return not outer or (inner[:depth] == outer and (len(inner) == depth or ":" in inner[depth]))


def task_path(ns: Namespace, metadata: Mapping[str, Any]) -> Namespace:
    """The path of the task that a message of the graph at `ns` comes from: its graph's namespace and its own segment.

    The message's metadata names the task even if the stream has lost the namespace.
    """
    path = metadata.get("langgraph_checkpoint_ns")
    if isinstance(path, str) and path:
        return tuple(path.split("|"))
    return (*ns, str(metadata.get("langgraph_node", "")))
