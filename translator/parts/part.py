"""What a LangGraph stream yields, in every shape, as one `Part`.

Shapes, as measured on langgraph 1.0 to 1.2 and langgraph-sdk 0.3 to 0.4:

- local `astream(stream_mode=[...])`: `(mode, data)`, with `subgraphs=True` `(ns, mode, data)`;
- local `version="v2"`, and the SDK's: `{"type": mode, "ns": (...), "data": data}`, `values` with `interrupts` beside;
- SDK and `RemoteGraph`: `StreamPart(event, data, id)`, the event being `mode` or `mode|ns|ns`;
- a recording of any of these as JSON: lists for tuples, or an object `{"event", "data", "id"}` or `{"ns", "mode",
  "data", "id"}`.

A stream asked for with one bare mode, or with a tuple of modes, yields payloads without their mode. They cannot be
distinguished, so they are refused, with a line that says how to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import UnreadablePartError

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
_SEQUENCES: Final = (tuple, list)
_HOW_TO_ASK: Final = "ask for the stream with stream_mode=STREAM_MODES, a list of several modes"


Namespace = tuple[str, ...]
"""Where a graph runs: a path of segments `node:task`, empty for the root graph. The second graph that one task calls
has the namespace of the first and a bare number behind it: it runs beside the first, not within it."""


class Part(NamedTuple):
    """One part of a stream, in the one shape that a `Translator` works on.

    `ns`: the namespace of the graph that it is of; `()` is the root graph. `mode`, `data`: the stream mode, and its
    payload. `id`: a platform's, by which a stream can be joined again. `interrupts`: those that came beside `values`.
    """

    ns: Namespace
    mode: str
    data: Any
    id: str | None = None
    interrupts: Sequence[Any] = ()


def message_payload(raw: Any) -> Any:
    """The payload of a part of the mode `messages`, in each shape of a live stream but the tuples of a local one with
    subgraphs, which `Translator.feed` reads itself. None for any other part. Nothing is checked: what has no such shape
    may give anything, or raise, and is `read_part`'s.

    Every token passes here: nothing is made.
    """
    kind = type(raw)
    if kind is dict:
        is_v2 = raw.get("type") == "messages" and "event" not in raw and type(raw.get("ns", ())) in _SEQUENCES
        return raw["data"] if is_v2 else None
    if kind is Part:
        return raw.data if raw.mode == "messages" else None
    if issubclass(kind, tuple) and len(raw) < 4:
        return raw[1] if raw[0] == "messages" or raw[0].startswith("messages|") else None
    return None


def read_part(raw: Any) -> Part | None:
    """The `Part` that `raw` is; None for what carries nothing to translate (a keep-alive, a newer protocol's envelope).

    `raw`: what `graph.astream()`, a `RemoteGraph` or the SDK's run stream yields in any of their versions, or its JSON.
    Raises `UnreadablePartError`, which names what came, for anything else.
    """
    kind: type[Any] = type(raw)
    if kind is Part:
        part: Part = raw
    elif issubclass(kind, tuple | list):
        part = _from_sequence(raw)
    elif issubclass(kind, dict):
        part = _from_mapping(raw)
    else:
        raise UnreadablePartError(f"expected a part of a LangGraph stream, got {_name(raw)}; {_HOW_TO_ASK}")
    if part.mode in ("values", "messages") and _is_envelope(part.data):
        return None
    if part.mode == "messages":
        _check_message(part.data)
    return part


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


def is_platform_part(raw: Any) -> bool:
    """Whether `raw` has the shape of a platform's stream in the SDK: `StreamPart(event, data, id)`, its JSON, or a v2
    part, whose namespace is a list there and a tuple in a local graph's stream. A local v2 part that went through JSON
    has a list too, and cannot be distinguished.

    Such a stream stops in the same way for a finished, an interrupted and a cancelled run, and after a lost connection.
    """
    if isinstance(raw, tuple | list):
        return len(raw) == 3 and isinstance(raw[0], str)
    return isinstance(raw, dict) and (
        isinstance(raw.get("event"), str) or ("type" in raw and type(raw.get("ns")) is list)
    )


def _from_sequence(raw: Sequence[Any]) -> Part:
    if len(raw) == 2 and isinstance(raw[0], str):
        return Part((), raw[0], raw[1])
    if len(raw) == 3 and isinstance(raw[0], str):
        return _from_event(raw[0], raw[1], raw[2])
    if len(raw) == 3 and isinstance(raw[0], tuple | list) and isinstance(raw[1], str):
        return Part(_namespace(raw[0]), raw[1], raw[2])
    if len(raw) == 2:
        shape = "(message, metadata)" if isinstance(raw[1], Mapping) and "langgraph_node" in raw[1] else "two values"
        raise UnreadablePartError(f"expected (mode, data), got {shape} without a mode; {_HOW_TO_ASK}")
    raise UnreadablePartError(
        f"expected (mode, data), (ns, mode, data) or (event, data, id), got {_name(raw)} of {len(raw)}; {_HOW_TO_ASK}"
    )


def _from_mapping(raw: dict[Any, Any]) -> Part:
    kind, mode, event = raw.get("type"), raw.get("mode"), raw.get("event")
    if "data" in raw:
        if isinstance(event, str) and not event.startswith("on_"):
            return _from_event(event, raw["data"], raw.get("id"))
        name = kind if isinstance(kind, str) else mode
        if isinstance(name, str) and isinstance(raw.get("ns", ()), tuple | list):
            path, interrupts = _namespace(raw.get("ns", ())), raw.get("interrupts", ())
            return Part(path, name, raw["data"], _id(raw.get("id")), interrupts)
    if isinstance(event, str) and event.startswith("on_"):
        raise UnreadablePartError(f"expected parts of astream(), got {event!r} of astream_events(); {_HOW_TO_ASK}")
    if kind == "event" and "method" in raw:
        raise UnreadablePartError(f"expected parts of astream(), got an event of astream_events(); {_HOW_TO_ASK}")
    keys = ", ".join(sorted(map(str, list(raw)[:8])))
    raise UnreadablePartError(f"expected a part with its mode, got a mapping with the keys {keys}; {_HOW_TO_ASK}")


def _from_event(event: str, data: Any, part_id: Any) -> Part:
    mode, *ns = event.split("|")
    return Part(tuple(ns), mode, data, _id(part_id))


def _namespace(ns: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, ns))


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_envelope(data: Any) -> bool:
    """Whether `data` is an event of the platform's newer protocol, which a legacy join delivers under a mode's name."""
    return type(data) is dict and type(data.get("type")) is str and data["type"] == "event" and "method" in data


def _check_message(data: Any) -> None:
    if isinstance(data, tuple | list) and len(data) == 2 and isinstance(data[1], Mapping | None):
        return
    raise UnreadablePartError(f"expected (message, metadata) in a part of mode 'messages', got {_name(data)}")


def _name(value: Any) -> str:
    return type(value).__name__
