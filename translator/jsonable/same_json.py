"""Whether two values are the same JSON, as a client in JavaScript compares them: one function, `same_json`.

Rules:
- The order of keys does not count. `True` is not `1`, unlike in Python; `1.0` is `1`.
- Values that are no JSON may be compared too (what a caller says that a client has may be anything): never raises.
- What is equal for Python is compared in C once more, as bytes. Only where these differ (by the order of keys, by `1.0`
  for `1`, by `True` for `1`) the values are walked.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON. Values nested too deeply for Python are not the same."""
    if left is right:
        return True
    try:
        if left != right:
            return False
        try:
            if dumps(left) == dumps(right):
                return True
        except (TypeError, ValueError):
            pass  # no JSON: the walk compares it
        return _same(left, right)
    except Exception:  # a value's own `==` may raise anything, RecursionError included
        return False


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
