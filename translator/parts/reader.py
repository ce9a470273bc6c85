"""`PartReader`: turns whatever a stream yields into `Part`s. No other module knows the shapes in which parts come.

Shapes, as measured on langgraph 1.0 to 1.2 and langgraph-sdk 0.3 to 0.4:

==============================================  ========================================================================
`(mode, data)`, `(ns, mode, data)`              a local `astream(stream_mode=[...])`, the second with `subgraphs=True`;
                                                `RemoteGraph` with `subgraphs=True`
`{"type": mode, "ns": (...), "data": data}`     a local `astream(version="v2")`, `RemoteGraph`'s, and, with a list for
                                                `ns`, the SDK's; `values` have their `interrupts` next to them
`StreamPart(event, data, id)`                   the SDK, and `RemoteGraph`; the event is `mode` or `mode|ns|ns`
lists, `{"event", "data", "id"}`, `{"ns",       recordings of these as JSON
"mode", "data", "id"}`
`StreamPart(event, envelope, id)`               a run that LangChain's protocol v3 has started: see `v3`
==============================================  ========================================================================

If a stream was requested with a single mode that is not in a list, or with a tuple of modes, it yields payloads without
their mode. They cannot be told apart, so they are refused with a message that says how to request the stream.

Where parts come from

1. The caller that makes the reader says where its parts come from. In a `local` stream that stops without an exception,
   the parts have shown how the run ended. In a `platform` stream they have not, because the stream stops in the same
   way when a run has finished, was interrupted or cancelled, or when the connection was lost. No shape overrides what
   the caller says.
2. If the caller did not say it, a stream counts as a platform's from the first part that a local graph cannot yield: an
   event of the SDK, a `ns` that is a list, or a message as JSON in a tuple or in the `version="v2"` form, as
   `RemoteGraph` yields it. So does a stream of ready `Part`s, which do not show where they come from. It is worse to
   call a lost run finished than to call a finished run lost.
3. A `RemoteGraph` yields everything but messages in the shapes of a local graph. `translate` recognises its stream by
   the generator; a caller that wraps the generator has to pass `source="platform"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from ..errors import UnreadablePartError
from .channels import as_sequence
from .part import UNREAD, Part
from .platform_messages import AccumulatedMessages
from .v3 import Envelopes

Source = Literal["local", "platform"]
"""Where the parts of a stream come from: a graph of this process, or a LangGraph server."""

_SEQUENCES: Final = (tuple, list)
_HOW_TO_ASK: Final = "ask for the stream with stream_mode=STREAM_MODES, a list of several modes"


class PartReader:
    """Reads the parts of one stream, in any shape, one after the other.

    `source`: where the parts come from, `"local"` or `"platform"`; with None their shapes decide, as far as they can.

    Example:
        reader = PartReader("platform")
        async for received in client.runs.join_stream(thread_id, run_id):
            for part in reader.read(received):
                print(part.ns, part.mode)
    """

    source: Source | None
    """Where the parts come from; None if the caller did not say it and no part has come that only a server sends."""

    def __init__(self, source: Source | None = None) -> None:
        if source not in ("local", "platform", None):
            raise ValueError(f"source: expected 'local', 'platform' or None, got {source!r}")
        self.source = source
        self._accumulated = AccumulatedMessages()
        self._v3: Envelopes | None = None
        """None until an event of the protocol v3 comes."""

    def gap(self) -> None:
        """Parts may have been missed: nothing more is read of messages that may now be incomplete."""
        if self._v3 is not None:
            self._v3.gap()

    def read(self, raw: Any) -> list[Part]:
        """The parts in `raw`: usually one, but several or none if a server sends messages in another form.

        `raw`: what `graph.astream()`, a `RemoteGraph` or the SDK's run stream yields in any of their versions, or its
        JSON; or a `Part`. Raises `UnreadablePartError`, which names what came, for anything else.
        """
        part = part_of(raw)
        if self.source is None and _may_be_a_servers(raw, part):
            self.source = "platform"
        mode = part.mode
        if _is_envelope(part.data):
            self._v3 = self._v3 or Envelopes()
            return _read("An event of the protocol v3", self._v3.read, part.data, part)
        if self._v3 is not None:
            return [*self._v3.flush(), part]
        if mode == "messages":
            _check_message(part.data)
        elif mode == "messages/metadata":
            return _read("The metadata of a message", self._accumulated.add_metadata, part.data)
        elif mode in ("messages/partial", "messages/complete"):
            messages = part.data if isinstance(part.data, list) else ()
            what = f"A message of the mode {mode!r}"
            return [new for each in messages for new in _read(what, self._accumulated.read, mode, each)]
        elif self._accumulated.has_open_calls and _ends_superstep(part):
            return [*_read("The calls of a message", self._accumulated.remaining, part.ns), part]
        return [part]


def message_payload(raw: Any) -> Any:
    """The payload of a part of the mode `messages`; None for any other part.

    It knows every shape of a live stream but the tuples of a local stream with subgraphs, which `Translator.feed` reads
    itself. It checks nothing: for any other shape it may return anything or raise, and `PartReader` reads that part.
    Every token passes through here, so it makes no objects.
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
    """The `Part` in `raw`, by its shape alone and with the mode that it names. Raises `UnreadablePartError`."""
    kind: type[Any] = type(raw)
    try:
        if kind is Part:
            return raw  # type: ignore[no-any-return]
        if issubclass(kind, tuple | list):
            return _from_sequence(raw)
        if issubclass(kind, dict):
            return _from_mapping(raw)
    except UnreadablePartError:
        raise
    except Exception as error:  # a part whose own shape raises when it is read
        raise UnreadablePartError(f"expected a part of a LangGraph stream, got {_name(raw)}") from error
    raise UnreadablePartError(f"expected a part of a LangGraph stream, got {_name(raw)}; {_HOW_TO_ASK}")


def _may_be_a_servers(raw: Any, part: Part) -> bool:
    """Whether a part is one that a local graph never yields (rule 2)."""
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
    return part.mode == "messages" and type(data) in _SEQUENCES and len(data) > 0 and issubclass(type(data[0]), Mapping)


def _ends_superstep(part: Part) -> bool:
    """Whether a part ends what is open in its graph: a superstep is over, or the run starts, perhaps again."""
    if part.mode == "metadata":
        return isinstance(part.data, Mapping) and "attempt" in part.data
    if part.mode != "values":
        return False
    interrupts = part.data.get("__interrupt__") if isinstance(part.data, Mapping) else None
    return not (as_sequence(part.interrupts) or as_sequence(interrupts))


def _read(what: str, act: Callable[..., Iterable[Part] | None], *args: Any) -> list[Part]:
    """The parts that `act` yields. If it raises, which no known value causes, a part that says so follows them."""
    parts: list[Part] = []
    try:
        parts += act(*args) or ()
    except Exception as error:
        parts.append(Part((), UNREAD, (what, error)))
    return parts


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
    """Whether `data` is an event of the protocol v3."""
    if type(data) is not dict or type(data.get("type")) is not str or data["type"] != "event":
        return False
    return isinstance(data.get("method"), str) and isinstance(data.get("params"), Mapping)


def _check_message(data: Any) -> None:
    if isinstance(data, tuple | list) and len(data) == 2 and isinstance(data[1], Mapping | None):
        return
    raise UnreadablePartError(f"expected (message, metadata) in a part of mode 'messages', got {_name(data)}")


def _name(value: Any) -> str:
    return type(value).__name__
