"""What callers give to the public functions, checked when it is given: an error at once, not one in mid-stream."""

from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langgraph.graph import MessagesState, StateGraph
from langgraph_agui.connect import Local, Platform, connect, connect_sse, run, run_sse, watch, watch_sse
from langgraph_sdk import get_client, get_sync_client

from tests.support.streams.pausing_graphs import quick

INPUT = RunAgentInput(thread_id="t", run_id="r", state=None, messages=[], tools=[], context=[], forwarded_props=None)
CLIENT = get_client(url="http://127.0.0.1:1")

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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (StateGraph(MessagesState), "got StateGraph, which is not compiled: call .compile()"),
        (get_sync_client(url="http://127.0.0.1:1"), "got SyncLangGraphClient, which is synchronous: use get_client()"),
        ("http://127.0.0.1:1", "got str"),
    ],
)
@pytest.mark.parametrize("function", [connect, connect_sse, watch, watch_sse, Local, Platform])
def test_what_is_no_source_is_refused_and_named(function: Any, given: Any, expected: str) -> None:
    arguments = () if function in (Local, Platform) else ("t",)
    with pytest.raises(TypeError) as error:
        function(given, *arguments)
    assert expected.partition(",")[0] in str(error.value)
    if function is not (Platform if isinstance(given, StateGraph) else Local):
        assert expected in str(error.value)


@pytest.mark.parametrize("function", [run, run_sse])
def test_an_input_of_another_kind_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="input: expected RunAgentInput or its JSON, got list"):
        function(quick(), [])
    with pytest.raises(ValueError, match="threadId"):
        function(quick(), {})
    with pytest.raises(TypeError, match="intake: expected Intake or None, got dict"):
        function(quick(), INPUT, intake={})
    with pytest.raises(TypeError, match="got str"):
        function("http://127.0.0.1:1", INPUT)


def test_of_two_ids_one_is_watched() -> None:
    for source, ids in (
        (CLIENT, {}),
        (CLIENT, {"thread_id": "t", "assistant_id": "a"}),
        (quick(), {"assistant_id": "a"}),
    ):
        for function in (watch, watch_sse):
            with pytest.raises(TypeError, match="assistant_id"):
                function(source, **ids)  # type: ignore[call-overload]


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (connect_sse, "heartbeat"),
        (run_sse, "heartbeat"),
        (watch_sse, "heartbeat"),
        (watch, "poll"),
        (watch_sse, "poll"),
    ],
)
def test_an_interval_without_a_length_is_refused(function: Any, name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=name):
        function(quick(), INPUT if function is run_sse else "t", **{name: seconds})
