"""Connecting to a server's thread while a run is going on, at every kind of place in it: both real clients accept what
they are told, are never shown anything cut, and end with what the thread holds."""

import asyncio
from typing import Any

import pytest
from langgraph_agui.connect.testing.expected import comparable

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL
from tests.support.clients.platform.visits import STOPS, all_visited, made
from tests.support.clients.reader_clients import assert_holds
from tests.support.servers.platforms.backend import Backend, cases, on
from tests.support.sweeps import CHOSEN, Choice

KEPT = {**FULL, "partial": True}
NOT_KEPT = {**FULL, "stream_resumable": False, "partial": False}
CASES = {
    **{f"{graph}, kept": (graph, KEPT) for graph in STOPS},
    **{f"{graph}, not kept": (graph, NOT_KEPT) for graph in STOPS},
}
ON_AEGRA = [
    *("gated_chat, kept", "gated_chat, not kept", "gated_agent, kept", "gated_parallel, kept"),
    *("gated_asking_twice, kept", "gated_stopping, kept", "gated_raising, kept"),
]
AEGRA = dict.fromkeys(CASES.keys() - set(ON_AEGRA), "keeps every run, and these graphs say nothing that others do not")
"""What would say nothing new on Aegra."""
NAMES = cases(CASES, aegra=AEGRA)
ENDS = {
    "gated_asking": "interrupt",
    "gated_asking_twice": "interrupt",
    "gated_asking_inside": "interrupt",
    "gated_stopping": "interrupt",
    "gated_raising": "ValueError",
}
"""How each graph's run ends; the others end well."""


@pytest.fixture(scope="module")
def visits(backend: Backend) -> dict[str, Any]:
    """A visited run for each case, all made at once."""
    return asyncio.run(all_visited(backend, on(backend, CASES, aegra=AEGRA)))


@CHOSEN
@pytest.mark.parametrize("name", NAMES)
def test_whoever_comes_to_a_run_ends_with_what_the_thread_holds(
    visits: dict[str, Any], name: str, agui_client: AguiClient, chosen: Choice
) -> None:
    """And whoever comes where the server keeps what was said, was shown it at once: the runs waited for that."""
    visit = made(visits, name)
    for guest in chosen(visit.guests, name):
        assert_holds(agui_client, guest, visit.values)


@pytest.mark.parametrize("name", NAMES)
def test_whoever_comes_to_a_run_is_told_its_end_under_its_id(visits: dict[str, Any], name: str) -> None:
    visit = made(visits, name)
    told = {(guest.end, *guest.run_ids) for guest in visit.guests}
    assert told == {(ENDS.get(visit.graph, "success"), visit.run_id)}


@pytest.mark.parametrize("name", cases([name for name in CASES if name.endswith(", kept")], aegra=AEGRA))
def test_whoever_comes_to_a_run_that_is_kept_ends_as_if_it_had_watched(visits: dict[str, Any], name: str) -> None:
    visit = made(visits, name)
    watched = visit.watcher.view
    for guest in visit.guests:
        assert comparable(guest.view.messages) == comparable(watched.messages)
        assert guest.view.state == watched.state


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_ever_shown_cut(visits: dict[str, Any], name: str) -> None:
    assert [guest.cut for guest in made(visits, name).guests if guest.cut] == []
