"""Reads JSON text that is still being written, as far as it goes: `read_partial`.

It takes one scan and at most two parses, however the text ends: what is open is closed and the whole is parsed, or, if
that fails, the part up to the last complete member. A string that ends within an escape is read up to the escape. Text
that is malformed before its end, or nested more deeply than `MAX_DEPTH`, is not read.
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
# The group is not possessive: Python before 3.11.5 consumes what the last attempt of such a group has read in vain
# (https://github.com/python/cpython/issues/106052). Even so nothing is tried twice: what follows always matches.
_TOKEN: Final = re.compile(_STRING + r"| [\[\]{},]", re.VERBOSE | re.DOTALL)
_CLOSER: Final = {"{": "}", "[": "]"}


def read_partial(text: str) -> Any:
    """The value that `text` is the beginning of, as far as it is written; None if nothing can be read. Never raises."""
    closers: list[str] = []
    whole, members = text, 0
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token[0] == '"':
            if not found.group(1):
                whole = text[: found.end()] + '"'
                break
            continue
        if token in _CLOSER:
            closers.append(_CLOSER[token])
        elif token != "," and closers:
            closers.pop()
        if len(closers) > MAX_DEPTH:
            return None
        members = found.start() if token == "," else found.end()
    end = "".join(reversed(closers))
    for candidate in (whole, text[:members]):
        try:
            return orjson.loads(candidate + end)
        except ValueError:
            continue
    return None
