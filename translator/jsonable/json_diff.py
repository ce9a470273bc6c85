"""Computes the difference between two JSON values as an RFC 6902 patch.

A patch can always be applied, and is never larger than an operation that replaces the whole value.

All values must have the form that `to_json` returns. `client/apply_patch.py` applies patches.

Rules:

1. Two values are the same if their JSON is the same. `True` differs from `1`, and `1` differs from `1.0`. The order of
   keys does not matter.
2. A patch contains only `add`, `remove` and `replace`. Each operation is valid once the operations before it have been
   applied. This holds for fast-json-patch with validation, which the client uses, and for jsonpatch.
3. If the operations inside a container take more bytes than a `replace` of the whole container, that `replace` is used
   instead.
4. A string that has changed is replaced, because JSON Patch cannot append to a string.
5. fast-json-patch refuses paths that contain `__proto__`, or `prototype` directly after `constructor`
   (https://github.com/Starcounter-Jack/JSON-Patch). So a change at or below a key `__proto__` or `prototype` becomes a
   `replace` of the nearest enclosing container whose path is valid.
6. Lists are aligned by their common beginning and end, and then by the ids or the contents of their elements.
7. No step is slower than sorting, so the cost is O(size + n log n). Values are compared in groups: orjson writes each
   group in one call, and the bytes are compared. So Python code examines only the values in groups that contain a
   change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from orjson import dumps

Operation = dict[str, Any]

_MANY: Final = 16
"""If one stretch of a list needs more operations than this, the patch may become larger than the list. So their sizes
are compared while the patch is being made."""
_REMOVE: Final = len('{"op":"remove","path":"/0"},')
"""The size in bytes of the smallest operation, without the path of the list to which it is applied."""
_REPLACE: Final = len('{"op":"replace","path":,"value":0}')
"""The size in bytes of a `replace`, including a comma, without its path and its value."""
_NO_PATH: Final = frozenset({"__proto__", "prototype"})
"""The keys that no path may contain (rule 5)."""
_AT_ONCE: Final = 32
"""The number of elements that are written with orjson and compared in one step. In a large group, this is faster than
comparing the elements one by one in Python. If two groups differ, their elements are compared one by one, so a group
must not be too large."""
_CONTAINERS: Final = (dict, list)


def diff(before: Any, after: Any, path: str = "") -> list[Operation] | None:
    """Returns the operations that turn `before`, the JSON value at the JSON pointer `path`, into the JSON value
    `after`.

    Returns `[]` if both values are the same, and None if the client refuses every patch at `path` (rule 5 of this
    module). Neither value is changed. The operations share parts with `after`. Neither value may be nested more deeply
    than `to_json` allows.
    """
    if not _NO_PATH.isdisjoint(path.split("/")):
        return None
    if type(after) not in (dict, list) and _same(before, after):
        return []
    return _between(before, after, path).operations


def escape(key: str) -> str:
    """Converts a key to a reference token for a JSON pointer (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


class _Patch:
    """A list of operations, their size in bytes including commas, and a lower bound (`floor`) for the size of the
    resulting value."""

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
    """Returns the size in bytes of a `replace` at `path`, including a comma but not the value."""
    return len(dumps(path)) + _REPLACE


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
    """Returns the patch between two objects, or None if a changed key of these objects must not be part of a path (rule
    5)."""
    removed = [key for key in before if key not in after]
    added = [key for key in after if key not in before]
    kept = [key for key in after if key in before] if added else list(after)
    touched = [kept[at] for at in _changed([before[key] for key in kept], [after[key] for key in kept])]
    patch = _Patch()
    for key in (*removed, *touched, *added):
        if key in _NO_PATH:
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
    """Returns the patch between two lists, or None if the patch would be larger than the new list."""
    start, left, right = _trimmed(before, after)
    patch = _Patch()
    if len(left) == len(right):
        positions = list(_changed(left, right))
        if 2 * len(positions) <= len(left) + 1:
            for at in positions:
                patch.extend(_between(left[at], right[at], f"{path}/{start + at}"))
            return patch
    most = inf
    for i, j, k, m in _stretches(left, right):
        if m - k == j - i == 1 and _same(left[i], right[k]):
            continue
        skipped, old, new = _trimmed(left[i:j], right[k:m])
        positions = list(_changed(old, new))
        count = len(positions) + abs(len(old) - len(new))
        if count > _MANY and most == inf:
            most = _around(path) + len(dumps(after))
        if patch.size + count * (_REMOVE + len(path)) > most:
            return None
        at = start + k + skipped
        paired = min(len(old), len(new))
        for offset in positions:
            if patch.size > most:
                return None
            patch.extend(_between(old[offset], new[offset], f"{path}/{at + offset}"))
        for _ in range(paired, len(old)):
            patch.remove(f"{path}/{at + paired}")
        for offset in range(paired, len(new)):
            patch.add(f"{path}/{at + offset}", new[offset])
    return patch


def _trimmed(before: list[Any], after: list[Any]) -> tuple[int, list[Any], list[Any]]:
    """Removes the common beginning and the common end of two lists. Returns the length of the common beginning, and the
    rest of both lists."""
    start = next(_changed(before, after), min(len(before), len(after)))
    left, right = before[start:], after[start:]
    end = next(_changed(left[::-1], right[::-1]), min(len(left), len(right)))
    return start, left[: len(left) - end], right[: len(right) - end]


def _same(before: Any, after: Any) -> bool:
    """Whether two JSON values are the same and their keys are in the same order."""
    kind = type(before)
    if kind is not type(after):
        return False
    return dumps(before) == dumps(after) if kind in _CONTAINERS else bool(before == after)


def _changed(before: Sequence[Any], after: Sequence[Any]) -> Iterator[int]:
    """Yields the positions at which two lists differ, up to the end of the shorter list."""
    length = min(len(before), len(after))
    for start in range(0, length, _AT_ONCE):
        end = min(start + _AT_ONCE, length)
        left, right = before[start:end], after[start:end]
        if len(right) == 1 or dumps(left) != dumps(right):
            for at, (one, other) in enumerate(zip(left, right, strict=True)):
                if not _same(one, other):
                    yield start + at


def _stretches(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yields the indexes `i, j, k, l` of corresponding stretches `before[i:j]` and `after[k:l]`, in order. Together the
    stretches cover both lists.

    An element is identified by its "id" or, if it has none, by its JSON. Two elements match if they have the same id or
    JSON, and no other element in either list has it. The longest series of matches that are in the same order in both
    lists (a longest increasing subsequence) is chosen. Each match in it is a stretch of one element. The elements
    between two such stretches form one stretch, which may be empty in one of the lists.
    """
    pairs: list[tuple[int, int]] = []
    if before and after:
        left, right = _positions(before), _positions(after)
        pairs = [(left[token], at) for token, at in right.items() if at >= 0 and left.get(token, -1) >= 0]
    at_before = at_after = 0
    for i, k in _longest_increasing(pairs):
        if at_before < i or at_after < k:
            yield at_before, i, at_after, k
        yield i, i + 1, k, k + 1
        at_before, at_after = i + 1, k + 1
    if at_before < len(before) or at_after < len(after):
        yield at_before, len(before), at_after, len(after)


def _positions(elements: Sequence[Any]) -> dict[str | bytes | int, int]:
    positions: dict[str | bytes | int, int] = {}
    for at, element in enumerate(elements):
        token: str | bytes | int
        if type(element) is int:
            token = element  # an integer identifies the element as well as its JSON does, and is faster to look up
        else:
            name = element.get("id") if type(element) is dict else None
            token = name if type(name) is str else dumps(element)
        positions[token] = -1 if token in positions else at
    return positions


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the longest series of pairs whose first members increase. `pairs` must be sorted by their second
    members."""
    lowest: list[int] = []  # for each series length, the lowest first member at the end of such a series
    ends: list[int] = []  # for each series length, the position of the pair with that member
    previous: list[int] = []
    for at, (first, _) in enumerate(pairs):
        length = bisect_left(lowest, first)
        previous.append(ends[length - 1] if length else -1)
        if length == len(lowest):
            lowest.append(first)
            ends.append(at)
        else:
            lowest[length] = first
            ends[length] = at
    run = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = previous[at]
    run.reverse()
    return run
