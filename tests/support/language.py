"""Plain technical English: `WORDS` has the words that are not used, and what is written in their place. One word for
one thing. `found` finds them in a source: in names, docstrings, comments, log and error texts alike."""

import re
from collections.abc import Iterator

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
