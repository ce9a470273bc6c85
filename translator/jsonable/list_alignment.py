"""Which elements of two lists of plain values are the same: where they differ, and what moved past what.

Lives here: comparing and matching of elements. Never here: paths, operations, or what a difference costs. Two values
are the same when their JSON is (so `True` is not `1`, and `1` is not `1.0`, as they are for `==`); `orjson` is asked,
many elements at a time. No step is slower than sorting: the work is O(size + n log n).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from orjson import dumps

_AT_ONCE = (
    32  # elements compared by one pair of dumps: large enough for C to win, small enough to look into when they differ
)
_CONTAINERS = (dict, list)


def same(before: Any, after: Any) -> bool:
    """Whether two plain values have the same JSON, keys in the same order (if only the order differs: no)."""
    kind = type(before)
    if kind is not type(after):
        return False
    return dumps(before) == dumps(after) if kind in _CONTAINERS else bool(before == after)


def changed(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """The positions at which two lists of one length differ."""
    positions = []
    for start in range(0, len(after), _AT_ONCE):
        left, right = before[start : start + _AT_ONCE], after[start : start + _AT_ONCE]
        if len(right) > 1 and dumps(left) == dumps(right):
            continue
        positions += [start + at for at in range(len(right)) if not same(left[at], right[at])]
    return positions


def common_prefix(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many elements two lists have in common at their beginning."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter:
        end = min(start + _AT_ONCE, shorter)
        if dumps(before[start:end]) != dumps(after[start:end]):
            while same(before[start], after[start]):
                start += 1
                if start == end:
                    break
            else:
                return start
        start = end
    return shorter


def common_suffix(before: Sequence[Any], after: Sequence[Any], most: int) -> int:
    """How many elements two lists have in common at their end, up to `most`."""
    count = 0
    while count < most:
        step = min(_AT_ONCE, most - count)
        left, right = (
            before[len(before) - count - step : len(before) - count],
            after[len(after) - count - step :][:step],
        )
        if dumps(left) != dumps(right):
            while count < most and same(before[-count - 1], after[-count - 1]):
                count += 1
            return count
        count += step
    return count


def gaps(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Stretches `before[i:j]`, `after[k:l]` that stand for each other, in order, covering both lists.

    An element is known again by its "id", else by its JSON, if that is unique in both lists; the longest run of such
    elements in the same order (a longest increasing subsequence) are stretches of one and one, and what lies between
    two of them is one stretch (either side may be empty).
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


def _positions(elements: Sequence[Any]) -> dict[str | bytes, int]:
    positions: dict[str | bytes, int] = {}
    for at, element in enumerate(elements):
        name = element.get("id") if type(element) is dict else None
        token = name if type(name) is str else dumps(element)
        positions[token] = -1 if token in positions else at
    return positions


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs in order of their second member, the most whose first members are in order too."""
    lowest: list[int] = []  # the lowest first member that ends a run of each length
    ends: list[int] = []  # the pair it belongs to
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
