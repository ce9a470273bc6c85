"""Defines the stream modes to request, namespaces, and `Part`. `reader.py` converts the parts of every stream to this
shape, and the procedures of a translator know no other. For speed, `Translator.feed` takes the message out of a part
that has not been converted yet, to find out whether it only continues an open message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from langgraph.types import StreamMode
    from langgraph_sdk.schema import StreamMode as PlatformStreamMode

STREAM_MODES: Final[list[StreamMode]] = ["messages", "updates", "values", "custom"]
"""The modes to request from a local graph: `graph.astream(..., stream_mode=STREAM_MODES)`. This must be a list, because
LangGraph leaves out the names of the modes if it gets a tuple. If you add `"tasks"`, steps start as soon as their nodes
start, and interrupts that tools raise contain the ids of the tool calls."""

PLATFORM_STREAM_MODES: Final[list[PlatformStreamMode]] = ["messages-tuple", "updates", "values", "custom"]
"""The modes to request from LangGraph Platform: `client.runs.stream(..., stream_mode=PLATFORM_STREAM_MODES)`."""

IGNORED_MODES: Final = frozenset(
    {"checkpoints", "debug", "events", "lifecycle", "feedback", "end", "heartbeat", "messages-tuple"}
)
"""The modes and events of LangGraph that are ignored without a log line. For any other unknown mode, a line is logged,
because the part may be a payload that arrived without its mode."""

NOTE: Final = "agui/note"
"""The mode of a part with which a `PartReader` reports a fact about the whole stream. The part's data is the text to
log."""
UNREAD: Final = "agui/unread"
"""The mode of a part with which a `PartReader` reports that it could not read an item of the stream. The part's data
consists of a description and the exception. A translator counts such a part as a loss."""

Namespace = tuple[str, ...]
"""The place where a graph runs, as a path of segments `node:task`. The path of the root graph is empty
(https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_algo.py). If a task calls a second
graph, the namespace of that graph is the namespace of the first one, followed by a number. The second graph does not
run inside the first one, although the namespaces look as if it did."""


class Part(NamedTuple):
    """One part of a stream, in the only shape that a `Translator` works with.

    `ns`: the namespace of the graph that the part comes from; `()` is the root graph. `mode`, `data`: the stream mode,
    and its payload. `id`: the id that a platform gave the part. A reader can rejoin the stream after this id.
    `interrupts`: the interrupts that a part in the mode `values` contains in addition to its data. `from_start`: for
    the mode `messages`, whether all earlier parts of the message have certainly been read, even if the stream was
    joined late.
    """

    ns: Namespace
    mode: str
    data: Any
    id: str | None = None
    interrupts: Sequence[Any] = ()
    from_start: bool = False


def is_within(inner: Namespace, outer: Namespace) -> bool:
    """Returns whether the graph at `inner` is the graph at `outer`, or runs inside it."""
    depth = len(outer)
    return not outer or (inner[:depth] == outer and (len(inner) == depth or ":" in inner[depth]))


def task_path(ns: Namespace, metadata: Mapping[str, Any]) -> Namespace:
    """Returns the path of the task that a message from the graph at `ns` comes from. This is the graph's namespace,
    followed by the task's own segment.

    The message's metadata names the task even if the namespace is missing from the stream.
    """
    path = metadata.get("langgraph_checkpoint_ns")
    if isinstance(path, str) and path:
        return tuple(path.split("|"))
    return (*ns, str(metadata.get("langgraph_node", "")))
