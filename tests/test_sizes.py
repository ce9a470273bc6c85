"""A folder has at most 14 modules, a module of the code at most 400 lines: what is more has a second subject."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_MODULES = 14
MOST_LINES = 400


@pytest.mark.parametrize("house", ["translator", "connect", "tests", "benchmarks"])
def test_a_folder_has_few_modules(house: str) -> None:
    folders = {path.parent for path in (ROOT / house).rglob("*.py") if "node_modules" not in path.parts}
    counted = {folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert counted
    assert {folder: count for folder, count in counted.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("house", ["translator", "connect"])
def test_a_module_of_the_code_is_short(house: str) -> None:
    paths = list((ROOT / house).rglob("*.py"))
    counted = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in paths}
    assert counted
    assert {module: count for module, count in counted.items() if count > MOST_LINES} == {}
