"""The shape by which recorded and live streams are compared sees what counts, and nothing else."""

from typing import Any

import pytest

from fixtures.recordings import recordings
from fixtures.shapes import shape_of_stream


def _parts(name: str) -> list[Any]:
    return next(recordings("local", fixture=name)).parts


def test_a_shape_does_not_see_ids() -> None:
    first, second = (next(recordings(source, fixture="plain_text")).parts for source in ("local", "platform"))
    assert first[1][2][0]["id"] != second[2].data[0]["id"]
    assert shape_of_stream(first) == shape_of_stream(second[1:])


@pytest.mark.parametrize("place", range(8))
def test_a_shape_sees_a_part_that_is_missing(place: int) -> None:
    parts = _parts("plain_text")
    assert shape_of_stream(parts[:place] + parts[place + 1 :]) != shape_of_stream(parts)


def test_a_shape_sees_a_part_that_comes_a_step_later() -> None:
    values, *rest = _parts("plain_text")
    assert shape_of_stream([rest[0], values, *rest[1:]]) != shape_of_stream([values, *rest])


def test_a_shape_does_not_see_which_of_two_parallel_nodes_came_first() -> None:
    parts = _parts("parallel_nodes")
    assert [part[2][1]["langgraph_node"] for part in parts[1:3]] == ["left", "right"]
    assert shape_of_stream([parts[0], parts[2], parts[1], *parts[3:]]) == shape_of_stream(parts)


def test_a_shape_does_not_see_which_task_of_a_node_returned_first() -> None:
    """The reviewed calls run as tasks of one node, side by side."""
    parts = next(each for each in recordings("local-tasks", fixture="review_approved") if each.turn == 1).parts
    places = [place for place, part in enumerate(parts) if part[-2] == "updates" and "tools" in part[-1]]
    first, *_, last = places
    swapped = list(parts)
    swapped[first], swapped[last] = parts[last], parts[first]
    assert swapped != parts
    assert shape_of_stream(swapped) == shape_of_stream(parts)
    assert shape_of_stream(parts[:first] + parts[first + 1 :]) != shape_of_stream(parts)


def test_a_shape_sees_another_kind_of_id() -> None:
    parts = _parts("plain_text")
    ns, mode, (message, metadata) = parts[1]
    named = (ns, mode, [{**message, "id": "chatcmpl-1"}, metadata])
    assert shape_of_stream([parts[0], named, *parts[2:]]) != shape_of_stream(parts)


def test_a_shape_does_not_see_which_tool_call_ended_first() -> None:
    def part(call_id: str, **data: str) -> Any:
        return ("tools", {"tool_call_id": call_id, **data})

    one, other = (
        [part(call_id, event="started"), part(call_id, event="ended", output="done")]
        for call_id in ("call_a", "call_b")
    )
    in_turns = [one[0], other[0], other[1], one[1]]
    assert shape_of_stream(in_turns) == shape_of_stream([*one, *other])
    assert shape_of_stream(in_turns[:-1]) != shape_of_stream(in_turns)
