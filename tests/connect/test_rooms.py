"""Imports between the rooms of `connect` go one way."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent / "connect"
LAYERS = (
    ("recent", "errors"),
    ("thread_info", "page_calls", "metrics", "graph_structure"),
    ("access", "asking_tools", "events", "run_outcome", "default_options"),
    ("inputs", "tracing", "finished_runs"),
    ("idle", "replaced_messages"),
    ("submission",),
    ("local", "platform"),
    ("backend",),
    ("open_thread",),
    ("api",),
    ("__init__",),
    ("serve", "acp", "page_tools"),
    ("testing",),
    ("cli",),
)
"""Each imports those before it; `local` and `platform`, `serve` and `acp` do not import each other."""


@cache
def imported() -> frozenset[tuple[str, str]]:
    """Every import within `connect`, as (module that imports, module that is imported)."""
    return frozenset(_imported())


def _imported() -> Iterator[tuple[str, str]]:
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    for path in sorted(ROOT.rglob("*.py")):
        here = path.relative_to(ROOT).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not 0 < node.level <= len(here):
                continue
            base = [*here[: len(here) - node.level], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                target = whole if whole in modules else ".".join(base)
                yield ".".join(here), target if target in modules else f"{target}.__init__".lstrip(".")


def layer(module: str) -> int:
    """The place of a module in `LAYERS`."""
    room = module.split(".")[0]
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def test_imports_of_rooms_go_one_way() -> None:
    def is_allowed(importer: str, module: str) -> bool:
        same_room = importer.split(".")[0] == module.split(".")[0]
        return same_room or layer(module) < layer(importer)

    assert {pair for pair in imported() if not is_allowed(*pair)} == set()


def test_no_modules_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for importer, module in imported():
        if module != importer:
            graph.setdefault(importer, set()).add(module)
    TopologicalSorter(graph).prepare()  # raises CycleError, with the modules of a cycle


def test_no_rooms_import_each_other() -> None:
    """A room within a room counts as one module, also among the modules beside it."""
    rooms = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.rglob("*/*/__init__.py")}

    def room(module: str) -> str:
        return parent if (parent := module.rpartition(".")[0]) in rooms else module

    graph: dict[str, set[str]] = {}
    for one, other in ((room(importer), room(module)) for importer, module in imported()):
        if one != other:
            graph.setdefault(one, set()).add(other)
    TopologicalSorter(graph).prepare()


INPUTS_ALONE = """
import importlib, pkgutil, sys, types
import langgraph_agui
connect = types.ModuleType("langgraph_agui.connect")  # its own __init__ would import every room
connect.__path__ = [sys.argv[1]]
sys.modules[connect.__name__] = connect
inputs = importlib.import_module("langgraph_agui.connect.inputs")
for module in pkgutil.walk_packages(inputs.__path__, f"{inputs.__name__}."):
    importlib.import_module(module.name)
print(*sorted({"httpx", "langgraph_sdk", "langgraph.pregel", "starlette"} & sys.modules.keys()))
"""


def test_the_inputs_load_no_client_and_no_graph() -> None:
    command = [sys.executable, "-c", INPUTS_ALONE, str(ROOT)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == []
