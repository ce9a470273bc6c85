"""The sources of the translator are plain technical English: names, docstrings, comments, log and error texts.

`WORDS` has the words that are not used, and what is written in their place: one word for one thing.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
WORDS = {
    "tell, tells, telling, told, retell, retold, untold": "emit; events; batch",
    "said, saying, heard, hear, hears": "emitted; on_message",
    "holds, held": "has; message store, client messages",
    "somebody, someone, nobody, anybody, whoever": "reader, client, user, owner",
    "piece, pieces": "content block; fragment",
    "lack, lacks, lacked, lacking": "missing",
    "standing": "thread state, pending",
    "latecomer, latecomers, late comer, comes late": "late joiner",
    "lookahead": "replay",
    "judge, judged, judges, settle, settled, settles, unsettled, unsaved": "reconcile; pending",
    "silent, silence, silenced, mute, muted, mutes, shown": "visible, hidden, suppressed",
    "spoken": "converted for a client version",
    "openings": "start events; open items",
    "lane, lanes": "the open reasoning of a call; the running tasks",
    "going on, goes on, went on, going, goes back, went back": "running, continues; is removed",
    "cut, cuts, patience": "truncated, split; connection lost, retry",
}
"""Words that are not used: what is written instead."""


def spelled(source: str) -> str:
    """A source with its identifiers as words: `heldBack` and `held_back` are `held back`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", source).lower()


FORBIDDEN = re.compile(r"\b(?:" + "|".join(word for words in WORDS for word in words.split(", ")) + r")\b")


def found(source: str) -> Iterator[tuple[int, str]]:
    """Each forbidden word of a source, with its line."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from ((number, match[0]) for match in FORBIDDEN.finditer(spelled(line)))


def files() -> dict[str, str]:
    """The sources of the translator by path."""
    paths = sorted((ROOT / "translator").rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.parametrize("path", files())
def test_a_source_is_in_plain_english(path: str) -> None:
    assert [f"{path}:{number}: {word}" for number, word in found(files()[path])] == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def held_back(): pass", ["held"]),
        ("class ToldEvents: ...", ["told"]),
        ("# what is going_on here", ["going on"]),
        ('_log.info("Nobody hears it.")', ["nobody", "hears"]),
        ("executed, upheld, ongoing, shortcut, planetold", []),
    ],
)
def test_words_are_found_in_names_and_texts(source: str, words: list[str]) -> None:
    assert [word for _, word in found(source)] == words
