"""Checks the token of an app. Without `authorize`, whoever sends the token may list, change and delete threads.

The token must be sent as `Authorization: Bearer TOKEN`. Neither an address nor a `Host` header grants any right: behind
a proxy, every request comes from the proxy's address, with a host name that the proxy's configuration chooses.
"""

from __future__ import annotations

import os
import re
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers

VARIABLE: Final = "AGUI_TOKEN"
"""The environment variable with the token of an app that was given none. All workers of a server share it."""
HEADER: Final = "authorization"

_TOKEN: Final = re.compile(r"[!-~]+")
"""Matches visible ASCII characters, because a header can't contain any others unchanged."""


class Token:
    """The token of one app. `name` says where it came from, for the error. Raises `ValueError` if a header can't
    contain the text."""

    def __init__(self, text: str, name: str = "token") -> None:
        if not isinstance(text, str) or not _TOKEN.fullmatch(text):
            kind = "an empty string" if isinstance(text, str) and not text.strip() else "something else"
            raise ValueError(f"{name}: expected a string of visible ASCII characters without spaces, got {kind}")
        self._expected = text.encode()

    def is_in(self, headers: Headers) -> bool:
        """Whether these headers contain the token, in a single `Authorization` header."""
        values = headers.getlist(HEADER)
        if len(values) != 1:
            return False
        scheme, _, text = values[0].partition(" ")
        return scheme.lower() == "bearer" and compare_digest(text.strip(" ").encode("latin-1"), self._expected)


def token_of(text: str | None) -> Token | None:
    """Returns the token that an app was given, or else that of the environment, or None if there is neither. Raises
    `ValueError`."""
    if text is not None:
        return Token(text)
    text = os.environ.get(VARIABLE)
    return None if text is None else Token(text, VARIABLE)
