"""What is to be served, as it is written: `my_app:graph`, `./agent.py:graph`, `name=...`. Pure; nothing is imported.

| written | means |
|---|---|
| `my_app.agents:graph` | the variable `graph` of a module |
| `./agent.py:graph`, `agent.py:graph` | the variable `graph` of a file |
| `planner=./agent.py:graph` | the same, as the agent `planner` |
| `http://...`, `https://...` | a server: LangGraph Platform, `langgraph dev`, Aegra |

An agent without a name has that of its file or module: `my_app.agents:graph` is `agents`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ..errors import Misuse

_NAMED = re.compile(r"([^=:/\\]+)=(.+)")
_AGENT = re.compile(r"[\w.~-]+")
"""What is a path segment of a URL as it stands; an agent's name is one."""
_SCRIPTS = frozenset({".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"})

EXAMPLES = "expected my_app:graph, ./agent.py:graph or name=./agent.py:graph"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a graph is. `home`: a file if `is_file`, else a module. `written`: how the user has put it."""

    name: str
    home: str
    attribute: str
    is_file: bool
    written: str
    description: str = ""


def is_url(written: str) -> bool:
    """Whether this names a server."""
    return written.startswith(("http://", "https://"))


def target(written: str, name: str | None = None, description: str = "") -> Target:
    """The graph that is meant. `name`: under which it is served. Raises `Misuse` with what was expected."""
    place = written
    if name is None and (named := _NAMED.fullmatch(written)):
        name, place = named.groups()
    home, colon, attribute = place.rpartition(":")
    if not (home and colon and attribute):
        raise Misuse(f"{written}: {EXAMPLES}")
    if PurePath(home).suffix in _SCRIPTS:
        raise Misuse(f"{written}: a JavaScript graph runs on LangGraph's own server; serve that server's URL")
    is_file = "/" in home or "\\" in home or home.endswith(".py")
    chosen = name if name is not None else PurePath(home).stem if is_file else home.rpartition(".")[2]
    if not _AGENT.fullmatch(chosen):
        raise Misuse(f"{written}: {chosen!r} can be no agent's name: letters, digits and any of . _ ~ - can be in one")
    return Target(chosen, home, attribute, is_file, written, description)


def distinct(targets: Iterable[Target]) -> list[Target]:
    """The targets; raises `Misuse` if two of them have one name."""
    found = list(targets)
    for name, times in Counter(each.name for each in found).items():
        if times > 1:
            last = next(each for each in reversed(found) if each.name == name)
            raise Misuse(f"{times} agents are called {name!r}: name them, as in {last.attribute}={last.written}")
    return found
