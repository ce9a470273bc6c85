"""`misfit` checks whether a value fits a JSON schema, and says where it does not. Pure.

It knows the keywords that schemas of answers use: types, constants, alternatives, the properties of objects, the items
of arrays, and references within the schema. Other keywords are ignored, so that a value is refused only if it is known
to be wrong.

Text that reads as a number or a truth value is accepted as one, because LangGraph reads answers that way if the schema
is made from a Python type, and because forms send text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 64
_MOST: Final = 10_000
"""Comparisons after which a value is accepted. The check runs in the event loop, a client's list may be long, and a
schema may have alternatives within alternatives."""
_CONSTANTS: Final = 50
"""The number of constants that take as much time as one comparison with a schema."""
_MOST_NAMED: Final = 20
"""The number of constants that an error text names, at most."""
_TRUTH: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"})
_NAMES: Final = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}


def misfit(value: Any, schema: Any, where: str = "answer", root: Any = None) -> str | None:
    """Returns why a value does not fit a schema: the place in the value, and what is expected there, without the value
    itself. Returns None if it fits, as far as is known. `where`: the name of the value in the text. `root`: the schema
    that `schema` is a part of, with its definitions; None if it is whole."""
    return _Check(schema if root is None else root).misfit(value, schema, where, 0)


class _Check:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST

    def misfit(self, value: Any, schema: Any, where: str, depth: int) -> str | None:
        self._left -= 1
        if schema is False:
            return f"{where}: no value is allowed here"
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self._left < 0:
            return None
        reference = schema.get("$ref")
        if isinstance(reference, str):
            reason = self.misfit(value, self._resolve(reference), where, depth + 1)
            if reason is not None:
                return reason
        return (
            _of_type(value, schema, where)
            or self._of_constants(value, schema, where)
            or self._of_alternatives(value, schema, where, depth)
            or self._of_object(value, schema, where, depth)
            or self._of_array(value, schema, where, depth)
        )

    def _resolve(self, reference: str) -> Any:
        schema = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            schema = schema.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(schema, Mapping) else None
        return schema if reference.startswith("#") else None

    def _of_constants(self, value: Any, schema: Mapping[str, Any], where: str) -> str | None:
        constants = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(constants, list):
            return None
        self._left -= len(constants) // _CONSTANTS
        if self._left < 0:
            return None
        if any(value == constant and _is_truth(value) == _is_truth(constant) for constant in constants):
            return None
        return f"{where}: expected {_list_names(constants, ' or ')}"

    def _of_alternatives(self, value: Any, schema: Mapping[str, Any], where: str, depth: int) -> str | None:
        for choice in _as_list(schema.get("allOf")):
            reason = self.misfit(value, choice, where, depth + 1)
            if reason is not None:
                return reason
        for name in ("anyOf", "oneOf"):
            choices = _as_list(schema.get(name))
            reasons = [self.misfit(value, choice, where, depth + 1) for choice in choices]
            if choices and None not in reasons:
                return self._closest(value, choices, [reason or "" for reason in reasons], where)
        return None

    def _closest(self, value: Any, choices: list[Any], reasons: list[str], where: str) -> str:
        """Returns why the value does not fit the alternative that was meant, which is the one with the value's
        `type`."""
        kinds = [self._kind(choice) for choice in choices]
        kind = value.get("type") if isinstance(value, Mapping) else None
        if isinstance(kind, str) and kinds.count(kind) == 1:
            return reasons[kinds.index(kind)]
        if all(isinstance(kind, str) for kind in kinds):
            return f"{where}: expected an object whose type is one of {', '.join(map(str, kinds))}"
        return "; or ".join(dict.fromkeys(reasons))

    def _kind(self, schema: Any) -> Any:
        """Returns the constant that an alternative has for `type`."""
        if isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            schema = self._resolve(schema["$ref"])
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        kind = properties.get("type") if isinstance(properties, Mapping) else None
        return kind.get("const") if isinstance(kind, Mapping) else None

    def _of_object(self, value: Any, schema: Mapping[str, Any], where: str, depth: int) -> str | None:
        if not isinstance(value, Mapping):
            return None
        missing = [name for name in _as_list(schema.get("required")) if isinstance(name, str) and name not in value]
        if missing:
            return f"{where}: expected an object with {_list_names(missing, ', ')}"
        listed = schema.get("properties")
        properties: Mapping[Any, Any] = listed if isinstance(listed, Mapping) else {}
        for name, of_property in properties.items():
            if name in value and (reason := self.misfit(value[name], of_property, f"{where}.{name}", depth + 1)):
                return reason
        others = [item for name, item in value.items() if name not in properties]
        if "additionalProperties" in schema and "patternProperties" not in schema and others:
            if schema["additionalProperties"] is False:
                return f"{where}: expected an object with nothing but {_list_names([*properties], ', ') or 'nothing'}"
            for item in others:
                if self._left < 0:
                    break
                reason = self.misfit(item, schema["additionalProperties"], f"{where}.*", depth + 1)
                if reason is not None:
                    return reason
        return None

    def _of_array(self, value: Any, schema: Mapping[str, Any], where: str, depth: int) -> str | None:
        if not isinstance(value, list | tuple):
            return None
        least, most = schema.get("minItems"), schema.get("maxItems")
        if (isinstance(least, int) and len(value) < least) or (isinstance(most, int) and len(value) > most):
            count = f"{least}" if least == most else f"{least or 0} to {'any number' if most is None else most}"
            return f"{where}: expected {count} items, got {len(value)}"
        first = _as_list(schema.get("prefixItems"))
        for index, item in enumerate(value):
            if self._left < 0:
                break
            of_item = first[index] if index < len(first) else schema.get("items")
            reason = self.misfit(item, of_item, f"{where}[{index}]", depth + 1)
            if reason is not None:
                return reason
        return None


def _of_type(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    kind = schema.get("type")
    names = [kind] if isinstance(kind, str) else _as_list(kind)
    types = [name for name in names if isinstance(name, str) and name in _NAMES]
    if not types or len(types) < len(names) or any(_is(value, name, "format" in schema) for name in types):
        return None
    return f"{where}: expected {' or '.join(_NAMES[name] for name in types)}"


def _list_names(names: list[Any], between: str) -> str:
    """Returns a text with the first of these names or constants, and the number of the others."""
    more = [] if len(names) <= _MOST_NAMED else [f"{len(names) - _MOST_NAMED} more"]
    return between.join([*map(repr, names[:_MOST_NAMED]), *more])


def _is_truth(value: Any) -> bool:
    """Returns whether a value is true or false, which Python also counts as numbers."""
    return isinstance(value, bool)


def _is(value: Any, name: str, has_format: bool) -> bool:
    match name:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list | tuple)
        case "string":
            return isinstance(value, str) or (has_format and isinstance(value, int | float))
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool) or value in (0, 1) or (isinstance(value, str) and value.lower() in _TRUTH)
        case _:
            return _is_number(value, whole=name == "integer")


def _is_number(value: Any, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return isinstance(value, int)
    return not whole or number.is_integer()


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
