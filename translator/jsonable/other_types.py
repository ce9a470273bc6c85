"""One step from a value JSON has no form for towards one it has: the rows of the table in `to_json`, one function.

Lives here: what each class of Python object is shown as. Never here: how its inside is walked, cycles, depth, keys.
Classes are asked, not instances, wherever there is a choice: an instance may answer to any name (proxies, mocks).
"""

from __future__ import annotations

import ipaddress
import re
import types
from array import array
from base64 import b64encode
from collections import UserString
from collections.abc import Callable, Mapping, MappingView, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from langgraph.types import Send
from pydantic import BaseModel

_SAFE_INTEGER = 2**53 - 1
_AS_TEXT = (
    UUID,
    UserString,
    complex,
    PurePath,
    tzinfo,
    ipaddress.IPv4Address,
    ipaddress.IPv4Interface,
    ipaddress.IPv4Network,
    ipaddress.IPv6Address,
    ipaddress.IPv6Interface,
    ipaddress.IPv6Network,
)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def reopened(value: Any) -> Any:
    """A form of `value` nearer to JSON: basic, a dict, list, tuple, set, or an object to be asked again.

    Raises whatever the object raises when it is read.
    """
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    cls = type(value)
    if hasattr(cls, "__attrs_attrs__"):
        return _public(value, [attribute.name for attribute in cls.__attrs_attrs__])
    if is_dataclass(cls):
        return _public(value, [field.name for field in fields(cls)])
    if cls.__module__.partition(".")[0] == "numpy":
        return _numpy(value)
    for name in ("model_dump", "dict"):  # pydantic 2 and 1, and what imitates them
        dump = getattr(cls, name, None)
        if callable(dump):
            return dump(value)
    return f"<{_name(cls)}>"


def unreadable(value: Any) -> str:
    """What stands for an object that raised when it was read."""
    return f"<{_name(type(value))}: cannot be read>"


def _name(cls: type) -> str:
    try:
        module, name = str(cls.__module__), str(cls.__qualname__)
    except Exception:
        return "object"
    return name if module == "builtins" else f"{module}.{name}"


def _public(value: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names if not name.startswith("_") and hasattr(value, name)}


def _model(value: BaseModel) -> Any:
    try:
        return value.model_dump(warnings=False)
    except Exception:
        return dict(value.__dict__)


def _tuple(value: tuple[Any, ...]) -> Any:
    names = getattr(type(value), "_fields", None)
    return dict(zip(names, value, strict=True)) if isinstance(names, tuple) else list(value)


def _decimal(value: Decimal) -> Any:
    if not value.is_finite():
        return None
    if value.adjusted() > 308:
        return str(value)
    whole = value.as_tuple().exponent
    if isinstance(whole, int) and whole < 0:
        return float(value)
    return int(value) if abs(value) <= _SAFE_INTEGER else str(value)


def _numpy(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        return f"<{_name(type(value))}>"
    form = value.tolist()
    if type(form) is type(value):  # wider than Python's own numbers
        return complex(form) if form.dtype.kind == "c" else float(form)
    return form


def _class(value: Any) -> str:
    return f"<class {_name(value)}>" if isinstance(value, type) else str(value)


def _function(value: Any) -> str:
    return f"<function {value.__module__}.{value.__qualname__}>"


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: value.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (BaseModel, _model),
    (tuple, _tuple),
    (dict, lambda value: dict(value.items())),
    (list, list),
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
    (type | types.GenericAlias | types.UnionType, _class),
    (_FUNCTIONS, _function),
    (types.ModuleType, lambda value: f"<module {value.__name__}>"),
    (range, repr),
    (array, array.tolist),
    (Mapping, lambda value: dict(value.items())),
    (Sequence, list),
)
