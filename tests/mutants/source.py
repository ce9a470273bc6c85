"""The source that mutants are made of: modules, read once, and the definitions in them by their dotted names."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("translator", "connect")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """A file of Python."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        """Relative to the root of the repository."""
        self.text = text

    @cached_property
    def tree(self) -> ast.Module:
        """What it says."""
        return ast.parse(self.text, self.file)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that statements outside functions bind, in the module or in a class."""
        return frozenset(_bound_outside_functions(self.tree))

    def position(self, line: int, column: int) -> int:
        """The position in characters of a line and a column, which `ast` counts in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self._lines))]


@dataclass(frozen=True)
class Definition:
    """A module, a class, a function, or a name with its value in a module or a class."""

    name: str
    """Dotted, from the folder on: `connect.api.start`."""
    module: Module
    node: ast.AST
    function: Function | None
    """The outermost function that it is in."""


def definitions_of(name: str) -> list[Definition]:
    """The definitions whose dotted name is this one, or ends with it."""
    return [
        definition
        for definition in _definitions().get(name.rpartition(".")[2], ())
        if f".{definition.name}".endswith(f".{name}")
    ]


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """The modules below a folder, in the order of their paths."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple(Module(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths)


def definitions_in(module: Module) -> Iterator[Definition]:
    """The module, and what is defined in it."""
    dotted = module.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    yield Definition(dotted, module, module.tree, None)
    yield from _defined(module, module.tree, dotted, None)


@cache
def locals_of(function: Function) -> frozenset[str]:
    """Names that a function binds, or a function in it. `self` and `cls` are left out: nobody renames them."""
    names: set[str] = set()
    for node in ast.walk(function):
        names.update(_bound(node))
    return frozenset(names - {"self", "cls", function.name})


@cache
def _definitions() -> dict[str, list[Definition]]:
    by_last_name: dict[str, list[Definition]] = {}
    for module in (module for folder in FOLDERS for module in modules(folder)):
        for definition in definitions_in(module):
            by_last_name.setdefault(definition.name.rpartition(".")[2], []).append(definition)
    return by_last_name


def _defined(module: Module, node: ast.AST, dotted: str, function: Function | None) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{dotted}.{child.name}"
            yield Definition(name, module, child, function)
            within = function if isinstance(child, ast.ClassDef) else function or child
            yield from _defined(module, child, name, within)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if function is None:
                for target in _targets(child):
                    yield Definition(f"{dotted}.{target}", module, child, None)
            yield from _defined(module, child, dotted, function)


def _targets(statement: ast.AST) -> Iterator[str]:
    if isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id


def _bound_outside_functions(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _bound_outside_functions(child)


def bound_in(tree: ast.AST) -> set[str]:
    """Names that a tree binds anywhere."""
    return {name for node in ast.walk(tree) for name in _bound(node)}


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.arg(arg=name) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=renamed):
            yield renamed or name.partition(".")[0]
