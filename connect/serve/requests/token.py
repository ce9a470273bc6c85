"""The token of an app: without `authorize`, whoever sends it may list, change and delete threads.

It is sent as `Authorization: Bearer TOKEN`, and in no other way. Neither an address nor a `Host` header gives any
right: behind a proxy every request comes from the proxy's address, with a host name that its configuration chooses.
"""

from __future__ import annotations

import os
import re
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers

VARIABLE: Final = "AGUI_TOKEN"
"""The environment variable with the token of an app that is given none. All workers of a server share it."""
HEADER: Final = "authorization"

_TOKEN: Final = re.compile(r"[!-~]+")
"""Visible ASCII characters: a header can carry no others unchanged."""


class Token:
    """The token of one app. `name`: where it came from, for the error. Raises `ValueError` for a text that no header
    can carry."""

    def __init__(self, text: str, name: str = "token") -> None:
        if not isinstance(text, str) or not _TOKEN.fullmatch(text):
            what = "an empty text" if isinstance(text, str) and not text.strip() else "something else"
            raise ValueError(f"{name}: expected a text of visible ASCII characters without spaces, got {what}")
        self._expected = text.encode()

    def is_in(self, headers: Headers) -> bool:
        """Whether these headers have the token, in their only `Authorization` header."""
        sent = headers.getlist(HEADER)
        if len(sent) != 1:
            return False
        scheme, _, text = sent[0].partition(" ")
        return scheme.lower() == "bearer" and compare_digest(text.strip(" ").encode("latin-1"), self._expected)


def token_of(text: str | None) -> Token | None:
    """The token that an app is given, or else that of the environment; None if there is neither. Raises
    `ValueError`."""
    if text is not None:
        return Token(text)
    text = os.environ.get(VARIABLE)
    return None if text is None else Token(text, VARIABLE)
