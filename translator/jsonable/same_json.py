"""Whether two values are the same JSON, as a client in JavaScript compares them: `same_json`.

Rules:
- The order of keys does not count. `True` is not `1`, unlike in Python; `1.0` is `1`.
- Values that are not JSON may be compared too, since a caller may describe a client with anything. Nothing raises.
- Values that are equal in Python are compared again as bytes, which is fast. They are walked only if the bytes differ:
  by the order of keys, by `1.0` for `1`, or by `True` for `1`.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON. Values that are nested too deeply for Python count as different."""
    if left is right:
        return True
    try:
        if left != right:
            return False
        try:
            if dumps(left) == dumps(right):
                return True
        except (TypeError, ValueError):
            pass  # not JSON: the walk compares it
        return _same(left, right)
    except Exception:  # a value's own `==` may raise anything, RecursionError included
        return False


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
