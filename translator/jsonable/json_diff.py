"""RFC 6902 patches between two plain values: small, applicable, and never larger than what they replace.

Lives here: `diff` and `escape`. Never here: state, channels, events, or applying a patch.

Rules:
- Values are the same when their JSON is: `True` is not `1`, `1` is not `1.0`; the order of keys does not count.
- Only `add`, `remove` and `replace`, each valid when those before it have been applied, by fast-json-patch with
  validation (what the client runs) and by jsonpatch.
- At every level: operations inside it that are more bytes than one `replace` of the level become that `replace`.
- A string is replaced: JSON Patch cannot append to one.
- fast-json-patch refuses a path through `__proto__`, and through `prototype` below `constructor`; a change there is
  told as a `replace` of the nearest level above that has a path.
- Lists are aligned by what they have in common at both ends, then by id or content (`align`). No step is quadratic.
- How fast: levels are compared as bytes written by orjson, so Python looks only at what changed and its siblings.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from orjson import dumps

from .list_alignment import changed, common_prefix, common_suffix, gaps, same

Operation = dict[str, Any]

_WORTH_MEASURING = (
    512  # bytes of a growing patch from which the value is measured, to stop when the patch has passed it
)


def diff(before: Any, after: Any, path: str = "") -> list[Operation] | None:
    """The operations that turn the plain value `before`, found at JSON pointer `path`, into the plain value `after`.

    `[]` if they are equal; None if the client refuses every patch there (`path` itself leads through `__proto__`).
    Operations refer to parts of `after`, which are not copied: whoever changes `after` later, changes them. Neither
    value is changed. Both must be plain (see `to_json`), not deeper than it makes them.
    """
    if not _has_path(path):
        return None
    if type(after) not in (dict, list) and same(before, after):
        return []
    return _between(before, after, path).operations


def escape(key: str) -> str:
    """A key as a reference token of a JSON pointer (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


class _Patch:
    """Operations, the bytes they take (with a comma each), and a size the value they lead to has at least."""

    __slots__ = ("floor", "operations", "size")

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.size = 0
        self.floor = 2

    def add(self, path: str, value: Any) -> None:
        self.floor += self._put({"op": "add", "path": path, "value": value}) - _around(path)

    def remove(self, path: str) -> None:
        self._put({"op": "remove", "path": path})

    def extend(self, inner: _Patch) -> None:
        self.operations += inner.operations
        self.size += inner.size
        self.floor += inner.floor

    def replace(self, path: str, value: Any) -> None:
        self.floor = self._put({"op": "replace", "path": path, "value": value}) - _around(path)

    def _put(self, operation: Operation) -> int:
        size = len(dumps(operation)) + 1
        self.operations.append(operation)
        self.size += size
        return size


def _replace(path: str, value: Any) -> _Patch:
    patch = _Patch()
    patch.replace(path, value)
    return patch


def _around(path: str) -> int:
    """The bytes of a `replace` at `path` beside its value, with its comma."""
    return len(dumps({"op": "replace", "path": path, "value": 0}))


def _between(before: Any, after: Any, path: str) -> _Patch:
    kind = type(after)
    if kind is not type(before) or (kind is not dict and kind is not list):
        return _replace(path, after)
    patch = _objects(before, after, path) if kind is dict else _lists(before, after, path)
    if patch is None:
        return _replace(path, after)
    room = _around(path)
    if patch.size > room + patch.floor:
        patch.floor = len(dumps(after))
        if patch.size > room + patch.floor:
            return _replace(path, after)
    return patch


def _objects(before: dict[str, Any], after: dict[str, Any], path: str) -> _Patch | None:
    """None: not to be told at this level's keys."""
    removed = [key for key in before if key not in after]
    added = [key for key in after if key not in before]
    kept = [key for key in after if key in before] if added else list(after)
    touched = [kept[at] for at in changed([before[key] for key in kept], [after[key] for key in kept])]
    below_constructor = path.endswith("/constructor")
    patch = _Patch()
    for key in (*removed, *touched, *added):
        if key == "__proto__" or (key == "prototype" and below_constructor):
            return None
        inner = f"{path}/{escape(key)}"
        if key not in after:
            patch.remove(inner)
            continue
        if key in before:
            patch.extend(_between(before[key], after[key], inner))
        else:
            patch.add(inner, after[key])
        patch.floor += len(key) + 3
    return patch


def _lists(before: list[Any], after: list[Any], path: str) -> _Patch | None:
    """None: the patch would be larger than the list."""
    start = common_prefix(before, after)
    end = common_suffix(before, after, min(len(before), len(after)) - start)
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    patch = _Patch()
    limit = _Limit(path, after)
    if len(left) == len(right):
        positions = changed(left, right)
        if 2 * len(positions) <= len(left) + 1:
            for at in positions:
                patch.extend(_between(left[at], right[at], f"{path}/{start + at}"))
                if limit.passed_by(patch):
                    return None
            return patch
    for i, j, k, m in gaps(left, right):
        if not _stretch(patch, limit, left[i:j], right[k:m], path, start + k):
            return None
    return patch


def _stretch(patch: _Patch, limit: _Limit, left: list[Any], right: list[Any], path: str, at: int) -> bool:
    """Turns `left` into `right` at position `at`; False when the patch has become larger than the list."""
    if not left or not right or not same(left, right):
        begin = common_prefix(left, right)
        end = common_suffix(left, right, min(len(left), len(right)) - begin)
        left, right = left[begin : len(left) - end], right[begin : len(right) - end]
        at += begin
        paired = min(len(left), len(right))
        for offset in range(paired):
            patch.extend(_between(left[offset], right[offset], f"{path}/{at + offset}"))
            if limit.passed_by(patch):
                return False
        for _ in range(paired, len(left)):
            patch.remove(f"{path}/{at + paired}")
            if limit.passed_by(patch):
                return False
        for offset in range(paired, len(right)):
            patch.add(f"{path}/{at + offset}", right[offset])
            if limit.passed_by(patch):
                return False
    return True


class _Limit:
    """The bytes of a `replace`, measured when a patch is large enough to be worth it."""

    __slots__ = ("path", "size", "value")

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value
        self.size = 0

    def passed_by(self, patch: _Patch) -> bool:
        if patch.size <= _WORTH_MEASURING:
            return False
        if not self.size:
            self.size = _around(self.path) + len(dumps(self.value))
        return patch.size > self.size


def _has_path(path: str) -> bool:
    tokens = path.split("/")
    return "__proto__" not in tokens and ("constructor", "prototype") not in pairwise(tokens)
