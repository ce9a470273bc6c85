"""`python -m benchmarks`: prints the table and writes it as JSON; fails if a figure is beyond its bound.

Ratios are taken within one run, so that they mean the same on any machine; times are this machine's.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from . import peer
from .connect import bodies, editors, idle, lists, load, processes, readers, serving
from .platform import first_tokens
from .rows import Row, table
from .translator import catching_up, conversation, growth, live, memory, replay, values, wire

_SHOWN = ("langgraph", "langchain-core", "ag-ui-protocol", "orjson")


def main() -> int:
    """Runs the parts asked for; 1 if a bound is passed."""
    asked = _arguments()
    if asked.peer:
        try:
            peer.require()
        except peer.MissingPeerError as error:
            print(error, file=sys.stderr)
            return 2
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "replay": replay.rows,
        "live": lambda: live.rows(peer=asked.peer),
        "growth": growth.rows,
        "conversation": conversation.rows,
        "values": values.rows,
        "memory": memory.rows,
        "wire": lambda: wire.rows(peer=asked.peer),
        "idle": idle.rows,
        "lists": lists.rows,
        "catch-up": catching_up.rows,
        "readers": readers.rows,
        "serving": serving.rows,
        "load": lambda: load.rows(peer=asked.peer),
        "bodies": bodies.rows,
        "processes": processes.rows,
        "editors": editors.rows,
        "platform": first_tokens.rows,
    }
    rows: list[Row] = []
    for name in asked.only or parts:
        print(f"measuring: {name}", file=sys.stderr)
        rows += parts[name]()
    machine = _machine()
    print(f"{table(rows)}\n\n{machine}")
    told = [{**row._asdict(), "holds": row.holds} for row in rows]
    asked.out.write_text(json.dumps({"machine": machine, "rows": told}, indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [
        "replay",
        "live",
        "growth",
        "conversation",
        "values",
        "memory",
        "wire",
        "idle",
        "lists",
        "catch-up",
        "readers",
        "serving",
        "load",
        "bodies",
        "processes",
        "editors",
        "platform",
    ]
    parser.add_argument("--only", nargs="+", choices=names, help="these parts only")
    parser.add_argument("--without-peer", dest="peer", action="store_false", help="leave ag-ui-langgraph out")
    parser.add_argument("--out", type=Path, default=Path("bench-results.json"), help="where the JSON goes")
    return parser.parse_args()


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in _SHOWN)
    return f"{platform.machine()}, CPython {platform.python_version()}, {versions}; CPU time, variants in turn."


if __name__ == "__main__":
    sys.exit(main())
