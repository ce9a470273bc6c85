"""The sources of the translator are plain technical English: names, docstrings, comments, log and error texts.

So are the names of the fixtures, of the tests of the translator and of what they share. The words that are not used are
in `tests.support.language`.
"""

from pathlib import Path

import pytest

from tests.support.language import found, words

ROOT = Path(__file__).parent.parent.parent
NAMED = ("tests/translator/**/*.py", "fixtures/**/*.py", "fixtures/golden/*")
"""Files whose names are looked at, not their contents."""
SHARED = tuple(f"tests/support/streams/{name}.py" for name in ("translator_runs", "event_lines", "on_the_way"))
"""What the tests of the translator share."""


def files() -> dict[str, str]:
    """The sources by path."""
    paths = [*sorted((ROOT / "translator").rglob("*.py")), *(ROOT / name for name in SHARED)]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def test_the_names_of_tests_and_fixtures_are_in_plain_english() -> None:
    """A cut is, besides, a position in a stream at which a reader joins: `..._at_every_cut`."""
    paths = [path.relative_to(ROOT) for pattern in NAMED for path in ROOT.glob(pattern)]
    assert len(paths) > len(files())
    assert [str(path) for path in paths if {*words(path.stem)} - {"cut"}] == []


@pytest.mark.parametrize("path", files())
def test_a_source_is_in_plain_english(path: str) -> None:
    assert [f"{path}:{number}: {word}" for number, word in found(files()[path])] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def held_back(): pass", ["held"]),
        ("class ToldEvents: ...", ["told"]),
        ("# what is going_on here", ["going on"]),
        ('_log.info("Nobody hears it.")', ["nobody", "hears"]),
        ("executed, upheld, ongoing, shortcut, planetold", []),
    ],
)
def test_words_are_found_in_names_and_texts(source: str, expected: list[str]) -> None:
    assert words(source) == expected
