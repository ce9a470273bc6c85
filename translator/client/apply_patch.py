"""Applies JSON Patch as the AG-UI client does.

Here: one pure function, `apply_patch`, and the rules of `fast-json-patch` (the client's library) behind it.
Never here: computing a patch, events, messages, or anything that changes a value it was given.

Rules:
- A patch is atomic: it applies as a whole or raises `RefusedError`, and the document is as it was.
- Nothing given is changed. Containers on a touched path are copied once per patch, all others are shared with the
  old document and with the patch. So a value may stand in an event and in a document at once, an old document stays
  true, and the cost is that of the touched containers, not of the document.
- Beyond RFC 6902 the client refuses any path through `__proto__` or `constructor/prototype`, reads an array index
  as a 32-bit number (leading zeros and all), and takes `""` as index 0; names every JavaScript object inherits count
  as present.
- Told apart on purpose: a member of a document that is itself a number, a string or a boolean, a whole moved into
  itself, and a whole replaced by what is not there. The client takes these and is left with nonsense; here they are
  refused.
"""

from collections.abc import Callable
from typing import Any

from ..jsonable.same_json import same_json

__all__ = ["RefusedError", "apply_patch"]

_INHERITED = frozenset(
    {
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    }
)
_MISSING = object()


class RefusedError(ValueError):
    """A patch the client would warn about and leave out."""


def apply_patch(document: Any, operations: Any) -> Any:
    """Gives `document` after `operations` (RFC 6902, wire dicts), leaving both as they are.

    Raises `RefusedError` where `fast-json-patch` 3.1 (validating, as the client calls it) throws.
    """
    if not isinstance(operations, list):
        raise RefusedError("a patch is a list of operations")
    return _Patch(document).run(operations)


class _Patch:
    """One patch being applied: the document so far and the containers that already are this patch's own copies."""

    __slots__ = ("document", "own")

    def __init__(self, document: Any) -> None:
        self.document = document
        self.own: dict[int, Any] = {}  # id -> container; holding it keeps the id from being reused

    def run(self, operations: list[Any]) -> Any:
        for operation in operations:
            if not isinstance(operation, dict):
                raise RefusedError("an operation is an object")
            apply = _OPERATIONS.get(operation["op"]) if isinstance(operation.get("op"), str) else None
            if apply is None:
                raise RefusedError(f"unknown operation {operation.get('op')!r}")
            apply(self, operation)
        return self.document

    # --- the six operations ---------------------------------------------------------------------------------------

    def add(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), _value(operation)
        self._put(keys, value, exact=True)

    def replace(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), _value(operation)
        if not keys:
            self.document = value
            return
        parent = self._parent(keys)
        if not _present(parent, keys[-1]):
            raise RefusedError("nothing to replace")
        parent[_index(parent, keys[-1])] = value

    def remove(self, operation: dict[str, Any]) -> None:
        self._take(_pointer(operation, "path"))

    def test(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), _value(operation)
        if not same_json(self._read(keys), value):
            raise RefusedError("test failed")

    def move(self, operation: dict[str, Any]) -> None:
        keys, source = _pointer(operation, "path"), _pointer(operation, "from")
        value = self._source(source)
        if not keys:
            self.document = value
            return
        self._read(keys[:-1])
        self._take(source)
        self._put(keys, value, exact=False)

    def copy(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), self._source(_pointer(operation, "from"))
        # The copied containers now stand in two places: neither place may go on treating them as its own.
        self.own.clear()
        self._put(keys, value, exact=False)

    # --- walking --------------------------------------------------------------------------------------------------

    def _put(self, keys: list[str], value: Any, *, exact: bool) -> None:
        if not keys:
            self.document = value
            return
        parent = self._parent(keys, exact=exact)
        if isinstance(parent, dict):
            parent[keys[-1]] = value
            return
        index = _index(parent, keys[-1])
        if exact and index > len(parent):
            raise RefusedError("index beyond the end")
        parent.insert(max(index + len(parent), 0) if index < 0 else index, value)

    def _take(self, keys: list[str]) -> None:
        if not keys:
            self.document = None
            return
        parent = self._parent(keys)
        if not _present(parent, keys[-1]):
            raise RefusedError("nothing to remove")
        if isinstance(parent, dict):
            parent.pop(keys[-1], None)
        else:
            del parent[_index(parent, keys[-1])]

    def _read(self, keys: list[str], *, exact: bool = False) -> Any:
        """The value at `keys`, or `_MISSING` where only the last key is not there."""
        node = self.document
        for key in keys[:-1]:
            node = _child(node, key, exact=exact)
        return _child(node, keys[-1], last=True, exact=exact) if keys else node

    def _source(self, keys: list[str]) -> Any:
        """The value at `keys`, which must be there."""
        value = self._read(keys, exact=True)
        if value is _MISSING:
            raise RefusedError("nothing to move or copy")
        return value

    def _parent(self, keys: list[str], *, exact: bool = True) -> Any:
        """The container that `keys` end in, as this patch's own copy, and so all containers above it."""
        node = self.document = self._owned(self.document)
        for key in keys[:-1]:
            child = self._owned(_child(node, key, exact=exact))
            node[_index(node, key)] = child
            node = child
        return node

    def _owned(self, node: Any) -> Any:
        if id(node) in self.own:
            return node
        if not isinstance(node, (dict, list)):
            raise RefusedError("a path through a value that holds nothing")
        mine = node.copy()
        self.own[id(mine)] = mine
        return mine


_OPERATIONS: dict[str, Callable[[_Patch, dict[str, Any]], None]] = {
    "add": _Patch.add,
    "replace": _Patch.replace,
    "remove": _Patch.remove,
    "test": _Patch.test,
    "move": _Patch.move,
    "copy": _Patch.copy,
}


def _pointer(operation: dict[str, Any], name: str) -> list[str]:
    path = operation.get(name)
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise RefusedError(f"{name} is no JSON pointer")
    raw = path.split("/")[1:]
    keys = [key.replace("~1", "/").replace("~0", "~") if "~" in key else key for key in raw]
    for position, key in enumerate(keys):
        if key == "__proto__" or (key == "prototype" and position and raw[position - 1] == "constructor"):
            raise RefusedError("a path through a prototype")
    return keys


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise RefusedError("an operation without its value")
    return operation["value"]


def _child(node: Any, key: str, *, last: bool = False, exact: bool = False) -> Any:
    """What stands at `key` in `node`; `_MISSING` if nothing does and `last` allows for that.

    `exact` wants an array index in its one spelling: the client looks for a path as it is written before it walks it,
    except that of a test and the target of a move or copy.
    """
    if exact and isinstance(node, list) and not _present(node, key):
        raise RefusedError("a path that does not exist")
    if isinstance(node, dict):
        found = node.get(key, _MISSING)
    elif isinstance(node, list):
        index = _index(node, key)
        found = node[index] if 0 <= index < len(node) else _MISSING
    else:
        raise RefusedError("a path through a value that holds nothing")
    if found is _MISSING and not last:
        raise RefusedError("a path that does not exist")
    return found


def _present(parent: Any, key: str) -> bool:
    if isinstance(parent, dict):
        return key in parent or key in _INHERITED
    return isinstance(parent, list) and _is_plain_index(key) and int(key) < len(parent)


def _is_plain_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 10


def _index(node: Any, key: str) -> Any:
    """`key` as the client uses it on `node`: itself on an object, a number on an array."""
    if isinstance(node, dict):
        return key
    if _is_plain_index(key):
        return int(key)
    if key == "-":
        return len(node)
    if key and not (key.isascii() and key.isdigit()):
        raise RefusedError("no array index")
    return _int32(key)


def _int32(key: str) -> int:
    """JavaScript's `~~key`: 0 for the empty string and for what is no finite double, else wrapped to 32 bits."""
    if not key or len(key) > 308:
        return 0
    return ((int(float(key)) + 0x80000000) & 0xFFFFFFFF) - 0x80000000
