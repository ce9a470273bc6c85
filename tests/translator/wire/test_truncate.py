"""A value that no further event could bring is truncated: its kind stays, and marks count what is gone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph_agui.translator.wire.frame_limit import truncated
from orjson import dumps

LONG = "x" * 3_000
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(0, 9) | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=40), inner, max_size=30),
)


def is_beginning(left: Any, value: Any) -> bool:
    """Whether `left` is `value`, or its beginning and a mark that counts the rest; so for each member."""
    if type(left) is not type(value) or left == value:
        return bool(left == value)
    if isinstance(value, str):
        kept = left.rpartition("... <truncated: ")[0]
        return value.startswith(kept) and left == f"{kept}... <truncated: {len(value) - len(kept)} characters>"
    if isinstance(value, list):
        kept = left if len(left) == len(value) and not _is_mark(left[-1], "elements") else left[:-1]
        mark = [f"<truncated: {len(value) - len(kept)} elements>"] if len(kept) < len(value) else []
        return left == [*kept, *mark] and all(map(is_beginning, kept, value))
    kept = {name: inner for name, inner in left.items() if name != "<truncated>"}
    marks = {"<truncated>": f"{len(value) - len(kept)} keys"} if len(kept) < len(value) else {}
    is_first = list(kept) == list(value)[: len(kept)]
    return is_first and left == {**kept, **marks} and all(is_beginning(kept[name], value[name]) for name in kept)


def _is_mark(left: Any, of_what: str) -> bool:
    return isinstance(left, str) and left.startswith("<truncated: ") and left.endswith(f" {of_what}>")


@given(VALUES, st.integers(300, 2_000))
def test_what_is_left_has_room_and_its_marks_count_the_rest(value: Any, room: int) -> None:
    left = truncated(value, room)
    assert len(dumps(left)) <= room
    assert is_beginning(left, value)
    if len(dumps(value)) <= room:
        assert left is value


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ({"a": 1, "b": LONG, "c": "y" * 200}, {"a": 1, "c": "y" * 200}),
        ({"a": {"b": LONG, "c": 1}, "d": LONG, "e": [2]}, {"e": [2]}),
        ({str(n): n for n in range(400)}, {str(n): n for n in range(80)}),
    ],
)
def test_small_members_and_the_first_ones_stay_whole(value: Any, whole: Any) -> None:
    for of_kind in (dict, lambda members: [*members.values()]):
        left = truncated(of_kind(value), 1_000)
        assert len(dumps(left)) > 750
        assert is_beginning(left, of_kind(value))
        members = left.values() if isinstance(left, dict) else left
        assert all(inner in members for inner in whole.values())
