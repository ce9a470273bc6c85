"""Every recorded stream becomes the events written down for it. `golden` says how they are kept and renewed.

`make test` compares some of the sets of options of each recording, `make sweep` all of them.
"""

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import TypeVar

import pytest

from tests.golden import EVERYWHERE, FOLDER, events, recorded, written
from tests.support.sweeps import SWEEP, Choice, every, one, some

_Case = TypeVar("_Case")

RECORDED = recorded()
_SHOWN = 80


def _two(sets: Sequence[_Case], name: str) -> Sequence[_Case]:
    """Two sets of options of a local recording, and one of any other."""
    return some(sets, name)[:2] if len(sets) > len(EVERYWHERE) else one(sets, name)


def _text(sections: Mapping[str, str]) -> list[str]:
    return [line for name, lines in sections.items() for line in (name, *lines.splitlines())]


@pytest.mark.parametrize("chosen", [_two, pytest.param(every, marks=SWEEP)], ids=["two", "every"])
@pytest.mark.parametrize("fixture", RECORDED)
def test_a_recorded_stream_becomes_the_events_written_down_for_it(fixture: str, chosen: Choice) -> None:
    sections = events(fixture, RECORDED[fixture], chosen)
    kept = written((FOLDER / f"{fixture}.txt").read_text(encoding="utf-8"))
    assert sections.keys() <= kept.keys() if chosen is _two else sections.keys() == kept.keys()
    before, now = _text({name: kept[name] for name in sections}), _text(sections)
    if now != before:
        lines = [line[:300] for line in unified_diff(before, now, f"{fixture}.txt", "now", n=2, lineterm="")]
        more = f"\n... and {len(lines) - _SHOWN} more lines" if len(lines) > _SHOWN else ""
        pytest.fail("\n".join(lines[:_SHOWN]) + more, pytrace=False)


def test_nothing_is_written_down_for_a_fixture_without_a_recording() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == RECORDED.keys()
