"""The sources of `connect` are plain technical English, and the names of its tests; see `tests.support.language`."""

from pathlib import Path

import pytest

from tests.support.language import found, words

ROOT = Path(__file__).parent.parent.parent


def sources() -> list[str]:
    """The sources of `connect`, as paths from its folder."""
    return sorted(str(path.relative_to(ROOT / "connect")) for path in (ROOT / "connect").rglob("*.py"))


@pytest.mark.parametrize("path", sources())
def test_a_source_is_in_plain_english(path: str) -> None:
    source = (ROOT / "connect" / path).read_text(encoding="utf-8")
    assert [f"{path}:{number}: {word}" for number, word in found(source)] == []


def test_the_names_of_tests_are_in_plain_english() -> None:
    names = [path.stem for path in (ROOT / "tests" / "connect").rglob("*.py")]
    assert [name for name in names if words(name)] == []
