"""What the command cannot do, as one line and an exit code: `Misuse` (2) and `Failure` (1). No printing here."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import ClassVar

_LONGEST = 400


class Refusal(Exception):  # noqa: N818 - most are no errors of this program
    """The command ends; its message is the one line that is printed."""

    exit_code: ClassVar[int] = 1


class Misuse(Refusal):
    """The arguments can't be meant, or name what is not there: a file, a name, an option that goes with no other."""

    exit_code = 2


class Failure(Refusal):
    """What was requested was tried and failed: a graph that can't be imported, a port in use, a lost server."""


def brief(error: BaseException) -> str:
    """An error as one line: its kind and the beginning of its text."""
    text = re.sub(r"\s+", " ", str(error)).strip()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place(error: BaseException, below: Path) -> str:
    """Where an error comes from, as the deepest line of a file below this folder; empty if it is from elsewhere, and
    for a `SyntaxError`, whose text has its place."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""
    inside = [each for each in traceback.extract_tb(error.__traceback__) if _is_below(Path(each.filename), below)]
    return f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})" if inside else ""


def _is_below(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and "site-packages" not in file.parts
