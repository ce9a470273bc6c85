"""What clients that declare no version get, played to the real ones: 0.0.59, and 0.0.58, which knows no subagents."""

import json
from typing import Any

import pytest
from langgraph_agui.translator import ClientView, Options, for_client_version

from fixtures.recordings import Recording, recordings
from tests.agui_client import WITHOUT_SUBAGENTS, AguiClient
from tests.told import told

Event = dict[str, Any]
WITH_SUBAGENTS = [
    recording
    for source in ("local", "local-tasks", "platform")
    for recording in recordings(source)
    if "subagent" in recording.fixture
]
OLD = ("0.0.59", WITHOUT_SUBAGENTS)
SUBAGENT: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}


def _events(recording: Recording, version: str | None) -> list[Event]:
    options = Options(protocol_version=version, messages_key=recording.about["messages_key"] or "messages")
    return told(recording.parts, None, options, ClientView([], {}, version)).events


def _filtered(recording: Recording) -> list[Event]:
    events = [for_client_version(event, None) for event in _events(recording, "1.0")]
    return [event for event in events if event is not None]


def _conversation(messages: list[Event]) -> list[Event]:
    names = ("id", "role", "content", "toolCalls", "toolCallId")
    return [{name: message.get(name) for name in names} for message in messages]


@pytest.mark.parametrize("recording", WITH_SUBAGENTS, ids=lambda recording: recording.name)
def test_clients_that_know_no_subagents_get_what_these_emit_as_the_main_agents(
    recording: Recording, agui_client: AguiClient
) -> None:
    newest = _events(recording, "1.0")
    wanted = agui_client.play(newest)
    for is_filtered in (True, False):
        events = _filtered(recording) if is_filtered else _events(recording, None)
        assert "subagentRunId" not in json.dumps(events)
        assert (events[-1]["type"], events[-1].get("outcome", {}).get("type")) == (
            newest[-1]["type"],
            newest[-1].get("outcome", {}).get("type"),
        )
        for version in OLD:
            answer = agui_client.play(events, version=version)
            assert (answer.error, answer.warnings) == (None, [])
            if is_filtered:
                assert _conversation(answer.messages) == _conversation(wanted.messages)


def test_there_are_recordings_with_subagents_of_every_kind() -> None:
    events = [event for recording in WITH_SUBAGENTS for event in _events(recording, "1.0")]
    kinds = {event["type"] for event in events if "subagentRunId" in event}
    assert kinds >= {"SUBAGENT_FINISHED", "SUBAGENT_ERROR", "STEP_STARTED", "TEXT_MESSAGE_START", "TOOL_CALL_RESULT"}
    assert any("subagentRunId" in item for event in events for item in event.get("outcome", {}).get("interrupts", ()))
    assert any("subagentRunId" in item for event in events for item in event.get("messages", ()))


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (SUBAGENT, None),
        ({"type": "STEP_STARTED", "stepName": "n", "subagentRunId": "s"}, None),
        ({"type": "STEP_STARTED", "stepName": "n"}, {"type": "STEP_STARTED", "stepName": "n"}),
        (
            {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}, "metadata": {"lost": 1}},
            {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": "cancelled", "metadata": {"lost": 1}},
        ),
        (
            {"type": "RUN_FINISHED", "outcome": {"type": "success", "pendingToolCallIds": ["c"]}},
            {"type": "RUN_FINISHED", "outcome": {"type": "success"}},
        ),
    ],
)
def test_an_event_is_converted_only_for_clients_that_declare_no_version(event: Event, wanted: Event | None) -> None:
    assert for_client_version(event, "1.0") is event
    assert for_client_version(event, None) == wanted


def test_an_event_that_needs_no_change_is_the_same_object() -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "tool", "content": "x"}]}
    finished = {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]}}
    for event in (snapshot, finished, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}):
        assert for_client_version(event, None) is event
