"""Imports between the rooms of the translator go one way, and the other package sees its public names only."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from langgraph_agui import translator

ROOT = Path(__file__).parent.parent.parent
LAYERS = (
    ("options", "endings", "errors", "owner"),
    ("jsonable",),
    ("losses",),
    ("wire",),
    ("parts",),
    ("content",),
    ("convert",),
    ("client",),
    ("call_ids", "tool_tasks"),
    ("ledger",),
    ("snapshots",),
    ("messages", "run", "checkpoint"),
    ("procedures",),
    ("translator",),
    ("translate",),
    ("__init__",),
)
"""Each imports those before it; rooms of one layer do not import each other."""


@cache
def imported(folder: Path) -> frozenset[tuple[str, str]]:
    """Every import of a module of the translator, as (module that imports, module that is imported)."""
    return frozenset(_imported(folder))


def _imported(folder: Path) -> Iterator[tuple[str, str]]:
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "translator").rglob("*.py")}
    for path in sorted(folder.rglob("*.py")):
        here = path.relative_to(ROOT).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = here[: len(here) - node.level] if node.level else ()
            target = ".".join([*base, *(node.module or "").split(".")]).strip(".").removeprefix("langgraph_agui.")
            for alias in node.names:
                whole = f"{target}.{alias.name}"
                module = whole if whole in modules else target
                if module == "translator" or module.startswith("translator."):
                    yield ".".join(here), module if module in modules else f"{module}.__init__"


def layer(module: str) -> int:
    """The place of a module in `LAYERS`."""
    room = module.split(".")[1]
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def test_imports_of_rooms_go_one_way() -> None:
    def is_allowed(importer: str, module: str) -> bool:
        same_room = importer.split(".")[1] == module.split(".")[1]
        return same_room or layer(module) < layer(importer) or module == "translator.__init__"

    found = {pair for pair in imported(ROOT / "translator") if not is_allowed(*pair)}
    assert found == set()


def test_no_modules_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for importer, module in imported(ROOT / "translator"):
        if module != importer:
            graph.setdefault(importer, set()).add(module)
    TopologicalSorter(graph).prepare()  # raises CycleError, with the modules of a cycle


def test_connect_imports_no_name_that_is_not_published() -> None:
    """A package's folders are attributes of it too."""
    names = {
        alias.name
        for path in (ROOT / "connect").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == "translator"
        for alias in node.names
    }
    assert names
    assert names <= set(translator.__all__)


def test_connect_imports_public_names_only() -> None:
    assert {pair for pair in imported(ROOT / "connect") if pair[1] != "translator.__init__"} == set()


def test_files_that_docstrings_and_comments_name_exist() -> None:
    """Beside the file that names them, or by their path in the translator."""
    paths = sorted((ROOT / "translator").rglob("*.py"))
    named = [(path, name) for path in paths for name in re.findall(r"`([a-z_/]+\.py)`", path.read_text("utf-8"))]
    places = [(path, name, (path.parent / name, ROOT / "translator" / name)) for path, name in named]
    assert [(path.name, name) for path, name, at in places if not any(place.is_file() for place in at)] == []
