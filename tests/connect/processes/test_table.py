"""The table of promises names tests that exist."""

import re
from pathlib import Path

from tests.connect import processes

HERE = Path(__file__).parent
STORES = HERE.parent / "local" / "store"


def _tests_of(paths: list[Path]) -> set[str]:
    return {name for path in paths for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.M)}


def test_the_table_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", str(processes.__doc__)))
    assert named <= _tests_of([*HERE.glob("test_*.py"), *STORES.rglob("test_*.py")])
