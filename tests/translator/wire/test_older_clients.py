"""What clients that declare no version get, played to the real ones: 0.0.59, and 0.0.58, which knows no subagents."""

from typing import Any

import pytest
from langgraph_agui.translator import ClientView, Options, for_client_version

from fixtures.recordings import Recording, recordings
from tests.support.clients.agui_client import WITHOUT_SUBAGENTS, AguiClient
from tests.support.streams.translator_runs import run_parts

Event = dict[str, Any]
WITH_SUBAGENTS = [
    recording
    for source in ("local", "local-tasks", "platform")
    for recording in recordings(source)
    if "subagent" in recording.fixture
]
OLD = ("0.0.59", WITHOUT_SUBAGENTS)
SUBAGENTS = {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"}
SUBAGENT: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}


def _events(recording: Recording, version: str | None) -> list[Event]:
    options = Options(protocol_version=version, messages_key=recording.about["messages_key"] or "messages")
    return run_parts(recording.parts, None, options, ClientView([], {}, version)).events


def _conversation(messages: list[Event]) -> list[Event]:
    names = ("id", "role", "content", "toolCalls", "toolCallId")
    return [{name: message.get(name) for name in names} for message in messages]


@pytest.mark.parametrize("recording", WITH_SUBAGENTS, ids=lambda recording: recording.name)
def test_clients_without_a_version_get_the_messages_of_subagents_alone(
    recording: Recording, agui_client: AguiClient
) -> None:
    newest = _events(recording, "1.0")
    wanted = agui_client.play(newest)
    filtered = [event for each in newest if (event := for_client_version(each, None)) is not None]
    assert _events(recording, None) == filtered
    assert {event["type"] for event in newest} - {event["type"] for event in filtered} <= SUBAGENTS
    assert not [event for event in filtered if event["type"].startswith("STEP_") and "subagentRunId" in event]
    for version in OLD:
        answer = agui_client.play(filtered, version=version)
        assert (answer.error, answer.warnings) == (None, [])
        assert _conversation(answer.messages) == _conversation(wanted.messages)
        tags = [message.get("subagentRunId") for message in answer.messages]
        assert (version == WITHOUT_SUBAGENTS) or tags == [one.get("subagentRunId") for one in wanted.messages]


def test_there_are_recordings_with_subagents_of_every_kind() -> None:
    events = [event for recording in WITH_SUBAGENTS for event in _events(recording, "1.0")]
    kinds = {event["type"] for event in events if "subagentRunId" in event}
    assert kinds >= {"SUBAGENT_FINISHED", "SUBAGENT_ERROR", "STEP_STARTED", "TEXT_MESSAGE_START", "TOOL_CALL_RESULT"}


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (SUBAGENT, None),
        ({"type": "STEP_STARTED", "stepName": "n", "subagentRunId": "s"}, None),
        ({"type": "STEP_STARTED", "stepName": "n"}, {"type": "STEP_STARTED", "stepName": "n"}),
        ({"type": "CUSTOM", "name": "n", "subagentRunId": "s"}, {"type": "CUSTOM", "name": "n", "subagentRunId": "s"}),
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
