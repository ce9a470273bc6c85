"""How the command ends: its exit code, and the one line on stderr that says why. Nothing is printed on stdout.

| ends by | exit code |
|---|---|
| arguments that can't be taken (typer's), `Misuse` | 2 |
| `Failure`, any other error | 1; the traceback is printed first with `--debug` |
| Ctrl-C | 130 |
| a reader of the output that has enough, as in `| head` | 0 |
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import typer

from .errors import Refusal, brief

_USAGE: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for arguments that it can't take; it exports only some of the classes below this one."""

_Result = TypeVar("_Result")


def exit_code(do: Callable[[], Any]) -> int:
    """Does it, and returns the exit code. An error is one line on stderr."""
    try:
        return int(do() or 0)
    except _USAGE as error:
        return _complain(_message(error), 2)
    except Refusal as refusal:
        return _complain(str(refusal), refusal.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run_to_end(doing: Coroutine[Any, Any, _Result], debug: bool) -> _Result:
    """Runs it in an event loop of its own. Whatever it raises becomes a `Refusal`, but for what `exit_code` and `main`
    know themselves. `debug`: prints the traceback."""
    try:
        return asyncio.run(doing)
    except (BrokenPipeError, ModuleNotFoundError):
        raise
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        if isinstance(error, Refusal):
            raise
        raise Refusal(f"{brief(error)} (--debug shows where)") from error


def _message(error: Exception) -> str:
    """typer's message for arguments that it can't take; not all of it is in `str` of such an error."""
    message = getattr(error, "format_message", None)
    return str(error if message is None else message())


def _complain(message: str, exit_code: int) -> int:
    plain = "".join(letter for letter in " ".join(message.split()) if letter.isprintable())  # a server may have sent it
    print(f"langgraph-agui: {plain}", file=sys.stderr)
    return exit_code
