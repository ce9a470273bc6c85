"""A folder has at most 14 modules, a module of the code at most 400 lines: what is more has a second subject. A test
module is imported beside itself alone: what more tests stand on is in `tests/support`."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_MODULES = 14
MOST_LINES = 400


@pytest.mark.parametrize("house", ["translator", "connect", "tests", "benchmarks"])
def test_a_folder_has_few_modules(house: str) -> None:
    folders = {path.parent for path in modules(house)}
    counted = {folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert counted
    assert {folder: count for folder, count in counted.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("house", ["translator", "connect"])
def test_a_module_of_the_code_is_short(house: str) -> None:
    counted = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in modules(house)}
    assert counted
    assert {module: count for module, count in counted.items() if count > MOST_LINES} == {}


def test_a_test_module_is_imported_beside_itself_alone() -> None:
    imported = {
        (path.relative_to(ROOT).as_posix(), node.module)
        for path in modules("tests")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and ".test_" in node.module
    }
    assert imported
    beside = {(path, module) for path, module in imported if Path(path).parent == Path(*module.split(".")).parent}
    assert imported - beside == set()


def modules(house: str) -> list[Path]:
    """The modules of a folder of the repository."""
    return [path for path in (ROOT / house).rglob("*.py") if "node_modules" not in path.parts]
