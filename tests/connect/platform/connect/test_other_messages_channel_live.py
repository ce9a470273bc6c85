"""Connecting to a server's thread whose graph has no channel called `messages`, while a run is active: no reader is
shown the rest of a text as if it were whole, wherever it joins."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.fixture import user
from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.guests import played
from tests.support.clients.platform.runs import FULL
from tests.support.clients.platform.visits import all_visited, made
from tests.support.servers.platforms.backend import Backend, cases, on

STOPS = [("first 3",), ("first over",), ("second 2",), ("second over",)]
INPUTS: dict[str, Any] = {
    "gated_without_messages": {"topic": "tea", "notes": []},
    "gated_other_channel": {"chat": [user("Go on.")]},
}
CASES = {
    f"{graph}, {'kept' if kept else 'not kept'}": (
        graph,
        {**FULL, "stream_resumable": kept, "partial": kept, "stops": STOPS, "input": given},
    )
    for graph, given in INPUTS.items()
    for kept in (True, False)
}
AEGRA = {name: "keeps every run" for name in CASES if name.endswith("not kept")}
KEPT = cases([name for name in CASES if name.endswith(", kept")], aegra={})


@pytest.fixture(scope="module")
def lines() -> Iterator[list[str]]:
    """What was logged while the runs were visited."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("langgraph_agui")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


@pytest.fixture(scope="module")
def visits(backend: Backend, lines: list[str]) -> dict[str, Any]:
    """A visited run for each case, all made at once."""
    return asyncio.run(all_visited(backend, on(backend, CASES, aegra=AEGRA)))


def texts(agui_client: AguiClient, guest: Any) -> list[str]:
    """The assistant's texts that the real client holds, which took every event."""
    answer = played(agui_client, guest)
    assert answer.accepted
    assert guest.end == "success"
    return [message["content"] for message in answer.messages if message["role"] == "assistant"]


@pytest.mark.parametrize("name", cases(CASES, aegra=AEGRA))
def test_nothing_is_ever_shown_cut(visits: dict[str, Any], name: str) -> None:
    assert [guest.cut for guest in made(visits, name).guests if guest.cut] == []


@pytest.mark.parametrize("name", KEPT)
def test_of_a_run_that_is_kept_every_reader_gets_all_texts(
    visits: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    """And was shown at once what had streamed: the run waited for that."""
    for guest in made(visits, name).guests:
        assert texts(agui_client, guest) == [FIRST, SECOND]


@pytest.mark.parametrize("name", cases([n for n in CASES if n.endswith("not kept")], aegra=AEGRA))
def test_of_a_run_that_is_not_kept_a_reader_gets_the_texts_that_began_after_it_joined(
    visits: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    visit = made(visits, name)
    got = {stop: [texts(agui_client, guest) for guest in guests] for stop, guests in visit.came.items()}
    assert got == {
        "first 3": [[SECOND]] * 2,
        "first over": [[SECOND]] * 2,
        "second 2": [[]] * 2,
        "second over": [[]] * 2,
    }


@pytest.mark.parametrize("name", cases(CASES, aegra=AEGRA))
def test_text_that_is_left_out_is_logged(visits: dict[str, Any], lines: list[str], name: str) -> None:
    visit = made(visits, name)
    found = [line for line in lines if "is left out" in line and visit.run_id in line]
    assert bool(found) == name.endswith(", not kept")
