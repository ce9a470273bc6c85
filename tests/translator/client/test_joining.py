"""A reader that joins a translated recording at any cut, or falls behind there, ends with what the whole stream leaves.

`ClientView` stands for the client at every cut (that it is the client is proven elsewhere), the real clients are asked
at one, and in a sweep at three. Cuts after a part without events are the cut before. Of every third fixture one thread
is read, by one version of the client. Which cuts are looked at, and which versions: see `tests/support/sweeps.py`.
"""

from collections.abc import Iterator

import pytest
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.joining import READS, Run, anew, contents, earlier, runs, view_after
from tests.support.streams.translator_runs import Event, view_for
from tests.support.sweeps import CHOSEN, Choice, in_turn

pytestmark = pytest.mark.early


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
    for at in run.asked:
        for how, events, begun in streams(run, version, at):
            answer = client.play(events, version=version, messages=begun.messages, state=begun.state, mode="connect")
            where = (run.name, at, how)
            assert (where, answer.error, answer.warnings) == (where, None, [])
            assert (where, contents(answer)) == (where, contents(run.end))


@CHOSEN
@pytest.mark.parametrize(("fixture", "read"), in_turn(READS, of=3))
def test_clients_that_join_at_any_cut(fixture: str, read: str, chosen: Choice, agui_client: AguiClient) -> None:
    version = read.rpartition("-")[2]
    for run in runs(fixture, read, chosen):
        an_empty_client_that_joins_at_any_cut(run, version)
        an_up_to_date_client_that_joins_at_any_cut(run, version)
        a_stale_client_that_joins_at_any_later_cut(run, version)
        a_reader_whose_backlog_is_dropped_before_any_cut(run, version)
        the_real_client_joins_as_its_view_does(run, version, agui_client)
    for run in runs(fixture, read, chosen, known=False):
        an_empty_client_that_joins_a_run_of_an_unknown_reader(run, version)
