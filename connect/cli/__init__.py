"""The command `langgraph-agui`. No other folder imports typer, rich or uvicorn.

This folder parses the arguments, finds graphs as LangGraph's own tools find them, and prints. It does not decide how a
client's requests are answered (`connect.serve`), or which events a run has (`connect`). Packages of the extras are
imported only after `main` is called, so that `main` can name the extra that is missing.
"""

from __future__ import annotations

import sys
from typing import NoReturn

_EXTRA = frozenset({"typer", "rich", "starlette", "uvicorn", "dotenv", "acp"})


def main() -> NoReturn:
    """Runs the console script. Exits with 2 for invalid arguments and with 1 for a failure, and prints the reason."""
    try:
        from .commands import run

        sys.exit(run())
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        if package not in _EXTRA:
            raise
        extra = "acp" if package == "acp" else "serve"
        sys.exit(f"langgraph-agui: {package} is not installed: pip install 'langgraph-agui[{extra}]'")
