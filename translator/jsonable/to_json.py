"""Any Python value as JSON: what is not JSON is made JSON here, the same way everywhere.

Lives here: `to_json`, `freeze`, `text` and the table below. Never here: anything that knows what a channel, a message
or an event is. Nothing in this module raises, whatever it is given, and nothing depends on memory addresses, hash
order or the clock: equal values give equal bytes. The forms follow what LangGraph Platform sends, so that a graph
looks the same run here or there; where the platform has no form (it sends null, or fails) a short text says what
stood there. A value that cannot be read is logged too: in a run by the function in `ON_UNREADABLE`, elsewhere once for
each such text.

==========================================  ======================================================================
a value                                     its JSON
==========================================  ======================================================================
None, bool, str, float                      itself; NaN and infinities are null; a lone surrogate is U+FFFD, a pair
                                            of surrogates the character it spells
int                                         itself; beyond +-(2**53 - 1), where JavaScript rounds, its decimal text
subclasses of str, int, float, list, tuple  as their base
Enum                                        its value
dict, any Mapping                           an object; see keys below
list, tuple, deque, other sequences, views  an array
set, frozenset, other sets                  an array sorted by the JSON bytes of its elements
NamedTuple, dataclass, attrs                an object of its fields (those that begin with "_" left out)
pydantic model, LangChain message           `model_dump()`, or its attributes where that fails
Send                                        {"node": .., "args": ..}
exception                                   {"error": class name, "message": text}
bytes, bytearray, memoryview                base64 text
datetime, date, time                        ISO 8601 text
timedelta                                   seconds
Decimal                                     a number; its text if it is whole and beyond 2**53 - 1, or beyond 1e308
UUID, path, IP address, time zone, complex  text
compiled pattern                            its pattern
numpy scalar, numpy array                   `tolist()`
class, function, module                     "<class a.B>", "<function a.f>", "<module a>"
anything else (iterators are not consumed)  "<a.B>": module and class
an object that raises when it is read       "<a.B: cannot be read>"
a container inside itself                   "<cycle>"
containers nested deeper than `MAX_DEPTH`   "<too deep>"
==========================================  ======================================================================

Keys are text: a str is itself, True "true", None "null", 1 "1", any other key its JSON (without the quotes if that is
a string). Where two keys of one mapping become the same, str keys keep theirs and the others get " (2)", " (3)" .. in
order. A key "__proto__" stays: JSON and the client keep it as data (only patch paths avoid it).

How: `orjson` does all the work in C and asks `_settled` about what it does not know. What it refuses (odd keys, large
integers, surrogates, cycles, depth) is walked in Python with the same `_settled`: slower, and the same JSON. Two
things are taken at their word: an `orjson.Fragment`, and an object that unfolds without end in width.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import orjson

from .other_types import reopened, unreadable

ON_UNREADABLE: Final[ContextVar[Callable[[str, Exception | None], None] | None]] = ContextVar("UNREAD", default=None)
"""Takes the text that replaces a value that cannot be read, and the error; it may be called for every such value. Set
during calls that know their run."""

MAX_DEPTH = 128
"""Containers nested in one value. orjson writes 254 levels, and an event and a patch around the value need some."""

_log = logging.getLogger(__name__)
_ORJSON_DEPTH = 254
_MARGIN = _ORJSON_DEPTH - MAX_DEPTH
_SAFE_INTEGER = 2**53 - 1
_LONGEST_INTEGER_BITS = 4096  # CPython refuses to write integers of more than 4300 digits
_CYCLE = "<cycle>"
_TOO_DEEP = "<too deep>"
_MOST_FORMS = 8  # an Enum of a pydantic root model of a numpy scalar: three forms before JSON; more is a loop
_RETRIED = 3  # levels of a refused value at which orjson is offered the parts: most of a large one is ordinary
_MOST_LOGGED = 1000
_logged_before: set[str] = set()  # texts in place of values that could not be read outside a run
_spare: list[tuple[list[Any], list[Any]]] = []  # as many as were ever in use at once
_REFUSED = (TypeError, ValueError, RecursionError)  # orjson's own errors are the first two
_BASIC = frozenset({str, int, float, bool, type(None)})
_KNOWN = _BASIC | {dict, list, tuple, set, frozenset}
_OPTIONS = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


class Frozen(NamedTuple):
    """A value as it was when it was frozen: nothing in it is shared with the value."""

    data: bytes
    """Compact JSON; `orjson.loads(data) == json`."""
    json: Any
    """The plain value."""


def to_json(value: Any) -> Any:
    """Any value as dicts with str keys, lists, str, int, float, bool and None, by the table above. Never raises."""
    return freeze(value).json


def to_json_each(values: list[Any]) -> list[Any]:
    """`to_json` of each of many containers, at once: most of what a small one costs is the call."""
    try:
        each: list[Any] = orjson.loads(_bytes_in_c(values, _MARGIN))
    except _REFUSED:
        return [to_json(value) for value in values]
    return each


def freeze(value: Any) -> Frozen:
    """The JSON bytes and the plain copy of any value, by the table above. Never raises."""
    if type(value) in _BASIC:
        basic = _basic(value)
        return Frozen(orjson.dumps(basic), basic)
    try:
        return _in_c(value, _MARGIN)
    except _REFUSED:
        walked = _walk(value, set(), 0)
        return Frozen(orjson.dumps(walked), walked)


def json_bytes(value: Any) -> bytes:
    """`freeze(value).data`, without the plain copy."""
    try:
        return _bytes_in_c(value, _MARGIN)
    except _REFUSED:
        return freeze(value).data


def json_bytes_unlogged(value: Any) -> bytes:
    """`json_bytes` of what is compared, and not sent: it costs no log line."""
    before = ON_UNREADABLE.set(_not_logged)
    try:
        return json_bytes(value)
    finally:
        ON_UNREADABLE.reset(before)


def to_text(value: Any) -> str:
    """A str that UTF-8 can carry; of a value that is no str, its JSON (a string without its quotes). Never raises."""
    if type(value) is not str:
        value = to_json(value)
        return value if type(value) is str else orjson.dumps(value).decode()
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def _in_c(value: Any, margin: int) -> Frozen:
    data = _bytes_in_c(value, margin)
    return Frozen(data, orjson.loads(data))


def _bytes_in_c(value: Any, margin: int) -> bytes:
    for _ in range(margin - _MARGIN):
        value = [value]
    outermost, innermost = _nest()
    innermost.append(value)
    try:
        return orjson.dumps(outermost, default=_known_to_orjson, option=_OPTIONS)[margin:-margin]
    finally:
        innermost.clear()
        _spare.append((outermost, innermost))


def _nest() -> tuple[list[Any], list[Any]]:
    """The first and the last of `_MARGIN` lists in each other, so that orjson itself refuses what is nested deeper than
    `MAX_DEPTH`. It goes back to `_spare`: making one costs more than most values do."""
    try:
        return _spare.pop()
    except IndexError:
        outermost = innermost = list[Any]()
        for _ in range(_MARGIN - 1):
            outermost = [outermost]
        return outermost, innermost


def _part_in_c(value: Any, depth: int) -> Any:
    data = orjson.dumps(value, default=_known_to_orjson, option=_OPTIONS)
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH - depth:  # cannot be too deep: most parts are small
        return orjson.loads(data)
    return _in_c(value, _MARGIN + depth).json


def _known_to_orjson(value: Any) -> Any:
    settled = _settled(value)
    if type(settled) is set or type(settled) is frozenset:
        if not all(type(element) in _BASIC for element in settled):
            raise TypeError  # its elements have to be made JSON before they can be sorted: walked
        return sorted(settled, key=_bytes)
    return settled


def _settled(value: Any) -> Any:
    """A value of a type in `_KNOWN` for one that is not; its inside may still be anything."""
    form, raised = value, None
    try:
        for _ in range(_MOST_FORMS):
            form = reopened(form)
            if type(form) in _KNOWN:
                return form
    except Exception as error:
        raised = error
    return _unread(value, raised)


def _unread(value: Any, error: Exception | None) -> str:
    stands, log = unreadable(value), ON_UNREADABLE.get() or _logged
    log(stands, error)
    return stands


def _not_logged(_stands: str, _error: Exception | None) -> None:
    pass


def _logged(stands: str, error: Exception | None) -> None:
    if stands not in _logged_before and len(_logged_before) < _MOST_LOGGED:
        _logged_before.add(stands)
        _log.warning("A value cannot be read; in its place stands %r.", stands, exc_info=error)


def _walk(value: Any, above: set[int], depth: int) -> Any:
    kind = type(value)
    if kind not in _KNOWN:
        settled = _settled(value)
        kind = type(settled)
    else:
        settled = value
    if kind in _BASIC:
        return _basic(settled)
    if id(value) in above:
        return _CYCLE
    if depth >= MAX_DEPTH and (settled or kind is not tuple):  # orjson lets an empty tuple pass
        return _TOO_DEEP
    if 0 < depth <= _RETRIED:
        try:
            return _part_in_c(value, depth)  # no cycle through `above` either, or orjson had refused
        except _REFUSED:
            pass
    above.add(id(value))
    try:
        if kind is dict:
            return _object(settled, above, depth + 1)
        elements = []
        for element in settled:
            elements.append(_walk(element, above, depth + 1))  # noqa: PERF401 (a comprehension is one frame more)
        return elements if kind is list or kind is tuple else sorted(elements, key=_bytes)
    except Exception as error:  # another thread changed it meanwhile, or the stack is used up
        return _unread(value, error)
    finally:
        above.discard(id(value))


def _basic(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return to_text(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int and not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        bits = value.bit_length()
        return str(value) if bits <= _LONGEST_INTEGER_BITS else f"<int of {bits} bits>"
    return value


def _object(value: dict[Any, Any], above: set[int], depth: int) -> dict[str, Any]:
    named: dict[str, Any] = {}
    own = {key for key in value if type(key) is str}
    uses: dict[str, int] = {}
    for key, inner in value.items():
        name = to_text(key) if type(key) is str else _name(key, above, depth)
        if type(key) is not str or name != key:  # made here, so it yields to a str key of the mapping
            name = _free(name, own, named, uses)
        named[name] = _walk(inner, above, depth)
    return named


def _name(key: Any, above: set[int], depth: int) -> str:
    name = _walk(key, above, depth)
    return name if type(name) is str else orjson.dumps(name).decode()


def _free(name: str, own: set[str], named: dict[str, Any], uses: dict[str, int]) -> str:
    candidate = name
    while candidate in own or candidate in named:
        uses[name] = uses.get(name, 1) + 1
        candidate = f"{name} ({uses[name]})"
    return candidate


def _bytes(value: Any) -> bytes:
    return orjson.dumps(value)
