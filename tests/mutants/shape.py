"""Code found by its shape: statements or an expression, as `ast` reads them, inside a definition.

Formatting, comments and docstrings do not matter. A local variable that the function no longer has stands for one that
it has: code that was written before a variable was renamed is still found, and the renaming is applied to what takes
its place. `...` among the arguments of a call stands for its other arguments, there and in what takes its place.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent

from .source import Definition, Function, Module, bound_in, locals_of


class StaleMutantError(Exception):
    """What an edit replaces does not occur exactly once: the source has moved on."""


@dataclass(frozen=True)
class Replacement:
    """A text that takes the place of a part of a file."""

    file: str
    start: int
    end: int
    """In characters of the file as it is."""
    new: str


@dataclass(frozen=True)
class Pattern:
    """Code as an edit has it."""

    statements: tuple[ast.stmt | ast.ExceptHandler, ...]
    is_header: bool
    """The first line of a compound statement, `if ...:`, which stands for one with any body."""

    @property
    def expression(self) -> ast.expr | None:
        """The expression that it is; None: statements."""
        first = self.statements[0]
        return first.value if len(self.statements) == 1 and isinstance(first, ast.Expr) else None


def parsed(code: str) -> Pattern:
    """Reads an edit's code, which may be indented; raises SyntaxError. No code is `pass`."""
    text = dedent(code).strip("\n").rstrip() or "pass"
    is_header = text.endswith(":")
    if text.startswith("except"):
        tried = ast.parse(f"try:\n    pass\n{text}{' pass' if is_header else ''}").body[0]
        assert isinstance(tried, ast.Try)
        return Pattern(tuple(tried.handlers), is_header)
    return Pattern(tuple(ast.parse(f"{text} pass" if is_header else text).body), is_header)


def replacement(definitions: Sequence[Definition], old: str, new: str) -> Replacement:
    """What replaces the code `old`, which is in one of these definitions, with the code `new`.

    Raises `StaleMutantError` where `old` is not there exactly once, or `new` reads a name that is unknown there, and
    SyntaxError for code that cannot be read.
    """
    pattern, changed = parsed(old), parsed(new)
    is_expression = pattern.expression is not None and changed.expression is not None
    matches: dict[tuple[str, int, int], _Match] = {}
    for definition in definitions:
        for match in _expressions(definition, pattern) if is_expression else _statements(definition, pattern):
            matches.setdefault((match.module.file, match.start, match.end), match)
    if len(matches) != 1:
        searched = ", ".join(sorted({definition.module.file for definition in definitions}))
        lines = ", ".join(f"{match.module.file}:{match.nodes[0].lineno}" for match in matches.values())
        problem = f"found it at {lines}" if lines else f"it is not in {searched}" if searched else "no such definition"
        raise StaleMutantError(f"expected the code once, {problem}: {old.strip()!r}")
    (match,) = matches.values()
    return Replacement(match.module.file, match.start, match.end, match.replaced(changed, pattern.is_header))


@dataclass(frozen=True)
class _Match:
    module: Module
    nodes: Sequence[ast.stmt | ast.expr | ast.ExceptHandler]
    """Those that take the place of the pattern's, one after another in a block."""
    function: Function | None
    names: Mapping[str, str]
    """The function's names by the pattern's."""
    others: ast.Call
    """The arguments that `...` stands for."""

    @property
    def start(self) -> int:
        first = self.nodes[0]
        line = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", ()))])
        return self.module.position(line, first.col_offset)

    @property
    def end(self) -> int:
        last = self.nodes[-1]
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        return self.module.position(last.end_lineno, last.end_col_offset)

    def replaced(self, pattern: Pattern, is_header: bool) -> str:
        """The text that takes its place."""
        new = _renamed(pattern.statements, self.names, self.others)
        self._check_names(new)
        if isinstance(self.nodes[0], ast.expr):
            assert isinstance(new[0], ast.Expr)
            return f"({ast.unparse(new[0].value)})"
        if is_header:
            _take_body(new[0], self.nodes[0])
        text = ast.unparse(ast.Module([node for node in new if isinstance(node, ast.stmt)], [])) or ast.unparse(new[0])
        if self.module.text.startswith("elif", self.start):
            text = f"el{text}" if text.startswith("if") and len(new) == 1 else f"else:\n{indent(text, '    ')}"
        return indent(text, " " * self.nodes[0].col_offset).lstrip(" ")

    def _check_names(self, new: Sequence[ast.AST]) -> None:
        """A name that nothing binds would be a fault of its own, which any test notices."""
        known = {
            *self.module.names,
            *dir(builtins),
            "self",
            "cls",
            *(locals_of(self.function) if self.function else ()),
        }
        read = {child.id for node in new for child in ast.walk(node) if isinstance(child, ast.Name)}
        if unknown := sorted(read.difference(known, *map(bound_in, new))):
            raise StaleMutantError(f"nothing has these names in {self.module.file}: {', '.join(unknown)}")


class _Comparison:
    """Whether a pattern and code are the same, up to names that the function no longer has."""

    def __init__(self, function: Function | None) -> None:
        self._locals = locals_of(function) if function else frozenset()
        self.names: dict[str, str] = {}
        self.others = ast.Call(ast.Name("_"), [], [])

    def same(self, pattern: ast.AST, node: ast.AST, is_header: bool = False) -> bool:
        if type(pattern) is not type(node):
            return False
        if isinstance(pattern, ast.Call) and isinstance(node, ast.Call) and _has_others(pattern):
            return self._same_call(pattern, node)
        for field in pattern._fields:
            if is_header and field in _BODIES:
                continue
            one, other = getattr(pattern, field, None), getattr(node, field, None)
            if field == "body" and isinstance(node, _DOCUMENTED):
                one, other = _undocumented(getattr(pattern, field)), _undocumented(node.body)
            if not self._same_values(one, other, field in _NAMES.get(type(node), ())):
                return False
        return True

    def _same_call(self, pattern: ast.Call, node: ast.Call) -> bool:
        first = len(pattern.args) - 1
        named = {keyword.arg for keyword in pattern.keywords}
        keywords = [keyword for keyword in node.keywords if keyword.arg in named]
        self.others.args = node.args[first:]
        self.others.keywords = [keyword for keyword in node.keywords if keyword.arg not in named]
        return (
            self.same(pattern.func, node.func)
            and self._same_values(pattern.args[:first], node.args[:first], is_name=False)
            and self._same_values(_by_name(pattern.keywords), _by_name(keywords), is_name=False)
        )

    def _same_values(self, one: object, other: object, is_name: bool) -> bool:
        match one, other:
            case ast.AST(), ast.AST():
                return self.same(one, other)
            case list(), list():
                return len(one) == len(other) and all(
                    self._same_values(item, counterpart, is_name) for item, counterpart in zip(one, other, strict=True)
                )
            case str(), str() if is_name:
                return self._same_names(one, other)
            case _:
                return type(one) is type(other) and one == other

    def _same_names(self, one: str, other: str) -> bool:
        if one in self.names:
            return self.names[one] == other
        is_renamed = one not in self._locals and other in self._locals and other not in self.names.values()
        if one != other and not is_renamed:
            return False
        self.names[one] = other
        return True


def _has_others(call: ast.Call) -> bool:
    last = call.args[-1] if call.args else None
    return isinstance(last, ast.Constant) and last.value is ...


def _by_name(keywords: list[ast.keyword]) -> list[ast.keyword]:
    return sorted(keywords, key=lambda keyword: keyword.arg or "")


_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_NAMES: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: ("id",),
    ast.arg: ("arg",),
    ast.ExceptHandler: ("name",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
    ast.FunctionDef: ("name",),
    ast.AsyncFunctionDef: ("name",),
    ast.Nonlocal: ("names",),
}
"""The fields that have names of local variables."""


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str
    )
    return body[1:] if is_docstring else body


def _expressions(definition: Definition, pattern: Pattern) -> Iterator[_Match]:
    assert pattern.expression is not None
    for node, function in _walk(definition.node, definition.function):
        if isinstance(node, ast.expr):
            comparison = _Comparison(function)
            if comparison.same(pattern.expression, node):
                yield _Match(definition.module, [node], function, comparison.names, comparison.others)


def _statements(definition: Definition, pattern: Pattern) -> Iterator[_Match]:
    for block, function in _blocks(definition):
        for start in range(len(block) - len(pattern.statements) + 1):
            nodes, comparison = block[start : start + len(pattern.statements)], _Comparison(function)
            if all(map(comparison.same, pattern.statements, nodes, [pattern.is_header] * len(nodes))):
                yield _Match(definition.module, nodes, function, comparison.names, comparison.others)


def _blocks(definition: Definition) -> Iterator[tuple[list[ast.stmt | ast.ExceptHandler], Function | None]]:
    if isinstance(definition.node, ast.stmt):
        yield [definition.node], definition.function or _function(definition.node)
    for node, function in _walk(definition.node, definition.function):
        for field in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(block := getattr(node, field, None), list):
                yield block, function


def _walk(node: ast.AST, function: Function | None) -> Iterator[tuple[ast.AST, Function | None]]:
    """A node and those below it, each with the outermost function that it is in.

    What stands in an f-string has no position of its own before Python 3.12, and is left out.
    """
    function = function or _function(node)
    yield node, function
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _walk(child, function)


def _function(node: ast.AST) -> Function | None:
    return node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], others: ast.Call) -> None:
        self._names = names
        self._others = others

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _has_others(node):
            node.args[-1:] = self._others.args
            node.keywords += self._others.keywords
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in _NAMES.get(type(node), ()):
            value = getattr(node, field)
            if isinstance(value, str):
                setattr(node, field, self._names.get(value, value))
            elif isinstance(value, list):
                setattr(node, field, [self._names.get(name, name) for name in value])
        return super().generic_visit(node)


def _renamed(
    nodes: Sequence[ast.stmt | ast.ExceptHandler], names: Mapping[str, str], others: ast.Call
) -> list[ast.stmt | ast.ExceptHandler]:
    renaming = _Renaming(names, others)
    return [renaming.visit(node) for node in nodes]


def _take_body(new: ast.AST, old: ast.AST) -> None:
    """Gives a header the body of the statement whose header it replaces."""
    for field in _BODIES.intersection(old._fields):
        setattr(new, field, getattr(old, field))
