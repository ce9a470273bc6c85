"""Applies a JSON Patch (RFC 6902) as the AG-UI client does. `apply_patch` is a pure function.

The patches that this package makes (`jsonable/json_diff.py`) contain only `add`, `replace` and `remove`. The operations
`move`, `copy` and `test` can occur in activity patches that graph nodes write, and in events from other producers.

Rules:

- A patch is atomic. Either the whole patch is applied, or `RefusedError` is raised and nothing changes.
- No argument is changed. The containers along the path to a change are copied once for each patch. All other containers
  are shared with the old document and with the patch. So a value may be part of an event and of a document at the same
  time, and an old document stays valid. The cost depends only on the size of the copied containers.
- A patch that both this module and RFC 6902 refuse is also refused by the client. The client runs `fast-json-patch`
  with validation (https://github.com/Starcounter-Jack/JSON-Patch), which also refuses a path through `__proto__` or
  `constructor/prototype`.
- This module refuses some invalid patches that the client accepts. Examples are an array index in another notation
  (`01`, the empty string), a move or copy beyond the end of an array, a member that every JavaScript object inherits,
  and a member of a number. Other examples are patches that move the document into itself or replace it with a missing
  value. This package emits no such patches.
"""

from __future__ import annotations

from typing import Any

from ..jsonable.same_json import same_json


class RefusedError(ValueError):
    """Raised for a patch that cannot be applied. The client logs a warning and ignores the patch."""


def apply_patch(document: Any, operations: Any) -> Any:
    """Returns `document` after applying the operations (RFC 6902, as wire dicts). Neither argument is changed.

    Raises `RefusedError` if the operations cannot be applied or are not a patch.
    """
    patched = _Patched(document)
    try:
        for operation in operations:
            patched.apply(operation)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RefusedError(f"the patch cannot be applied: {error}") from error
    return patched.whole[""]


class _Patched:
    """A document to which a patch is being applied. The document is stored in `whole` under the key `""`, so that its
    root can be read and changed like any other member."""

    __slots__ = ("own", "whole")

    def __init__(self, document: Any) -> None:
        self.whole = {"": document}
        self.own: dict[int, Any] = {}
        """The containers that this patch has copied, as a mapping from `id()` to container. The references keep the
        containers alive, so that Python does not reuse their ids."""

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
            self.own.clear()  # the value's containers are now in two places, so the next change has to copy them again
            self._add(keys, value)
        elif kind != "test" or not same_json(self._read(keys), operation["value"]):
            raise ValueError(f"{kind} failed, or is not a known operation")

    def _add(self, keys: list[str], value: Any) -> None:
        parent = self._parent(keys)
        if isinstance(parent, dict):
            parent[keys[-1]] = value
            return
        index = len(parent) if keys[-1] == "-" else _index(keys[-1])
        if index > len(parent):
            raise IndexError("the index is beyond the end of the array")
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
        """Returns the container that holds the last of `keys`, after copying it and all containers above it."""
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
    """Splits a JSON pointer into its keys. The first key is "", which is the key of the document in
    `_Patched.whole`."""
    raw = path.split("/")
    if raw[0] or "__proto__" in raw or "/constructor/prototype/" in f"{path}/":
        raise ValueError("the path is not a JSON pointer, or leads through a prototype")
    return [key.replace("~1", "/").replace("~0", "~") for key in raw]


def _place(node: Any, key: str) -> Any:
    """Converts `key` to a subscript of `node`. Raises an exception if `node` has no such member."""
    place = _index(key) if isinstance(node, list) else key
    node[place]
    return place


def _index(key: str) -> int:
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
        return int(key)
    raise ValueError("the key is not an array index")
