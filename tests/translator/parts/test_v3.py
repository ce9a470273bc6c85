"""The events of LangChain's protocol v3 as parts. Recordings of a real server show what they become; here is what no
recording has: streams that are joined in the middle, gaps, and what cannot be read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from langgraph_agui.connect.testing.expected import expected
from langgraph_agui.translator import PartReader
from langgraph_sdk.schema import StreamPart

from fixtures.recordings import Recording, recordings
from tests.support.streams.translated import ending
from tests.support.streams.translator_runs import TranslatorRun, options_for, run_parts, view_for


def envelope(method: str, data: Any, *ns: str, **beside: Any) -> StreamPart:
    """An event as a joined run has it."""
    params = {"namespace": list(ns), "data": data, **beside}
    return StreamPart("|".join((method, *ns)), {"type": "event", "seq": 1, "method": method, "params": params}, "1-0")


def start(message_id: str, *ns: str) -> StreamPart:
    return envelope("messages", {"event": "message-start", "role": "ai", "id": message_id}, *ns)


def text(piece: str, *ns: str) -> StreamPart:
    delta = {"type": "text-delta", "text": piece}
    return envelope("messages", {"event": "content-block-delta", "index": 0, "delta": delta}, *ns)


def block(*ns: str) -> StreamPart:
    content = {"type": "text", "text": ""}
    return envelope("messages", {"event": "content-block-start", "index": 0, "content": content}, *ns)


def said(parts: list[StreamPart], reader: PartReader | None = None) -> list[tuple[str, Any]]:
    """The id and the content of each chunk with content that these are read as."""
    reader = reader or PartReader("platform")
    read = [each for part in parts for each in reader.read(part) if each.mode == "messages"]
    return [(each.data[0]["id"], each.data[0]["content"]) for each in read if each.data[0]["content"]]


FINISH = envelope("messages", {"event": "message-finish"})
VALUES = envelope("values", {"messages": []}, interrupts=[])


def test_pieces_belong_to_the_message_that_is_open_in_their_graph() -> None:
    parts = [start("a"), block(), text("1"), start("b", "in:1"), block("in:1"), text("2", "in:1"), text("3")]
    assert said(parts) == [("a", "1"), ("b", "2"), ("a", "3")]


def test_of_messages_that_are_open_at_once_in_one_graph_nothing_more_is_read_until_its_superstep_ends() -> None:
    both = [start("a"), block(), text("1"), start("b"), block(), text("2"), text("3")]
    assert said([*both, FINISH, text("4"), FINISH]) == [("a", "1")]
    assert said([*both, VALUES, start("c"), block(), text("5")]) == [("a", "1"), ("c", "5")]


def test_whoever_joins_within_a_message_or_misses_a_part_of_it_gets_no_piece_of_it() -> None:
    assert said([text("1"), block(), text("2")]) == []
    reader = PartReader("platform")
    assert said([start("a"), block(), text("1")], reader) == [("a", "1")]
    reader.gap()
    assert said([text("3"), FINISH, start("b"), block(), text("4")], reader) == [("b", "4")]


@pytest.mark.parametrize("ends", [[FINISH, FINISH], [VALUES]], ids=["both end", "the superstep ends"])
def test_nothing_is_read_of_a_message_beside_one_whose_beginning_was_missed(ends: list[StreamPart]) -> None:
    beside = [text("1"), start("b"), block(), text("2"), text("3")]
    assert said([*beside, *ends, start("c"), block(), text("4")]) == [("c", "4")]
    assert said([text("1", "in:1"), start("b"), block(), text("2")]) == [("b", "2")]


def test_the_first_values_of_a_graph_wait_for_the_call_that_it_runs_for() -> None:
    reader = PartReader("platform")
    cause = {"type": "toolCall", "tool_call_id": "call_1"}
    began = envelope("lifecycle", {"event": "started", "namespace": ["tools:1"], "cause": cause})
    assert [part.mode for part in reader.read(VALUES)] == ["agui/note", "values"]
    assert reader.read(envelope("values", {"messages": []}, "tools:1")) == []
    modes = [(part.mode, part.ns) for part in reader.read(began)]
    assert modes == [("tasks", ()), ("values", ("tools:1",)), ("lifecycle", ())]
    assert [part.mode for part in reader.read(StreamPart("error", {"error": "E", "message": "m"}))] == ["error"]


def test_what_a_model_says_inside_a_tool_is_not_displayed() -> None:
    (recording,) = recordings("platform-v3", fixture="tool_calls_model")
    deltas = [event.get("delta") for event in run_parts(recording.parts).events]
    assert any("'expert '" in str(part.data) for part in recording.parts)
    assert "expert " not in deltas


def test_one_line_says_what_the_protocol_does_not_bring(caplog: pytest.LogCaptureFixture) -> None:
    run_parts([VALUES, start("a"), block(), text("1"), VALUES])
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "The run was started by LangChain's protocol v3"
    ]


@pytest.mark.parametrize(
    "params",
    [{}, {"data": 7}, {"data": {"event": 7, "index": []}}, {"namespace": 7, "data": {}}, {"data": {"event": "error"}}],
    ids=str,
)
@pytest.mark.parametrize("method", ["messages", "values", "tools", "lifecycle", "tomorrow"])
def test_what_cannot_be_read_ends_no_stream(method: str, params: dict[str, Any]) -> None:
    odd = StreamPart(method, {"type": "event", "method": method, "params": params})
    run = run_parts([VALUES, start("a"), block(), odd, text("1"), odd])
    assert run.end == "success"


def _pairs() -> Iterator[tuple[Recording, Recording]]:
    known = {(each.fixture, each.turn): each for each in recordings("platform")}
    return ((known[each.fixture, each.turn], each) for each in recordings("platform-v3"))


LACKING = {
    "activity_events/0": "events of nodes",
    "functional_tasks/0": "text that nobody saved, of messages that were open at once",
    "model_raises_mid_reasoning/0": "reasoning of a kind that comes whole, of a model that fails before",
    "sibling_raises/0": "messages that were open at once, in a run that failed",
    "tools_report_progress/0": "events of tools",
}
"""What a client has not, at the end of a run of the protocol, although the thread has the same."""


def _end(recording: Recording) -> tuple[list[Any], str]:
    """The messages of a client at the end of a run, by what is displayed of them; and how the run ended."""
    run = TranslatorRun(options_for("1.0.0", recording.about["messages_key"]), view_for("1.0.0", (), {}))
    for part in recording.parts:
        run.feed(part)
    run.finish(ending(recording))
    return _displayed(run.view.messages), run.end


def _stored(recording: Recording) -> list[Any]:
    options = options_for("1.0.0", recording.about["messages_key"])
    return _displayed(expected(recording.state["values"], options).messages)


def _displayed(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    shown: list[Any] = []
    for message in messages:
        calls = [call["function"]["name"] for call in message.get("toolCalls") or ()]
        shown.append((message["role"], message.get("content") or "", calls))
    return sorted(shown, key=str)


def test_a_run_of_the_protocol_ends_as_the_same_run_with_stream_modes() -> None:
    """Where the thread has the same, too: some runs go another way in it (a model's ids, a new input for a thread that
    waits)."""
    same = [(modes, v3) for modes, v3 in _pairs() if _stored(modes) == _stored(v3)]
    unlike = {v3.name.partition("/")[2]: (_end(modes), _end(v3)) for modes, v3 in same if _end(modes) != _end(v3)}
    assert len(same) > 190
    assert unlike.keys() == LACKING.keys(), unlike
