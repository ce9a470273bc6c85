"""A reader that joins or falls behind anywhere ends with what the whole stream leaves: through the real clients."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from langgraph_agui.translator.client.view import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer, protocol
from tests.support.random.event_streams import streams
from tests.support.random.examples import examples
from tests.translator.client.test_view_equals_client import canonical

pytestmark = pytest.mark.early

Event = dict[str, Any]
SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


def viewed(events: list[Event], version: str) -> ClientView:
    view = ClientView([], {}, version=protocol(version))
    for event in events:
        view.apply(event)
    return view


def by_id(messages: list[Event]) -> dict[str, str]:
    """Messages by id: a client that has some of them keeps its own order."""
    assert len({message["id"] for message in messages}) == len(messages)
    return {message["id"]: canonical(message) for message in messages}


def assert_same(answer: Answer, uncut: Answer, *, ordered: bool) -> None:
    assert answer.error is None
    assert set(answer.warnings) <= set(uncut.warnings)
    assert by_id(answer.messages) == by_id(uncut.messages)
    if ordered:
        assert [m["id"] for m in answer.messages] == [m["id"] for m in uncut.messages]
    assert canonical(answer.state) == canonical(uncut.state)
    assert canonical(answer.pending_interrupts) == canonical(uncut.pending_interrupts)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=1))
def test_an_empty_client_that_joins_at_any_cut(agui_client: AguiClient, version: str, events: list[Event]) -> None:
    uncut = agui_client.play(events, version=version)
    for cut in range(1, len(events) + 1):
        view = viewed(events[:cut], version)
        late = agui_client.play([*view.catch_up(), *events[cut:]], version=version, mode="connect")
        assert_same(late, uncut, ordered=True)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=1), part=st.floats(0, 1))
def test_a_client_that_knows_a_part_and_joins_at_any_later_cut(
    agui_client: AguiClient, version: str, events: list[Event], part: float
) -> None:
    uncut = agui_client.play(events, version=version)
    known = 1 + int(part * (len(events) - 1))
    before = viewed(events[:known], version)
    for cut in range(known, len(events) + 1):
        view = viewed(events[:cut], version)
        stream = [*view.catch_up(), *events[cut:]]
        late = agui_client.play(stream, version=version, mode="connect", messages=before.messages, state=before.state)
        assert_same(late, uncut, ordered=False)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=1), part=st.floats(0, 1))
def test_a_reader_whose_backlog_is_dropped_anywhere(
    agui_client: AguiClient, version: str, events: list[Event], part: float
) -> None:
    uncut = agui_client.play(events, version=version)
    read = 1 + int(part * (len(events) - 2))
    reader = viewed(events[:read], version)
    for cut in range(read, len(events) + 1):
        view = viewed(events[:cut], version)
        stream = [*events[:read], *view.catch_up(reader.open), *events[cut:]]
        assert_same(agui_client.play(stream, version=version), uncut, ordered=False)


def readable(messages: list[Event]) -> list[Any]:
    """What a user reads: no metadata, of which events cannot say all."""
    texts = [(message["id"], message["role"], message.get("content") or None) for message in messages]
    calls = [[call["function"] for call in message.get("toolCalls") or ()] for message in messages]
    return [*zip(texts, calls, strict=True)]


def results_follow_their_calls(events: list[Event]) -> bool:
    """Whether no call begins after its result. Events that repeat the call put the result behind it; a snapshot, which
    could leave it elsewhere, would drop the client's other messages."""
    answered = set()
    for event in events:
        if event["type"] == "TOOL_CALL_RESULT":
            answered.add(event["toolCallId"])
        elif event["type"] == "TOOL_CALL_START" and event["toolCallId"] in answered:
            return False
    return True


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=1))
def test_a_view_of_unknown_messages_brings_an_empty_client_those_that_streamed_in_it(
    agui_client: AguiClient, version: str, events: list[Event]
) -> None:
    assume(results_follow_their_calls(events))
    uncut = agui_client.play(events, version=version)
    view = ClientView(None, {}, version=protocol(version))
    for cut, event in enumerate(events, 1):
        view.apply(event)
        late = agui_client.play([*view.catch_up(), *events[cut:]], version=version, mode="connect")
        assert late.error is None
        assert set(late.warnings) <= set(uncut.warnings)
        assert readable(late.messages) == readable(uncut.messages)
