"""The committed recordings are what today's LangGraph streams, here and from a real server."""

from itertools import groupby

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.schema import StreamPart

from fixtures import FIXTURES, SERVED
from fixtures.record import LOCAL, PLATFORM, local_rows, platform_rows
from fixtures.recordings import SOURCES, Recording, Source, part_of, recordings
from fixtures.shapes import shape_of_stream
from tests.sweeps import in_turn

_BY_FILE = {
    (source, name): list(turns)
    for source in SOURCES
    for name, turns in groupby(recordings(source), key=lambda recording: recording.fixture)
}
_LOCAL = {
    name: [source for source in LOCAL if (source, name) in _BY_FILE] for source, name in _BY_FILE if source in LOCAL
}
"""The local sources of each fixture."""
_LIVE = ["plain_text", "subagents_in_parallel", "interrupt_in_subgraph", "model_raises_mid_text", "review_approved"]


def _ends(turns: list[Recording]) -> list[str]:
    return [turn.ended for turn in turns]


@pytest.mark.newest
@pytest.mark.parametrize(("name", "source"), in_turn(_LOCAL, always=["local"]))
async def test_langgraph_still_streams_what_was_recorded(name: str, source: Source) -> None:
    now = [[part_of(row) for row in rows] async for _, rows in local_rows(FIXTURES[name], LOCAL[source])]
    recorded = _BY_FILE[source, name]
    assert [shape_of_stream(parts) for parts in now] == [shape_of_stream(turn.parts) for turn in recorded]


def test_every_fixture_that_can_be_is_recorded_here() -> None:
    wanted = {name for name, fixture in FIXTURES.items() if fixture.recorded}
    assert {name for source, name in _BY_FILE if source == "local"} == wanted


def test_every_fixture_that_can_be_is_recorded_from_a_server() -> None:
    wanted = {name for name, fixture in SERVED.items() if fixture.recorded}
    assert {name for source, name in _BY_FILE if source == "platform"} == wanted


def test_a_recorded_run_of_a_server_ended_as_its_fixture_says() -> None:
    for (source, name), turns in _BY_FILE.items():
        if source in PLATFORM:
            assert (source, name, _ends(turns)) == (source, name, [turn.ends for turn in FIXTURES[name].turns])


def test_a_recorded_turn_is_read_back_as_the_parts_of_its_source() -> None:
    kinds = {source: type(turns[0].parts[0]) for (source, _), turns in _BY_FILE.items()}
    tuples: dict[str, type] = dict.fromkeys(("local", "local-flat", "local-tasks"), tuple)
    dicts: dict[str, type] = dict.fromkeys(("local-v2", "platform-v2"), dict)
    stream_parts: dict[str, type] = dict.fromkeys(SOURCES, StreamPart)
    assert kinds == stream_parts | tuples | dicts


@pytest.mark.newest
@pytest.mark.parametrize("name", _LIVE)
async def test_a_server_still_streams_what_was_recorded(dev_server: str, name: str) -> None:
    async with get_client(url=dev_server) as client:
        turns = [rows async for _, rows in platform_rows(client, FIXTURES[name], PLATFORM["platform"])]
    recorded = _BY_FILE["platform", name]
    now = [[part_of(row) for row in rows] for rows in turns]
    assert [shape_of_stream(parts) for parts in now] == [shape_of_stream(turn.parts) for turn in recorded]
