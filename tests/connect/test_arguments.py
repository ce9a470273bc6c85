"""What callers give to the public functions, checked when it is given: an error at once, not one in mid-stream."""

from typing import Any

import pytest
from langgraph_agui.connect import connect, connect_sse, watch, watch_sse

from tests.paced import quick

WRONG: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"options": {"protocol_version": "1.0"}}, TypeError),
    ({"view": {"messages": []}}, TypeError),
    ({"retry": 5}, TypeError),
    ({"past_errors": "Custom"}, ValueError),
]


@pytest.mark.parametrize(("given", "error"), WRONG)
@pytest.mark.parametrize("function", [connect, connect_sse, watch, watch_sse])
def test_what_is_of_another_kind_is_refused_and_named(function: Any, given: dict[str, Any], error: Any) -> None:
    with pytest.raises(error, match=next(iter(given))):
        function(quick(), "t", **given)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
@pytest.mark.parametrize(
    ("function", "name"), [(connect_sse, "heartbeat"), (watch_sse, "heartbeat"), (watch, "poll"), (watch_sse, "poll")]
)
def test_an_interval_without_a_length_is_refused(function: Any, name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=name):
        function(quick(), "t", **{name: seconds})
