"""The sources of the translator are plain technical English: names, docstrings, comments, log and error texts.

So are the names of the fixtures, of the tests of the translator and of what they share. `WORDS` has the words that are
not used, and what is written in their place: one word for one thing.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
WORDS = {
    "tell, tells, telling, told, retell, retells, retold, untold": "emit; events; batch",
    "said, saying, heard, hear, hears, hearing": "emitted; on_message",
    "hold, holds, holding, held": "has; message store, client messages",
    "somebody, someone, nobody, anybody, everybody, anyone, everyone, whoever": "reader, client, user, owner",
    "piece, pieces": "content block; fragment",
    "lack, lacks, lacked, lacking": "missing",
    "standing": "thread state, pending",
    "latecomer, latecomers, late comer, come late, comes late, came late": "late joiner",
    "lookahead": "replay",
    "judge, judged, judges, judging, settle, settled, settles, unsettled, unsaved": "reconcile; pending",
    "silent, silence, silenced, silences, mute, muted, mutes, shown": "visible, hidden, suppressed",
    "spoke, spoken": "emitted; converted for a client version",
    "whose run": "owner, claim, lease",
    "openings": "start events; open items",
    "lane, lanes": "the open reasoning of a call; the running tasks",
    "going on, goes on, went on, going, goes back, went back": "running, continues; is removed",
    "cut, cuts, cutting, patience": "truncated, split; connection lost, retry",
}
"""Words that are not used: what is written instead."""
NAMED = ("tests/translator/**/*.py", "fixtures/**/*.py", "fixtures/golden/*")
"""Files whose names are looked at, not their contents."""
SHARED = ("tests/translator_runs.py", "tests/event_lines.py")
"""What the tests of the translator share."""


def spelled(source: str) -> str:
    """A source with its identifiers as words: `heldBack` and `held_back` are `held back`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", source).lower()


FORBIDDEN = re.compile(r"\b(?:" + "|".join(word for line in WORDS for word in line.split(", ")) + r")\b")


def found(source: str) -> Iterator[tuple[int, str]]:
    """Each forbidden word of a source, with its line."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from ((number, match[0]) for match in FORBIDDEN.finditer(spelled(line)))


def words(source: str) -> list[str]:
    """The forbidden words of a source."""
    return [word for _, word in found(source)]


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
