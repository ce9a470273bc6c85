"""What clients display while recorded runs stream: checked after every batch, as the real clients display it.

Of every other fixture one thread is read, by one version of the client; in a sweep all are, by both.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_agui.connect.testing.checks import Items

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.streams.on_the_way import Fault, Run, faults, in_client, in_view, stored_items
from tests.support.streams.translated import THREADS, Translated, reads, translated
from tests.support.sweeps import in_turn

EXCEPTIONS = {
    ("speech_after_its_node", "a_message_is_emitted_in_its_fragments"): (
        "the step ended without the message: what a task streams after that does not begin again before it is stored"
    ),
    ("removed_while_another_streams", "a_message_is_emitted_in_its_fragments"): (
        "the step ended without the message: what a task streams after that does not begin again before it is stored"
    ),
}
"""By fixture and rule: why the rule is broken there. An entry that is not needed any more fails a test."""


def runs(thread: str, version: str) -> Iterator[tuple[Translated, Run]]:
    """The turns of a thread as a client's view shows them."""
    stored: Items = {}
    for turn in translated(thread, version):
        run, options = turn.telling, turn.telling.options
        found = in_view(turn.begun.copy(), run.feeds)
        yield turn, Run(turn.recording.parts, run.feeds, found, options, stored)
        stored = stored_items(turn.recording.state["values"], options)


def without_exceptions(fixture: str, found: list[Fault]) -> list[Fault]:
    return [fault for fault in found if (fixture, fault.rule) not in EXCEPTIONS]


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(("fixture", "read"), in_turn(reads(THREADS, VERSIONS), begin=1, of=2))
def test_nothing_is_wrong_on_the_way(fixture: str, read: str, agui_client: AguiClient) -> None:
    source, _, version = read.rpartition("-")
    for turn, run in runs(f"{source}/{fixture}", version):
        answer, contents = in_client(agui_client, version, turn.begun, run.batches)
        assert (turn.recording.name, answer.error, answer.warnings) == (turn.recording.name, None, [])
        assert as_json(contents) == as_json(run.contents)
        found = without_exceptions(turn.recording.fixture, faults(run))
        assert (turn.recording.name, version, found) == (turn.recording.name, version, [])


@pytest.mark.parametrize(("fixture", "rule"), EXCEPTIONS)
def test_every_exception_is_needed(fixture: str, rule: str) -> None:
    threads = [thread for thread in THREADS if thread.split("/")[1] == fixture]
    broken = {fault.rule for thread in threads for _, run in runs(thread, "1.0.0") for fault in faults(run)}
    assert rule in broken
