"""The page of errors has every code that a client can get, every warning and error of the log, and every public
exception. They are gathered from the sources: what is added there has to be explained on the page."""

import ast
import re
from collections.abc import Iterator

from langgraph_agui import connect, translator
from langgraph_agui.connect import errors

from tests.support.documents import ROOT

PAGE = " ".join((ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8").split())
SOURCES = [path for house in ("connect", "translator") for path in sorted((ROOT / house).rglob("*.py"))]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
LOGGED = {"warning", "error", "exception"}


def text_of(node: ast.expr, constants: dict[str, ast.expr]) -> str | None:
    """A text as it is logged, with `…` for what is put in; None for what is no text."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"%(?:\d+)?[sdrg]", "…", text)
        case ast.JoinedStr(values=values):
            return "".join(each.value if isinstance(each, ast.Constant) else "…" for each in values)  # type: ignore[misc]
        case ast.Name(id=name) if name in constants:
            return text_of(constants[name], {})
        case _:
            return None


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """The texts that a module gives names to."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def log_lines() -> Iterator[tuple[str, str]]:
    """Each text that is logged as a warning or an error, and where."""
    for path, tree in TREES.items():
        constants = constants_of(tree)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            owner = ast.unparse(node.func.value)
            is_logged = owner == "_log" and node.func.attr in LOGGED
            if not is_logged and not (owner.endswith("losses") and node.func.attr == "warn"):
                continue
            text = text_of(node.args[0], constants)
            if text is not None and re.search(r"\w+\W+\w+", text.replace("(thread …, run …)", "")):
                yield text, path.relative_to(ROOT).as_posix()


def codes() -> Iterator[str]:
    """The codes of `RUN_ERROR`, and of the bodies of error responses."""
    table = (errors.__doc__ or "").split("|---|---|")[1]
    for line in table.strip().splitlines():
        yield from re.findall(r"`(\w+)`", line.split("|")[1])
    for tree in TREES.values():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="Refusal"), args=[_, ast.Constant(value=str(code)), *_]):
                    yield code
                case ast.Call(func=ast.Name(id="too_much"), args=[ast.Constant(value=str(code)), *_]):
                    yield code
                case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                    yield code
                case ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code))):
                    yield code
                case _:
                    pass
    yield from ("abort", "unfinished")


def exceptions() -> Iterator[str]:
    """The public exceptions."""
    for module in (connect, translator):
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, type) and issubclass(found, BaseException):
                yield name


def test_each_code_and_exception_is_explained() -> None:
    assert sorted(code for code in {*codes(), *exceptions()} if f"`{code}`" not in PAGE) == []


def test_each_log_line_is_explained() -> None:
    lines = set(log_lines())
    assert sorted((text, place) for text, place in lines if f"`{text.replace('`', '')}`" not in PAGE) == []
    assert len(lines) > 50
