"""A platform's `messages` mode adds up what `messages-tuple` sends in chunks: both become the same.

Chunks are added up here as the server does it; recordings of a real server are the proof that it does.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessageChunk
from langchain_core.messages.utils import message_chunk_to_message
from langgraph_agui.connect.testing import text, tool_call
from langgraph_agui.connect.testing.expected import comparable, expected, unattributed
from langgraph_agui.translator import ClientView
from langgraph_sdk.schema import StreamPart

from fixtures import scripts
from fixtures.recordings import recordings
from tests.support.streams.event_lines import lines
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

_TASK = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "p", "ls_model_name": "m"}


def _tuples(chunks: Sequence[AIMessageChunk], run: str, metadata: dict[str, Any] = _TASK) -> list[Any]:
    dumped = [chunk.model_copy(update={"id": f"lc_run--{run}"}).model_dump() for chunk in chunks]
    dumped[-1]["chunk_position"] = "last"
    return [StreamPart("messages", [chunk, metadata]) for chunk in dumped]  # type: ignore[arg-type]


def _accumulated(chunks: Sequence[AIMessageChunk], run: str, metadata: dict[str, Any] = _TASK) -> Iterator[Any]:
    message_id = f"lc_run--{run}"
    yield StreamPart("messages/metadata", {message_id: {"metadata": metadata}})
    whole: BaseMessageChunk | None = None
    for chunk in chunks:
        fresh = chunk.model_copy(update={"id": message_id}, deep=True)
        whole = fresh if whole is None else whole + fresh
        yield StreamPart("messages/partial", [message_chunk_to_message(whole).model_dump()])  # type: ignore[arg-type]


def _opened(parts: Sequence[Any]) -> TranslatorRun:
    run = TranslatorRun(view=ClientView([], {}))
    run.feed(("values", {"messages": []}))
    for part in parts:
        run.feed(part)
    return run


def _thinking(*texts: str, index: int = 0) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=[{"type": "thinking", "thinking": text, "index": index}]) for text in texts]


def _summary(*texts: str) -> list[AIMessageChunk]:
    def block(text: str) -> dict[str, Any]:
        return {"type": "reasoning", "id": "rs_1", "index": 0, "summary": [_part(text)]}

    return [AIMessageChunk(content=[block(text)]) for text in texts]


def _part(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "index": 0, "text": text}


def _args(text: str) -> AIMessageChunk:
    return AIMessageChunk(content="", tool_call_chunks=[{"index": 0, "id": None, "name": None, "args": text}])


STREAMED: dict[str, list[AIMessageChunk]] = {
    "text": text("Hello there, how are you?"),
    "text in blocks": scripts.text_blocks("Hello there, how are you?"),
    "two blocks of text": scripts.text_blocks("First. ", 0) + scripts.text_blocks("Second.", 1),
    "a tool call": tool_call("add", {"a": 1, "b": 2}, "call-1"),
    "two calls": tool_call("add", {"a": 1}, "call-1") + tool_call("look", {"at": "me"}, "call-2", index=1),
    "two calls at once": scripts.interleaved(
        tool_call("add", {"a": 1}, "call-1"), tool_call("look", {"at": "me"}, "call-2", index=1)
    ),
    "text and a call": text("Let me see. ") + tool_call("add", {"a": 1}, "call-1"),
    "thinking and text": _thinking("Let me ", "think.") + scripts.text_blocks("The answer.", 1),
    "a summary and text": _summary("Thought ", "hard.") + scripts.text_blocks("The answer.", 1),
    "text and its usage": text("Hello.") + scripts.end(),
}


@pytest.mark.parametrize("what", [what for what in STREAMED if "call" not in what])
def test_sums_of_chunks_become_what_the_chunks_become(what: str) -> None:
    blocks, whole = _opened(_tuples(STREAMED[what], "1")), _opened(list(_accumulated(STREAMED[what], "1")))
    ends = [lines([*run.events, *run.finish()][1:]) for run in (blocks, whole)]
    assert sorted(ends[1]) == sorted(ends[0])


@pytest.mark.parametrize("what", STREAMED)
def test_sums_of_chunks_end_as_the_chunks_do(what: str) -> None:
    parts = list(_accumulated(STREAMED[what], "1"))
    runs = [_opened(_tuples(STREAMED[what], "1")), _opened(parts)]
    for run in runs:
        run.feed(("values", {"messages": parts[-1].data}))
        run.finish()
    assert comparable(runs[1].view.messages) == comparable(runs[0].view.messages)


@pytest.mark.parametrize("what", STREAMED)
def test_what_is_added_up_is_counted_once(what: str) -> None:
    runs = [run_parts(_tuples(STREAMED[what], "1")), run_parts(_accumulated(STREAMED[what], "1"))]
    assert runs[0].events[-1].get("usage") == runs[1].events[-1].get("usage")


def test_a_token_is_emitted_for_the_part_that_brought_it() -> None:
    run = _opened([])
    deltas = [
        [event["delta"] for event in run.feed(part) if event["type"] == "TEXT_MESSAGE_CONTENT"]
        for part in _accumulated(text("one two three"), "1")
    ]
    assert deltas == [[], ["one "], ["two "], ["three"]]


def test_arguments_are_emitted_as_far_as_they_cannot_change() -> None:
    """The server adds up parsed arguments, not their text: what closes them may still move."""
    city = ['{"city": "O', "slo", '", "days": 1', "2}"]
    chunks = [tool_call("weather", {}, "call-1")[0], *(_args(text) for text in city)]
    run = _opened([])
    deltas = [
        "".join(event["delta"] for event in run.feed(part) if event["type"] == "TOOL_CALL_ARGS")
        for part in _accumulated(chunks, "1")
    ]
    assert deltas == ["", "{", '"city":"O', "slo", '","days":1', "2"]


@pytest.mark.parametrize("what", [what for what in STREAMED if "call" in what])
def test_a_call_that_was_added_up_costs_no_snapshot(what: str) -> None:
    parts = list(_accumulated(STREAMED[what], "1"))
    run = _opened(parts)
    kinds = [event["type"] for event in run.feed(("values", {"messages": parts[-1].data}))]
    assert "MESSAGES_SNAPSHOT" not in kinds


def test_two_messages_that_grow_at_once_are_kept_apart() -> None:
    left = list(_accumulated(text("Left side speaking."), "1"))
    right = list(_accumulated(text("Right side too."), "2", {**_TASK, "langgraph_checkpoint_ns": "other:2"}))
    run = _opened([part for pair in zip(left, right, strict=True) for part in pair])
    assert [message["content"] for message in run.view.messages] == ["Left side speaking.", "Right side too."]


def test_a_message_that_came_whole_is_emitted_once() -> None:
    whole = {"type": "ai", "id": "made-1", "content": "All at once."}
    run = _opened([StreamPart("messages/complete", [whole]), StreamPart("messages/complete", [whole])])  # type: ignore[arg-type]
    assert [message["content"] for message in run.view.messages] == ["All at once."]


def test_a_tool_result_that_came_whole_is_told() -> None:
    calling = _tuples(tool_call("add", {"a": 1}, "call-1"), "1")
    result = {"type": "tool", "id": "r-1", "tool_call_id": "call-1", "content": "2"}
    run = _opened([*calling, StreamPart("messages/complete", [result])])  # type: ignore[arg-type]
    assert [message["role"] for message in run.view.messages] == ["assistant", "tool"]


def test_a_text_that_was_taken_back_is_mended_by_the_values() -> None:
    sums = [
        {"type": "AIMessageChunk", "id": "lc_run--1", "content": text} for text in ("One", "One two", "Quite other")
    ]
    run = _opened([StreamPart("messages/partial", [message]) for message in sums])  # type: ignore[arg-type]
    run.feed(("values", {"messages": [{"type": "ai", "id": "lc_run--1", "content": "Quite other"}]}))
    assert [message["content"] for message in run.view.messages] == ["Quite other"]


def test_a_message_without_metadata_is_told() -> None:
    run = _opened(list(_accumulated(text("Hello."), "1"))[1:])
    assert [message["content"] for message in run.view.messages] == ["Hello."]


@pytest.mark.parametrize(
    "data", [None, {}, "text", [None], [5], [{"no": "message"}], {"id": None}, {"id": {"metadata": 5}}]
)
@pytest.mark.parametrize("kind", ["messages/partial", "messages/complete", "messages/metadata"])
def test_what_is_no_message_is_passed_over(kind: str, data: Any) -> None:
    assert _opened([StreamPart(kind, data)]).feeds[-1] == []


def _ended(events: Sequence[Event]) -> ClientView:
    view = ClientView([], {})
    for event in events:
        view.apply(event)
    return view


@pytest.mark.parametrize("recording", list(recordings("platform-messages")), ids=lambda one: str(one.name))
def test_a_recorded_run_leaves_what_the_thread_has(recording: Any) -> None:
    run = run_parts(recording.parts)
    view = _ended(run.events)
    if recording.ended != "error":
        waiting = run.emitted_by_waiting()
        must = expected(recording.state["values"], run.options, waiting=waiting)
        assert comparable(unattributed(view.messages)) == comparable(must.messages)
