"""What brings a late joiner or a slow reader up to date, named cases. Random streams are joined at every event in
`test_catch_up_of_a_fresh_client_at_every_cut`."""

from typing import Any

import pytest
from langgraph_agui.translator.client.open_items import OpenItems
from langgraph_agui.translator.client.view import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol

Event = dict[str, Any]

RUN: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TEXT: Event = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
MORE: Event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "ab"}
TEXT_END: Event = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
CALL: Event = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}
ARGS: Event = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"}
PARENT: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "p", "name": "a"}
CHILD: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "b", "parentSubagentRunId": "p"}
PARENT_END: Event = {"type": "SUBAGENT_FINISHED", "subagentRunId": "p"}
CHILD_END: Event = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}


def seen(*events: Event, messages: Any = (), state: Any = "{}", version: str | None = "1.0") -> ClientView:
    view = ClientView(messages, {} if state == "{}" else state, version=version)
    for event in events:
        view.apply(event)
    return view


def types(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]


def only(events: list[Event], kind: str) -> Event:
    (event,) = [event for event in events if event["type"] == kind]
    return event


# --- a reader of whom nothing is known --------------------------------------------------------------------------------


def test_a_view_without_a_run_emits_nothing() -> None:
    assert seen().catch_up() == []


def test_snapshots_come_before_what_is_opened_again() -> None:
    events = seen(RUN, TEXT, MORE, CALL, ARGS).catch_up()
    assert types(events) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START",
                             "TOOL_CALL_START"]  # fmt: skip


def test_the_snapshot_has_what_is_half_streamed() -> None:
    snapshot = only(seen(RUN, TEXT, MORE, CALL, ARGS).catch_up(), "MESSAGES_SNAPSHOT")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
    assert snapshot["messages"] == [{"id": "m", "role": "assistant", "content": "ab", "toolCalls": [call]}]


def test_the_start_names_the_live_run() -> None:
    start = seen({**RUN, "parentRunId": "p", "input": {"threadId": "t", "runId": "r", "messages": []}}).catch_up()[0]
    assert start == {**RUN, "protocolVersion": "1.0", "parentRunId": "p"}


def test_an_older_client_gets_no_version() -> None:
    assert seen(RUN, version=None).catch_up()[0] == RUN


def test_an_ended_run_ends_as_it_did() -> None:
    interrupted = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}}
    events = seen(RUN, TEXT, TEXT_END, interrupted).catch_up()
    assert types(events) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert events[-1] == interrupted


def test_the_subagents_of_an_ended_run_are_not_repeated() -> None:
    assert "SUBAGENT_STARTED" not in types(seen(RUN, PARENT, PARENT_END, FINISHED).catch_up())


def test_of_unknown_messages_those_that_streamed_are_emitted_without_a_snapshot() -> None:
    closed = [{**event, "messageId": "n"} for event in (TEXT, MORE, TEXT_END)]
    events = seen(RUN, *closed, TEXT, MORE, MORE, messages=None).catch_up()
    assert events[1:-1] == [*closed, TEXT, {**MORE, "delta": "abab"}]
    assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "STATE_SNAPSHOT")


def test_of_unknown_messages_a_reader_gets_what_it_misses() -> None:
    present = seen(RUN, TEXT, MORE, messages=None)
    assert seen(RUN, TEXT, MORE, {**MORE, "delta": "cd"}, messages=None).catch_up(present) == [{**MORE, "delta": "cd"}]


def test_of_unknown_messages_a_reader_in_the_run_gets_what_began_since_from_its_beginning() -> None:
    """What it has open, or had, is not emitted again: it may have any part of it."""
    begun = [{**event, "messageId": "n"} for event in (TEXT, MORE)]
    view = seen(RUN, TEXT, MORE, TEXT_END, CALL, ARGS, *begun, messages=None)
    assert view.catch_up(seen(RUN, TEXT).open) == [CALL, ARGS, *begun, TEXT_END, view.catch_up()[-1]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_of_unknown_messages_those_with_an_encrypted_value_are_emitted_with_it(
    agui_client: AguiClient, version: str, role: str
) -> None:
    value = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v"}
    begun = [RUN, {**TEXT, "role": role}, MORE, value]
    view = seen(*begun, messages=None, version=protocol(version))
    answer = agui_client.play([*view.catch_up(), TEXT_END, FINISHED], version=version)
    assert answer.accepted
    assert answer.messages == [{"id": "m", "role": role, "content": "ab", "encryptedValue": "v"}]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("content", ["a", "abab and more"])
def test_of_unknown_messages_those_of_a_known_reader_stay_and_get_what_they_miss(
    agui_client: AguiClient, version: str, content: str
) -> None:
    asked = {"id": "u", "role": "user", "content": "hi"}
    present = ClientView([asked, {"id": "m", "role": "assistant", "content": content}], {}, version=protocol(version))
    view = seen(RUN, TEXT, MORE, messages=None, version=protocol(version))
    stream = [*view.catch_up(present), MORE, TEXT_END, FINISHED]
    answer = agui_client.play(stream, version=version, mode="connect", messages=present.messages)
    assert answer.accepted
    assert answer.messages == [asked, {"id": "m", "role": "assistant", "content": "abab"}]


def test_unknown_state_is_not_emitted() -> None:
    assert types(seen(RUN, state=None).catch_up()) == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]


def test_a_repeated_start_leaves_newer_metadata_alone() -> None:
    marked = {**TEXT, "metadata": {"k": 1}, "name": "n", "rawEvent": {}}
    events = seen(RUN, marked, {**MORE, "metadata": {"k": 2}}).catch_up()
    assert only(events, "TEXT_MESSAGE_START") == {**TEXT, "name": "n"}
    assert only(events, "MESSAGES_SNAPSHOT")["messages"][0]["metadata"] == {"k": 2}


def test_a_call_is_opened_under_the_name_and_message_it_has_now() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "g", "arguments": ""}}
    renamed = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "n", "role": "assistant", "toolCalls": [call]}]}
    start = only(seen(RUN, TEXT, CALL, renamed).catch_up(), "TOOL_CALL_START")
    assert (start["toolCallName"], start["parentMessageId"]) == ("g", "n")


def test_what_a_snapshot_dropped_is_opened_before_the_snapshot() -> None:
    events = seen(RUN, TEXT, MORE, CALL, {"type": "MESSAGES_SNAPSHOT", "messages": []}).catch_up()
    assert types(events)[1:] == ["TEXT_MESSAGE_START", "TOOL_CALL_START", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_snapshot_dropped_stays_dropped(agui_client: AguiClient, version: str) -> None:
    tail = [MORE, TEXT_END, {"type": "TOOL_CALL_END", "toolCallId": "c"}, FINISHED]
    dropped = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "hi"}]}
    view = seen(RUN, TEXT, MORE, CALL, dropped, version=protocol(version))
    answer = agui_client.play([*view.catch_up(), *tail], version=version)
    assert answer.error is None
    assert answer.messages == dropped["messages"]


@pytest.mark.parametrize("version", VERSIONS)
def test_subagents_are_repeated_parents_first_and_ended_ones_too(agui_client: AguiClient, version: str) -> None:
    view = seen(RUN, PARENT, CHILD, PARENT_END, version=protocol(version))
    grandchild = {"type": "SUBAGENT_STARTED", "subagentRunId": "g", "name": "c", "parentSubagentRunId": "p"}
    tail = [grandchild, {"type": "SUBAGENT_FINISHED", "subagentRunId": "g"}, CHILD_END, FINISHED]
    assert agui_client.play([*view.catch_up(), *tail], version=version).accepted


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_of_the_history_belongs_to_who_has_it_open(agui_client: AguiClient, version: str) -> None:
    tagged = [{**event, "subagentRunId": "s"} for event in (TEXT, MORE, TEXT_END)]
    present = [{"id": "m", "role": "assistant", "content": "-"}]
    view = seen(RUN, *tagged[:2], messages=present, version=protocol(version))
    answer = agui_client.play([*view.catch_up(), *tagged[1:], FINISHED], version=version)
    assert (answer.error, answer.messages[0]["content"]) == (None, "-abab")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_activity_that_no_snapshot_can_have_is_left_out(agui_client: AguiClient, version: str) -> None:
    activity = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}}
    broken = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x",
              "patch": [{"op": "replace", "path": "", "value": 1}]}  # fmt: skip
    view = seen(RUN, activity, broken, version=protocol(version))
    assert agui_client.play([*view.catch_up(), FINISHED], version=version).accepted


def test_an_older_client_that_shows_the_state_before_null_gets_both(agui_client: AguiClient) -> None:
    view = seen(RUN, {"type": "STATE_SNAPSHOT", "snapshot": None}, state={"n": 1}, version=None)
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}
    answer = agui_client.play([*view.catch_up(), delta, FINISHED], version="0.0.59")
    assert (answer.state, len(answer.warnings)) == ({"n": 1}, 1)


# --- activities that only the client knows ----------------------------------------------------------------------------


def activity(name: str) -> Event:
    return {"id": name, "role": "activity", "activityType": "x", "content": {}}


def test_a_snapshot_drops_no_activities_the_view_knows_nothing_of(agui_client: AguiClient) -> None:
    snapshot = {"type": "ACTIVITY_SNAPSHOT", "messageId": "new", "activityType": "x", "content": {}}
    answer = agui_client.play([*seen(RUN, snapshot).catch_up(), FINISHED], messages=[activity("old")])
    assert (answer.accepted, [m["id"] for m in answer.messages]) == (True, ["old", "new"])


def test_a_snapshot_drops_activities_that_are_known_to_be_gone(agui_client: AguiClient) -> None:
    complete = {"@ag-ui/client": {"authoritativeActivityTypes": None}}
    gone = {"type": "MESSAGES_SNAPSHOT", "messages": [], "metadata": complete}
    answer = agui_client.play([*seen(RUN, gone).catch_up(), FINISHED], messages=[activity("old")])
    assert (answer.accepted, answer.messages) == (True, [])


# --- large snapshots --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_large_history_comes_in_frames_that_the_client_reads(agui_client: AguiClient, version: str) -> None:
    history = [{"id": f"h{n}", "role": "assistant", "content": "x" * 3_000_000} for n in range(4)]
    view = seen(RUN, TEXT, MORE, messages=history, state={"a": "y" * 5_000_000, "b": "z" * 5_000_000},
                version=protocol(version))  # fmt: skip
    answer = agui_client.play([*view.catch_up(), MORE, TEXT_END, FINISHED], version=version)
    assert answer.accepted
    assert answer.messages[2:] == [*history[2:], {"id": "m", "role": "assistant", "content": "abab"}]
    for message in answer.messages[:2]:
        assert message["content"].endswith("x<truncated: 3,000,002 bytes>")
        assert message["metadata"] == {"truncated": True, "size": 3_000_043}
    assert answer.state == view.state


# --- a reader of whom only the open items are known -------------------------------------------------------------------


def test_what_ended_is_closed_and_what_is_open_still_is_left_open() -> None:
    reader = seen(RUN, TEXT, MORE, CALL, {"type": "STEP_STARTED", "stepName": "one"}).open
    view = seen(RUN, TEXT, MORE, CALL, TEXT_END, {"type": "STEP_STARTED", "stepName": "two"})
    assert types(view.catch_up(reader)) == ["TEXT_MESSAGE_END", "STEP_FINISHED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT",
                                          "STEP_STARTED"]  # fmt: skip


def test_a_subagent_that_ended_ends_as_it_did() -> None:
    failed = {"type": "SUBAGENT_ERROR", "subagentRunId": "p", "message": "no"}
    events = seen(RUN, PARENT, failed).catch_up(seen(RUN, PARENT).open)
    assert only(events, "SUBAGENT_ERROR") == failed


def test_the_end_of_the_run_is_emitted() -> None:
    events = seen(RUN, PARENT, TEXT, TEXT_END, PARENT_END, FINISHED).catch_up(seen(RUN, PARENT, TEXT).open)
    assert types(events) == ["TEXT_MESSAGE_END", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "SUBAGENT_FINISHED",
                             "RUN_FINISHED"]  # fmt: skip


def test_a_reader_between_runs_gets_what_a_new_one_gets() -> None:
    view = seen(RUN, TEXT)
    assert view.catch_up(OpenItems()) == view.catch_up()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_inside_another_run_gets_an_error_for_the_lost_end(agui_client: AguiClient, version: str) -> None:
    before = [{**RUN, "runId": "before"}, PARENT, TEXT, MORE, CALL, {"type": "STEP_STARTED", "stepName": "one"}]
    reader = seen(*before)
    view = seen(RUN, {**TEXT, "messageId": "n"}, version=protocol(version))
    events = view.catch_up(reader.open)
    assert only(events, "RUN_ERROR")["code"] == "lost"
    tail = [{"type": "TEXT_MESSAGE_END", "messageId": "n"}, FINISHED]
    assert agui_client.play([*before, *events, *tail], version=version).accepted
