"""A reader that joins a translated recording at any cut, or falls behind there, ends with what the whole stream leaves.

`ClientView` stands for the client at every cut (that it is the client is proven elsewhere), the real clients are asked
at three. Cuts after a part without events are the cut before. Each thread is read by one version of the client, in
turn. Which cuts are looked at, and which versions: see `tests/support/sweeps.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer
from tests.support.streams.translated import BOUNDED, translated
from tests.support.streams.translator_runs import Event, TranslatorRun, view_for
from tests.support.sweeps import CHOSEN, Choice, one_each

pytestmark = pytest.mark.early

TURNS = {name: turns for name, turns in BOUNDED.items() if turns[0].source in ("local", "platform")}


@dataclass
class Cut:
    """A stream cut in two: the events before, what the client of those has, and the events after."""

    before: list[Event]
    view: ClientView
    after: list[Event]


@dataclass
class Run:
    """One turn for a client that has what it should, with all its cuts."""

    name: str
    begun: ClientView
    events: list[Event]
    cuts: list[Cut]
    end: ClientView
    chosen: Sequence[tuple[int, Cut]]
    """The cuts that are looked at, with their places."""


def runs(thread: str, version: str, chosen: Choice, *, known: bool = True) -> Iterator[Run]:
    """The turns of a thread, one after the other, for one client, whose view is known or not."""
    for turn in translated(thread, version, known=known):
        telling, name = turn.telling, turn.recording.name
        found = list(cuts(telling, turn.views[:-1]))
        looked_at = chosen(list(enumerate(found)), f"{name} {version}")
        yield Run(name, turn.begun, telling.events, found, telling.view, looked_at)


def cuts(telling: TranslatorRun, views: list[ClientView]) -> Iterator[Cut]:
    """The cuts after each call that emitted something."""
    before: list[Event] = []
    events = telling.events
    for feed, view in zip(telling.feeds, views, strict=False):
        before = [*before, *feed]
        if feed:
            yield Cut(before, view, events[len(before) :])


def view_after(begun: ClientView, *streams: list[Event]) -> ClientView:
    """What a client that began with this has after these streams."""
    view = begun.copy()
    for events in streams:
        for event in events:
            view.apply(event)
    return view


def anew(view: ClientView, *, version: str) -> ClientView:
    """A client with these contents that opens a new stream."""
    return view_for(version, view.messages, view.state)


def contents(client: ClientView | Answer) -> dict[str, Any]:
    """What a client has, its order apart."""
    messages = {message["id"]: message for message in client.messages}
    return {"messages": messages, "several": len(client.messages) != len(messages), "state": client.state}


def earlier(cuts: list[Cut], at: int) -> list[Cut]:
    """Cuts before the one at `at`: the first, the one half way, the last."""
    return [cuts[number] for number in sorted({0, at // 2, at - 1}) if 0 <= number < at]


EVERY = pytest.mark.parametrize(("thread", "version"), one_each(TURNS, VERSIONS))


def an_empty_client_that_joins_at_any_cut(run: Run, version: str) -> None:
    for number, cut in run.chosen:
        joined = view_after(view_for(version, [], {}), cut.view.catch_up(), cut.after)
        assert (run.name, number, joined.messages) == (run.name, number, run.end.messages)
        assert (run.name, number, joined.state) == (run.name, number, run.end.state)


def an_up_to_date_client_that_joins_at_any_cut(run: Run, version: str) -> None:
    for number, cut in run.chosen:
        joined = view_after(anew(cut.view, version=version), cut.view.catch_up(), cut.after)
        assert (run.name, number, joined.messages) == (run.name, number, run.end.messages)
        assert (run.name, number, joined.state) == (run.name, number, run.end.state)


def a_stale_client_that_joins_at_any_later_cut(run: Run, version: str) -> None:
    for number, cut in run.chosen:
        for known in earlier(run.cuts, number):
            joined = view_after(anew(known.view, version=version), cut.view.catch_up(), cut.after)
            assert (run.name, number, contents(joined)) == (run.name, number, contents(run.end))


def a_reader_whose_backlog_is_dropped_before_any_cut(run: Run, version: str) -> None:
    for number, cut in run.chosen:
        for read in earlier(run.cuts, number):
            joined = view_after(read.view, cut.view.catch_up(read.view.open), cut.after)
            assert (run.name, number, contents(joined)) == (run.name, number, contents(run.end))
            assert not joined.live


def an_empty_client_that_joins_a_run_of_an_unknown_reader(run: Run, version: str) -> None:
    is_complete = run.end.outcome is not None and run.end.knows_messages and run.end.knows_state
    for number, cut in run.chosen if is_complete else ():
        joined = view_after(view_for(version, [], {}), cut.view.catch_up(), cut.after)
        assert (run.name, number, contents(joined)) == (run.name, number, contents(anew(run.end, version=version)))


def streams(run: Run, version: str, at: int) -> Iterator[tuple[str, list[Event], ClientView]]:
    """What the real clients get at a cut: how, the whole stream, and what the client has before it."""
    cut = run.cuts[at]
    yield "empty", [*cut.view.catch_up(), *cut.after], view_for(version, [], {})
    read = run.cuts[at // 2]
    yield "stale", [*cut.view.catch_up(), *cut.after], anew(read.view, version=version)
    yield "behind", [*read.before, *cut.view.catch_up(read.view.open), *cut.after], run.begun


def the_real_client_joins_as_its_view_does(run: Run, version: str, client: AguiClient) -> None:
    for at in sorted({len(run.cuts) // 4, len(run.cuts) // 2, len(run.cuts) * 3 // 4}):
        for how, events, begun in streams(run, version, at):
            answer = client.play(events, version=version, messages=begun.messages, state=begun.state, mode="connect")
            where = (run.name, at, how)
            assert (where, answer.error, answer.warnings) == (where, None, [])
            assert (where, contents(answer)) == (where, contents(run.end))


@CHOSEN
@EVERY
def test_clients_that_join_at_any_cut(thread: str, version: str, chosen: Choice, agui_client: AguiClient) -> None:
    for run in runs(thread, version, chosen):
        an_empty_client_that_joins_at_any_cut(run, version)
        an_up_to_date_client_that_joins_at_any_cut(run, version)
        a_stale_client_that_joins_at_any_later_cut(run, version)
        a_reader_whose_backlog_is_dropped_before_any_cut(run, version)
        the_real_client_joins_as_its_view_does(run, version, agui_client)
    for run in runs(thread, version, chosen, known=False):
        an_empty_client_that_joins_a_run_of_an_unknown_reader(run, version)
