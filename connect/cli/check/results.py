"""Defines `Result`, the outcome of a rule, and the exceptions that a rule raises if it does not pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_LONGEST: Final = 600
_WIDTH: Final = 11


class Verdict(StrEnum):
    """The outcome of a rule."""

    passed = "pass"
    failed = "fail"
    not_offered = "not offered"
    """The server lacks the route or the feature."""
    not_checked = "not checked"
    """The rule could not be checked, because an earlier rule failed or the run was over too soon."""


class Broken(Exception):  # noqa: N818 - a finding about the server
    """The server breaks the rule."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


class NotOffered(Exception):  # noqa: N818
    """The server lacks the feature that the rule is about. The message says how it shows that."""


class NotChecked(Exception):  # noqa: N818
    """The rule could not be checked. The message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one rule. `reason` says why the rule was not checked; `expected` and `got` describe a failure."""

    rule: str
    says: str
    verdict: Verdict
    reason: str = ""
    expected: str = ""
    got: str = ""

    def lines(self) -> list[str]:
        """Returns the lines to print: the rule with its verdict, then the details."""
        lines = [f"{self.verdict:{_WIDTH}}  {self.rule:{_WIDTH + 3}}  {self.says}"]
        details = {"reason": self.reason, "expected": self.expected, "got": self.got}
        lines += [f"{'':{_WIDTH}}  {f'{name}:':{_WIDTH + 3}}  {text}" for name, text in details.items() if text]
        return [plain(line) for line in lines]

    def as_json(self) -> dict[str, Any]:
        """Returns the result as JSON, without empty fields."""
        fields = {"rule": self.rule, "verdict": self.verdict.value, "says": self.says}
        details = {"reason": self.reason, "expected": self.expected, "got": self.got}
        return fields | {name: text for name, text in details.items() if text}


def plain(text: str) -> str:
    """Returns text from a server as one line, without control characters that a terminal would execute."""
    line = re.sub(r"\s", " ", text)
    return "".join(letter for letter in line if letter.isprintable())


def brief(text: object) -> str:
    """Returns the beginning of what a server sent."""
    whole = str(text)
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}…"
