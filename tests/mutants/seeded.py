"""Classic mutations of the source, at places drawn by a seeded generator: the same seed and source, the same mutants.

A function is drawn, then a kind of mutation that can be made in it, then the place.

Left out is what no behaviour hangs on: annotations, docstrings, log calls, texts of errors, `__all__`, declarations of
defaults.
"""

import ast
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from .mutant import Mutant
from .shape import Replacement
from .source import modules
from .where import tests_of

EQUIVALENTS = Path(__file__).parent / "equivalents.toml"

_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_SILENT = frozenset({"debug", "info", "warning", "error", "exception", "log"})


@dataclass(frozen=True)
class Place:
    """One mutation that could be made."""

    file: str
    function: str
    kind: str
    old: str
    new: str
    at: int
    line: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names it when lines move: file, function, and the texts before and after."""
        return self.file, self.function, self.old, self.new

    def mutant(self) -> Mutant:
        """The mutant made here."""
        says = f"{self.kind}: {_short(self.old)} -> {_short(self.new)}"
        return Mutant(f"{self.file}:{self.line} {self.function}", says, (self,), tests_of(self.file))

    def replacement(self) -> Replacement:
        """What it changes."""
        return Replacement(self.file, self.at, self.at + len(self.old), self.new)


def drawn(count: int, seed: int, folders: tuple[str, ...] = ("translator", "connect")) -> list[Place]:
    """`count` mutations, spread evenly over the folders, no two in one function, every other one of a condition."""
    random = Random(seed)
    found: list[Place] = []
    for number, folder in enumerate(folders):
        by_function: dict[tuple[str, str], dict[str, list[Place]]] = {}
        for place in places(folder):
            by_function.setdefault((place.file, place.function), {}).setdefault(place.kind, []).append(place)
        functions = sorted(by_function)
        random.shuffle(functions)
        for turn in range((count - len(found)) // (len(folders) - number)):
            asked = _CONDITIONS if turn % 2 == 0 else _OTHERS
            function = next(each for each in functions if not asked.isdisjoint(by_function[each]))
            functions.remove(function)
            kinds = by_function[function]
            found.append(random.choice(kinds[random.choice(sorted(asked.intersection(kinds)))]))
    return found


def equivalents() -> dict[tuple[str, str, str, str], str]:
    """Mutations that change nothing that can be observed, each with the reason."""
    rows = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8")).get("equivalent", [])
    return {(row["file"], row["function"], row["old"], row["new"]): row["reason"] for row in rows}


@cache
def places(folder: str) -> tuple[Place, ...]:
    """Every mutation that could be made in a folder, in a fixed order."""
    return tuple(_places(folder))


def _places(folder: str) -> Iterator[Place]:
    for module in modules(folder):
        for function, node in _nodes(module.tree, ""):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            at = module.position(node.lineno, node.col_offset)
            end = module.position(node.end_lineno, node.end_col_offset)
            for kind, new in _mutations(node):
                yield Place(module.file, function, kind, module.text[at:end], new, at, node.lineno)


def _nodes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Expressions and statements inside functions that behaviour hangs on, each with its function's name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        name = f"{function}.{node.name}" if function else node.name
        for statement in node.body:
            yield from _nodes(statement, name)
        return
    if isinstance(node, ast.ClassDef):
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _nodes(statement, f"{function}.{node.name}" if function else node.name)
        return
    if _has_no_behaviour(node):
        return
    if function and isinstance(node, ast.expr | ast.stmt):
        yield function, node
    children = (
        [node.value] if isinstance(node, ast.AnnAssign) and node.value is not None else ast.iter_child_nodes(node)
    )
    for child in children:
        yield from _nodes(child, function)


def _has_no_behaviour(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert | ast.JoinedStr):
        return True
    called = node.value if isinstance(node, ast.Expr) else node
    if isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute):
        return called.func.attr in _SILENT
    return isinstance(node, ast.AnnAssign) and node.value is None


def _mutations(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    for mutation in _KINDS:
        for changed in mutation(node):
            kind = _name(mutation)
            yield kind, ast.unparse(changed) if isinstance(changed, ast.stmt) else f"({ast.unparse(changed)})"


def _operand_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        for position in range(len(node.values)):
            rest = node.values[:position] + node.values[position + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _and_or_swapped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _comparison_changed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [_OTHER_COMPARISON[type(node.ops[0])]()], node.comparators)


def _negation_removed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _choice_turned_around(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)


def _constant_changed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)


def _statement_removed(node: ast.AST) -> Iterator[ast.AST]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    is_kept = isinstance(node, ast.Assign | ast.AugAssign) and isinstance(
        node.targets[0] if isinstance(node, ast.Assign) else node.target, ast.Attribute | ast.Subscript
    )
    if is_call or is_kept or isinstance(node, ast.Continue | ast.Break):
        yield ast.Pass()


def _result_dropped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None:
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            return
        changed = deepcopy(node)
        changed.value = ast.Constant(None)
        yield changed


def _name(mutation: Callable[[ast.AST], Iterator[ast.AST]]) -> str:
    return mutation.__name__.strip("_").replace("_", " ")


_IN_CONDITIONS = (_operand_dropped, _and_or_swapped, _comparison_changed, _negation_removed, _choice_turned_around)
_ELSEWHERE = (_constant_changed, _statement_removed, _result_dropped)
_KINDS = (*_IN_CONDITIONS, *_ELSEWHERE)
_CONDITIONS = frozenset(map(_name, _IN_CONDITIONS))
_OTHERS = frozenset(map(_name, _ELSEWHERE))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else line[:87] + "..."
