"""What nodes write to the stream: activities pass as themselves where the client can take them, the rest is CUSTOM."""

from typing import Any, TypedDict

import pytest
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph_agui.translator import STREAM_MODES, ClientView
from langgraph_agui.translator.run.custom import custom_event

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

_SNAPSHOT = {"type": "ACTIVITY_SNAPSHOT", "messageId": "plan", "activityType": "PLAN", "content": {"steps": [1]}}
_PATCH = [{"op": "add", "path": "/steps/-", "value": 2}]
_DELTA = {"type": "ACTIVITY_DELTA", "messageId": "plan", "activityType": "PLAN", "patch": _PATCH}
_USER = {"type": "human", "id": "user-1", "content": "hi"}


def _written(*payloads: Any) -> list[Event]:
    run = TranslatorRun(view=ClientView([], {}))
    run.feed(("values", {"messages": [_USER]}))
    return [event for payload in payloads for event in run.feed(("custom", payload)) if "MESSAGES" not in event["type"]]


def test_a_name_and_a_value_are_a_custom_event() -> None:
    assert _written({"name": "progress", "value": {"percent": 10}})[-1] == {
        "type": "CUSTOM",
        "name": "progress",
        "value": {"percent": 10},
    }


def test_a_custom_event_passes_as_itself() -> None:
    assert _written({"type": "CUSTOM", "name": "mine", "value": None})[-1] == {
        "type": "CUSTOM",
        "name": "mine",
        "value": None,
    }


ANYTHING: list[Any] = [
    "a text",
    17,
    None,
    [1],
    {"no": "name"},
    {"name": 5, "value": 1},
    {"name": "n", "value": 1, "x": 2},
]


@pytest.mark.parametrize("payload", ANYTHING, ids=repr)
def test_any_other_payload_is_the_value_of_a_custom_event(payload: Any) -> None:
    assert _written(payload)[-1] == {"type": "CUSTOM", "name": "custom", "value": payload}


@pytest.mark.parametrize(
    "kind",
    [
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_START",
        "RUN_FINISHED",
        "RUN_ERROR",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RAW",
    ],
)
def test_every_other_agui_event_is_custom(kind: str) -> None:
    payload = {"type": kind, "messageId": "m", "delta": "x", "toolCallId": "c", "snapshot": {}, "messages": []}
    assert _written(payload)[-1] == {"type": "CUSTOM", "name": "custom", "value": payload}


def test_an_activity_passes_as_itself() -> None:
    assert _written(_SNAPSHOT)[-1] == _SNAPSHOT


def test_a_delta_of_an_activity_passes_as_itself() -> None:
    assert _written(_SNAPSHOT, _DELTA)[-1] == _DELTA


def test_an_activity_that_is_not_to_replace_another_passes_as_itself() -> None:
    assert _written(_SNAPSHOT, {**_SNAPSHOT, "replace": False})[-1]["replace"] is False


INVALID: dict[str, Any] = {
    "no content": {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "X"},
    "content that is no object": {**_SNAPSHOT, "content": [1]},
    "no type": {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "content": {}},
    "an id that is no text": {**_SNAPSHOT, "messageId": 5},
    "the id of a message": {**_SNAPSHOT, "messageId": "user-1"},
    "a patch that is no list": {**_DELTA, "patch": {}},
    "a patch of an unknown operation": {**_DELTA, "patch": [{"op": "append", "path": "/steps", "value": 1}]},
}


@pytest.mark.parametrize("what", INVALID)
def test_an_invalid_activity_is_custom(what: str) -> None:
    assert _written(INVALID[what])[-1] == {"type": "CUSTOM", "name": "custom", "value": INVALID[what]}


INAPPLICABLE: dict[str, Any] = {
    "is unknown": {**_DELTA, "messageId": "never"},
    "is unknown, and would be made": {
        **_DELTA,
        "messageId": "never",
        "patch": [{"op": "add", "path": "", "value": {}}],
    },
    "has content too": {**_DELTA, "content": {}, "patch": [{"op": "remove", "path": "/nothing"}]},
    "has no such path": {**_DELTA, "patch": [{"op": "replace", "path": "/nothing/here", "value": 1}]},
    "fails its test": {**_DELTA, "patch": [{"op": "test", "path": "/steps/0", "value": 9}]},
    "makes it no object": {**_DELTA, "patch": [{"op": "replace", "path": "", "value": 1}]},
    "goes through proto": {**_DELTA, "patch": [{"op": "add", "path": "/__proto__/x", "value": 1}]},
}


@pytest.mark.parametrize("what", INAPPLICABLE)
def test_a_delta_that_the_client_cannot_apply_is_custom(what: str) -> None:
    assert _written(_SNAPSHOT, INAPPLICABLE[what])[-1]["type"] == "CUSTOM"


def test_a_payload_is_emitted_as_it_was_when_it_was_written() -> None:
    payload = {"name": "growing", "value": [1]}
    (event,) = TranslatorRun(view=ClientView([], {})).feed(("custom", payload))[-1:] or [{}]
    payload["value"].append(2)  # type: ignore[attr-defined]
    assert event["value"] == [1]


async def test_an_activity_of_a_graph_stays_with_the_client(agui_client: AguiClient) -> None:
    (run,) = await run_fixture("activity_events")
    answer = agui_client.play(run.events, messages=[{"id": "user-1", "role": "user", "content": "hi"}])
    assert answer.accepted
    assert [message["content"] for message in answer.messages if message["role"] == "activity"] == [
        {"steps": [{"title": "look", "done": True}]}
    ]


async def test_custom_events_of_a_graph_come_where_they_were_written() -> None:
    (run,) = await run_fixture("custom_events")
    kinds = [event["type"] for event in run.events if event["type"] in ("CUSTOM", "TEXT_MESSAGE_START")]
    assert kinds == ["CUSTOM", "TEXT_MESSAGE_START", "CUSTOM"]


def test_what_a_subgraph_writes_is_emitted_too() -> None:
    run = run_parts([(("child:1",), "custom", {"name": "deep", "value": 1})])
    assert run.feeds[1][-1] == {"type": "CUSTOM", "name": "deep", "value": 1}


class Working(TypedDict, total=False):
    progress: float
    answer: str


@pytest.mark.parametrize("returned", [{"progress": 1.0}, {"answer": "done"}], ids=["the channel", "another channel"])
async def test_a_node_writes_state_while_it_runs(returned: Working) -> None:
    def work(state: Working) -> Working:
        write = get_stream_writer()
        for progress in (0.25, 0.5):
            write({"name": "agui_state", "value": {"progress": progress}})
        return returned

    def rest(state: Working) -> Working:
        return {}

    graph = StateGraph(Working).add_sequence([work, rest]).add_edge(START, "work").compile()
    run = TranslatorRun(view=ClientView([], {}))
    seen = []
    async for part in graph.astream({"progress": 0.0}, stream_mode=STREAM_MODES):
        run.feed(part)
        seen.append(run.view.state.get("progress"))
    run.finish()
    seen.append(run.view.state["progress"])
    true = returned.get("progress", 0.0)
    assert list(dict.fromkeys(seen)) == [0.0, 0.25, 0.5, *([true] if true else [])]
    assert seen[-1] == true
    assert "CUSTOM" not in {event["type"] for event in run.events}


NO_STATE: list[Any] = [
    {"name": "agui_state", "value": 1},
    {"name": "agui_state", "value": {"x": 1}, "more": 1},
    {"name": "state", "value": {"x": 1}},
    {"agui_state": {"x": 1}},
]


@pytest.mark.parametrize("payload", NO_STATE, ids=str)
def test_what_is_no_state_is_a_custom_event(payload: Any) -> None:
    assert [event["type"] for event in _written(payload)] == ["CUSTOM"]


ACTIVITY = {"id": "a", "role": "activity", "activityType": "T", "content": {"x": 1}}
SNAPSHOT = {"type": "ACTIVITY_SNAPSHOT", "messageId": "new", "activityType": "T", "content": {}}
DELTA = {
    "type": "ACTIVITY_DELTA",
    "messageId": "a",
    "activityType": "T",
    "patch": [{"op": "add", "path": "/y", "value": 1}],
}
CUSTOMS: list[tuple[Any, Any]] = [
    ({"name": "n", "value": 1}, ("n", 1)),
    ({"name": "n", "value": 1, "more": 2}, None),
    ({"type": "CUSTOM", "name": "n", "value": 1, "more": 2}, ("n", 1)),
    ({"type": "CUSTOM", "name": 7, "value": 1}, None),
    ({"type": "CUSTOM", "name": "n"}, None),
    ({"type": ["CUSTOM"], "name": "n", "value": 1}, None),
    (SNAPSHOT, SNAPSHOT),
    ({**SNAPSHOT, "own": 1, "replace": None}, SNAPSHOT),
    ({**SNAPSHOT, "messageId": "a"}, {**SNAPSHOT, "messageId": "a"}),
    ({**SNAPSHOT, "messageId": "u"}, None),
    ({**SNAPSHOT, "content": 7}, None),
    ({**SNAPSHOT, "messageId": 7}, None),
    (DELTA, DELTA),
    ({**DELTA, "messageId": "new"}, None),
    ({**DELTA, "patch": [{"op": "replace", "path": "", "value": 1}]}, None),
    ({**DELTA, "patch": [{"op": "remove", "path": "/z"}]}, None),
    ({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}, None),
]


@pytest.mark.parametrize(("payload", "got"), CUSTOMS)
def test_a_payload_of_a_node_is_itself_only_if_it_is_valid(payload: Any, got: Any) -> None:
    event = custom_event(payload, ClientView([{"id": "u", "role": "user", "content": "hi"}, ACTIVITY], {}), None)
    name, value = got if isinstance(got, tuple) else ("custom", payload)
    assert event == (got if isinstance(got, dict) else {"type": "CUSTOM", "name": name, "value": value})
