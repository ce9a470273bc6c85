"""Every recorded stream becomes the events written down for it. `golden` says how they are kept and renewed."""

from difflib import unified_diff

import pytest

from tests.golden import FOLDER, golden, recorded

RECORDED = recorded()
_SHOWN = 80


@pytest.mark.parametrize("fixture", RECORDED)
def test_a_recorded_stream_becomes_the_events_written_down_for_it(fixture: str) -> None:
    before = (FOLDER / f"{fixture}.txt").read_text(encoding="utf-8").splitlines()
    now = golden(fixture, RECORDED[fixture]).splitlines()
    if now != before:
        lines = [line[:300] for line in unified_diff(before, now, f"{fixture}.txt", "now", n=2, lineterm="")]
        more = f"\n... and {len(lines) - _SHOWN} more lines" if len(lines) > _SHOWN else ""
        pytest.fail("\n".join(lines[:_SHOWN]) + more, pytrace=False)


def test_nothing_is_written_down_for_a_fixture_without_a_recording() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == RECORDED.keys()
