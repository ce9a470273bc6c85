"""Compares two values as JSON, in the way a JavaScript client does (`same_json`).

Rules:

- The order of keys does not matter. `True` differs from `1`, unlike in Python, and `1.0` equals `1`.
- Values that are not JSON can be compared too, because a caller may pass any values as a client's messages or state.
  The comparison never raises an exception.
- If two values are equal in Python, their JSON with sorted keys is compared as bytes, which is fast. The bytes may
  differ because of `1.0` in place of `1`, or because of `True` in place of `1`. In that case, the values are compared
  member by member.
"""

from __future__ import annotations

from typing import Any

from orjson import OPT_SORT_KEYS, dumps


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON. Values that are nested too deeply for Python count as different."""
    if left is right:
        return True
    try:
        if left != right:
            return False
        try:
            if dumps(left, option=OPT_SORT_KEYS) == dumps(right, option=OPT_SORT_KEYS):
                return True
        except (TypeError, ValueError):
            pass  # the values are not JSON, so `_same` compares them member by member
        return _same(left, right)
    except Exception:  # a value's own `==` may raise any exception, and deep nesting raises RecursionError
        return False


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
