"""Reading content into blocks: each shape by itself, chunks against langchain-core's own sums, and anything at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, message_chunk_to_message
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator.content.blocks import (
    Citation,
    Encrypted,
    Media,
    Reasoning,
    ServerResult,
    Signature,
    Text,
    ToolCallBlock,
)
from langgraph_agui.translator.content.read_blocks import finish_reason, read_content, text_delta, text_of
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.options import Options
from langgraph_agui.translator.parts.message import fields_of, kind_of

from tests.support.streams.streamed_messages import streamed_messages

WHOLE = Options(result_limit=None)


def whole(content: Any, **more: Any) -> list[Any]:
    """The blocks of a whole message."""
    return read_content({"type": "ai", "content": content, **more})


def streamed(content: Any, **more: Any) -> list[Any]:
    """The blocks of a chunk."""
    return read_content({"type": "AIMessageChunk", "content": content, **more})


# --- texts


@pytest.mark.parametrize(
    "content",
    [
        "Hello",
        ["Hello"],
        ["Hel", "lo"],
        ["", {"type": "text", "text": "Hello"}],
        [{"type": "text", "text": "Hel", "index": 0}, "lo"],
        [{"text": "Hello"}],
        [{"type": "output_text", "text": "Hello"}],
        [{"type": "refusal", "refusal": "Hello"}],
        {"type": "text", "text": "Hello"},
    ],
)
def test_text_is_found_in_every_kind_of_content(content: Any) -> None:
    assert text_of({"type": "ai", "content": content}) == "Hello"


@pytest.mark.parametrize("content", ["", [], None, 3, object(), [None, 3, [], {}], {"index": 0}])
def test_empty_content_has_no_blocks(content: Any) -> None:
    assert whole(content) == []


def test_the_transcript_of_an_audio_answer_is_its_text() -> None:
    audio = {"id": "audio_1", "data": "UklGRg==", "transcript": "Hello"}
    got = whole("", additional_kwargs={"audio": audio})
    source = {"type": "data", "value": "UklGRg==", "mimeType": "audio/wav"}
    assert got == [Text("Hello"), Media({"type": "audio", "source": source})]


def test_a_stretch_of_an_audio_answer_is_no_media() -> None:
    assert streamed("", additional_kwargs={"audio": {"data": "UklG", "transcript": "Hel"}}) == [Text("Hel")]


CHUNK = AIMessageChunk(content="Hello", id="lc_run--1", response_metadata={"model_provider": "openai"})
AS_JSON = {**CHUNK.model_dump(), "chunk_position": None}


WITHOUT_NULLS = {name: value for name, value in AS_JSON.items() if value is not None}


@pytest.mark.parametrize("view", [fields_of(CHUNK), AS_JSON, WITHOUT_NULLS])
def test_a_chunk_of_text_alone_is_read_as_its_text(view: dict[str, Any]) -> None:
    assert text_delta(view) == "Hello"
    assert text_delta({**view, "content": [{"type": "text", "text": "Hello", "index": 0}]}) == "Hello"
    assert text_delta({**view, "content": "Hel\ud800lo"}) == "Hel\ufffdlo"


@pytest.mark.parametrize(
    "more",
    [
        {"content": ""},
        {"content": ["Hello"]},
        {"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
        {"content": [{"type": "text", "text": "Hello", "annotations": [{"url": "u"}]}]},
        {"content": [{"type": "thinking", "text": "Hello"}]},
        {"content": [{"type": "text", "text": b"Hello"}]},
        {"tool_call_chunks": [{"index": 0, "id": "c", "name": "roll", "args": ""}]},
        {"tool_calls": [{"id": "c", "name": "roll", "args": {}}]},
        {"invalid_tool_calls": [{"id": "c", "name": "roll", "args": "{"}]},
        {"additional_kwargs": {"reasoning_content": "Hmm."}},
        {"usage_metadata": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}},
        {"chunk_position": "last"},
        {"response_metadata": {"model_provider": "openai", "finish_reason": "length"}},
        {"response_metadata": {"finish_reason": "length"}},
    ],
    ids=str,
)
def test_a_chunk_that_brings_more_is_no_text_delta(more: dict[str, Any]) -> None:
    assert text_delta({**fields_of(CHUNK), **more}) == ""
    assert text_delta({**AS_JSON, **more}) == ""


# --- reasoning


def test_reasoning_beside_the_content_comes_before_it() -> None:
    got = streamed("Hi", additional_kwargs={"reasoning_content": "hm"})
    assert [type(block) for block in got] == [Reasoning, Text]


def test_reasoning_in_the_content_and_beside_it_is_read_once() -> None:
    got = whole([{"type": "reasoning", "reasoning": "hm"}], additional_kwargs={"reasoning_content": "hm"})
    assert [block.text for block in got] == ["hm"]


def test_an_empty_fragment_beside_the_content_is_nothing() -> None:
    assert streamed("", additional_kwargs={"reasoning_content": ""}) == []


def test_bedrock_reasoning_has_text_and_signature() -> None:
    got = whole([{"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "s"}, "index": 0}])
    assert [(type(block), getattr(block, "text", None) or block.value) for block in got] == [
        (Reasoning, "hm"),
        (Encrypted, "s"),
    ]


def test_bedrock_redacted_bytes_become_base64() -> None:
    (got,) = whole([{"type": "reasoning_content", "reasoning_content": {"redacted_content": b"\x00\xff"}}])
    assert (got.value, got.redacted) == ("AP8=", True)


def test_mistral_thinking_is_a_list_of_texts() -> None:
    (got,) = whole([{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}])
    assert got.text == "hm"


def test_a_provider_block_in_a_non_standard_wrapping_is_read() -> None:
    (got,) = whole([{"type": "non_standard", "value": {"type": "redacted_thinking", "data": "x"}, "index": 4}])
    assert (got.block, got.value) == (4, "x")


# --- calls


def test_a_chunk_has_its_call_chunks_and_not_its_guesses() -> None:
    call = {"index": 0, "id": "c", "name": "f", "args": '{"a"', "type": "tool_call_chunk"}
    got = streamed("", tool_call_chunks=[call], tool_calls=[{"name": "", "args": {}, "id": None}])
    assert got == [ToolCallBlock(0, "c", "f", '{"a"')]


def test_a_chunk_without_call_chunks_has_its_complete_calls() -> None:
    got = streamed("", tool_call_chunks=[], tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}])
    assert got == [ToolCallBlock(None, "c", "f", '{"a":1}')]


def test_blocks_that_repeat_a_call_bring_nothing_else() -> None:
    blocks = [
        {"type": "tool_use", "id": "c", "name": "f", "input": {}, "index": 0},
        {"type": "input_json_delta", "partial_json": "{", "index": 0},
        {"type": "tool_call_chunk", "id": "c", "name": "f", "args": "{", "index": 0},
    ]
    call = {"index": 0, "id": "c", "name": "f", "args": "{"}
    assert streamed(blocks, tool_call_chunks=[call]) == [ToolCallBlock(0, "c", "f", "{")]


def test_calls_of_a_whole_message_have_the_order_of_its_content() -> None:
    content = [{"type": "tool_use", "id": "b"}, {"type": "tool_use", "id": "a"}]
    calls = [{"id": "a", "name": "f", "args": {}}]
    broken = [{"id": "b", "name": "g", "args": "{"}]
    got = whole(content, tool_calls=calls, invalid_tool_calls=broken)
    assert got == [ToolCallBlock(None, "b", "g", "{"), ToolCallBlock(None, "a", "f", "{}")]


def test_arguments_of_a_call_by_the_provider_stream() -> None:
    got = streamed([{"type": "input_json_delta", "partial_json": '{"q"', "index": 2}])
    assert got == [ToolCallBlock(2, None, None, '{"q"', server=True)]


def test_a_standard_chunk_of_a_call_by_the_provider_streams() -> None:
    got = streamed([{"type": "server_tool_call_chunk", "id": "s", "name": "web_search", "args": "{", "index": 1}])
    assert got == [ToolCallBlock(1, "s", "web_search", "{", server=True)]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_result", "tool_call_id": "s", "status": "error", "output": "no"},
        {"type": "mcp_tool_result", "tool_use_id": "s", "is_error": True, "content": "no"},
    ],
)
def test_a_failed_result_of_the_provider_is_marked(block: dict[str, Any]) -> None:
    assert whole([block]) == [ServerResult("s", "no", error=True)]


def test_an_mcp_call_goes_by_the_name_of_its_tool() -> None:
    block = {"type": "mcp_call", "id": "m", "name": "roll", "arguments": '{"n":1}', "output": "4", "error": None}
    assert whole([block]) == [
        ToolCallBlock(None, "m", "roll", '{"n":1}', server=True),
        ServerResult("m", "4", error=False),
    ]


def test_code_that_gemini_runs_is_a_call_and_its_result_the_latest_calls() -> None:
    code = {"type": "executable_code", "executable_code": "1+1", "language": "PYTHON", "id": "x"}
    result = {"type": "code_execution_result", "code_execution_result": "2", "outcome": 1, "tool_call_id": ""}
    (message, got) = to_agui({"type": "ai", "id": "m", "content": [code, result]}, 0, WHOLE)
    assert (message["toolCalls"][0]["id"], got["toolCallId"], got["content"]) == ("x", "x", "2")


# --- citations, signatures, ends


def test_a_citation_keeps_what_the_standard_has_no_field_for() -> None:
    found = {"type": "file_citation", "filename": "a.pdf", "file_id": "file_1", "index": 3}
    got = whole([{"type": "text", "text": "x", "annotations": [found]}])
    assert got[1] == Citation({"type": "citation", "title": "a.pdf", "extras": {"file_id": "file_1"}})


def test_a_signature_of_text_is_the_answers() -> None:
    got = whole([{"type": "text", "text": "x", "extras": {"signature": "s"}}])
    assert got == [Text("x"), Signature(None, "s")]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"finish_reason": "stop"}, None),
        ({"finish_reason": "tool_calls"}, None),
        ({"stop_reason": "end_turn"}, None),
        ({"finish_reason": "a reason of tomorrow"}, None),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"finish_reason": "FinishReason.SAFETY"}, "content_filter"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"stopReason": "guardrail_intervened"}, "content_filter"),
        ({"done_reason": "length"}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"finish_reason": 7}, None),
        (None, None),
    ],
)
def test_only_an_abnormal_end_has_a_reason(metadata: Any, reason: str | None) -> None:
    assert finish_reason({"type": "ai", "content": "", "response_metadata": metadata}) == reason


# --- views


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        (AIMessage("x"), "ai", "x"),
        (AIMessageChunk(content="x"), "ai", "x"),
        ({"type": "AIMessageChunk", "content": "x"}, "ai", "x"),
        ({"type": "ai", "data": {"content": "x"}}, "ai", "x"),
        ({"role": "assistant", "content": "x"}, "ai", "x"),
        ({"role": "developer", "content": "x"}, "system", "x"),
        (("user", "x"), "human", "x"),
        ("x", "human", "x"),
        (
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "AIMessage"], "kwargs": {"content": "x"}},
            "ai",
            "x",
        ),
    ],
)
def test_a_message_is_seen_in_every_form_it_comes_in(message: Any, kind: str, text: str) -> None:
    view = fields_of(message)
    assert (kind_of(view), text_of(view)) == (kind, text)


def test_calls_in_openais_form_are_read() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    got = read_content(fields_of({"role": "assistant", "content": None, "tool_calls": [call]}))
    assert got == [ToolCallBlock(None, "c", "f", '{"a":1}')]


def test_the_view_of_an_object_is_not_a_copy() -> None:
    message = HumanMessage("x")
    assert fields_of(message) is message.__dict__


# --- properties

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def answers(draw: st.DrawFn) -> list[AIMessageChunk]:
    """Chunks of one answer: blocks one after the other, each in fragments, as providers with an index stream them."""
    chunks: list[AIMessageChunk] = []
    for index in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "thinking", "redacted", "summary", "standard", "call", "server"]))
        parts = draw(st.lists(texts, min_size=1, max_size=4))
        if kind == "call":
            chunks.append(_call_chunk(index, "", f"call-{index}", "f"))
            text = '{"a": "' + "x" * len("".join(parts)) + '"}'
            half = draw(st.integers(0, len(text)))
            chunks += [_call_chunk(index, text[:half]), _call_chunk(index, text[half:])]
        else:
            chunks += [AIMessageChunk(content=[block]) for block in _fragments(kind, index, parts)]
    return chunks


def _fragments(kind: str, index: int, parts: list[str]) -> list[dict[str, Any]]:
    if kind == "text":
        return [{"type": "text", "text": part, "index": index} for part in parts]
    if kind == "thinking":
        thoughts: list[dict[str, Any]] = [{"type": "thinking", "thinking": part, "index": index} for part in parts]
        return [*thoughts, {"type": "thinking", "thinking": "", "signature": f"sig-{index}", "index": index}]
    if kind == "redacted":
        return [{"type": "redacted_thinking", "data": f"data-{index}", "index": index}]
    if kind == "standard":
        return [{"type": "reasoning", "reasoning": part, "index": index} for part in parts]
    if kind == "server":
        start = {"type": "server_tool_use", "id": f"s-{index}", "name": "web_search", "input": {}, "index": index}
        text = '{"q": "' + "x" * len("".join(parts)) + '"}'
        return [start, {"type": "input_json_delta", "partial_json": text, "index": index}]
    summary = [{"index": number, "type": "summary_text", "text": part} for number, part in enumerate(parts)]
    first = {"type": "reasoning", "id": f"rs_{index}", "summary": [], "index": index}
    return [first, *({"type": "reasoning", "summary": [item], "index": index} for item in summary)]


def _call_chunk(index: int, args: str, id: str | None = None, name: str | None = None) -> AIMessageChunk:  # noqa: A002
    block: dict[str, Any] = {"type": "input_json_delta", "partial_json": args, "index": index}
    if id is not None:
        block = {"type": "tool_use", "id": id, "name": name, "input": {}, "index": index}
    call = tool_call_chunk(index=index, id=id, name=name, args=args)
    return AIMessageChunk(content=[block], tool_call_chunks=[call])


@given(answers())
def test_a_stream_of_fragments_gives_the_messages_of_their_sum(chunks: list[AIMessageChunk]) -> None:
    total = AIMessageChunk(content=[], id="m")
    for chunk in chunks:
        chunk.id = "m"
        total = total + chunk
    stored = to_agui(message_chunk_to_message(total), 0, WHOLE)
    filled = [each for each in stored if each["role"] != "assistant" or each.get("content") or "toolCalls" in each]
    assert comparable(streamed_messages(chunks)) == comparable(filled)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    [
        *("text", "thinking", "redacted_thinking", "reasoning", "reasoning_content", "refusal", "non_standard"),
        *("tool_use", "input_json_delta", "server_tool_use", "server_tool_result", "web_search_tool_result"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "image_generation_call"),
        *("executable_code", "code_execution_result", "image", "image_url", "input_audio", "file", "media", "binary"),
    ]
)
names = st.sampled_from(
    [
        *(
            "text",
            "id",
            "index",
            "thinking",
            "signature",
            "data",
            "summary",
            "reasoning",
            "reasoning_content",
            "extras",
        ),
        *("input", "args", "name", "content", "output", "action", "source", "image_url", "annotations", "value", "url"),
    ]
)
kwarg_names = st.sampled_from(["reasoning_content", "reasoning", "audio", "refusal", "tool_outputs"])
blocks = st.builds(lambda kind, rest: {"type": kind, **rest}, kinds, st.dictionaries(names, anything, max_size=4))
odd_views = st.fixed_dictionaries(
    {"type": st.sampled_from(["ai", "AIMessageChunk", "human", "tool", "chat"]) | anything},
    optional={
        "content": anything | st.lists(blocks | anything, max_size=3),
        "additional_kwargs": st.dictionaries(
            st.sampled_from(["reasoning_content", "reasoning", "audio", "refusal", "tool_outputs"]),
            anything,
            max_size=3,
        )
        | anything,
        "tool_calls": anything | st.lists(st.dictionaries(names, anything, max_size=3), max_size=2),
        "tool_call_chunks": anything | st.lists(st.dictionaries(names, anything, max_size=3), max_size=2),
        "invalid_tool_calls": anything,
        "response_metadata": anything | st.fixed_dictionaries({"grounding_metadata": anything}),
        "id": anything,
        "name": anything,
    },
)


@given(odd_views | anything)
def test_no_message_however_odd_makes_reading_fail(view: Any) -> None:
    got = fields_of(view)
    assert isinstance(read_content(got), list)
    assert isinstance(text_of(got), str)
    assert finish_reason(got) is None or isinstance(finish_reason(got), str)
    assert isinstance(to_agui(view, 0, WHOLE), list)
