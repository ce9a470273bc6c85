"""Reads as much as possible of a JSON text that is still being written (`read_partial`).

The text is scanned once, and parsed at most twice. First, the open strings and containers are closed, and the resulting
text is parsed. If this fails, the text up to the last complete member is parsed instead. If a string ends inside an
escape, it is read up to that escape. If the text is malformed before its end, or nested more deeply than `MAX_DEPTH`,
nothing is read.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from .to_json import MAX_DEPTH

_STRING: Final = r"""
    "(?:[^"\\]++
      | \\[^u]
      | \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
      | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
    )*("?)
"""
# The group is not possessive because of a bug in Python before 3.11.5: a possessive group also consumes the characters
# that its last, failed repetition has read (https://github.com/python/cpython/issues/106052). Backtracking is still
# impossible, because the expression after the group always matches.
_TOKEN: Final = re.compile(_STRING + r"| [\[\]{},]", re.VERBOSE | re.DOTALL)
_CLOSER: Final = {"{": "}", "[": "]"}


def read_partial(text: str) -> Any:
    """Returns as much as possible of the JSON value that begins with `text`. Returns None if nothing can be read. Never
    raises an exception."""
    closers: list[str] = []
    whole, members = text, 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0] == '"':
            if not match.group(1):
                whole = text[: match.end()] + '"'
                break
            continue
        if token in _CLOSER:
            closers.append(_CLOSER[token])
        elif token != "," and closers:
            closers.pop()
        if len(closers) > MAX_DEPTH:
            return None
        members = match.start() if token == "," else match.end()
    end = "".join(reversed(closers))
    for candidate in (whole, text[:members]):
        try:
            return orjson.loads(candidate + end)
        except ValueError:
            continue
    return None
