"""Applies a JSON Patch (RFC 6902) as the AG-UI client does: one pure function, `apply_patch`.

Patches of this package use `add`, `replace` and `remove` only (`jsonable.json_diff` computes them). `move`, `copy` and
`test` come in the patches of activities that nodes write, and in events of other producers.

Rules:
- A patch is atomic: it applies as a whole, or raises `RefusedError` and changes nothing.
- No argument is changed. The containers on a touched path are copied once per patch; all others are shared with the old
  document and with the patch. So a value may be in an event and in a document at the same time, an old document stays
  valid, and the cost is that of the touched containers, not of the document.
- Whatever this module and RFC 6902 both refuse, the client refuses too: it runs `fast-json-patch` with validation
  (https://github.com/Starcounter-Jack/JSON-Patch), which also refuses a path through `__proto__` or
  `constructor/prototype`.
- The client accepts some invalid patches that are refused here: an array index that is not written as one (`01`, the
  empty string), a move or copy beyond the end of an array, a member that every JavaScript object inherits, a document
  that is moved into itself or replaced by what is missing, a member of a number. Nothing here emits such a patch.
"""

from __future__ import annotations

from typing import Any

from ..jsonable.same_json import same_json


class RefusedError(ValueError):
    """A patch that cannot be applied. The client logs a warning, and continues without it."""


def apply_patch(document: Any, operations: Any) -> Any:
    """`document` after the operations (RFC 6902, wire dicts). Neither argument is changed.

    Raises `RefusedError` for operations that do not apply, or are not a patch.
    """
    patched = _Patched(document)
    try:
        for operation in operations:
            patched.apply(operation)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RefusedError(f"the patch does not apply: {error}") from error
    return patched.whole[""]


class _Patched:
    """A document while a patch is applied. It is the member "" of `whole`, so that it is read and changed like any
    other member."""

    __slots__ = ("own", "whole")

    def __init__(self, document: Any) -> None:
        self.whole = {"": document}
        self.own: dict[int, Any] = {}
        """The containers that this patch has copied, by `id()`. The references keep an id from being used again."""

    def apply(self, operation: dict[str, Any]) -> None:
        """Applies one operation, or raises one of the errors that `apply_patch` catches."""
        kind, keys = operation["op"], _keys(operation["path"])
        if kind == "add":
            self._add(keys, operation["value"])
        elif kind == "replace":
            parent = self._parent(keys)
            parent[_place(parent, keys[-1])] = operation["value"]
        elif kind == "remove":
            self._remove(keys)
        elif kind == "move":
            self._add(keys, self._remove(_keys(operation["from"])))
        elif kind == "copy":
            value = self._read(_keys(operation["from"]))
            self.own.clear()  # the value's containers are in two places now: both have to be copied before a change
            self._add(keys, value)
        elif kind != "test" or not same_json(self._read(keys), operation["value"]):
            raise ValueError(f"{kind} failed, or is not an operation")

    def _add(self, keys: list[str], value: Any) -> None:
        parent = self._parent(keys)
        if isinstance(parent, dict):
            parent[keys[-1]] = value
            return
        index = len(parent) if keys[-1] == "-" else _index(keys[-1])
        if index > len(parent):
            raise IndexError("an index beyond the end")
        parent.insert(index, value)

    def _remove(self, keys: list[str]) -> Any:
        parent = self._parent(keys)
        value = parent.pop(_place(parent, keys[-1]))
        self.whole.setdefault("", None)
        return value

    def _read(self, keys: list[str]) -> Any:
        node: Any = self.whole
        for key in keys:
            node = node[_place(node, key)]
        return node

    def _parent(self, keys: list[str]) -> Any:
        """The container that the last of `keys` is in. It and all containers above it are copied first."""
        node: Any = self.whole
        for key in keys[:-1]:
            place = _place(node, key)
            child = node[place]
            if id(child) not in self.own:
                child = node[place] = child.copy()
                self.own[id(child)] = child
            node = child
        return node


def _keys(path: str) -> list[str]:
    """The members that a JSON pointer leads through, beginning with that of `_Patched.whole`."""
    raw = path.split("/")
    if raw[0] or "__proto__" in raw or "/constructor/prototype/" in f"{path}/":
        raise ValueError("not a JSON pointer, or one through a prototype")
    return [key.replace("~1", "/").replace("~0", "~") for key in raw]


def _place(node: Any, key: str) -> Any:
    """`key` as a subscript of `node`. Raises if `node` has no such member."""
    place = _index(key) if isinstance(node, list) else key
    node[place]
    return place


def _index(key: str) -> int:
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
        return int(key)
    raise ValueError("not an array index")
