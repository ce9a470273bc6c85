"""What a view answers beside messages and state: what is known, what is open, ids, the run; and that it is a value."""

import inspect
from copy import deepcopy
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, EventType, TextMessageContentEvent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph_agui.translator import ClientView
from langgraph_agui.translator.client import contents

from tests.support.counting import count_calls
from tests.support.random.event_streams import streams
from tests.support.random.event_values import json_values
from tests.support.streams.conversations import conversation, replay, token, values
from tests.translator.client.test_view_equals_client import canonical

Event = dict[str, Any]

RUN: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": "p"}
TEXT: Event = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
CALL: Event = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}
STEP: Event = {"type": "STEP_STARTED", "stepName": "plan", "subagentRunId": "s"}
SUBAGENT: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TYPES = [kind.value for kind in EventType]


def text(delta: str) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}


def seen(*events: Event, messages: list[Event] | None = None, state: Any = None) -> ClientView:
    view = ClientView(messages, state)
    for event in events:
        view.apply(event)
    return view


# --- documentation ----------------------------------------------------------------------------------------------------


def test_every_member_is_explained() -> None:
    members = [name for name in dir(ClientView) if not name.startswith("_")]
    assert [name for name in members if not inspect.getdoc(getattr(ClientView, name))] == []


# --- what is known ----------------------------------------------------------------------------------------------------


def test_nothing_is_known_of_a_client_that_was_not_described() -> None:
    view = ClientView()
    assert (view.knows_messages, view.knows_state) == (False, False)


def test_an_empty_client_is_known() -> None:
    view = ClientView([], {})
    assert (view.knows_messages, view.knows_state) == (True, True)


def test_a_messages_snapshot_makes_messages_known() -> None:
    assert seen(RUN, {"type": "MESSAGES_SNAPSHOT", "messages": []}).knows_messages


def test_streaming_does_not_make_messages_known() -> None:
    assert not seen(RUN, TEXT, text("a")).knows_messages


def test_a_state_snapshot_makes_state_known() -> None:
    assert seen(RUN, {"type": "STATE_SNAPSHOT", "snapshot": None}).knows_state


def test_a_delta_onto_unknown_state_is_passed_over() -> None:
    view = seen(RUN, {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "", "value": {}}]})
    assert (view.knows_state, view.state) == (False, None)


# --- ids --------------------------------------------------------------------------------------------------------------


def test_messages_are_found_by_id() -> None:
    view = seen(RUN, TEXT, text("a"), text("b"), messages=[{"id": "u", "role": "user", "content": "hi"}])
    assert view.has("m")
    assert view.message("m") == {"id": "m", "role": "assistant", "content": "ab"}
    assert view.message("n") is None
    assert view.order == ["u", "m"]


def test_calls_are_found_by_id() -> None:
    view = seen(RUN, TEXT, CALL, {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"})
    assert view.call("c") == {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert (view.message_of_call("c"), view.message_of_call("d"), view.call("d")) == ("m", None, None)


def test_a_call_that_starts_again_has_its_new_name_and_the_metadata_of_all_its_events() -> None:
    """And an event of a call that the client does not have, or without metadata, changes nothing."""
    arguments = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}
    begun = {**CALL, "metadata": {"a": 1, "b": 1}}
    again = {**CALL, "toolCallName": "g", "metadata": {"b": 2}}
    ends = [{"type": "TOOL_CALL_END", "toolCallId": "c", **more} for more in ({"metadata": {"c": 3}}, {})]
    other = {"type": "TOOL_CALL_END", "toolCallId": "d", "metadata": {"a": 0}}
    view = seen(RUN, TEXT, begun, arguments, again, *ends, other)
    assert (
        view.call("c")
        == view.messages[0]["toolCalls"][0]
        == {
            "id": "c",
            "type": "function",
            "function": {"name": "g", "arguments": "{}"},
            "metadata": {"a": 1, "b": 2, "c": 3},
        }
    )


def test_a_call_that_was_read_is_in_its_message_as_it_is() -> None:
    view = seen(RUN, TEXT, CALL)
    for delta in ('{"a', '":', "1}"):
        view.apply({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta})
        call = view.call("c")
        assert view.messages[0]["toolCalls"] == [call]
    assert call is not None
    assert call["function"]["arguments"] == '{"a":1}'


def test_a_result_moves_what_stands_behind_it() -> None:
    later = {"type": "TEXT_MESSAGE_START", "messageId": "n"}
    result = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": ""}
    view = seen(RUN, TEXT, CALL, later, result)
    assert view.order == ["m", "t", "n"]
    view.apply({**result, "messageId": "u"})
    assert view.order == ["m", "t", "u", "n"]


# --- the run ----------------------------------------------------------------------------------------------------------


def test_the_run_is_known_from_its_start() -> None:
    view = seen(RUN)
    assert (view.thread_id, view.run_id, view.parent_run_id, view.live) == ("t", "r", "p", True)


def test_a_finished_run_without_an_outcome_succeeded() -> None:
    view = seen(RUN, FINISHED)
    assert (view.live, view.outcome, view.terminal) == (False, {"type": "success"}, FINISHED)


def test_an_interrupted_run_has_its_interrupts_in_the_outcome_until_the_next_run() -> None:
    outcome = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}
    view = seen(RUN, {**FINISHED, "outcome": outcome})
    assert view.outcome == outcome
    outcomes = []
    for later in (RUN, {"type": "RUN_ERROR", "message": "no"}):
        view.apply(later)
        outcomes.append(view.outcome)
    assert outcomes == [None, None]


# --- what is open -----------------------------------------------------------------------------------------------------


def test_what_is_open_comes_with_what_opened_it() -> None:
    span = {"type": "REASONING_START", "messageId": "q"}
    reasoning = {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"}
    now = seen(RUN, SUBAGENT, STEP, span, reasoning, TEXT, CALL).open
    assert now.run_id == "r"
    assert (dict(now.texts), dict(now.calls)) == ({"m": TEXT}, {"c": CALL})
    assert (dict(now.spans), dict(now.reasonings)) == ({"q": span}, {"q": reasoning})
    assert (dict(now.steps), dict(now.subagents)) == ({("s", "plan"): STEP}, {"s": SUBAGENT})


def test_what_was_open_stays_what_was_open() -> None:
    view = seen(RUN, TEXT)
    before = view.open
    view.apply({"type": "TEXT_MESSAGE_END", "messageId": "m"})
    assert (dict(before.texts), dict(view.open.texts)) == ({"m": TEXT}, {})


def test_a_subagent_that_ended_is_remembered() -> None:
    ended = {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no"}
    now = seen(RUN, SUBAGENT, ended).open
    assert (dict(now.subagents), dict(now.started), dict(now.ended)) == ({}, {"s": SUBAGENT}, {"s": ended})


@pytest.mark.parametrize("end", [FINISHED, {"type": "RUN_ERROR", "message": "no"}])
def test_the_end_of_a_run_closes_all(end: Event) -> None:
    now = seen(RUN, SUBAGENT, STEP, TEXT, CALL, end).open
    assert not any([now.run_id, now.texts, now.calls, now.steps, now.subagents])


# --- a value ----------------------------------------------------------------------------------------------------------


def test_a_copy_goes_its_own_way() -> None:
    view = seen(RUN, TEXT, CALL, text("a"), state={"n": 1}, messages=[])
    twin = view.copy()
    twin.apply(text("b"))
    twin.apply({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"})
    twin.apply({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]})
    twin.apply({"type": "TEXT_MESSAGE_END", "messageId": "m"})
    assert (view.messages[0]["content"], twin.messages[0]["content"]) == ("a", "ab")
    assert (view.call("c") or {})["function"]["arguments"] == ""
    assert (view.state, twin.state) == ({"n": 1}, {"n": 2})
    assert (list(view.open.texts), list(twin.open.texts)) == (["m"], [])


def test_what_was_read_does_not_change() -> None:
    view = seen(RUN, TEXT, CALL, text("a"), state={"n": [1]}, messages=[])
    read = (view.messages, view.state)
    before = deepcopy(read)
    view.apply(text("b"))
    view.apply({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{", "metadata": {"k": 1}})
    view.apply({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n/-", "value": 2}]})
    assert read == before


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(events=streams())
def test_no_event_is_changed(events: list[Event]) -> None:
    before = canonical(events)
    view = ClientView([], {})
    for event in events:
        view.apply(event)
        view.catch_up()
    assert canonical(events) == before


def test_models_are_taken_as_their_wire_form() -> None:
    view = ClientView([AssistantMessage(id="m", content="a")], {})
    view.apply(TextMessageContentEvent(message_id="m", delta="b"))
    assert view.messages == [{"id": "m", "role": "assistant", "content": "ab"}]


def test_fields_that_a_models_type_does_not_declare_are_dropped() -> None:
    message = AssistantMessage.model_validate({"id": "m", "role": "assistant", "content": "a", "x": 1})
    assert ClientView([message], {}).messages == [{"id": "m", "role": "assistant", "content": "a"}]


def test_events_of_a_translator_are_not_checked_again() -> None:
    parts = [values(messages=conversation(50), load={"a": 1}), token(), token(), values(messages=conversation(52))]
    counts = count_calls(replay(parts))
    assert counts.of(contents.ClientContents.apply_emitted) > 5
    assert counts.of(contents._wire) == 0


# --- totality ---------------------------------------------------------------------------------------------------------

FIELDS = ["messageId", "toolCallId", "toolCallName", "parentMessageId", "delta", "content", "role", "metadata",
          "messages", "snapshot", "activityType", "patch", "replace", "subtype", "entityId", "encryptedValue",
          "stepName", "subagentRunId", "name", "threadId", "runId", "outcome", "input", "message"]  # fmt: skip
NAMES = st.sampled_from(["m", "c"])
SHAPES = st.one_of(
    json_values,
    NAMES,
    st.fixed_dictionaries({"type": st.sampled_from(["interrupt", "x"]), "interrupts": json_values}),
    st.lists(st.fixed_dictionaries({"id": NAMES, "role": NAMES}, optional={"toolCalls": json_values})),
    st.fixed_dictionaries({"messages": json_values}),
    st.fixed_dictionaries({"@ag-ui/client": json_values}),
    st.lists(st.fixed_dictionaries({"op": NAMES, "path": json_values})),
)
ODD = st.one_of(
    st.dictionaries(st.sampled_from(["type", *FIELDS]), SHAPES, max_size=8),
    st.builds(lambda kind, fields: {"type": kind, **fields}, st.sampled_from(TYPES),
              st.dictionaries(st.sampled_from(FIELDS), SHAPES, max_size=8)),
)  # fmt: skip


@given(events=st.lists(ODD, max_size=8), version=st.sampled_from(["1.0", None]))
def test_no_event_raises(events: list[Event], version: str | None) -> None:
    view = ClientView([{"id": "m", "role": "assistant"}], {}, version=version)
    view.apply(RUN)
    view.apply(TEXT)
    view.apply(CALL)
    for event in events:
        view.apply(event)
        canonical([view.messages, view.state, view.outcome, view.order, view.catch_up(), view.copy().messages])


@pytest.mark.parametrize("role", ["user", "system", "developer", "tool", "reasoning", "activity"])
@pytest.mark.parametrize("calls", [False, 0, 7, [7], [{}], "ab", [{"id": "c"}]])
def test_tool_calls_are_an_assistants_alone(role: str, calls: Any) -> None:
    message = {"id": "q", "role": role, "content": "hi", "toolCalls": calls}
    view = ClientView([message], {})
    assert (view.messages, view.copy().messages) == ([message], [message])
    assert view.call("c") is None


MALFORMED: list[Any] = [
    {"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "function": None}], "metadata": 1},
    {"id": "n", "role": "assistant", "toolCalls": 7},
    {"id": "o", "role": "assistant", "content": ["x"], "toolCalls": [{}, "c"]},
    {"id": "p", "role": "activity", "content": 3, "metadata": None},
]


def test_a_message_that_no_client_takes_can_be_described_and_changed() -> None:
    view = ClientView(MALFORMED, {})
    for name in "mnop":
        parent = CALL | {"toolCallId": f"c{name}" if name != "m" else "c", "parentMessageId": name}
        more = {"messageId": name, "delta": "x", "metadata": {"k": 1}}
        for event in (parent, {"type": "TEXT_MESSAGE_CONTENT", **more}, {"type": "TEXT_MESSAGE_END", **more}):
            view.apply(event)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert view.message("m") == {**MALFORMED[0], "content": "x", "metadata": {"k": 1}, "toolCalls": [call]}
    assert [view.message_of_call(f"c{name}") for name in "nop"] == ["n", "o", "cp"]
    assert view.copy().messages == view.messages


@pytest.mark.parametrize(
    "message", [{"role": "user"}, {"id": "m"}, {"id": 7, "role": "user"}, {"id": "m", "role": None}]
)
def test_a_message_without_an_id_or_a_role_is_refused(message: Any) -> None:
    with pytest.raises(ValueError, match="expected a message with an id and a role"):
        ClientView([message])


def test_a_message_that_is_the_same_json_can_be_shared_and_grows_as_before() -> None:
    view = ClientView([{"id": "a", "role": "assistant", "content": "Hi"}, {"id": "b", "role": "user", "content": "1"}])
    same, other = {"id": "a", "role": "assistant", "content": "Hi"}, {"id": "b", "role": "user", "content": 1}
    for message in (same, other, {"id": "unknown", "role": "user", "content": ""}):
        view.share(message)
    assert view.message("a") is same
    assert [message["content"] for message in view.messages] == ["Hi", "1"]
    view.apply({"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "!"})
    assert (view.messages[0]["content"], same["content"]) == ("Hi!", "Hi")
