"""The command `langgraph-agui`: the one folder that imports typer, rich and uvicorn.

Here: the arguments of the command line, graphs found as LangGraph's own tools find them, and what is printed. Never
here: how a client's requests are answered (`connect.serve`), or which events a run has (`connect`).
Nothing of the extra is imported before `main` is called, so that it can name the missing extra.
"""

from __future__ import annotations

import sys
from typing import NoReturn

_EXTRA = frozenset({"typer", "rich", "starlette", "uvicorn", "dotenv", "acp"})


def main() -> NoReturn:
    """The console script. Exits with 2 for arguments that can't be taken, with 1 for what failed; prints why."""
    try:
        from .commands import run

        sys.exit(run())
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        if package not in _EXTRA:
            raise
        extra = "acp" if package == "acp" else "serve"
        sys.exit(f"langgraph-agui: {package} is not installed: pip install 'langgraph-agui[{extra}]'")
