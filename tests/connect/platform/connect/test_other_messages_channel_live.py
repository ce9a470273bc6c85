"""Connecting to a server's thread whose graph has no channel called `messages`, while a run is active: no reader is
shown the rest of a text as if it were whole, wherever it joins. The thread has no messages for a page that is loaded
again, so every reader loses what it was shown when the run ends, unless the option `unsaved` keeps it."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_agui.translator import ClientView

from fixtures.fixture import user
from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient, protocol
from tests.support.clients.platform.runs import FULL
from tests.support.clients.platform.visits import all_visited, made
from tests.support.clients.reader_clients import ReaderClient, played
from tests.support.servers.platforms.backend import Backend, cases, on

STOPS = [("first 3",), ("first over",), ("second 2",), ("second over",)]
INPUTS: dict[str, Any] = {
    "gated_without_messages": {"topic": "tea", "notes": []},
    "gated_other_channel": {"chat": [user("Go on.")]},
}
CASES = {
    f"{graph}, unsaved={unsaved}, {'kept' if kept else 'not kept'}": (
        graph,
        {**FULL, "stream_resumable": kept, "partial": kept, "stops": STOPS, "input": given, "unsaved": unsaved},
    )
    for graph, given in INPUTS.items()
    for unsaved in ("step", "keep")
    for kept in (True, False)
}
AEGRA = {name: "keeps every run" for name in CASES if name.endswith("not kept")}
KEPT = cases([name for name in CASES if name.endswith(", kept")], aegra={})
NOT_KEPT = cases([name for name in CASES if name.endswith(", not kept")], aegra=AEGRA)


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


def texts(agui_client: AguiClient, guest: ReaderClient, name: str) -> list[str]:
    """The assistant's texts that a guest holds before its run ends. With `unsaved="keep"` the real client, which took
    every event, has the same in the end, and otherwise none of them."""
    answer = played(agui_client, guest)
    assert answer.accepted
    assert guest.end == "success"
    last = [message["content"] for message in answer.messages if message["role"] == "assistant"]
    view = ClientView([], {}, version=protocol(guest.version))
    before: list[str] = []
    for event in guest.events:
        view.apply(event)
        before = [str(each.get("content")) for each in view.messages if each["role"] == "assistant"] or before
    assert last == (before if "unsaved=keep" in name else [])
    return before


@pytest.mark.parametrize("name", cases(CASES, aegra=AEGRA))
def test_nothing_is_ever_shown_cut(visits: dict[str, Any], name: str) -> None:
    assert [guest.cut for guest in made(visits, name).guests if guest.cut] == []


@pytest.mark.parametrize("name", KEPT)
def test_of_a_run_that_is_kept_every_reader_gets_all_texts(
    visits: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    """And was shown at once what had streamed: the run waited for that."""
    for guest in made(visits, name).guests:
        assert texts(agui_client, guest, name) == [FIRST, SECOND]


@pytest.mark.parametrize("name", NOT_KEPT)
def test_of_a_run_that_is_not_kept_a_reader_gets_the_texts_that_began_after_it_joined(
    visits: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    visit = made(visits, name)
    got = {stop: [texts(agui_client, guest, name) for guest in guests] for stop, guests in visit.came.items()}
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
