"""Defines the errors that end the command with one line on stderr and an exit code: `Misuse` (2) and `Failure` (1).
This module prints nothing."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import ClassVar

_LONGEST = 400


class CommandError(Exception):
    """Ends the command. Its message is the one line that is printed."""

    exit_code: ClassVar[int] = 1


class Misuse(CommandError):  # noqa: N818 - names the fault of the caller
    """The arguments contradict each other, or name something that does not exist, such as a file."""

    exit_code = 2


class Failure(CommandError):  # noqa: N818 - what the arguments asked for failed
    """The command was called correctly and failed: a graph can't be imported, a port is in use, a server is lost."""


def brief(error: BaseException) -> str:
    """Returns an error as one line: its type and the beginning of its message."""
    text = re.sub(r"\s+", " ", str(error)).strip()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def location(error: BaseException, folder: Path) -> str:
    """Returns the deepest line of a file below `folder` in the traceback of an error, as " (file, line n)". Returns an
    empty string if no such line exists, and for a `SyntaxError`, whose message already has its location."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_below(Path(frame.filename), folder)]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def _is_below(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and "site-packages" not in file.parts
