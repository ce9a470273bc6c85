"""Each condition under which a fragment belongs to a call, met but for one part. Never here: whole streams."""

from collections.abc import Sequence

import pytest
from langgraph_agui.translator.content.blocks import ToolCallBlock
from langgraph_agui.translator.messages.tool_calls import StreamedCalls, fragment


def piece(
    index: int | None = None, id_: str | None = None, name: str | None = None, *, server: bool = False
) -> ToolCallBlock:
    return ToolCallBlock(index, id_, name, None, server=server)


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([piece(0, "a", "n"), piece(0, None, None)], [("a", "n")]),
        ([piece(0, "a", "n"), piece(0, "a", None)], [("a", "n")]),
        ([piece(0, "a", "n"), piece(0, "b", "m")], [("a", "n"), ("b", "m")]),
        ([piece(0, None, "n"), piece(0, "a", None)], [("a", "n")]),
        ([piece(0, "a", "n"), piece(0, None, "m")], [("a", "n")]),
        ([piece(None, "a", "n"), piece(None, None, None)], [("a", "n")]),
        ([piece(None, "a", "n"), piece(None, None, "m")], [("a", "n"), ("m-call-1", "m")]),
        ([piece(None, None, None)], [("m-call-0", None)]),
        ([piece(0, None, "n"), piece(0, None, None)], [("m-call-0", "n")]),
    ],
)
def test_a_fragment_belongs_to_the_call_at_its_index_or_of_its_id(
    fragments: Sequence[ToolCallBlock], expected: list[tuple[str, str | None]]
) -> None:
    calls = StreamedCalls()
    for each in fragments:
        calls.find(each, "m")
    assert list(zip(calls.ids, [call.name for call in calls.calls], strict=True)) == expected


def test_an_id_that_comes_after_the_start_changes_nothing() -> None:
    calls = StreamedCalls()
    call = calls.find(piece(0, None, "n"), "m")
    fragment(call, "", "m", None, lambda _: True, ())
    assert calls.find(piece(0, "late", None), "m") is call
    assert (call.id, call.emitted_id) == (None, "m-call-0")


def test_a_result_answers_a_call_the_provider_runs() -> None:
    calls = StreamedCalls()
    first = calls.find(piece(0, "a", "n", server=True), "m")
    latest = calls.find(piece(1, "b", "n", server=True), "m")
    calls.find(piece(0, "c", "n"), "m")
    assert [calls.of_result(call_id) for call_id in ("a", "b", "", "c", "d")] == [first, latest, latest, None, None]


def test_a_fragment_without_arguments_sends_nothing() -> None:
    call = StreamedCalls().find(piece(0, "a", "n"), "m")
    kinds = [
        [event["type"] for event in fragment(call, args, "m", None, lambda _: True, {"a"})]
        for args in ("", "", "{", "}")
    ]
    assert kinds == [["TOOL_CALL_START"], [], ["TOOL_CALL_ARGS"], ["TOOL_CALL_ARGS"]]


def test_the_ids_of_calls_are_those_of_the_stored_message() -> None:
    calls = StreamedCalls()
    calls.find(piece(0, "a", "n"), "m").emitted_id = "m-a"
    assert calls.ids == ["a"]
