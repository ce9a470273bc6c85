"""Decides how the command ends: its exit code, and the one line on stderr that says why. Prints nothing on stdout.

| the command ends because of | exit code |
|---|---|
| arguments that typer refuses, or `Misuse` | 2 |
| `Failure`, or any other error | 1; with `--debug`, the traceback is printed first |
| Ctrl-C | 130 |
| a closed pipe on stdout, as with `| head` | 0 |
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import typer

from .errors import CommandError, brief

_USAGE: type[Exception] = typer.BadParameter.__bases__[0]
"""The class of the errors that typer raises for invalid arguments. typer itself exports only some of its subclasses."""

_Result = TypeVar("_Result")


def exit_code(do: Callable[[], Any]) -> int:
    """Calls `do` and returns the exit code. Prints an error as one line on stderr."""
    try:
        return int(do() or 0)
    except _USAGE as error:
        return _complain(_message(error), 2)
    except CommandError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run_to_end(main: Coroutine[Any, Any, _Result], debug: bool) -> _Result:
    """Runs a coroutine in a new event loop. Exceptions are raised as `CommandError`, except for those that `exit_code`
    and `main` of this package handle. If `debug` is set, prints the traceback first."""
    try:
        return asyncio.run(main)
    except (BrokenPipeError, ModuleNotFoundError):
        raise
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        if isinstance(error, CommandError):
            raise
        raise CommandError(f"{brief(error)} (--debug prints the traceback)") from error


def _message(error: Exception) -> str:
    """Returns typer's message for invalid arguments. `str(error)` has only a part of it."""
    message = getattr(error, "format_message", None)
    return str(error if message is None else message())


def _complain(message: str, exit_code: int) -> int:
    plain = "".join(letter for letter in " ".join(message.split()) if letter.isprintable())  # a server may have sent it
    print(f"langgraph-agui: {plain}", file=sys.stderr)
    return exit_code
