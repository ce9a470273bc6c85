"""The same parts, ids, seed view, options and ending give the same bytes, in any process."""

import os
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from langgraph_agui.translator import ClientView, encode

from fixtures.recordings import SOURCES, Recording, Source, recordings
from tests.support.streams.translated import ending
from tests.support.streams.translator_runs import options_for, run_parts

ROOT = Path(__file__).parents[3]
ANOTHER_PROCESS = f"from {__name__} import digest; import sys; print(*map(digest, sys.argv[1:]), sep='\\n')"


def wire(recording: Recording) -> bytes:
    """All frames of a recording."""
    options = options_for("1.0.0", recording.about["messages_key"], interrupts="both", error_detail="full")
    return b"".join(map(encode, run_parts(recording.parts, ending(recording), options, ClientView([], {})).events))


def digest(source: Source) -> str:
    """What stands for all frames of a source's recordings."""
    return sha256(b"".join(told(source).values())).hexdigest()


@cache
def told(source: Source) -> dict[str, bytes]:
    """The frames of every fourth of a source's recordings, by name, as they come first. Each run of
    `translator/conformance/test_golden.py` has other hashes, and compares all of them."""
    return {recording.name: wire(recording) for recording in _some(source)}


def _some(source: Source) -> list[Recording]:
    return list(recordings(source))[::4]


def test_another_process_with_other_hashes_tells_the_same_bytes() -> None:
    command = [sys.executable, "-c", ANOTHER_PROCESS, *SOURCES]
    seeded = {**os.environ, "PYTHONHASHSEED": "4711"}
    other = subprocess.run(command, cwd=ROOT, env=seeded, check=True, capture_output=True, text=True).stdout.split()
    assert other == [digest(source) for source in SOURCES]


@pytest.mark.parametrize("source", SOURCES)
def test_telling_a_recording_again_tells_the_same_bytes(source: Source) -> None:
    before = told(source)
    assert [recording.name for recording in _some(source) if wire(recording) != before[recording.name]] == []
