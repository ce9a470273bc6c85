"""Defines `Result`, the outcome of a rule, and the exceptions that a rule raises if it does not pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_LONGEST: Final = 600
_WIDTH: Final = 11
"""The width of the column of verdicts, in characters."""
_NUMBER_WIDTH: Final = 3


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one rule.

    - `number`, `rule`, `says`, `why`: the rule's number, its name, and its texts; see `rules.Rule`.
    - `verdict`, `seconds`: the outcome, and how long the check took.
    - `reason`: why the rule was not checked.
    - `expected`, `got`: the failure.
    """

    number: str
    rule: str
    says: str
    why: str
    verdict: Verdict
    seconds: float
    reason: str = ""
    expected: str = ""
    got: str = ""

    @property
    def is_core(self) -> bool:
        """Whether the rule follows from AG-UI itself, and not from the proposal."""
        return self.number.startswith("C")

    @property
    def details(self) -> dict[str, str]:
        """The reason, or what was expected and what came, by name. Each is one line."""
        texts = {"reason": self.reason, "expected": self.expected, "got": self.got}
        return {name: plain(text) for name, text in texts.items() if text}

    def lines(self) -> list[str]:
        """Returns the lines to print: the rule with its verdict, then the details."""
        begin = f"{self.verdict:{_WIDTH}}  {self.number:{_NUMBER_WIDTH}}"
        indent = " " * len(begin)
        lines = [plain(f"{begin}  {self.rule:{_WIDTH + 3}}  {self.says}")]
        return lines + [f"{indent}  {f'{name}:':{_WIDTH + 3}}  {text}" for name, text in self.details.items()]

    def as_json(self) -> dict[str, Any]:
        """Returns the result as JSON, without empty fields."""
        fields = {"number": self.number, "rule": self.rule, "verdict": self.verdict.value, "says": self.says}
        return fields | {"why": self.why, "seconds": round(self.seconds, 3)} | self.details


def count_results(results: Sequence[Result]) -> str:
    """Returns a sentence with the number of rules by their outcome, for AG-UI and for the proposal."""
    parts = []
    for name, is_core in (("AG-UI", True), ("proposal", False)):
        counts = Counter(result.verdict for result in results if result.is_core == is_core)
        numbers = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        parts += [f"{name}: {numbers}"] if numbers else []
    return "; ".join(parts)


def plain(text: str) -> str:
    """Returns text from a server as one line, without control characters that a terminal would execute."""
    line = re.sub(r"\s", " ", text)
    return "".join(letter for letter in line if letter.isprintable())


def brief(text: object) -> str:
    """Returns the beginning of what a server sent."""
    whole = str(text)
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}…"
