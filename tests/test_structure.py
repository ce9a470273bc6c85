"""A test module is imported only from its own folder: what tests of several folders use is in `tests/support`."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
