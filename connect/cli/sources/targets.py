"""Parses the names of graphs and servers on the command line: `my_app:graph`, `./agent.py:graph`, `name=...`. Imports
nothing.

| written | means |
|---|---|
| `my_app.agents:graph` | the variable `graph` of a module |
| `./agent.py:graph`, `agent.py:graph` | the variable `graph` of a file |
| `planner=./agent.py:graph` | the same, as the agent `planner` |
| `http://...`, `https://...` | a server: LangGraph Platform, `langgraph dev` or Aegra |

Without a name, an agent is named after its file or module: `my_app.agents:graph` is `agents`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeGuard

from ..errors import Misuse

_NAMED = re.compile(r"([^=:/\\]+)=(.+)")
_AGENT = re.compile(r"[\w.~-]+")
"""Matches names of agents. A name is a segment of a URL's path and must not need escaping."""
_SCRIPTS = frozenset({".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"})

EXAMPLES = "expected my_app:graph, ./agent.py:graph or name=./agent.py:graph"


@dataclass(frozen=True, slots=True)
class Target:
    """A graph to import. `home` is a file if `is_file` is set, else a module. `written` is the user's own spelling."""

    name: str
    home: str
    attribute: str
    is_file: bool
    written: str
    description: str = ""


def is_url(written: str | None) -> TypeGuard[str]:
    """Whether a target names a server."""
    return written is not None and written.startswith(("http://", "https://"))


def parse_target(written: str, name: str | None = None, description: str = "") -> Target:
    """Parses the name of a graph. `name` is the agent's name, if it is not part of `written`. Raises `Misuse` with the
    syntax that was expected."""
    place = written
    if name is None and (match := _NAMED.fullmatch(written)):
        name, place = match.groups()
    home, colon, attribute = place.rpartition(":")
    if not (home and colon and attribute):
        raise Misuse(f"{written}: {EXAMPLES}")
    if PurePath(home).suffix in _SCRIPTS:
        raise Misuse(f"{written}: a JavaScript graph runs only on LangGraph's own server; serve that server's URL")
    is_file = "/" in home or "\\" in home or home.endswith(".py")
    agent = name if name is not None else PurePath(home).stem if is_file else home.rpartition(".")[2]
    if not _AGENT.fullmatch(agent):
        raise Misuse(f"{written}: {agent!r} can't be an agent's name: use only letters, digits and . _ ~ -")
    return Target(agent, home, attribute, is_file, written, description)


def distinct(targets: Iterable[Target]) -> list[Target]:
    """Returns the targets. Raises `Misuse` if two of them have the same name."""
    unique = list(targets)
    for name, times in Counter(target.name for target in unique).items():
        if times > 1:
            last = next(target for target in reversed(unique) if target.name == name)
            raise Misuse(f"{times} agents are called {name!r}: name them, as in {last.attribute}={last.written}")
    return unique
