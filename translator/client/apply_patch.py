"""Applies a JSON Patch (RFC 6902) as the AG-UI client does: one pure function, `apply_patch`.

Never here: computing a patch (`jsonable.json_diff`), events, messages, or anything that changes a value it was given.

Rules:
- A patch is atomic: it applies as a whole or raises `RefusedError`, and the document is as it was.
- Nothing given is changed. Containers on a touched path are copied once per patch, all others are shared with the
  old document and with the patch. So a value may stand in an event and in a document at once, an old document stays
  true, and the cost is that of the touched containers, not of the document.
- Every patch that is refused here and by RFC 6902 alike is refused by the client (`fast-json-patch`, validating), with
  its own addition: any path through `__proto__` or `constructor/prototype`.
- The client takes some invalid patches, of which nothing here emits any: an array index that is not spelled as one
  (`01`, the empty string), names that every JavaScript object inherits as members, a whole moved into itself or
  replaced by what is not there, a member of a number. They are refused here. Only the target of a move or copy may be
  beyond the end of its array, as in the client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..jsonable.same_json import same_json

__all__ = ["RefusedError", "apply_patch"]


class RefusedError(ValueError):
    """A patch that cannot be applied: the client warns about it and leaves it out."""


def apply_patch(document: Any, operations: Any) -> Any:
    """Gives `document` after `operations` (RFC 6902, wire dicts), leaving both as they are.

    Raises `RefusedError` for a patch that does not apply, or is none.
    """
    if not isinstance(operations, list):
        raise RefusedError("a patch is a list of operations")
    return _Patch(document).run(operations)


class _Patch:
    """One patch being applied: the document so far, and the containers that already are this patch's own copies."""

    __slots__ = ("document", "own")

    def __init__(self, document: Any) -> None:
        self.document = document
        self.own: dict[int, Any] = {}  # id -> container; keeping it here keeps the id from being reused

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
        self._insert(_pointer(operation, "path"), _value(operation))

    def replace(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), _value(operation)
        if not keys:
            self.document = value
            return
        parent = self._parent(keys)
        parent[_place(parent, keys[-1])] = value

    def remove(self, operation: dict[str, Any]) -> None:
        self._remove(_pointer(operation, "path"))

    def test(self, operation: dict[str, Any]) -> None:
        if not same_json(self._read(_pointer(operation, "path")), _value(operation)):
            raise RefusedError("test failed")

    def move(self, operation: dict[str, Any]) -> None:
        keys, source = _pointer(operation, "path"), _pointer(operation, "from")
        value = self._read(source)
        if keys:
            self._read(keys[:-1])
            self._remove(source)
        self._insert(keys, value, at_most_end=True)

    def copy(self, operation: dict[str, Any]) -> None:
        keys, value = _pointer(operation, "path"), self._read(_pointer(operation, "from"))
        # The copied containers now stand in two places: neither place may treat them as its own.
        self.own.clear()
        self._insert(keys, value, at_most_end=True)

    # --- walking --------------------------------------------------------------------------------------------------

    def _insert(self, keys: list[str], value: Any, *, at_most_end: bool = False) -> None:
        """Adds a value at `keys`; `at_most_end`: an index beyond the end of an array is the end."""
        if not keys:
            self.document = value
            return
        parent = self._parent(keys)
        if isinstance(parent, dict):
            parent[keys[-1]] = value
            return
        index = len(parent) if keys[-1] == "-" else _index(keys[-1])
        if index > len(parent) and not at_most_end:
            raise RefusedError("an index beyond the end")
        parent.insert(index, value)

    def _remove(self, keys: list[str]) -> None:
        if not keys:
            self.document = None
            return
        parent = self._parent(keys)
        del parent[_place(parent, keys[-1])]

    def _read(self, keys: list[str]) -> Any:
        """The value at `keys`, which must be there."""
        node = self.document
        for key in keys:
            node = node[_place(node, key)]
        return node

    def _parent(self, keys: list[str]) -> Any:
        """The container that `keys` end in, as this patch's own copy, and so all containers above it."""
        node = self.document = self._owned(self.document)
        for key in keys[:-1]:
            place = _place(node, key)
            child = self._owned(node[place])
            node[place] = child
            node = child
        return node

    def _owned(self, node: Any) -> Any:
        if id(node) in self.own:
            return node
        if not isinstance(node, (dict, list)):
            raise RefusedError("a path through a value without members")
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


def _place(node: Any, key: str) -> Any:
    """`key` as a subscript of `node`, where something must be: itself for an object, a number for an array."""
    if isinstance(node, dict):
        if key in node:
            return key
    elif isinstance(node, list):
        index = _index(key)
        if index < len(node):
            return index
    raise RefusedError("a path that does not exist")


def _index(key: str) -> int:
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 10:
        return int(key)
    raise RefusedError("no array index")
