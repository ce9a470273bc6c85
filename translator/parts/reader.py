"""Provides `PartReader`, which turns the items of any LangGraph stream into `Part`s. The modules in this package know
the shapes in which parts arrive. Outside of it, only `Translator.feed` knows one of them, the tuples of a local stream
with subgraphs, because every token passes through that method.

Shapes, as measured on langgraph 1.0 to 1.2 and langgraph-sdk 0.3 to 0.4:

==============================================  ========================================================================
`(mode, data)`                                  a local `astream(stream_mode=[...])`
`(ns, mode, data)`                              the same with `subgraphs=True`, also of a `RemoteGraph`
`{"type": mode, "ns": (...), "data": data}`     a local `astream(version="v2")`, a `RemoteGraph`, and the SDK, where
                                                `ns` is a list; `values` parts also have the key `interrupts`
`StreamPart(event, data, id)`                   the SDK and `RemoteGraph`; the event is `mode` or `mode|ns|ns`
lists, `{"event", "data", "id"}`, `{"ns",       JSON recordings of the shapes above
"mode", "data", "id"}`
`StreamPart(event, envelope, id)`               a run that was started through LangChain's protocol v3: see `v3.py`
==============================================  ========================================================================

If `stream_mode` was a single mode that is not in a list, or a tuple of modes, the stream yields payloads without their
modes. It is impossible to tell which mode such a payload belongs to, so an error is raised that explains how to request
the stream.

Where parts come from

1. The caller that creates the reader specifies where its parts come from. If a `local` stream has stopped without an
   exception, it has shown how the run ended. If a `platform` stream has stopped, it has not shown this: it stops in the
   same way if the run has finished, was interrupted or was cancelled, or if the connection was lost. The shape of a
   part never overrides the caller's choice.
2. If the caller does not specify the source, the stream counts as a platform's as soon as a part arrives that a local
   graph cannot yield. Such a part is an event from the SDK, a part whose `ns` is a list, or a message as JSON in a
   tuple or in the `version="v2"` shape. `RemoteGraph` yields messages in this form. `Part` objects do not show where
   they come from. A stream of them also counts as a platform's, because reporting a lost run as finished would be worse
   than reporting a finished run as lost.
3. A `RemoteGraph` yields everything except messages in the shapes of a local graph. `translate` recognises such a
   stream by its generator. A caller that wraps this generator in another one has to pass `source="platform"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from ..errors import UnreadablePartError
from .channels import as_sequence
from .message import is_object
from .part import UNREAD, Part
from .platform_messages import AccumulatedMessages
from .v3 import Envelopes

Source = Literal["local", "platform"]
"""The source of a stream's parts, which is either a graph in this process or a LangGraph server."""

_SEQUENCES: Final = (tuple, list)
_ACCUMULATED: Final = frozenset({"messages/metadata", "messages/partial", "messages/complete"})
"""The modes that `platform_messages.py` reads."""
_HOW_TO_ASK: Final = "request the stream with stream_mode=STREAM_MODES, a list of several modes"


class PartReader:
    """Reads the parts of one stream, one after another, in any shape.

    `source`: where the parts come from, `"local"` or `"platform"`. With None, the shapes of the parts decide, as far as
    they can.

    Example:
        reader = PartReader("platform")
        async for received in client.runs.join_stream(thread_id, run_id):
            for part in reader.read(received):
                print(part.ns, part.mode)
    """

    source: Source | None
    """Where the parts come from. If the caller does not specify the source, this attribute is None until a part arrives
    that only a server can have sent."""

    def __init__(self, source: Source | None = None) -> None:
        if source not in ("local", "platform", None):
            raise ValueError(f"source: expected 'local', 'platform' or None, got {source!r}")
        self.source = source
        self._accumulated: AccumulatedMessages | None = None
        """None until a message of a platform's `messages` mode arrives."""
        self._v3: Envelopes | None = None
        """The reader for events of the protocol v3. None until such an event arrives."""

    def gap(self) -> None:
        """Tells the reader that parts may have been missed. The rest of any message that may now be incomplete is
        skipped."""
        if self._v3 is not None:
            self._v3.gap()

    def read(self, raw: Any) -> list[Part]:
        """Returns the parts in `raw`. Usually this is one part. If a server sends messages in another shape, there may
        be several parts, or none. The reader remembers the facts that it needs to read later parts.

        `raw`: an item that `graph.astream()`, a `RemoteGraph` or the SDK's run stream yields in any version, or the
        JSON of such an item; or a `Part`. Raises `UnreadablePartError` for anything else, with a text that describes
        what was received.
        """
        part = part_of(raw)
        mode, data = part.mode, part.data
        is_envelope = type(data) is dict and "params" in data and _is_envelope(data)
        if mode == "messages" and not is_envelope:
            _check_message(data)
        if self.source is None and _may_be_a_servers(raw, part):
            self.source = "platform"
        if is_envelope:
            self._v3 = self._v3 or Envelopes()
            return _read("An event of the protocol v3", self._v3.read, data, part)
        if self._v3 is not None:
            return [*self._v3.flush(), part]
        if mode in _ACCUMULATED:
            self._accumulated = self._accumulated or AccumulatedMessages()
            return _read_accumulated(self._accumulated, mode, data)
        if self._accumulated is not None and self._accumulated.has_open_calls and _ends_superstep(part):
            return [*_read("The tool calls in a message", self._accumulated.remaining, part.ns), part]
        return [part]


def message_payload(raw: Any) -> Any:
    """Returns the payload of a part in the mode `messages`; None for a part in any other mode.

    This function knows every shape in which live streams yield parts, except for the tuples from a local stream with
    subgraphs, which `Translator.feed` reads itself. For an unknown shape, it may return anything or raise an exception.
    In that case, `PartReader` reads the part. This function does not check shapes and creates no objects, because every
    token passes through it.
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


def part_of(raw: Any) -> Part:
    """Returns `raw` as a `Part`. Converts only the shape; the mode and the data are left as they arrived. Raises
    `UnreadablePartError` if the shape is unknown."""
    kind: type[Any] = type(raw)
    try:
        if kind is Part:
            return raw  # type: ignore[no-any-return]
        if kind is tuple or issubclass(kind, (tuple, list)):
            return _from_sequence(raw)
        if issubclass(kind, dict):
            return _from_mapping(raw)
    except UnreadablePartError:
        raise
    except Exception as error:  # reading an attribute or an item of `raw` raised an exception
        raise UnreadablePartError(f"expected a part of a LangGraph stream, got {_name(raw)}") from error
    raise UnreadablePartError(f"expected a part of a LangGraph stream, got {_name(raw)}; {_HOW_TO_ASK}")


def _may_be_a_servers(raw: Any, part: Part) -> bool:
    """Returns whether a part may come from a server (rule 2). This is the case if a local graph never yields such a
    part, or if the part does not show where it comes from."""
    kind = type(raw)
    if kind is Part:
        return True
    if issubclass(kind, dict):
        if "event" in raw or type(raw.get("ns")) is list:
            return "mode" not in raw
    elif isinstance(raw[0], str) and len(raw) == 3:
        return True
    elif kind is list:
        return False
    data = part.data
    if part.mode != "messages" or type(data) not in _SEQUENCES or len(data) == 0:
        return False
    # `is_object` is faster than the lookup in an abstract class
    return not is_object(data[0]) and issubclass(type(data[0]), Mapping)


def _ends_superstep(part: Part) -> bool:
    """Returns whether a part ends all messages that are open in its graph. This is the case if a superstep has ended,
    or if the run starts or restarts."""
    if part.mode == "metadata":
        return isinstance(part.data, Mapping) and "attempt" in part.data
    if part.mode != "values":
        return False
    interrupts = part.data.get("__interrupt__") if isinstance(part.data, Mapping) else None
    return not (as_sequence(part.interrupts) or as_sequence(interrupts))


def _read_accumulated(accumulated: AccumulatedMessages, mode: str, data: Any) -> list[Part]:
    """Returns the parts in the payload of one of the modes in `_ACCUMULATED`."""
    if mode == "messages/metadata":
        return _read("The metadata of a message", accumulated.add_metadata, data)
    what = f"A message of the mode {mode!r}"
    messages = data if isinstance(data, list) else ()
    return [new for message in messages for new in _read(what, accumulated.read, mode, message)]


def _read(what: str, act: Callable[..., Iterable[Part] | None], *args: Any) -> list[Part]:
    """Returns the parts that `act` yields. If `act` raises an exception, the last part reports it. This is a safeguard;
    no known input causes it."""
    parts: list[Part] = []
    try:
        parts += act(*args) or ()
    except Exception as error:
        parts.append(Part((), UNREAD, (what, error)))
    return parts


def _from_sequence(raw: Sequence[Any]) -> Part:
    if len(raw) == 3 and isinstance(raw[0], (tuple, list)) and isinstance(raw[1], str):
        return Part(_namespace(raw[0]) if raw[0] else (), raw[1], raw[2])
    if len(raw) == 3 and isinstance(raw[0], str):
        return _from_event(raw[0], raw[1], raw[2])
    if len(raw) == 2 and isinstance(raw[0], str):
        return Part((), raw[0], raw[1])
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
        if isinstance(name, str) and isinstance(raw.get("ns", ()), (tuple, list)):
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


def _is_envelope(data: dict[Any, Any]) -> bool:
    """Returns whether `data` is an event of the protocol v3."""
    if type(data.get("type")) is not str or data["type"] != "event":
        return False
    return isinstance(data.get("method"), str) and isinstance(data.get("params"), Mapping)


def _check_message(data: Any) -> None:
    if isinstance(data, (tuple, list)) and len(data) == 2 and (data[1] is None or isinstance(data[1], (dict, Mapping))):
        return
    raise UnreadablePartError(f"expected (message, metadata) in a part of mode 'messages', got {_name(data)}")


def _name(value: Any) -> str:
    return type(value).__name__
