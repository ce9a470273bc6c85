"""The difference of two JSON values as an RFC 6902 patch that is small, always applies, and is never larger than what
it replaces.

Values are JSON as `to_json` makes it. Applying a patch is in `client/apply_patch.py`.

Rules
1. Two values are the same if their JSON is: `True` is not `1`, `1` is not `1.0`, and the order of keys does not count.
2. A patch has only `add`, `remove` and `replace`. Each operation is valid once those before it are applied, both for
   fast-json-patch with validation, which the client runs, and for jsonpatch.
3. If the operations within a level take more bytes than one `replace` of the level, they become that `replace`.
4. A string that has changed is replaced: JSON Patch cannot append to one.
5. fast-json-patch refuses a path through `__proto__`, and one through `prototype` below `constructor`. So a change
   behind a key `__proto__` or `prototype` is a `replace` of the nearest level above it that has a path.
6. Lists are aligned by their common beginning and end, then by the ids or the content of their elements.
7. No step is slower than sorting: the work is O(size + n log n). Many values at once are written by orjson and compared
   as bytes, so that Python looks only at what has changed and at its siblings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from orjson import dumps

Operation = dict[str, Any]

_MANY: Final = 16
"""If one stretch of a list needs more operations than this, their size is compared with that of the list while they are
made."""
_REMOVE: Final = len('{"op":"remove","path":"/0"},')
"""The bytes of the smallest operation, without the path of its list."""
_NO_PATH: Final = frozenset({"__proto__", "prototype"})
"""Keys that no path leads through (rule 5)."""
_AT_ONCE: Final = 32
"""How many elements one pair of `dumps` compares: enough to be faster than Python, and few enough to look at one by one
if they differ."""
_CONTAINERS: Final = (dict, list)


def diff(before: Any, after: Any, path: str = "") -> list[Operation] | None:
    """The operations that turn `before`, the JSON value at the JSON pointer `path`, into the JSON value `after`.

    `[]` if both are the same; None if the client refuses every patch at `path` (rule 5 of this module). Neither value
    is changed, and `after` is not copied: the operations contain parts of it. Neither may be nested more deeply than
    `to_json` makes them.
    """
    if not _NO_PATH.isdisjoint(path.split("/")):
        return None
    if type(after) not in (dict, list) and _same(before, after):
        return []
    return _between(before, after, path).operations


def escape(key: str) -> str:
    """A key as a reference token of a JSON pointer (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


class _Patch:
    """Operations, their size in bytes (each with a comma), and a lower bound of the size of the value after them."""

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
    """The bytes of a `replace` at `path` without its value, with its comma."""
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
    """The patch between two objects; None if a key of this level has no path (rule 5)."""
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
    """The patch between two lists; None if it would be larger than the list."""
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
    """How many elements at the beginning of two lists are the same; and both lists without these and without the
    elements at their end that are the same."""
    start = next(_changed(before, after), min(len(before), len(after)))
    left, right = before[start:], after[start:]
    end = next(_changed(left[::-1], right[::-1]), min(len(left), len(right)))
    return start, left[: len(left) - end], right[: len(right) - end]


def _same(before: Any, after: Any) -> bool:
    """Whether two JSON values are the same and have their keys in the same order."""
    kind = type(before)
    if kind is not type(after):
        return False
    return dumps(before) == dumps(after) if kind in _CONTAINERS else bool(before == after)


def _changed(before: Sequence[Any], after: Sequence[Any]) -> Iterator[int]:
    """The positions at which two lists differ, up to the end of the shorter one."""
    for start in range(0, min(len(before), len(after)), _AT_ONCE):
        left, right = before[start : start + _AT_ONCE], after[start : start + _AT_ONCE]
        if len(right) == 1 or dumps(left) != dumps(right):
            for at, (one, other) in enumerate(zip(left, right, strict=False)):
                if not _same(one, other):
                    yield start + at


def _stretches(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int, int, int, int]]:
    """The stretches `before[i:j]` and `after[k:l]` that correspond, in order. Together they cover both lists.

    An element is recognised by its "id", or else by its JSON, if that is unique in both lists. The longest series of
    such elements in the same order (a longest increasing subsequence) gives stretches of one element each. What lies
    between two of them is one stretch, and may be empty on either side.
    """
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
            token = element  # as unique as its JSON, and faster
        else:
            name = element.get("id") if type(element) is dict else None
            token = name if type(name) is str else dumps(element)
        positions[token] = -1 if token in positions else at
    return positions


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs that are ordered by their second member, the longest series whose first members are in order too."""
    lowest: list[int] = []  # by length of a series: the lowest first member that ends one
    ends: list[int] = []  # the pair that it belongs to
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
