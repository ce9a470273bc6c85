"""What is new of a joined run's stream, one thing at a time. Where a guess is all there can be, tests say what is
guessed."""

from collections.abc import Iterable
from typing import Any

import pytest
from langgraph_agui.connect.platform.http import Received
from langgraph_agui.connect.platform.join.replayed import ReplayFilter

START = 1_700_000_000_000


def event(time: int, data: Any, name: str = "messages", ordinal: int = 0) -> Received:
    """An event of `langgraph dev`, at a millisecond."""
    return Received(name, data, f"{START + time}-{ordinal}")


def events(said: str) -> list[Received]:
    """One event for each letter, one millisecond for each word."""
    return [event(time, letter) for time, word in enumerate(said.split()) for letter in word]


def taken(cursor: ReplayFilter, received: Iterable[Received]) -> list[Received]:
    """What of one connection is new."""
    cursor.note_joined()
    return [new for each in received for new in cursor.take(each)]


def taken_after_a_wait(received: Received, began: int, cursor: ReplayFilter | None = None) -> list[Received]:
    """What is new of an event that came twice, 0.3 s after the reader began to wait for it."""
    cursor = ReplayFilter() if cursor is None else cursor
    taken(cursor, events("a"))
    waited = 0.3
    now = (START + began) / 1000 + waited
    return [*cursor.take(received, waited, now), *cursor.take(received)]


def said(received: Iterable[Received]) -> str:
    return "".join(str(each.data) for each in received)


def test_a_first_join_asks_for_everything() -> None:
    assert ReplayFilter().resume_id() == "0-0"


@pytest.mark.parametrize(
    ("newest", "asked"),
    [("1700000000000-0", "1699999999999-999999"), ("1700000000000-7", "1700000000000-6"), ("r_event_8", "r_event_7")],
)
def test_a_later_join_asks_for_the_newest_id_once_more(newest: str, asked: str) -> None:
    cursor = ReplayFilter()
    taken(cursor, [Received("values", {}, newest)])
    assert cursor.resume_id() == asked


def test_a_join_after_an_id_of_unknown_form_asks_for_what_is_after_it() -> None:
    cursor = ReplayFilter()
    taken(cursor, [Received("values", {}, "one"), Received("values", {}, "two")])
    assert cursor.resume_id() == "two"


def test_what_was_received_of_the_newest_id_is_skipped() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("ab cd"))
    assert said(taken(cursor, events("ab cdef g")[2:])) == "efg"


def test_a_block_that_comes_again_is_skipped() -> None:
    assert said(taken(ReplayFilter(), events("ab cd ef") + events("ab cd efg h")[1:])) == "abcdefgh"


def test_a_last_event_that_comes_again_is_skipped() -> None:
    assert said(taken(ReplayFilter(), events("ab") + events("abc d")[1:])) == "abcd"


def test_what_was_received_but_not_kept_is_passed_over() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("axb"))
    assert said(taken(cursor, events("abc"))) == "c"


def test_what_was_received_before_a_connection_was_made_may_come_twice_on_it() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("ab"))
    assert said(taken(cursor, events("ab") + events("abc"))) == "c"


def test_what_was_held_back_when_the_connection_was_lost_is_told_by_the_next_one() -> None:
    cursor = ReplayFilter()
    assert said(taken(cursor, events("aba"))) == "ab"
    assert said(taken(cursor, events("abac") + events("cd"))) == "acd"


def test_what_was_held_back_is_told_when_the_stream_jumps_further_back() -> None:
    cursor = ReplayFilter()
    assert said(taken(cursor, events("a bcb"))) == "abc"
    assert said(cursor.take(event(0, "a"))) == "b"


def test_an_equal_event_in_a_millisecond_is_told_when_the_next_one_does_not_repeat() -> None:
    cursor = ReplayFilter()
    assert said(taken(cursor, events("ab"))) == "ab"
    assert said(cursor.take(event(0, "a"))) == ""
    assert said(cursor.take(event(0, "c"))) == "ac"


def test_an_equal_event_in_a_millisecond_is_told_when_the_millisecond_is_over() -> None:
    assert said(taken(ReplayFilter(), events("aba c"))) == "abac"


def test_events_that_skip_a_part_of_what_they_seem_to_repeat_are_new() -> None:
    assert said(taken(ReplayFilter(), events("abcdabd e"))) == "abcdabde"


def test_after_a_wait_in_which_an_event_was_made_equal_events_in_a_millisecond_are_new() -> None:
    assert said(taken_after_a_wait(event(300, "b"), began=10)) == "bb"


def test_after_a_wait_for_what_was_made_with_the_event_before_the_stream_may_still_jump() -> None:
    assert said(taken_after_a_wait(event(3, "b"), began=0)) == "b"


@pytest.mark.parametrize("began", [51, 299, 5_000])
def test_after_a_wait_for_what_was_kept_before_it_the_stream_may_still_jump(began: int) -> None:
    """The reader's process was busy, or the network: what is read next had been said by then."""
    assert said(taken_after_a_wait(event(300, "b"), began)) == "b"


def test_after_a_wait_older_events_are_not_new() -> None:
    cursor = ReplayFilter()
    taken_after_a_wait(event(300, "b"), began=10, cursor=cursor)
    assert said(new for each in (event(0, "a"), event(300, "b"), event(300, "c")) for new in cursor.take(each)) == "c"


def test_what_could_have_been_a_jump_and_was_none_is_a_gap() -> None:
    cursor = ReplayFilter()
    assert said(taken(cursor, events("a bb c"))) == "abc"  # the second b is taken for a jump
    assert not cursor.gap
    assert cursor.take(event(1, "b")) == []
    assert cursor.gap


def test_a_jump_within_a_millisecond_after_one_that_was_none_is_told_twice() -> None:
    assert said(taken(ReplayFilter(), events("aa bc") + events("aa bcd")[3:])) == "abccd"


def test_of_a_millisecond_a_thousand_events_are_remembered() -> None:
    log, cursor = [event(0, number) for number in range(1_100)], ReplayFilter()
    assert taken(cursor, log) == log
    assert cursor.take(log[1_000]) == [log[1_000]]
    assert taken(cursor, log) == log[1_025:]


def test_of_ids_of_unknown_form_a_thousand_are_remembered() -> None:
    log, cursor = [Received("messages", "same", f"x{number}y") for number in range(1_100)], ReplayFilter()
    assert taken(cursor, log) == log
    assert taken(cursor, log[100:]) == []
    assert taken(cursor, log[:1]) == log[:1]


def test_a_replay_that_begins_with_what_is_known_has_no_gap() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("a b"))
    assert gaps(cursor, events("a bc")[1:]) == [False, False]


def test_a_replay_that_begins_with_something_newer_has_a_gap_in_front_of_it() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("a b"))
    assert gaps(cursor, events("a b cd")[2:]) == [True, False]


def test_a_replay_that_begins_before_what_was_asked_for_has_no_gap() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("a b"))
    assert gaps(cursor, [event(0, "a"), event(2, "c")]) == [False, False]


def test_a_run_that_begins_anew_has_no_gap_in_front_of_it() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("a b"))
    again = [event(9, {"run_id": "r", "attempt": 1}, "metadata"), event(9, {}, "values")]
    assert gaps(cursor, again) == [False, False]


def test_a_second_connection_to_a_run_without_ids_has_a_gap_in_front_of_it() -> None:
    cursor = ReplayFilter()
    unkept = [Received("values", {}, None)]
    assert gaps(cursor, unkept) == [False]
    assert gaps(cursor, unkept * 2) == [True, False]


def test_events_without_an_id_are_new() -> None:
    unkept = [Received("values", {}, None)] * 2
    assert taken(ReplayFilter(), unkept) == unkept


@pytest.mark.parametrize("form", ["1700000000000-{}", "3f-2_event_{}", "{}"])
def test_an_event_whose_id_is_its_own_is_new_once(form: str) -> None:
    log = [Received("messages", "same", form.format(number)) for number in range(1, 12)]
    cursor = ReplayFilter()
    assert [*taken(cursor, log[:5] + log[2:8]), *taken(cursor, log[7:] + log[9:])] == log


def test_an_event_whose_id_is_its_own_is_new_once_however_long_the_wait() -> None:
    cursor = ReplayFilter()
    taken(cursor, events("a"))
    cursor.take(event(300, "b", ordinal=1), waited=0.3, time=(START + 310) / 1000)
    assert cursor.take(event(300, "b", ordinal=1)) == []


def test_events_with_ids_of_unknown_form_are_new_once() -> None:
    log = [Received("messages", "same", form) for form in ("x", "z", "y")]
    cursor = ReplayFilter()
    assert [*taken(cursor, log[:2] * 2), *taken(cursor, log)] == log


@pytest.mark.parametrize("data", ["\ud83d", float("nan"), 2**70, None])
def test_whatever_the_data_is_it_is_new_once(data: Any) -> None:
    log = [event(0, 1), event(0, data), event(0, 2)]
    cursor = ReplayFilter()
    assert len([*taken(cursor, log), *taken(cursor, log)]) == len(log)


def test_data_of_any_depth_is_taken() -> None:
    deep: Any = None
    for _ in range(5_000):
        deep = [deep]
    assert len(taken(ReplayFilter(), [event(0, deep)])) == 1


def gaps(cursor: ReplayFilter, received: Iterable[Received]) -> list[bool]:
    """Whether there is a gap in front of each event of a connection."""
    cursor.note_joined()
    found = []
    for each in received:
        cursor.take(each)
        found.append(cursor.gap)
    return found
