"""Decides whether text that arrives in pieces can still become a JSON object or array (RFC 8259): see `JsonPrefix`.

Each character is read only once, however the text is divided into pieces. White space before and after the value is
allowed. Any other character after a complete object or array means that the text is not JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SPACE: Final = " \t\n\r"
_CLOSERS: Final = {"{": "}", "[": "]"}
_LITERALS: Final = {"t": "rue", "f": "alse", "n": "ull"}
_ESCAPED: Final = '"\\/bfnrt'
_HEX: Final = "0123456789abcdefABCDEF"
_IN_STRING: Final = re.compile(r'[^"\\\x00-\x1f]+')

_NUMBERS: Final[Mapping[str, Mapping[str, str]]] = {
    "minus": {"0": "zero", "1": "integer"},
    "zero": {".": "point", "e": "exponent"},
    "integer": {"0": "integer", "1": "integer", ".": "point", "e": "exponent"},
    "point": {"0": "fraction", "1": "fraction"},
    "fraction": {"0": "fraction", "1": "fraction", "e": "exponent"},
    "exponent": {"0": "power", "1": "power", "+": "sign"},
    "sign": {"0": "power", "1": "power"},
    "power": {"0": "power", "1": "power"},
}
"""The next state inside a number, as a mapping from the current state and the kind of the next character. The kind `1`
stands for any digit except 0, `e` for `e` or `E`, and `+` for `+` or `-`."""
_KINDS: Final = {**dict.fromkeys("123456789", "1"), "0": "0", ".": ".", "e": "e", "E": "e", "+": "+", "-": "+"}
_WHOLE_NUMBERS: Final = frozenset({"zero", "integer", "fraction", "power"})


class JsonPrefix:
    """Reads a text piece by piece, from its first character onwards, as long as it may become a JSON object or
    array."""

    __slots__ = ("_closers", "_is_key", "_rest", "_state")

    def __init__(self) -> None:
        self._state = "start"
        self._closers: list[str] = []
        """The characters that will close the open objects and arrays, outermost first."""
        self._is_key = False
        """Whether the open string is the name of an object member."""
        self._rest = ""
        """The characters that an unfinished `true`, `false` or `null` still lacks. In a `\\u` escape, one character for
        each hexadecimal digit that is still missing."""

    def continues(self, text: str) -> bool:
        """Reads the next piece of the text. Returns whether the text so far is a complete object or array, or the
        beginning of one. Once this method has returned False, this instance must not be used again."""
        position = 0
        while position < len(text):
            if self._state == "string" and (run := _IN_STRING.match(text, position)):
                position = run.end()
                continue
            if not self._takes(text[position]):
                return False
            position += 1
        return True

    def _takes(self, character: str) -> bool:
        """Reads one character. Returns whether JSON allows this character here."""
        state = self._state
        if state == "string":
            return self._in_string(character)
        if state in ("escape", "hex"):
            return self._in_escape(character)
        if state == "literal":
            return self._in_literal(character)
        if state in _NUMBERS:
            after = _NUMBERS[state].get(_KINDS.get(character, ""))
            if after is not None:
                self._state = after
                return True
            if state not in _WHOLE_NUMBERS:
                return False
            state = self._state = "after"
        if character in _SPACE:
            return True
        return self._between(state, character)

    def _between(self, state: str, character: str) -> bool:
        """Reads one character outside strings, numbers and literals. The character must not be white space."""
        if state in ("value", "first value"):
            if character == "]" and state == "first value":
                return self._close(character)
            return self._begin(character)
        if state in ("name", "first name"):
            if character == "}" and state == "first name":
                return self._close(character)
            self._state, self._is_key = "string", True
            return character == '"'
        if state == "start":
            return character in _CLOSERS and self._begin(character)
        if state == "colon":
            self._state = "value"
            return character == ":"
        if state == "after" and character == ",":
            self._state = "name" if self._closers[-1] == "}" else "value"
            return True
        return state == "after" and self._close(character)

    def _begin(self, character: str) -> bool:
        if character in _CLOSERS:
            self._closers.append(_CLOSERS[character])
            self._state = "first name" if character == "{" else "first value"
        elif character == '"':
            self._state, self._is_key = "string", False
        elif character in _LITERALS:
            self._state, self._rest = "literal", _LITERALS[character]
        elif character == "-":
            self._state = "minus"
        elif (kind := _KINDS.get(character)) in ("0", "1"):
            self._state = "zero" if kind == "0" else "integer"
        else:
            return False
        return True

    def _close(self, character: str) -> bool:
        if self._closers.pop() != character:
            return False
        self._state = "after" if self._closers else "over"
        return True

    def _in_string(self, character: str) -> bool:
        if character == '"':
            self._state = "colon" if self._is_key else "after"
        elif character == "\\":
            self._state = "escape"
        else:
            return False  # JSON does not allow control characters in a string
        return True

    def _in_escape(self, character: str) -> bool:
        if self._state == "escape" and character == "u":
            self._state, self._rest = "hex", "0000"
            return True
        allowed = _ESCAPED if self._state == "escape" else _HEX
        self._rest = self._rest[1:] if self._state == "hex" else ""
        if not self._rest:
            self._state = "string"
        return character in allowed

    def _in_literal(self, character: str) -> bool:
        is_next = character == self._rest[0]
        self._rest = self._rest[1:]
        if not self._rest:
            self._state = "after"
        return is_next
