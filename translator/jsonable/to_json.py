"""Any Python value as JSON: the one place where what is not JSON is made JSON.

Nothing here raises, whatever the value is, and nothing depends on memory addresses, hash order or a clock: equal values
give equal bytes. The forms are those that LangGraph Platform sends, so that a graph looks the same here and there. For
a value that the platform sends as null, or fails at, a short text names the class. A value that cannot be read is also
logged, by the function in `WARN`. What a channel, a message or an event is, is not known here.

==========================================  ======================================================================
a value                                     its JSON
==========================================  ======================================================================
None, bool, str, float                      itself; NaN and infinities are null; a lone surrogate is U+FFFD, a pair
                                            of surrogates the character it spells
int                                         itself; beyond +-(2**53 - 1), where JavaScript rounds, its decimal text,
                                            or hexadecimal where CPython has no decimal
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
Decimal                                     a number; its text if it is beyond 1e308
UUID, path, IP address, time zone, complex  text
compiled pattern                            its pattern
numpy scalar, numpy array, tensor           `tolist()`
anything else (iterators are not consumed)  "<a.B>": module and class
an object that raises when it is read       "<a.B: cannot be read>"
a container inside itself                   "<cycle>"
containers nested deeper than `MAX_DEPTH`   "<too deep>"
==========================================  ======================================================================

Keys become text: a str stays, True becomes "true", None "null", 1 "1", and any other key its JSON (without the quotes
if that is a string). If two keys of a mapping become the same text, the last one counts, and a line is logged. A key
"__proto__" stays, since JSON and the client keep it as data; only the paths of patches avoid it.

How it works: orjson does all the work in C, and calls `_converted` for what it does not know. What orjson refuses (odd
keys, large integers, surrogates, cycles, depth) is walked in Python with the same `_converted`: that is slower, and
gives the same JSON. An `orjson.Fragment`, and an object of endless width, are not checked. Wherever possible the class
is looked at and not the instance, because an instance may answer to any name, as proxies and mocks do.
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
"""Takes what is wrong with a value, and the error; it may be called for every such value. Set during calls that know
their run; else this module logs."""

MAX_DEPTH: Final = 240
"""The most containers that a value may be nested in. orjson writes 254 levels, and the event and the patch around the
value need some of them."""

_MARGIN: Final = 254 - MAX_DEPTH
_SAFE_INTEGER: Final = 2**53 - 1
_LONGEST_DECIMAL_BITS: Final = 4096  # CPython refuses to write integers of more than 4300 digits
_CYCLE: Final = "<cycle>"
_TOO_DEEP: Final = "<too deep>"
_MOST_FORMS: Final = 8  # an Enum of a pydantic root model of a numpy scalar has three forms before JSON; more is a loop
_RETRIED: Final = 3  # levels of a refused value whose parts orjson is given again: most parts are ordinary
_REFUSED: Final = (TypeError, ValueError, RecursionError)  # orjson's own errors are the first two
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
    """A value as it was when it was frozen. It shares nothing with the value."""

    data: bytes
    """Compact JSON; `orjson.loads(data) == json`."""
    json: Any
    """The same JSON as dicts, lists and basic values."""


def to_json(value: Any) -> Any:
    """Any value as dicts with str keys, lists, str, int, float, bool and None. Never raises.

    Models, dataclasses and messages become objects of their fields, sets sorted arrays, dates and UUIDs text, integers
    beyond 2**53 - 1 text, NaN null. What has no such form becomes a short text that names its class. The module's
    docstring has the whole table.
    """
    return freeze(value).json


def to_json_each(values: list[Any]) -> list[Any]:
    """`to_json` of many containers in one call: the call is most of what a small one costs."""
    try:
        converted: list[Any] = orjson.loads(_dumps(values))
    except _REFUSED:
        return [to_json(value) for value in values]
    return converted


def freeze(value: Any) -> Frozen:
    """The JSON of any value, as bytes and as a copy; see the module's table. Never raises."""
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
    """`freeze(value).data`, without the copy."""
    try:
        return _dumps(value)
    except _REFUSED:
        return freeze(value).data


def json_bytes_unlogged(value: Any) -> bytes:
    """`json_bytes` of what is compared and not sent: an unreadable value costs no log line."""
    before = WARN.set(lambda what, error: None)
    try:
        return json_bytes(value)
    finally:
        WARN.reset(before)


def nesting(value: Any) -> int:
    """How many containers of a JSON value are nested in each other."""
    depth, level = 0, [value]
    while containers := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def to_text(value: Any) -> str:
    """A str without lone surrogates, which UTF-8 has no form for. A value that is not a str becomes its JSON, a string
    without the quotes. Never raises."""
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
    """The JSON of a value at `depth` within another, by orjson.

    The value is wrapped in so many lists that orjson itself refuses what is nested more deeply than `MAX_DEPTH`.
    """
    if type(value) is dict and not depth and _BASIC.issuperset(map(type, value.values())):
        return orjson.dumps(value, option=_OPTIONS)  # not nested at all
    for _ in range(depth):
        value = [value]
    around = [[[[[[[[[[[[[[value]]]]]]]]]]]]]]  # `_MARGIN` lists
    data = orjson.dumps(around, default=_known_to_orjson, option=_OPTIONS)
    return data[_MARGIN + depth : -_MARGIN - depth]


def _known_to_orjson(value: Any) -> Any:
    form = _converted(value)
    if type(form) is set or type(form) is frozenset:
        if not all(type(element) in _BASIC for element in form):
            raise TypeError  # its elements have to be made JSON before they can be sorted: walked
        return sorted(form, key=orjson.dumps)
    return form


def _converted(value: Any) -> Any:
    """A value of a type in `_KNOWN` in place of one that is not. What is inside may still be anything."""
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
    """The text for a value that cannot be read."""
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
            return orjson.loads(_dumps(value, depth))  # no cycle through `above` either, or orjson had refused
        except _REFUSED:
            pass
    above.add(id(value))
    try:
        if kind is dict:
            return _object(form, above, depth + 1)
        elements = []
        for element in form:
            elements.append(_walk(element, above, depth + 1))  # noqa: PERF401 (a comprehension is one frame more)
        return elements if kind is list or kind is tuple else sorted(elements, key=orjson.dumps)
    except Exception as error:  # another thread has changed it meanwhile, or the stack is full
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
        WARN.get()("Keys of an object are the same text, and the last one counts", None)
    return named


def _step(value: Any) -> Any:
    """`value` in a form nearer to JSON: a basic value, a dict, list, tuple or set, or an object to be converted again.

    Raises what the object raises when it is read.
    """
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    cls = type(value)
    described = fields(cls) if is_dataclass(cls) else getattr(cls, "__attrs_attrs__", None)
    if described is not None:
        names = [field.name for field in described]
        return {name: getattr(value, name) for name in names if not name.startswith("_") and hasattr(value, name)}
    for name in ("model_dump", "dict", "tolist"):  # pydantic 2 and 1, and what imitates them; numpy and tensors
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
