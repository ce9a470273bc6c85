"""What is new of a joined run's stream, against a model of what servers send: each event once, in order.

The model is `langgraph dev`'s: ids of milliseconds, a join that listens before it sends what was kept.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph_agui.connect.platform.http import Received
from langgraph_agui.connect.platform.join.replayed import ReplayFilter

from tests.connect.platform.join.test_replayed import START, event, taken


@dataclass
class Joining:
    """One connection: how much there was when the server began to listen, and when all that was kept was sent; and how
    much is received before it is lost."""

    listens: int
    sent: int
    length: int


def sent(log: list[Received], kept: set[int], after: str, joining: Joining) -> list[Received]:
    """What a connection gives: what was kept, then all since the server listens. Ids are compared as text."""
    replay = [log[at] for at in range(joining.sent) if at in kept and str(log[at].id) > after]
    return [*replay, *log[joining.listens :]]


@st.composite
def logs(draw: st.DrawFn, letters: str | None = None) -> list[Received]:
    """Events, several in a millisecond. With letters, these repeat themselves; but no block comes twice at once: nobody
    can tell that from a jump."""
    log: list[Received] = []
    time = 0
    for place, pause in enumerate(draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=24))):
        time += pause
        data = place if letters is None else draw(st.sampled_from(letters))
        if letters is not None and stutters([*(each.data for each in log if each.id == f"{START + time}-0"), data]):
            time += 1
        log.append(event(time, data))
    return log


def stutters(data: list[Any]) -> bool:
    return any(data[-size:] == data[-2 * size : -size] for size in range(1, len(data) // 2 + 1))


@st.composite
def joinings(draw: st.DrawFn, log: list[Received]) -> list[Joining]:
    """One connection or several; the last is not lost."""
    lengths = [*draw(st.lists(st.integers(0, 30), max_size=2)), 10**6]
    place = st.integers(0, len(log))
    return [Joining(draw(place), draw(place), length) for length in lengths]


def followed(log: list[Received], connections: list[Joining], kept: set[int] | None = None) -> list[Received]:
    """What a cursor says is new of these connections."""
    cursor, new = ReplayFilter(), list[Received]()
    known = 0
    for joining in connections:
        listens = max(known, joining.listens)
        actual = Joining(listens, max(listens, joining.sent), joining.length)
        part = sent(log, set(range(len(log))) if kept is None else kept, cursor.resume_id(), actual)[: joining.length]
        new += taken(cursor, part)
        known = max([known, *(log.index(each) + 1 for each in part)])
    return new


@given(st.data())
def test_each_event_is_new_once(data: st.DataObject) -> None:
    log = data.draw(logs())
    assert followed(log, data.draw(joinings(log))) == log


@given(st.data())
def test_equal_events_are_new_as_often_as_they_were_sent(data: st.DataObject) -> None:
    log = [*data.draw(logs("abc")), event(100, "the end")]
    joining = data.draw(joinings(log))[-1]
    assert followed(log, [joining]) == log


@given(st.data())
def test_what_is_not_kept_is_new_once_at_most(data: st.DataObject) -> None:
    log = [event(time, time) for time in range(data.draw(st.integers(1, 20)))]
    kept = data.draw(st.sets(st.sampled_from(range(len(log)))))
    new = followed(log, data.draw(joinings(log)), kept)
    assert [each for each in new if each.data in kept] == [log[at] for at in sorted(kept)]
    assert len({each.data for each in new}) == len(new)
