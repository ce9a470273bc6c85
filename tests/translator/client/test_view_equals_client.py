"""The view has what the real client has, after every event, for both client versions."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph_agui.translator.client.chunks import expand
from langgraph_agui.translator.client.open_items import OpenItems
from langgraph_agui.translator.client.view import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.random.event_streams import streams
from tests.support.random.event_values import messages
from tests.support.random.examples import examples

Event = dict[str, Any]

RUN: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
SETTINGS = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))


def canonical(value: Any) -> str:
    """JSON text that is equal only for equal JSON (`true` is not `1`)."""
    return json.dumps(value, sort_keys=True)


def assert_equal(client: AguiClient, version: str, events: list[Event], present: list[Event], state: Any) -> None:
    answer = client.play(events, version=version, messages=present, state=state, trace=True)
    assert answer.error is None
    view = ClientView(deepcopy(present), deepcopy(state), version=protocol(version))
    unchecked = view.copy()
    assert len(answer.trace) == len(events)
    for number, (event, seen) in enumerate(zip(events, answer.trace, strict=True)):
        view.apply(event)
        unchecked.apply_emitted(event)
        where = f"after event {number}: {event}"
        assert canonical(view.messages) == canonical(seen["messages"]), where
        assert canonical(view.state) == canonical(seen["state"]), where
    assert canonical([unchecked.messages, unchecked.state]) == canonical([view.messages, view.state])
    if view.outcome is not None:
        assert canonical(view.outcome.get("interrupts", [])) == canonical(answer.pending_interrupts)


CHUNKS: list[Event] = [
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "b", "role": "user", "name": "she"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "s-m", "delta": "c", "subagentRunId": "s"},
    {"type": "TEXT_MESSAGE_CHUNK", "delta": "d"},
    {"type": "TEXT_MESSAGE_CHUNK", "delta": "e", "subagentRunId": "s"},
    {"type": "TEXT_MESSAGE_CHUNK", "metadata": {"k": 1}},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "user"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m", "delta": "{"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c"},
    {"type": "TOOL_CALL_CHUNK", "delta": "}"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "s-c", "toolCallName": "f", "delta": "[]", "subagentRunId": "s"},
    {"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": "hm"},
    {"type": "REASONING_MESSAGE_CHUNK", "delta": "so"},
    {"type": "CUSTOM", "name": "n", "value": 1},
    {"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": "s"},
    {"type": "RAW", "event": 1},
    {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "content": "x"}]},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "1"},
]


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(chosen=st.lists(st.sampled_from(CHUNKS), max_size=7))
def test_chunks_are_read_as_the_client_reads_them(agui_client: AguiClient, version: str, chosen: list[Event]) -> None:
    events = [RUN, *chosen, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]
    answer = agui_client.play(events, version=version)
    view, opened = ClientView([], {}, version=protocol(version)), dict[str | None, Event]()
    is_refused = [] in [expand(event, opened) for event in events]
    assert is_refused == (answer.error is not None)
    for event in events:
        view.apply(event)
    if not is_refused:
        assert canonical(view.messages) == canonical(answer.messages)
        assert view.open == OpenItems()


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(), present=messages(), state=st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2)))
def test_random_streams(
    agui_client: AguiClient, version: str, events: list[Event], present: list[Event], state: Any
) -> None:
    assert_equal(agui_client, version, events, present, state)


def text(name: str, role: str = "assistant", **more: Any) -> Event:
    return {"id": name, "role": role, "content": "", **more}


def calling(name: str, *calls: str) -> Event:
    made = [{"id": call, "type": "function", "function": {"name": "f", "arguments": ""}} for call in calls]
    return {"id": name, "role": "assistant", "toolCalls": made}


def start(call: str, **more: Any) -> Event:
    return {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "f", **more}


def result(name: str, call: str, **more: Any) -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": name, "toolCallId": call, "content": "", **more}


def snapshot(*contained: Event, **more: Any) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(contained), **more}


def activity(name: str, kind: str = "x", **more: Any) -> Event:
    return {"id": name, "role": "activity", "activityType": kind, "content": {}, **more}


def of_activities(types: Any) -> Event:
    return {"metadata": {"@ag-ui/client": {"authoritativeActivityTypes": types}}}


THOUGHT = {"id": "r", "role": "reasoning", "content": "hm"}
CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
TEXT = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
PARTS = [{"type": "text", "text": "hi"}]
CARD = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "y", "content": {"n": 1}}
PATCH = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "z"}

FALSE: list[Any] = [{"n": 1}, None, 0, "", False, [], {}]

CASES: dict[str, tuple[list[Event], list[Event]]] = {
    "text continues in a message of the history": ([text("m")], [TEXT, CONTENT]),
    "text continues in a user's message": ([text("m", "user")], [TEXT, CONTENT]),
    "text replaces content in parts": ([text("m", "user") | {"content": PARTS}], [TEXT, CONTENT]),
    "text joins a message made by a call": ([], [start("c", parentMessageId="m"), TEXT, CONTENT]),
    "text goes into no activity": ([activity("m")], [TEXT, CONTENT]),
    "an empty delta gives a message content": ([calling("m", "c")], [TEXT, CONTENT | {"delta": ""}]),
    "a call without a parent": ([], [start("c")]),
    "a call under an empty parent id": ([], [start("c", parentMessageId="")]),
    "a call under an unknown parent": ([], [start("c", parentMessageId="m", subagentRunId="s")]),
    "a call under a user's message": ([text("m", "user")], [start("c", parentMessageId="m")]),
    "a call of the id of a message": ([text("c")], [start("c", subagentRunId="s")]),
    "a call of the history continues": ([calling("m", "c")], [start("c", metadata={"k": 1})]),
    "a call of the history under another name": ([calling("m", "c")], [start("c") | {"toolCallName": "g"}]),
    "a result behind its call and its siblings": (
        [calling("m", "c", "d"), text("n")],
        [result("t", "d"), result("u", "c"), result("v", "none")],
    ),
    "a result twice": ([calling("m", "c")], [result("t", "c"), result("t", "c")]),
    "a result of a message's id, before it": ([calling("m", "c"), text("n")], [result("n", "c")]),
    "a result in parts": ([calling("m", "c")], [result("t", "c", metadata={"status": "error"})]),
    "a snapshot keeps the client's order": (
        [text("a"), text("b")],
        [snapshot(text("c"), text("b"), text("a"))],
    ),
    "an empty snapshot, then the full one": (
        [text("a"), text("b")],
        [snapshot(), snapshot(text("b"), text("a"))],
    ),
    "a snapshot in the middle of a message": ([], [TEXT, CONTENT, snapshot(text("m", content="yz")), CONTENT]),
    "a snapshot that drops an open message": ([], [TEXT, CONTENT, snapshot(), CONTENT]),
    "a snapshot without activities": ([activity("a"), text("b")], [snapshot()]),
    "a snapshot with an activity": ([activity("a"), activity("b")], [snapshot(activity("b"))]),
    "a snapshot that has all activities": ([activity("a")], [snapshot(**of_activities(None))]),
    "a snapshot that has those of a type": ([activity("a"), activity("b", "y")], [snapshot(**of_activities(["y"]))]),
    "a snapshot that has none": ([activity("a")], [snapshot(activity("b"), **of_activities([]))]),
    "a snapshot that says it oddly": ([activity("a")], [snapshot(activity("b"), **of_activities("y"))]),
    "a snapshot without reasoning": ([THOUGHT, text("b")], [snapshot()]),
    "a snapshot with reasoning": ([THOUGHT], [snapshot({**THOUGHT, "id": "q"})]),
    "a snapshot with a preserved id in another role": (
        [THOUGHT, activity("a")],
        [snapshot(text("r"), text("a"))],
    ),
    "text after a snapshot with an id twice": (
        [],
        [snapshot(text("m"), text("m"), text("n")), snapshot(text("m"), text("n")), TEXT, CONTENT | {"metadata": {}}],
    ),
    "a snapshot with an id twice": (
        [],
        [snapshot(text("a"), text("a")), snapshot(text("a", content="x"))],
    ),
    "an activity replaced": (
        [activity("a", metadata={"k": 1}, subagentRunId="s")],
        [CARD | {"metadata": {"l": 2}}],
    ),
    "an activity not replaced": ([activity("a")], [CARD | {"replace": False, "metadata": {"l": 2}}]),
    "an activity in a message's place": ([calling("a", "c")], [CARD, start("c")]),
    "an activity kept from a message's place": (
        [text("a")],
        [CARD | {"replace": False, "metadata": {"l": 2}}],
    ),
    "an activity patched": ([], [CARD, PATCH | {"patch": [{"op": "add", "path": "/m", "value": 2}]}]),
    "an activity badly patched": (
        [],
        [CARD, PATCH | {"patch": [{"op": "remove", "path": "/m"}], "metadata": {"k": 1}}],
    ),
    "an unknown activity patched": ([], [PATCH | {"patch": []}]),
    "reasoning into an activity": (
        [activity("r")],
        [
            {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning", "metadata": {"k": 1}},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "x"},
            {"type": "REASONING_MESSAGE_END", "messageId": "r"},
        ],
    ),
    "an encrypted value of a call": (
        [calling("m", "c")],
        [{"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c", "encryptedValue": "v"}],
    ),
    "an encrypted value of an activity": (
        [activity("a")],
        [{"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "a", "encryptedValue": "v"}],
    ),
    "metadata of a call's events": (
        [],
        [
            start("c", metadata={"a": {"x": 1}}),
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{", "metadata": {"a": {"y": 1}}},
            {"type": "TOOL_CALL_END", "toolCallId": "c", "metadata": {"b": None}},
        ],
    ),
    "states that count as false": (
        [],
        [
            *({"type": "STATE_SNAPSHOT", "snapshot": value} for value in FALSE),
            {"type": "STATE_SNAPSHOT", "snapshot": 0},
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "", "value": {"n": 2}}]},
        ],
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("present", "events"), CASES.values(), ids=CASES)
def test_named_cases(agui_client: AguiClient, version: str, present: list[Event], events: list[Event]) -> None:
    assert_equal(agui_client, version, [RUN, *events, {"type": "RUN_ERROR", "message": "enough"}], present, {})
