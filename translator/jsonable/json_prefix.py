"""Whether a text that comes piece by piece can still become a JSON object or array (RFC 8259): `JsonPrefix`.

Each character is read once, however the text is divided. White space around the value belongs to it. A text that is a
whole value is one still, until anything but white space comes.
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
"""What follows in a number, by kind of character: `1` is each digit but 0, `e` and `+` stand for `E` and `-` too."""
_KINDS: Final = {**dict.fromkeys("123456789", "1"), "0": "0", ".": ".", "e": "e", "E": "e", "+": "+", "-": "+"}
_WHOLE_NUMBERS: Final = frozenset({"zero", "integer", "fraction", "power"})


class JsonPrefix:
    """A text that may become a JSON object or array, from its first character on."""

    __slots__ = ("_closers", "_is_key", "_rest", "_state")

    def __init__(self) -> None:
        self._state = "start"
        self._closers: list[str] = []
        """What closes the objects and arrays that are open, outermost first."""
        self._is_key = False
        """Whether the string that is open is a name in an object."""
        self._rest = ""
        """What is still to come of `true`, `false` or `null`; of an escape, a character for each hexadecimal digit."""

    def continues(self, text: str) -> bool:
        """Whether this text, behind what came before, still is the beginning of an object or an array, or a whole one.
        Once it is not, the object is of no more use."""
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
        """Whether the text may go on with this character."""
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
        """A character between values that is not white space."""
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
            return False  # a control character
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
