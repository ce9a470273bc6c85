"""Text of a platform's run that may be structured output is held; prose is released within a few characters."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import Cancelled, Failed, Finished, Options, Translator
from langgraph_agui.translator.jsonable.json_prefix import JsonPrefix

PROSE = ["[link](https://x.org) is it", "[1] According to", "{{ name }} is", "```json\n{}\n```", "\n\nHello", "{} {}"]
JSON = '{"to": "math", "why": ["x"]}'
NODE = {"langgraph_node": "route", "langgraph_checkpoint_ns": "route:1", "ls_model_type": "chat", "ls_provider": "x"}


def held(text: str) -> int:
    """How many characters of a text are held before it is released; all, if it never is."""
    prefix = JsonPrefix()
    return next((place for place, character in enumerate(text) if not prefix.continues(character)), len(text))


def chunk(text: str, message_id: str = "m1", metadata: dict[str, Any] | None = None, **fields: Any) -> Any:
    message = {"type": "AIMessageChunk", "id": message_id, "content": text, **fields}
    return ("messages", [message, {**NODE, **(metadata or {})}], None)


def values(*messages: Any) -> Any:
    return ("values", {"messages": [{"type": "human", "id": "u1", "content": "hi"}, *messages]}, None)


def told(
    parts: list[Any], ending: Any = None, options: Options | None = None, **given: Any
) -> tuple[list[dict[str, Any]], Translator]:
    run = Translator("t", "r", options, **given)
    events = run.start() + run.feed(values())
    for part in parts:
        events += run.feed(part)
    return events + run.finish(ending or Finished()), run


def deltas(events: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]


LAST: Any = {"chunk_position": "last"}
CUT: Any = {"response_metadata": {"finish_reason": "length"}}


@given(st.sampled_from([*PROSE, JSON, "Hello there."]), st.lists(st.integers(0, 30)))
def test_every_division_of_a_text_is_shown_alike(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in zip(places, [*places[1:], len(text)], strict=True) if end > start]
    run = Translator("t", "r")
    run.start()
    run.feed(values())
    shown, come, place = "", "", held(text)
    for piece in pieces:
        shown += "".join(deltas(run.feed(chunk(piece))))
        come += piece
        assert shown == (come if len(come) > place else "")
    stored = {"type": "ai", "id": "m1", "content": text}
    run.feed(values(stored))
    run.finish(Finished())
    assert [each["content"] for each in run.view.messages] == ["hi", text]


@pytest.mark.parametrize("ending", [Finished(), Failed("boom"), Cancelled()], ids=lambda ending: type(ending).__name__)
@pytest.mark.parametrize("end", [{}, LAST])
@pytest.mark.parametrize("text", [JSON, JSON[:9], " ["])
def test_held_text_is_dropped_with_a_reason(text: str, end: Any, ending: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    events, run = told([chunk(text), chunk("", **end, **CUT)], ending)
    assert deltas(events) == []
    assert [each["role"] for each in run.view.messages if each["role"] != "activity"] == ["user"]
    assert "structured output" in caplog.text


def test_a_whole_message_of_a_model_is_held_and_one_of_a_node_is_not() -> None:
    whole = ("messages", [{"type": "ai", "id": "m1", "content": JSON}, NODE], None)
    of_node = ("messages", [{"type": "ai", "id": "m2", "content": JSON}, {"langgraph_node": "route"}], None)
    assert deltas(told([whole])[0]) == []
    assert deltas(told([of_node])[0]) == [JSON]


def test_reasoning_and_calls_of_a_held_text_stream() -> None:
    call = {"name": "look", "args": '{"a": 1}', "id": "c1", "index": 0}
    thought = [{"type": "reasoning", "reasoning": "Hm.", "index": 0}]
    parts = [chunk("", content=thought), chunk(JSON), chunk("", tool_call_chunks=[call]), chunk("", **LAST, **CUT)]
    parts[0][1][0]["content"] = thought
    events, _ = told(parts)
    types = [event["type"] for event in events]
    assert "TEXT_MESSAGE_START" not in types
    assert {"REASONING_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"} <= set(types)
    assert deltas(events) == []


@pytest.mark.parametrize(
    ("metadata", "options", "given", "shown"),
    [
        ({}, None, {}, False),
        ({"agui_structured": "none"}, None, {}, True),
        ({"agui_visibility": "stream"}, None, {}, True),
        ({}, Options(visibility={"route": "stream"}), {}, True),
        ({}, Options(visibility={"*": "tool"}), {}, False),
        ({}, None, {"saving_nodes": ["route"]}, True),
        ({}, None, {"saving_nodes": ["below|route"]}, False),
    ],
)
def test_what_is_known_of_a_call_is_not_guessed(metadata: Any, options: Any, given: Any, shown: bool) -> None:
    events, _ = told([chunk("{", metadata=metadata), chunk('"a": 1}', metadata=metadata)], None, options, **given)
    assert deltas(events) == (["{", '"a": 1}'] if shown else [])


@pytest.mark.parametrize("name", ["lc_run--1", "m2"])
def test_a_node_that_saves_json_is_known_from_then_on(name: str) -> None:
    """Under the id that streamed, or as a copy of it."""
    copy: Any = {"type": "ai", "id": name, "content": JSON}
    returned = ("messages", [copy, {name: NODE[name] for name in list(NODE)[:2]}], None)
    parts = [chunk(JSON, "lc_run--1"), chunk("", "lc_run--1", **LAST), returned]
    after = {"langgraph_checkpoint_ns": "route:2"}
    events, run = told([*parts, values(copy), chunk("[1", "m3", after), chunk(", 2", "m3", after)])
    assert run.saving_nodes == {"route"}
    assert deltas(events) == [JSON, "[1", ", 2"]


@pytest.mark.parametrize("form", ["objects", "JSON of which it is said"])
def test_text_of_a_local_run_is_never_held(form: str) -> None:
    run = Translator("t", "r", source=None if form == "objects" else "local")
    run.start()
    events = run.feed(((), "values", values()[1]))
    for text in ("{", '"a"'):
        message, metadata = chunk(text)[1]
        live = AIMessageChunk(content=text, id="m1") if form == "objects" else message
        events += run.feed(((), "messages", (live, metadata)))
    assert deltas(events) == ["{", '"a"']
