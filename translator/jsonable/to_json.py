"""Converts any Python value to JSON. No other module converts values to JSON.

No function here raises an exception, whatever the value is. Equal values give equal bytes, because no result depends on
memory addresses, hash order or a clock. Values are converted as LangGraph Platform converts them, so that a graph gives
the same JSON locally and on the platform. If the platform sends null for a value, or fails to send it, the value
becomes a short text with the name of its class. If a value cannot be read, the function in `WARN` logs the failure.
This module knows nothing about channels, messages and events.

==========================================  ======================================================================
a value                                     its JSON
==========================================  ======================================================================
None, bool, str, float                      unchanged; NaN and infinities become null, a lone surrogate becomes
                                            U+FFFD, and a surrogate pair becomes the character that it encodes
int                                         unchanged; beyond +-(2**53 - 1), where JavaScript rounds, its decimal
                                            text, or hexadecimal text if CPython refuses to write the decimal text
subclasses of str, int, float, list, tuple  the same as their base class
Enum                                        its value
dict, any Mapping                           an object; see keys below
list, tuple, deque, other sequences, views  an array
set, frozenset, other sets                  an array sorted by the JSON bytes of its elements
NamedTuple, dataclass, attrs                an object with its fields, except those that begin with "_"
pydantic model, LangChain message           `model_dump()`, or its attributes if that fails
Send                                        {"node": .., "args": ..}
exception                                   {"error": class name, "message": text}
bytes, bytearray, memoryview                base64 text
datetime, date, time                        ISO 8601 text
timedelta                                   seconds
Decimal                                     a number; its text if it is beyond 1e308
UUID, path, IP address, time zone, complex  text
compiled pattern                            its pattern
numpy scalar, numpy array, tensor           `tolist()`
anything else (iterators are not consumed)  "<a.B>": module and class
an object that raises when it is read       "<a.B: cannot be read>"
a container inside itself                   "<cycle>"
containers nested deeper than `MAX_DEPTH`   "<too deep>"
==========================================  ======================================================================

Keys become text. A str stays unchanged, True becomes "true", None becomes "null", and 1 becomes "1". Any other key
becomes its JSON, without the quotes if the JSON is a string. If two keys of a mapping become the same text, the value
of the last key is used, and a line is logged. The key "__proto__" is kept, because JSON and the client treat it as
data. Only patch paths avoid it.

Most values are converted by orjson in C, which calls `_converted` for types that it does not know. orjson refuses some
values because of their keys, large integers, surrogates, cycles or depth. Such a value is converted member by member in
Python instead, which calls `_converted` for the same types. This path is slower but gives the same JSON. An
`orjson.Fragment` is not checked, and neither is an object with infinitely many members. Wherever possible, the class of
a value is examined and not the instance, because some instances, such as proxies and mocks, have an attribute for any
name.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import re
from base64 import b64encode
from collections import UserString
from collections.abc import Callable, Mapping, MappingView, Sequence, Set
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from langgraph.types import Send
from pydantic import BaseModel

_log = logging.getLogger(__name__)


def _logged(what: str, error: Exception | None = None) -> None:
    _log.warning("%s.", what, exc_info=error)


WARN: Final[ContextVar[Callable[[str, Exception | None], None]]] = ContextVar("WARN", default=_logged)
"""The function that is called if a value cannot be converted faithfully. Its arguments are a description of the
problem, and the exception or None. The default function logs a warning. While a run is being translated, a different
function is set."""

MAX_DEPTH: Final = 240
"""The maximum number of containers that may be nested in each other. orjson can write 254 levels, but the event and the
patch around the value need some of them."""

_MARGIN: Final = 254 - MAX_DEPTH
_SAFE_INTEGER: Final = 2**53 - 1
_LONGEST_DECIMAL_BITS: Final = 4096  # CPython refuses to write integers with more than 4300 digits
_CYCLE: Final = "<cycle>"
_TOO_DEEP: Final = "<too deep>"
_MOST_FORMS: Final = (
    8  # an Enum of a pydantic root model with a numpy scalar needs 3 steps; more than 8 steps mean a loop
)
_RETRIED: Final = 3  # if orjson refuses a value, it is tried again on the parts of the value, down to this many levels
_REFUSED: Final = (TypeError, ValueError, RecursionError)  # orjson itself raises only the first two
_BASIC: Final = frozenset({str, int, float, bool, type(None)})
_KNOWN: Final = _BASIC | {dict, list, tuple, set, frozenset}
_OPTIONS: Final = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_AS_TEXT: Final = (
    UUID,
    UserString,
    complex,
    PurePath,
    tzinfo,
    ipaddress.IPv4Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Address,
    ipaddress.IPv6Network,
)


class Frozen(NamedTuple):
    """The JSON of a value at the time of the conversion. It shares no list or dict with the value."""

    data: bytes
    """Compact JSON; `orjson.loads(data) == json`."""
    json: Any
    """The same JSON as dicts, lists and basic values."""


def to_json(value: Any) -> Any:
    """Converts any value to dicts with str keys, lists, str, int, float, bool and None. Never raises an exception.

    Models, dataclasses and messages become objects with their fields, and sets become sorted arrays. Dates, UUIDs and
    integers beyond 2**53 - 1 become text, and NaN becomes null. A value of an unknown type becomes a short text with
    the name of its class. The module docstring contains the complete table.
    """
    return freeze(value).json


def to_json_each(values: list[Any]) -> list[Any]:
    """Returns the result of `to_json` for each of many containers. All of them are converted in one orjson call,
    because for a small container most of the cost is the call itself."""
    try:
        converted: list[Any] = orjson.loads(_dumps(values))
    except _REFUSED:
        return [to_json(value) for value in values]
    return converted


def freeze(value: Any) -> Frozen:
    """Converts any value to JSON, both as bytes and as Python values. See the table in the module docstring. Never
    raises an exception."""
    if type(value) in _BASIC:
        basic = _basic(value)
        return Frozen(orjson.dumps(basic), basic)
    try:
        data = _dumps(value)
        return Frozen(data, orjson.loads(data))
    except _REFUSED:
        walked = _walk(value, set(), 0)
        return Frozen(orjson.dumps(walked), walked)


def json_bytes(value: Any) -> bytes:
    """Returns the same bytes as `freeze(value).data`, without making the Python values."""
    try:
        return _dumps(value)
    except _REFUSED:
        return freeze(value).data


def json_bytes_unlogged(value: Any) -> bytes:
    """Like `json_bytes`, but does not log unreadable values. Intended for values that are only compared and not
    sent."""
    before = WARN.set(lambda what, error: None)
    try:
        return json_bytes(value)
    finally:
        WARN.reset(before)


def nesting(value: Any) -> int:
    """Returns the nesting depth of a JSON value: the largest number of lists and dicts nested one inside another."""
    depth, level = 0, [value]
    while containers := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def to_text(value: Any) -> str:
    """Returns a str without lone surrogates, because UTF-8 cannot encode them. A value that is not a str becomes its
    JSON, without the quotes if the JSON is a string. Never raises an exception."""
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


def _dumps(value: Any, depth: int = 0) -> bytes:
    """Writes a value as JSON with orjson. `depth` is the number of containers around the value.

    The value is wrapped in extra lists. They make orjson refuse a value that is nested more deeply than `MAX_DEPTH`.
    """
    if type(value) is dict and not depth and _BASIC.issuperset(map(type, value.values())):
        return orjson.dumps(value, option=_OPTIONS)  # a flat dict
    for _ in range(depth):
        value = [value]
    around = [[[[[[[[[[[[[[value]]]]]]]]]]]]]]  # `_MARGIN` lists
    data = orjson.dumps(around, default=_known_to_orjson, option=_OPTIONS)
    return data[_MARGIN + depth : -_MARGIN - depth]


def _known_to_orjson(value: Any) -> Any:
    form = _converted(value)
    if type(form) is set or type(form) is frozenset:
        if not all(type(element) in _BASIC for element in form):
            raise TypeError  # the elements must be converted before they are sorted; `_walk` does both
        return sorted(form, key=orjson.dumps)
    return form


def _converted(value: Any) -> Any:
    """Converts a value of an unknown type to a value of a type in `_KNOWN`, which may still contain values of any
    type."""
    form, raised = value, None
    try:
        for _ in range(_MOST_FORMS):
            form = _step(form)
            if type(form) in _KNOWN:
                return form
    except Exception as error:
        raised = error
    return _unreadable(value, raised)


def _unreadable(value: Any, error: Exception | None) -> str:
    """Returns the text that replaces an unreadable value, and calls the function in `WARN`."""
    text = f"<{_class_name(type(value))}: cannot be read>"
    WARN.get()(f"A value cannot be read and is replaced by {text!r}", error)
    return text


def _walk(value: Any, above: set[int], depth: int) -> Any:
    form = value if type(value) in _KNOWN else _converted(value)
    kind = type(form)
    if kind in _BASIC:
        return _basic(form)
    if id(value) in above:
        return _CYCLE
    if depth >= MAX_DEPTH:
        return _TOO_DEEP
    if 0 < depth <= _RETRIED:
        try:
            return orjson.loads(_dumps(value, depth))  # orjson also refuses a cycle through a container in `above`
        except _REFUSED:
            pass
    above.add(id(value))
    try:
        if kind is dict:
            return _object(form, above, depth + 1)
        elements = []
        for element in form:
            elements.append(_walk(element, above, depth + 1))  # noqa: PERF401 (a comprehension needs one more stack frame)
        return elements if kind is list or kind is tuple else sorted(elements, key=orjson.dumps)
    except Exception as error:  # another thread changed the value, or the stack overflowed
        return _unreadable(value, error)
    finally:
        above.discard(id(value))


def _basic(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return to_text(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int and not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return str(value) if value.bit_length() <= _LONGEST_DECIMAL_BITS else hex(value)
    return value


def _object(value: dict[Any, Any], above: set[int], depth: int) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, inner in value.items():
        name = to_text(key) if type(key) is str else _walk(key, above, depth)
        named[name if type(name) is str else orjson.dumps(name).decode()] = _walk(inner, above, depth)
    if len(named) < len(value):
        WARN.get()("Several keys of an object become the same text, so only the last value is kept", None)
    return named


def _step(value: Any) -> Any:
    """Converts `value` one step closer to JSON. The result is a basic value, a container (a dict, list,
    tuple or set), or another object that must itself be converted.

    Exceptions that occur while the object is being read are not caught.
    """
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    cls = type(value)
    described = fields(cls) if is_dataclass(cls) else getattr(cls, "__attrs_attrs__", None)
    if described is not None:
        names = [field.name for field in described]
        return {name: getattr(value, name) for name in names if not name.startswith("_") and hasattr(value, name)}
    for name in ("model_dump", "dict", "tolist"):  # pydantic 2 and 1 and similar classes; numpy arrays and tensors
        read = getattr(cls, name, None)
        if callable(read):
            return read(value)
    return f"<{_class_name(cls)}>"


def _class_name(cls: type) -> str:
    try:
        module, name = str(cls.__module__), str(cls.__qualname__)
    except Exception:
        return "object"
    return name if module == "builtins" else f"{module}.{name}"


def _model(value: BaseModel) -> Any:
    try:
        return value.model_dump(warnings=False)
    except Exception:
        return dict(value.__dict__)


def _tuple(value: tuple[Any, ...]) -> Any:
    names = getattr(type(value), "_fields", None)
    return dict(zip(names, value, strict=True)) if isinstance(names, tuple) else list(value)


def _decimal(value: Decimal) -> Any:
    if value.adjusted() > 308:
        return str(value)
    exponent = value.as_tuple().exponent
    return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: value.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (BaseModel, _model),
    (tuple, _tuple),
    (Mapping, lambda value: dict(value.items())),
    (MappingView, list),
    (Set, set),
    (Send, lambda value: {"node": value.node, "args": value.arg}),
    (datetime | date | time, lambda value: value.isoformat()),
    (timedelta, timedelta.total_seconds),
    (Decimal, _decimal),
    (bytes | bytearray | memoryview, lambda value: b64encode(value).decode()),
    (BaseException, lambda value: {"error": type(value).__name__, "message": str(value)}),
    (_AS_TEXT, str),
    (re.Pattern, lambda value: value.pattern),
    (Sequence, list),
)
