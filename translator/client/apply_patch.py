"""Applies a JSON Patch (RFC 6902) as the AG-UI client does: one pure function, `apply_patch`.

Never here: computing a patch (`jsonable.json_diff`, which uses `add`, `replace` and `remove`), events, messages.
`move`, `copy` and `test` come in patches of activities that nodes write, and in events of other producers.

Rules:
- A patch is atomic: it applies as a whole or raises `RefusedError`, and the document is as it was.
- Nothing given is changed. Containers on a touched path are copied once per patch, all others are shared with the
  old document and with the patch. So a value may be in an event and in a document at once, an old document stays
  true, and the cost is that of the touched containers, not of the document.
- Every patch that is refused here and by RFC 6902 alike is refused by the client (`fast-json-patch`, validating), with
  its own addition: any path through `__proto__` or `constructor/prototype`.
- The client takes some invalid patches, of which nothing here emits any: an array index that is not spelled as one
  (`01`, the empty string), a move or copy beyond the end of an array, names that every JavaScript object inherits as
  members, a whole moved into itself or replaced by what is not there, a member of a number. They are refused here.
"""

from __future__ import annotations

from typing import Any

from ..jsonable.same_json import same_json


class RefusedError(ValueError):
    """A patch that cannot be applied: the client warns about it and leaves it out."""


def apply_patch(document: Any, operations: Any) -> Any:
    """Gives `document` after `operations` (RFC 6902, wire dicts), leaving both as they are.

    Raises `RefusedError` for a patch that does not apply, or is none.
    """
    patched = _Patched(document)
    try:
        for operation in operations:
            patched.apply(operation)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RefusedError(f"the patch does not apply: {error}") from error
    return patched.whole[""]


class _Patched:
    """A document while a patch is applied: the member "" of `whole`, so that it is read and changed like any other."""

    __slots__ = ("own", "whole")

    def __init__(self, document: Any) -> None:
        self.whole = {"": document}
        self.own: dict[int, Any] = {}
        """The containers that are this patch's own copies, by id. Being here keeps an id from being used again."""

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
            self.own.clear()  # containers of the value are in two places now, and neither may take them for its own
            self._add(keys, value)
        elif kind != "test" or not same_json(self._read(keys), operation["value"]):
            raise ValueError(f"{kind} failed, or is no operation")

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
        """The container that `keys` end in, as this patch's own copy, and so all containers above it."""
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
    """The members that a JSON pointer leads through, from `_Patched.whole` on."""
    raw = path.split("/")
    if raw[0] or "__proto__" in raw or "/constructor/prototype/" in f"{path}/":
        raise ValueError("no JSON pointer, or one through a prototype")
    return [key.replace("~1", "/").replace("~0", "~") for key in raw]


def _place(node: Any, key: str) -> Any:
    """`key` as a subscript of `node`, which has a member there."""
    place = _index(key) if isinstance(node, list) else key
    node[place]
    return place


def _index(key: str) -> int:
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
        return int(key)
    raise ValueError("no array index")
