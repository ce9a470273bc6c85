"""Every fixture runs here and ends as it says."""

import pytest

from fixtures import FIXTURES
from fixtures.fixture import Ends, Turn
from fixtures.run import Ran, Version, local_parts
from tests.sweeps import one_each


def _ends(ran: list[Ran]) -> list[tuple[Ends, str]]:
    return [(one.ended, type(one.error).__name__ if one.error else "") for one in ran]


def _wanted(turns: tuple[Turn, ...]) -> list[tuple[Ends, str]]:
    return [(turn.ends, turn.error) for turn in turns]


@pytest.mark.parametrize(("name", "version"), one_each(FIXTURES, ["v1", "v2"]))
async def test_a_fixture_ends_each_turn_as_it_says(name: str, version: Version) -> None:
    assert _ends(await local_parts(FIXTURES[name], version)) == _wanted(FIXTURES[name].turns)


@pytest.mark.parametrize("name", [name for name, fixture in FIXTURES.items() if fixture.nested])
async def test_a_nested_fixture_ends_the_same_without_subgraphs(name: str) -> None:
    assert _ends(await local_parts(FIXTURES[name], subgraphs=False)) == _wanted(FIXTURES[name].turns)


async def test_a_fixture_can_be_run_again() -> None:
    fixture = FIXTURES["retried"]
    assert _ends(await local_parts(fixture)) == _ends(await local_parts(fixture))


async def test_parallel_nodes_interleave() -> None:
    (ran,) = await local_parts(FIXTURES["parallel_nodes"])
    nodes = [data[1]["langgraph_node"] for _, mode, data in ran.parts if mode == "messages"]
    assert nodes[:4] == ["left", "right", "left", "right"]


async def test_a_model_streams_its_script_word_by_word() -> None:
    (ran,) = await local_parts(FIXTURES["plain_text"])
    said = [data[0].text for _, mode, data in ran.parts if mode == "messages"]
    assert said[:5] == ["Hello ", "there, ", "how ", "are ", "you?"]
