"""What became of a rule: `Result`, and the exceptions by which a rule ends otherwise than well. Pure; no HTTP here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_LONGEST: Final = 600
_WIDTH: Final = 11


class Verdict(StrEnum):
    """What became of a rule."""

    passed = "pass"
    failed = "fail"
    not_offered = "not offered"
    """The server has no such route, or no such feature."""
    not_checked = "not checked"
    """Nothing is known: a rule before it failed, or the run was over before the rule could be tried."""


class Broken(Exception):  # noqa: N818 - a finding about the server
    """The server does not keep the rule."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


class NotOffered(Exception):  # noqa: N818
    """The server does not have what the rule is about; the message says how that was seen."""


class NotChecked(Exception):  # noqa: N818
    """The rule could not be tried; the message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One rule, and what became of it. `reason`: why it was not tried; `expected`, `got`: of one that failed."""

    rule: str
    says: str
    verdict: Verdict
    reason: str = ""
    expected: str = ""
    got: str = ""

    def lines(self) -> list[str]:
        """The lines that are printed: one, and what was expected and came."""
        found = [f"{self.verdict:{_WIDTH}}  {self.rule:{_WIDTH + 3}}  {self.says}"]
        details = {"reason": self.reason, "expected": self.expected, "got": self.got}
        found += [f"{'':{_WIDTH}}  {f'{name}:':{_WIDTH + 3}}  {text}" for name, text in details.items() if text]
        return [plain(line) for line in found]

    def as_json(self) -> dict[str, Any]:
        """The same as JSON; what does not apply is left out."""
        found = {"rule": self.rule, "verdict": self.verdict.value, "says": self.says}
        details = {"reason": self.reason, "expected": self.expected, "got": self.got}
        return found | {name: text for name, text in details.items() if text}


def plain(text: str) -> str:
    """A text of a server as one line of limited length, in which nothing moves the terminal."""
    line = re.sub(r"\s", " ", text)
    return "".join(letter for letter in line if letter.isprintable())


def brief(text: object) -> str:
    """The beginning of what a server sent."""
    found = str(text)
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"
