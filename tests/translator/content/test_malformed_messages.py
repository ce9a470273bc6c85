"""Each condition under which a field of a message is read, met but for one part: what is left is read, nothing raises.

Tables of inputs and what they become. Never here: whole streams, and values that raise (`test_last_resort`).
"""

from collections import deque
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import ClientView, Options, to_agui_messages, to_langchain_messages
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
from langgraph_agui.translator.content.media import block_of, part_of
from langgraph_agui.translator.content.reader import CALL_SIGNATURES, finish_reason, read_content, text_delta, text_of
from langgraph_agui.translator.content.reasoning import ReasoningBlocks
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.messages.usage import Usage
from langgraph_agui.translator.parts.message import fields, is_chunk
from langgraph_agui.translator.run.custom import custom_event

HI = {"type": "text", "text": "hi"}
PNG = {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/png"}}
THINKS = {"type": "thinking", "thinking": "hm"}
CALL = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}


def server(name: str | None, args: str | None, id_: str | None = "s", index: Any = None) -> ToolCallBlock:
    """A fragment of a call of a tool the provider runs."""
    return ToolCallBlock(index, id_, name, args, server=True)


def cited(**fields: Any) -> Citation:
    """A citation in the standard form."""
    return Citation({"type": "citation", **fields})


def grounded(**metadata: Any) -> dict[str, Any]:
    """A message with Gemini's grounding metadata: one source, one stretch of the answer."""
    given = {
        "grounding_chunks": [{"web": {"uri": "u", "title": "t"}}],
        "grounding_supports": [{"segment": {"text": "x", "end_index": 1}, "grounding_chunk_indices": [0]}],
    }
    return {"content": "", "response_metadata": {"grounding_metadata": given | metadata}}


WHOLE: list[tuple[Any, list[Any]]] = [
    ([{"type": "server_tool_use", "id": "s", "name": "n", "partial_json": ""}], [server("n", "{}")]),
    (
        [{"type": "file_search_call", "id": "s", "queries": ["q"]}],
        [server("file_search", '{"queries":["q"]}'), ServerResult("s", "", False)],
    ),
    (
        [{"type": "reasoning_content", "reasoning_content": {"signature": "s"}}],
        [Reasoning(None, ""), Encrypted(None, "s")],
    ),
    # a text
    ([{"type": "text", "text": 7}, HI], [Text("hi")]),
    ([{"type": "text", "text": "", "extra": 1}, HI], [Text("hi")]),
    ([{"type": "text", "text": 7, "extra": 1}, HI], [Text("hi")]),
    ([{"type": "text", "text": "a", "extra": 1}], [Text("a")]),
    ([{"text": "a"}, {}, None, "", "b"], [Text("a"), Text("b")]),
    ([{**HI, "extras": {"signature": "s"}}], [Text("hi"), Signature(None, "s")]),
    ([{**HI, "extras": "signature"}], [Text("hi")]),
    ([{**HI, "extras": {"signature": 7}}], [Text("hi")]),
    ([{"type": "refusal", "refusal": 7}, {"type": "refusal", "refusal": "no"}], [Text("no")]),
    ([{"type": "unheard of", "base64": "aa"}, HI], [Text("hi")]),
    # what LangChain wraps
    ([{"type": "non_standard", "value": HI}], [Text("hi")]),
    ([{"type": "non_standard", "value": "hi"}, {"type": "other", "value": HI}], []),
    ([{"type": "non_standard", "index": 3, "value": THINKS}], [Reasoning(3, "hm")]),
    ([{"type": "non_standard", "index": 3, "value": {**THINKS, "index": 4}}], [Reasoning(4, "hm")]),
    # citations
    (
        [{**HI, "annotations": [{"url": "u", "index": 1, "x": None, "y": 2}]}],
        [Text("hi"), cited(url="u", extras={"y": 2})],
    ),
    ([{**HI, "annotations": "none", "citations": [7, {"title": "t"}]}], [Text("hi"), cited(title="t")]),
    (
        [{**HI, "citations": [{"url": "u", "value": {"url": "other"}}]}],
        [Text("hi"), cited(url="u", extras={"value": {"url": "other"}})],
    ),
    ([{**HI, "citations": [{"type": "non_standard_annotation", "value": {"url": "u"}}]}], [Text("hi"), cited(url="u")]),
    (
        [{**HI, "citations": [{"type": "non_standard_annotation", "value": "u"}]}],
        [Text("hi"), cited(extras={"value": "u"})],
    ),
    # media
    ([{"type": "image", "base64": "aa"}], [Media(PNG)]),
    # reasoning: Anthropic, Bedrock, the standard form, Responses
    ([{**THINKS, "id": 7}], [Reasoning(None, "hm")]),
    ([{**THINKS, "id": ""}], [Reasoning(None, "hm")]),
    ([{**THINKS, "id": "t"}], [Reasoning(None, "hm", "t", 0)]),
    ([{**THINKS, "id": "t", "index": 2}], [Reasoning(2, "hm", "t")]),
    ([{**THINKS, "index": {}}], [Reasoning(None, "hm")]),
    (
        [{"type": "thinking", "thinking": ["a", {"text": "b"}]}],
        [Reasoning(None, "ab")],
    ),
    (
        [{"type": "reasoning_content", "reasoning_content": {"text": "a", "redacted_content": "r"}}],
        [Reasoning(None, "a"), Encrypted(None, "r", True)],
    ),
    (
        [{"type": "reasoning_content", "reasoning_content": {"redacted_content": b"r"}}],
        [Encrypted(None, "cg==", True)],
    ),
    (
        [{"type": "reasoning_content", "reasoning_content": {"text": 7, "signature": "s"}}],
        [Reasoning(None, ""), Encrypted(None, "s")],
    ),
    ([{"type": "reasoning", "text": "a"}], [Reasoning(None, "a")]),
    ([{"type": "reasoning", "reasoning": 7}], [Reasoning(None, "")]),
    ([{"type": "reasoning", "summary": []}], [Reasoning(None, "")]),
    (
        [{"type": "reasoning", "content": ["a", {"text": "b", "index": 5}]}],
        [Reasoning(None, "a", None, "content-0"), Reasoning(None, "b", None, "content-5")],
    ),
    (
        [{"type": "reasoning", "id": "rs", "summary": [{"text": "a"}]}],
        [Reasoning(None, "", "rs", 0), Reasoning(None, "a", None, "summary-0")],
    ),
    (
        [{"type": "reasoning", "reasoning": "a", "content": ["b"]}],
        [Reasoning(None, "a"), Reasoning(None, "b", None, "content-0")],
    ),
    ([{"type": "reasoning", "reasoning": "a", "encrypted_content": "e"}], [Reasoning(None, "a"), Encrypted(None, "e")]),
    (
        [{"type": "reasoning", "reasoning": "a", "extras": {"signature": "e"}}],
        [Reasoning(None, "a"), Encrypted(None, "e")],
    ),
    ([{"type": "reasoning", "reasoning": "a", "extras": "signature"}], [Reasoning(None, "a")]),
    (
        [{"type": "reasoning", "reasoning": "", "extras": {"data": "d"}}],
        [Reasoning(None, ""), Encrypted(None, "d", True)],
    ),
    (
        [{"type": "reasoning", "reasoning": "", "extras": {"redacted_content": "d"}}],
        [Reasoning(None, ""), Encrypted(None, "d", True)],
    ),
    ([{"type": "reasoning", "reasoning": "a", "index": "lc_rs_" + b"3_1".hex()}], [Reasoning(3, "a", None, "1")]),
    ([{"type": "reasoning", "reasoning": "a", "index": "lc_rs_" + b"x".hex()}], [Reasoning("x", "a")]),
    ([{"type": "reasoning", "reasoning": "a", "index": "lc_rs_zz"}], [Reasoning("lc_rs_zz", "a")]),
    ([{"type": "reasoning", "reasoning": "a", "index": "own"}], [Reasoning("own", "a")]),
    # tools that the provider runs
    ([{"type": "server_tool_use", "id": "s", "name": "n", "input": {}}], [server("n", "{}")]),
    ([{"type": "server_tool_use", "id": 7, "name": "", "input": ""}], [server(None, "{}", None)]),
    (
        [{"type": "server_tool_use", "id": "s", "name": "code_execution", "index": {}, "partial_json": '{ "a": 1}'}],
        [server("code_interpreter", '{"a":1}')],
    ),
    (
        [{"type": "server_tool_use", "id": "s", "name": "n", "input": {"b": 2}, "partial_json": '{"a": 1}'}],
        [server("n", '{"b":2}')],
    ),
    ([{"type": "server_tool_use", "id": "s", "name": "n", "partial_json": "no json"}], [server("n", "no json")]),
    ([{"type": "server_tool_use", "id": "s", "name": "n", "args": "raw"}], [server("n", "raw")]),
    ([{"type": "mcp_tool_use", "id": "s", "name": "remote_mcp", "extras": {"tool_name": "t"}}], [server("t", "{}")]),
    (
        [{"type": "mcp_tool_use", "id": "s", "name": "remote_mcp", "extras": {"tool_name": 7}}],
        [server("remote_mcp", "{}")],
    ),
    ([{"type": "mcp_tool_use", "id": "s", "name": "remote_mcp", "extras": "tool_name"}], [server("remote_mcp", "{}")]),
    ([{"type": "mcp_tool_use", "id": "s", "name": "own", "extras": {"tool_name": "t"}}], [server("own", "{}")]),
    ([{"type": "web_search_tool_result", "tool_use_id": "s", "content": "x"}], [ServerResult("s", "x", False)]),
    ([{"type": "server_tool_result", "tool_call_id": 7, "content": "x"}], []),
    (
        [{"type": "server_tool_result", "tool_call_id": "s", "tool_use_id": "t", "output": {"error_code": "e"}}],
        [ServerResult("s", '{"error_code":"e"}', True)],
    ),
    (
        [{"type": "server_tool_result", "tool_call_id": "s", "output": "x", "status": "error"}],
        [ServerResult("s", "x", True)],
    ),
    (
        [{"type": "server_tool_result", "tool_call_id": "s", "output": {}, "is_error": True}],
        [ServerResult("s", "{}", True)],
    ),
    ([{"type": "server_tool_result", "tool_call_id": "s"}], [ServerResult("s", "", False)]),
    (
        [{"type": "executable_code", "executable_code": "1", "language": "py", "id": 7}],
        [server("code_interpreter", '{"code":"1","language":"py"}', None)],
    ),
    ([{"type": "code_execution_result", "code_execution_result": "1", "outcome": 2}], [ServerResult("", "1", True)]),
    (
        [{"type": "code_execution_result", "code_execution_result": "1", "tool_call_id": "s"}],
        [ServerResult("s", "1", False)],
    ),
    (
        [
            {"type": "tool_search_output", "id": 7},
            {"type": "tool_search_output", "id": "s", "tools": [1], "status": "failed"},
        ],
        [ServerResult("s", '{"tools":[1]}', True)],
    ),
    (
        [{"type": "web_search_call", "id": "s", "action": {"query": "q", "sources": [1]}}],
        [server("web_search", '{"query":"q"}'), ServerResult("s", '{"sources":[1]}', False)],
    ),
    (
        [{"type": "web_search_call", "id": "s", "action": {"query": "q"}}],
        [server("web_search", '{"query":"q"}'), ServerResult("s", "", False)],
    ),
    (
        [{"type": "web_search_call", "id": 7}, {"type": "web_search_call", "id": "s", "action": None}],
        [server("web_search", "{}"), ServerResult("s", "", False)],
    ),
    (
        [{"type": "file_search_call", "id": "s", "queries": None, "results": "r"}],
        [server("file_search", '{"queries":null}'), ServerResult("s", "r", False)],
    ),
    (
        [{"type": "code_interpreter_call", "id": "s", "code": None, "status": "failed"}],
        [server("code_interpreter", '{"code":null}'), ServerResult("s", "", True)],
    ),
    (
        [{"type": "code_interpreter_call", "id": "s"}],
        [server("code_interpreter", '{"code":null}'), ServerResult("s", "", False)],
    ),
    (
        [{"type": "mcp_call", "id": "s", "name": 7, "error": "e", "output": "o"}],
        [server("remote_mcp", "{}"), ServerResult("s", "e", True)],
    ),
    (
        [{"type": "mcp_call", "id": "s", "name": "own", "arguments": "{ }"}],
        [server("own", "{ }"), ServerResult("s", "", False)],
    ),
    ([{"type": "tool_search_call", "id": "s", "arguments": {"a": 1}}], [server("tool_search", '{"a":1}')]),
    ([{"type": "image_generation_call", "result": "aa"}], [Media(PNG)]),
    (
        [{"type": "image_generation_call", "result": "aa", "output_format": "webp"}],
        [Media({"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/webp"}})],
    ),
    ([{"type": "image_generation_call", "result": 7}, {"type": "image_generation_call", "result": ""}], []),
]
MESSAGES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"content": "a", "response_metadata": {"x": 1}}, [Text("a")]),
    # additional_kwargs
    ({"content": "hi", "additional_kwargs": "reasoning"}, [Text("hi")]),
    (
        {"content": "", "additional_kwargs": {"reasoning_content": "a"}},
        [Reasoning("reasoning_content", "a")],
    ),
    (
        {"content": "", "additional_kwargs": {"reasoning_content": "", "reasoning": "b"}},
        [Reasoning("reasoning", "b")],
    ),
    ({"content": "", "additional_kwargs": {"reasoning_content": 7, "reasoning": 7}}, []),
    ({"content": "", "additional_kwargs": {"reasoning": ""}}, []),
    ({"content": [THINKS], "additional_kwargs": {"reasoning": "b"}}, [Reasoning(None, "hm")]),
    ({"content": "a", "additional_kwargs": {"refusal": 7}}, [Text("a")]),
    ({"content": "a", "additional_kwargs": {"refusal": ""}}, [Text("a")]),
    ({"content": "", "additional_kwargs": {"tool_outputs": {"type": "mcp_call"}}}, []),
    (
        {"content": "", "additional_kwargs": {"tool_outputs": [{"type": "mcp_call", "id": "s"}]}},
        [server("remote_mcp", "{}"), ServerResult("s", "", False)],
    ),
    ({"content": "", "additional_kwargs": {"audio": {"transcript": "a"}}}, [Text("a")]),
    (
        {"content": "", "additional_kwargs": {"audio": {"transcript": 7, "data": "aa"}}},
        [Media({"type": "audio", "source": {"type": "data", "value": "aa", "mimeType": "audio/wav"}})],
    ),
    ({"content": "", "additional_kwargs": {"audio": {"transcript": ""}}}, []),
    ({"content": "", "additional_kwargs": {CALL_SIGNATURES: {"c": "s", "d": 7, 7: "s"}}}, [Signature("c", "s")]),
    # grounding
    (grounded(), [cited(url="u", title="t", cited_text="x", end_index=1)]),
    ({"content": "a", "response_metadata": "grounding_metadata"}, [Text("a")]),
    (grounded(grounding_supports=[{"grounding_chunk_indices": [0]}]), [cited(url="u", title="t")]),
    (grounded(grounding_supports=[{"segment": None, "grounding_chunk_indices": None}]), []),
    (
        grounded(grounding_chunks=[{"retrieved_context": {}}], grounding_supports=[{"grounding_chunk_indices": [0]}]),
        [cited()],
    ),
    (grounded(grounding_supports=None), []),
    # calls
    (
        {"content": "", "tool_calls": [7, {"id": 7, "name": "", "args": None}, {"id": "", "name": 7, "args": "x"}]},
        [ToolCallBlock(None, None, None, "{}"), ToolCallBlock(None, None, None, "x")],
    ),
    (
        {"content": "", "invalid_tool_calls": [{"id": "c", "name": "n", "args": None}]},
        [ToolCallBlock(None, "c", "n", None)],
    ),
    (
        {"content": "", "invalid_tool_calls": [{"id": "c", "name": "n", "args": {}}]},
        [ToolCallBlock(None, "c", "n", "{}")],
    ),
    ({"content": "", "tool_calls": {"id": "c"}}, []),
    (
        {
            "content": [{"type": "tool_use"}, {"type": "tool_use", "id": "d"}, HI],
            "tool_calls": [{"name": "m"}, {"id": "c", "name": "n"}, {"id": "d", "name": "o"}],
        },
        [
            ToolCallBlock(None, "d", "o", "{}"),
            Text("hi"),
            ToolCallBlock(None, None, "m", "{}"),
            ToolCallBlock(None, "c", "n", "{}"),
        ],
    ),
    (
        {
            "content": [{"type": "function_call", "call_id": "c", "id": "d"}] * 2 + [HI],
            "tool_calls": [{"id": "d", "name": "o"}, {"id": "c", "name": "n"}],
        },
        [ToolCallBlock(None, "c", "n", "{}"), Text("hi"), ToolCallBlock(None, "d", "o", "{}")],
    ),
]
CHUNKS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"content": [{"type": "input_json_delta", "partial_json": "{", "index": 1}]}, [server(None, "{", None, 1)]),
    (
        {
            "content": [
                {"type": "input_json_delta", "partial_json": 7},
                {"type": "input_json_delta", "partial_json": ""},
            ]
        },
        [],
    ),
    (
        {
            "content": [{"type": "input_json_delta", "partial_json": "{"}],
            "tool_call_chunks": [{"args": "{", "index": 0}],
        },
        [ToolCallBlock(0, None, None, "{")],
    ),
    (
        {"content": "", "tool_call_chunks": [7, {"index": {}, "id": 7, "name": "", "args": {"a": 1}}]},
        [ToolCallBlock(None, None, None, '{"a":1}')],
    ),
    (
        {"content": "", "tool_call_chunks": [{"index": "i", "id": "", "name": 7, "args": None}]},
        [ToolCallBlock("i", None, None, None)],
    ),
    (
        {"content": "", "tool_call_chunks": [], "tool_calls": [{"name": "n"}, {"args": {"a": 1}}]},
        [ToolCallBlock(None, None, "n", "{}")],
    ),
    ({"content": "", "invalid_tool_calls": [{"id": "c", "args": "{"}]}, [ToolCallBlock(None, "c", None, "{")]),
    ({"content": [{"type": "server_tool_use", "id": "s", "name": "n", "input": {}}]}, [server("n", None)]),
    ({"content": [{"type": "server_tool_use", "id": "s", "name": "n", "input": {"a": 1}}]}, [server("n", '{"a":1}')]),
    ({"content": [{"type": "server_tool_use", "id": "s", "name": "n", "partial_json": "{ "}]}, [server("n", "{ ")]),
    (
        {"content": [{"type": "tool_use", "id": "c"}, {**THINKS, "id": "t"}]},
        [Reasoning(None, "hm", "t")],
    ),
    ({"content": "", "additional_kwargs": {"audio": {"data": "aa"}}}, []),
]


@pytest.mark.parametrize(("content", "read"), WHOLE)
def test_a_block_of_a_whole_message_is_read_as_far_as_it_can_be(
    content: Any, read: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert read_content({"type": "ai", "content": content}) == read
    assert not caplog.records


@pytest.mark.parametrize(("message", "read"), MESSAGES)
def test_a_whole_message_is_read_as_far_as_it_can_be(
    message: dict[str, Any], read: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert read_content({"type": "ai", **message}) == read
    assert not caplog.records


@pytest.mark.parametrize("more", [{"grounding_supports": 7}, {"grounding_chunks": []}, {"grounding_supports": [7]}])
def test_grounding_that_cannot_be_read_costs_itself_and_one_log_line(
    more: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert read_content({"type": "ai", **grounded(**more), "content": "a"}) == [Text("a")]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(("message", "read"), CHUNKS)
def test_a_chunk_is_read_as_far_as_it_can_be(
    message: dict[str, Any], read: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert read_content({"type": "AIMessageChunk", **message}) == read
    assert not caplog.records


def test_a_call_that_only_the_content_of_a_whole_message_streams_is_left_out() -> None:
    assert read_content({"type": "ai", "content": [{"type": "input_json_delta", "partial_json": "{"}]}) == []


PARTS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "image", "url": "u", "mime_type": ""}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "u"}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "", "file_id": "f"}, {"type": "image", "source": {"type": "file", "value": "f"}}),
    ({"type": "image", "url": 7, "file_id": 7}, None),
    ({"type": "image", "file_id": ""}, None),
    (
        {"type": "image", "base64": b"a"},
        {"type": "image", "source": {"type": "data", "value": "YQ==", "mimeType": "image/png"}},
    ),
    ({"type": "image", "base64": 7, "url": "u"}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "u", "mime_type": 7}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    (
        {"type": "image", "url": "u", "mime_type": "audio/x"},
        {"type": "image", "source": {"type": "url", "value": "u", "mimeType": "audio/x"}},
    ),
    (
        {"type": "file", "url": "u", "mime_type": "audio/x"},
        {"type": "audio", "source": {"type": "url", "value": "u", "mimeType": "audio/x"}},
    ),
    ({"type": "file", "url": "u"}, {"type": "document", "source": {"type": "url", "value": "u"}}),
    (
        {"type": "input_audio", "input_audio": {"data": "a", "format": "mp3"}},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/mp3"}},
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "a", "format": 7}},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/wav"}},
    ),
    (
        {"type": "audio", "data": "a", "format": "mp3", "mime_type": "audio/x"},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/x"}},
    ),
    (
        {"type": "text-plain", "text": "a"},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/plain"}},
    ),
    (
        {"type": "text-plain", "text": "a", "mime_type": "text/x"},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/x"}},
    ),
    ({"type": "text-plain", "text": 7}, None),
    ({"type": "document", "text": "a"}, None),
    (
        {"type": "document", "source": {"type": "text", "data": "a"}},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/plain"}},
    ),
    (
        {"type": "document", "source": {"type": "text", "data": "a", "media_type": "text/x"}},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/x"}},
    ),
    ({"type": "document", "source": {"type": "text", "data": 7}}, None),
    (
        {"type": "document", "source": {"type": "base64", "data": "a"}, "mime_type": "x/y"},
        {"type": "document", "source": {"type": "data", "value": "a", "mimeType": "x/y"}},
    ),
    (
        {"type": "image", "source": {"type": "file", "file_id": "f", "provider": 7}},
        {"type": "image", "source": {"type": "file", "value": "f"}},
    ),
    ({"type": "image", "source": {"type": "file", "file_id": 7}}, None),
    (
        {"type": "image", "source": {"type": "url", "url": "u"}},
        {"type": "image", "source": {"type": "url", "value": "u"}},
    ),
    ({"type": "image", "source": {"type": "url", "url": 7}}, None),
    (
        {"type": "image", "url": "data:image/gif;base64,aa"},
        {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/gif"}},
    ),
    (
        {"type": "image", "url": "data:image/gif;base64,aa", "mime_type": "image/x"},
        {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/x"}},
    ),
    (
        {"type": "image", "url": "data:image/gif;base64"},
        {"type": "image", "source": {"type": "url", "value": "data:image/gif;base64"}},
    ),
    (
        {"type": "image", "url": "data:image/svg,aa"},
        {"type": "image", "source": {"type": "url", "value": "data:image/svg,aa"}},
    ),
    (
        {"type": "image", "file_id": "f", "extras": {"provider": "p", "x": 1}},
        {"type": "image", "source": {"type": "file", "value": "f", "provider": "p"}, "metadata": {"x": 1}},
    ),
    (
        {"type": "image", "url": "u", "extras": {"provider": "p"}},
        {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": {"provider": "p"}},
    ),
    (
        {"type": "image", "file_id": "f", "metadata": {"provider": 7}, "title": 7},
        {"type": "image", "source": {"type": "file", "value": "f"}, "metadata": {"provider": 7}},
    ),
]


@pytest.mark.parametrize(("block", "part"), PARTS)
def test_a_media_block_is_read_as_far_as_it_can_be(block: dict[str, Any], part: Any) -> None:
    if part is not None:
        assert part_of(block) == part
        return
    with pytest.raises(ValueError, match="no media with a source"):
        part_of(block)


@pytest.mark.parametrize(
    "odd",
    [{"text": 7}, {"type": "text", "text": 7}, {"type": "unheard of", "url": "u"}, {"type": "image"}, {}, None, 7],
)
@pytest.mark.parametrize("kind", ["human", "ai"])
def test_a_block_that_has_no_form_for_a_client_is_left_out_with_one_log_line(
    kind: str, odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Of an assistant's content, blocks of unknown types and empty ones are left out silently: adapters send those."""
    (message,) = to_agui({"type": kind, "id": "m", "content": [odd, HI]}, 0, Options())
    assert message["content"] == ([HI] if kind == "human" else "hi")
    is_logged = kind == "human" or odd in ({"type": "image"}, 7)
    assert len(caplog.records) == is_logged


def test_a_media_part_without_metadata_becomes_a_block_without_extras() -> None:
    assert block_of({"type": "image", "source": {"type": "url", "value": "u"}}) == {"type": "image", "url": "u"}


FIELDS: list[tuple[Any, Any]] = [
    (deque(["user", "a"]), {}),
    (
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c", "function": {"name": "n", "arguments": '{"a":1}'}},
                {"id": "d", "function": {"arguments": "{"}},
            ],
        },
        {
            "type": "ai",
            "role": "assistant",
            "tool_calls": [{"id": "c", "name": "n", "args": {"a": 1}}],
            "invalid_tool_calls": [{"id": "d", "name": None, "args": "{"}],
        },
    ),
    (("user", "a"), {"type": "human", "role": "user", "content": "a"}),
    (("user", "a", "b"), {}),
    ((7, "a"), {}),
    ({"type": "constructor", "kwargs": 7}, {"type": "constructor", "kwargs": 7}),
    ({"type": "other", "kwargs": {"content": "a"}}, {"type": "other", "kwargs": {"content": "a"}}),
    ({"type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": "a"}}, {"type": "ai", "content": "a"}),
    ({"type": "constructor", "id": ["AIMessage"], "kwargs": {"type": "tool"}}, {"type": "tool"}),
    ({"type": "constructor", "id": "AIMessage", "kwargs": {"content": "a"}}, {"type": "", "content": "a"}),
    ({"type": "constructor", "id": [], "kwargs": {"content": "a"}}, {"type": "", "content": "a"}),
    ({"type": "constructor", "id": [7], "kwargs": {"content": "a"}}, {"content": "a"}),
    ({"type": "ai", "data": {"content": "a"}}, {"type": "ai", "content": "a"}),
    ({"type": "ai", "data": 7}, {"type": "ai", "data": 7}),
    (
        {"type": "ai", "data": {"content": "a"}, "content": "b"},
        {"type": "ai", "data": {"content": "a"}, "content": "b"},
    ),
    ({"type": 7, "data": {"content": "a"}}, {}),
    (
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": None}}, 7]},
        {
            "type": "ai",
            "role": "assistant",
            "tool_calls": [{"id": "c", "name": "n", "args": {}}, 7],
            "invalid_tool_calls": [],
        },
    ),
]


@pytest.mark.parametrize(("message", "read"), FIELDS)
def test_a_message_of_any_form_has_the_fields_it_names(message: Any, read: Any) -> None:
    assert fields(message) == read


STORED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"type": "system", "content": "a"}, []),
    ({"type": "function", "content": "a"}, []),
    ({"type": "chat", "role": "", "content": "a"}, [{"role": "assistant", "content": "a"}]),
    ({"type": "chat", "role": "", "content": [HI]}, [{"role": "assistant", "content": "hi"}]),
    (
        {"type": "chat", "role": "critic", "content": "a", "name": "n"},
        [{"role": "assistant", "content": "a", "name": "n"}],
    ),
    (
        {"type": "ai", "content": [THINKS]},
        [{"id": "m-reasoning-0", "role": "reasoning", "content": "hm"}, {"role": "assistant", "content": ""}],
    ),
    (
        {"type": "ai", "content": "a", "additional_kwargs": {"refusal": "no"}},
        [{"role": "assistant", "content": "ano", "metadata": {"finishReason": "refusal"}}],
    ),
    (
        {"type": "ai", **grounded(), "content": "a"},
        [
            {
                "role": "assistant",
                "content": "a",
                "metadata": {"citations": [cited(url="u", title="t", cited_text="x", end_index=1).citation]},
            }
        ],
    ),
    ({"type": "ai", "content": "a", "response_metadata": 7}, [{"role": "assistant", "content": "a"}]),
    (
        {"type": "ai", "content": "a", "tool_calls": [{"id": "c", "name": "n", "args": {}}]},
        [{"role": "assistant", "content": "a", "toolCalls": [CALL]}],
    ),
    (
        {"type": "ai", "content": [{"type": "server_tool_use", "id": "c", "name": "n", "input": ""}]},
        [{"role": "assistant", "toolCalls": [{**CALL, "function": {"name": "n", "arguments": "{}"}}]}],
    ),
    (
        {
            "type": "ai",
            "content": [
                {"type": "server_tool_use", "id": "c", "name": "n"},
                {"type": "code_execution_result", "code_execution_result": "r"},
                {"type": "code_execution_result", "code_execution_result": "s", "tool_call_id": "d"},
            ],
        },
        [
            {"role": "assistant", "toolCalls": [CALL]},
            {"id": "m-result-c", "role": "tool", "content": "r", "toolCallId": "c"},
            {"id": "m-result-d", "role": "tool", "content": "s", "toolCallId": "d"},
        ],
    ),
    (
        {"type": "ai", "content": [{"type": "code_execution_result", "code_execution_result": "r"}]},
        [{"role": "assistant", "content": ""}, {"id": "m-result-", "role": "tool", "content": "r", "toolCallId": ""}],
    ),
    (
        {"type": "tool", "content": "a", "tool_call_id": "c", "name": ["x"]},
        [{"role": "tool", "content": "a", "toolCallId": "c"}],
    ),
    (
        {"type": "tool", "content": "a", "tool_call_id": "c", "name": "n"},
        [{"role": "tool", "content": "a", "toolCallId": "c"}],
    ),
    ({"type": "ai", "content": "a", "name": 7}, [{"role": "assistant", "content": "a"}]),
    ({"type": "ai", "content": [HI], "name": 7}, [{"role": "assistant", "content": "hi"}]),
    ({"type": "ai", "content": [HI], "name": ""}, [{"role": "assistant", "content": "hi"}]),
    ({"type": "ai", "content": "a", "name": ""}, [{"role": "assistant", "content": "a"}]),
    ({"type": "chat", "role": "critic", "content": "a"}, [{"role": "assistant", "content": "a", "name": "critic"}]),
    (
        {"type": "chat", "role": "critic", "content": [HI], "name": "n"},
        [{"role": "assistant", "content": "hi", "name": "n"}],
    ),
    ({"type": "chat", "role": "critic", "content": [HI]}, [{"role": "assistant", "content": "hi", "name": "critic"}]),
    ({"type": "chat", "role": "assistant", "content": "a"}, [{"role": "assistant", "content": "a"}]),
    ({"type": "chat", "role": 7, "content": "a"}, [{"role": "assistant", "content": "a"}]),
    ({"type": "human", "content": "a", "name": 7}, [{"role": "user", "content": "a"}]),
    ({"type": "human", "content": "a", "name": ""}, [{"role": "user", "content": "a"}]),
    ({"type": "ai", "content": "a", "response_metadata": ["x"]}, [{"role": "assistant", "content": "a"}]),
    (
        {"type": "ai", "content": "a", "tool_calls": [{"id": "c", "name": "secret"}]},
        [{"role": "assistant", "content": "a"}],
    ),
    ({"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "secret"}]}, []),
    ({"type": "ai", "content": "", "tool_calls": [{"id": "c"}]}, [{"role": "assistant", "content": ""}]),
    (
        {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "secret"}, {"name": "n"}]},
        [
            {
                "role": "assistant",
                "toolCalls": [{"id": "m-call-1", "type": "function", "function": {"name": "n", "arguments": "{}"}}],
            }
        ],
    ),
    (
        {"type": "ai", "content": "", "invalid_tool_calls": [{"id": "c", "name": "n"}]},
        [
            {
                "role": "assistant",
                "toolCalls": [{"id": "c", "type": "function", "function": {"name": "n", "arguments": ""}}],
            }
        ],
    ),
    ({"type": "ai", "content": [{"type": "thinking", "thinking": ""}]}, [{"role": "assistant", "content": ""}]),
    (
        {"type": "ai", "content": [{"type": "redacted_thinking", "data": "d"}]},
        [
            {"id": "m-reasoning-0", "role": "reasoning", "content": "", "encryptedValue": "d"},
            {"role": "assistant", "content": ""},
        ],
    ),
    (
        {
            "type": "ai",
            "content": [
                {**THINKS, "index": 1},
                {"type": "thinking", "thinking": "!", "index": 1, "id": "t", "signature": "s"},
                {**THINKS, "index": 1},
            ],
        },
        [
            {"id": "t", "role": "reasoning", "content": "hm!hm", "encryptedValue": "s"},
            {"role": "assistant", "content": ""},
        ],
    ),
    (
        {"type": "tool", "content": "a", "tool_call_id": 7, "name": 7},
        [{"role": "tool", "content": "a", "toolCallId": ""}],
    ),
    ({"type": "tool", "content": "a", "tool_call_id": "c", "name": "secret"}, []),
    (
        {"type": "tool", "content": "a", "tool_call_id": "c", "status": "error"},
        [{"role": "tool", "content": "a", "toolCallId": "c", "metadata": {"status": "error"}}],
    ),
    ({"type": "tool", "content": [7], "tool_call_id": "c"}, [{"role": "tool", "content": "[7]", "toolCallId": "c"}]),
    (
        {"type": "tool", "content": [HI, "!"], "tool_call_id": "c"},
        [{"role": "tool", "content": "hi!", "toolCallId": "c"}],
    ),
    ({"type": "tool", "content": None, "tool_call_id": "c"}, [{"role": "tool", "content": "", "toolCallId": "c"}]),
]


@pytest.mark.parametrize(("message", "wires"), STORED)
def test_a_stored_message_is_converted_as_far_as_it_can_be(
    message: dict[str, Any], wires: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    got = to_agui({"id": "m", **message}, 0, Options(hidden_tools=frozenset({"secret"})))
    assert got == [{"id": "m", **wire} for wire in wires]
    assert not caplog.records


WHOLLY: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"type": "system", "content": "a"}, [{"role": "system", "content": "a"}]),
    ({"type": "system", "content": "a", "name": 7}, [{"role": "system", "content": "a"}]),
    (
        {"type": "system", "content": "a", "additional_kwargs": {"__openai_role__": "developer"}},
        [{"role": "developer"}],
    ),
    ({"type": "system", "content": "a", "additional_kwargs": "developer"}, [{"role": "system"}]),
    ({"type": "chat", "role": "developer", "content": "a"}, [{"role": "developer"}]),
    ({"type": "developer", "content": "a"}, [{"role": "developer"}]),
    ({"type": "ai", "content": "a", "tool_calls": [{"id": "c"}]}, [{"role": "assistant", "content": "a"}]),
    ({"type": "chat", "role": "critic", "content": "a", "name": "n"}, [{"role": "assistant", "name": "n"}]),
    ({"type": "chat", "role": "critic", "content": "a"}, [{"role": "assistant", "name": "critic"}]),
    ({"type": "ai", "content": [THINKS]}, [{"role": "reasoning", "content": "hm"}, {"role": "assistant"}]),
    ({"type": "ai", "content": [{**THINKS, "thinking": ""}]}, [{"role": "assistant"}]),
    ({"type": "ai", "content": [{**THINKS, "thinking": "", "id": "t"}]}, [{"role": "assistant"}]),
    (
        {"type": "ai", "content": [{"type": "redacted_thinking", "data": "d"}]},
        [{"role": "reasoning", "encrypted_value": "d"}, {"role": "assistant"}],
    ),
]


@pytest.mark.parametrize(("message", "wholly"), WHOLLY)
def test_a_message_is_converted_whole_as_far_as_it_can_be(
    message: dict[str, Any], wholly: list[dict[str, Any]]
) -> None:
    messages = to_agui_messages([{"id": "m", **message}])
    read = [{name: getattr(one, name, None) for name in wanted} for one, wanted in zip(messages, wholly, strict=True)]
    assert read == wholly
    assert all(getattr(one, "name", None) in (None, "n", "critic") for one in messages)


@pytest.mark.parametrize("message_id", [7, "", None])
def test_a_message_without_an_id_is_named_by_its_position(message_id: Any) -> None:
    assert to_agui({"id": message_id, "type": "human", "content": "a"}, 3, Options())[0]["id"] == "message-3"


REFUSED = {"type": "refusal", "refusal": "no"}
REASONS: list[tuple[dict[str, Any], Any]] = [
    ({"additional_kwargs": {"refusal": "no"}}, "refusal"),
    ({"additional_kwargs": {"refusal": ""}}, None),
    ({"additional_kwargs": "refusal"}, None),
    ({"content": [REFUSED]}, "refusal"),
    ({"content": [HI]}, None),
    ({"content": (REFUSED,)}, None),
    ({"content": [{"type": ["x"]}, REFUSED]}, "refusal"),
]


@pytest.mark.parametrize(("message", "reason"), REASONS)
def test_a_refusal_is_a_reason_to_end(message: dict[str, Any], reason: Any) -> None:
    assert finish_reason({"type": "ai", **message}) == reason


LONE: list[tuple[Any, str]] = [
    ([HI], "hi"),
    ([{**HI, "index": 0, "id": "x"}], "hi"),
    ((HI,), ""),
    ([HI, HI], ""),
    (["hi"], ""),
    ([{**HI, "type": "other"}], ""),
    ([{**HI, "annotations": []}], ""),
    ([{"type": "text", "text": 7}], ""),
]


@pytest.mark.parametrize(("content", "text"), LONE)
def test_only_a_bare_block_of_text_is_a_text_delta(content: Any, text: str) -> None:
    assert text_delta({**fields(AIMessageChunk(content="")), "content": content}) == text


def test_a_message_whose_type_is_no_text_is_no_chunk() -> None:
    assert not is_chunk({"type": 7})


def test_metadata_of_a_media_part_goes_into_its_block() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": {"x": 1}}
    assert block_of(part) == {"type": "image", "url": "u", "extras": {"x": 1}}


def test_the_text_of_a_message_is_that_of_its_blocks() -> None:
    assert text_of({"type": "ai", "content": [HI, HI]}) == "hihi"


def test_the_text_of_a_message_has_a_refusal_in_it() -> None:
    assert text_of({"type": "ai", "content": "a", "additional_kwargs": {"refusal": "no"}}) == "ano"


def test_fragments_of_reasoning_belong_to_the_block_they_name() -> None:
    blocks = ReasoningBlocks()
    got: list[Any] = [
        *(Reasoning(0, "a"), Reasoning(0, "b", "x"), Reasoning(0, "c", "y"), Reasoning(5, "d", "x")),
        *(
            Reasoning(None, "e"),
            Reasoning(None, "f"),
            Reasoning(None, "g", "z"),
            Encrypted(None, "s"),
            Reasoning(None, "h"),
        ),
        *(Encrypted(None, "r", redacted=True), Encrypted(7, "r", redacted=True), Encrypted(7, "q", redacted=True)),
        *(Reasoning(8, "i", part=1), Reasoning(8, "j"), Reasoning(8, "k", part=1), Reasoning(8, "l", part=2)),
    ]
    placed = [blocks.place(fragment) for fragment in got]
    assert [one.ordinal for one in placed] == [0, 0, 1, 0, 2, 2, 3, 3, 4, 5, 6, 6, 7, 7, 7, 7]
    assert [one.delta for one in placed][-4:] == ["i", "j", "k", "\n\nl"]
    assert placed[11].encrypted == "rq"


COUNTED: list[tuple[tuple[Any, Any, Any], list[dict[str, Any]]]] = [
    (
        ({"input_tokens": 1}, {"ls_provider": "p", "ls_model_name": "m"}, None),
        [{"provider": "p", "model": "m", "inputTokens": 1}],
    ),
    (
        ({"input_tokens": 1}, {}, {"model_provider": "p", "model_name": "m"}),
        [{"provider": "p", "model": "m", "inputTokens": 1}],
    ),
    (({"input_tokens": 1}, {}, {"model": "m"}), [{"model": "m", "inputTokens": 1}]),
    (({"input_tokens": 1}, {"ls_provider": 7}, "model"), [{"inputTokens": 1}]),
    (({"input_tokens": "1", "output_tokens": float("nan"), "total_tokens": 2.0**60}, {}, {}), []),
    (
        ({"input_tokens": -1, "output_token_details": {"reasoning": 2}, "input_token_details": 7}, {}, {}),
        [{"inputTokens": 0, "reasoningTokens": 2}],
    ),
    ((7, {}, {}), []),
]


@pytest.mark.parametrize(("given", "totals"), COUNTED)
def test_token_usage_is_counted_as_far_as_it_can_be(given: Any, totals: list[dict[str, Any]]) -> None:
    usage = Usage()
    usage.add(*given)
    assert usage.totals() == totals


ACTIVITY = {"id": "a", "role": "activity", "activityType": "T", "content": {"x": 1}}
SNAPSHOT = {"type": "ACTIVITY_SNAPSHOT", "messageId": "new", "activityType": "T", "content": {}}
DELTA = {
    "type": "ACTIVITY_DELTA",
    "messageId": "a",
    "activityType": "T",
    "patch": [{"op": "add", "path": "/y", "value": 1}],
}
CUSTOMS: list[tuple[Any, Any]] = [
    ({"name": "n", "value": 1}, ("n", 1)),
    ({"name": "n", "value": 1, "more": 2}, None),
    ({"type": "CUSTOM", "name": "n", "value": 1, "more": 2}, ("n", 1)),
    ({"type": "CUSTOM", "name": 7, "value": 1}, None),
    ({"type": "CUSTOM", "name": "n"}, None),
    ({"type": ["CUSTOM"], "name": "n", "value": 1}, None),
    (SNAPSHOT, SNAPSHOT),
    ({**SNAPSHOT, "own": 1, "replace": None}, SNAPSHOT),
    ({**SNAPSHOT, "messageId": "a"}, {**SNAPSHOT, "messageId": "a"}),
    ({**SNAPSHOT, "messageId": "u"}, None),
    ({**SNAPSHOT, "content": 7}, None),
    ({**SNAPSHOT, "messageId": 7}, None),
    (DELTA, DELTA),
    ({**DELTA, "messageId": "new"}, None),
    ({**DELTA, "patch": [{"op": "replace", "path": "", "value": 1}]}, None),
    ({**DELTA, "patch": [{"op": "remove", "path": "/z"}]}, None),
    ({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}, None),
]


@pytest.mark.parametrize(("payload", "got"), CUSTOMS)
def test_a_payload_of_a_node_is_itself_only_if_it_is_valid(payload: Any, got: Any) -> None:
    event = custom_event(payload, ClientView([{"id": "u", "role": "user", "content": "hi"}, ACTIVITY], {}), None)
    name, value = got if isinstance(got, tuple) else ("custom", payload)
    assert event == (got if isinstance(got, dict) else {"type": "CUSTOM", "name": name, "value": value})


ANSWER = {"id": "a", "role": "assistant", "content": "hi"}
BACK: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    ([ANSWER], [{"content": "hi"}]),
    ([{**ANSWER, "id": ""}], [{"content": "hi", "id": None}]),
    ([{**ANSWER, "content": None}], [{"content": ""}]),
    (
        [{**ANSWER, "toolCalls": [CALL]}],
        [{"tool_calls": [{"id": "c", "name": "n", "args": {}, "type": "tool_call"}]}],
    ),
    (
        [{**ANSWER, "toolCalls": [{"id": "c", "function": {"name": "", "arguments": "{}"}}]}],
        [
            {
                "tool_calls": [],
                "invalid_tool_calls": [
                    {"id": "c", "name": None, "args": "{}", "error": None, "type": "invalid_tool_call"}
                ],
            }
        ],
    ),
    (
        [{**ANSWER, "toolCalls": [{"id": "c", "function": {"name": "n", "arguments": "[]"}}]}],
        [
            {
                "tool_calls": [],
                "invalid_tool_calls": [
                    {"id": "c", "name": "n", "args": "[]", "error": None, "type": "invalid_tool_call"}
                ],
            }
        ],
    ),
    (
        [{**ANSWER, "toolCalls": [CALL]}, {"role": "tool", "toolCallId": "c", "content": "r", "id": "r"}],
        [{}, {"name": "n", "status": "success", "content": "r"}],
    ),
    (
        [{"role": "tool", "toolCallId": "c", "content": "", "error": "e", "id": "r"}],
        [{"name": None, "status": "error", "content": "e"}],
    ),
    (
        [{"role": "tool", "toolCallId": "c", "content": "r", "error": "e", "id": "r"}],
        [{"status": "error", "content": "r"}],
    ),
    (
        [{"role": "tool", "toolCallId": "c", "content": "r", "id": "r", "metadata": {"status": "error"}}],
        [{"status": "error", "content": "r"}],
    ),
    (
        [ANSWER, {"role": "activity", "id": "x", "activityType": "media", "content": PNG}],
        [{"content": [HI, {"type": "image", "base64": "aa", "mime_type": "image/png"}]}],
    ),
    ([ANSWER, {"role": "activity", "id": "x", "activityType": "media", "content": {}}], [{"content": "hi"}]),
    ([{"role": "activity", "id": "x", "activityType": "media", "content": PNG}, ANSWER], [{"content": "hi"}]),
    ([ANSWER, {"role": "activity", "id": "x", "activityType": "own", "content": PNG}], [{"content": "hi"}]),
    ([{**ANSWER, "metadata": {"citations": [7]}}], [{"content": [{**HI, "annotations": [7]}]}]),
    (
        [{**ANSWER, "content": "", "encryptedValue": "s"}],
        [{"content": [{"type": "text", "text": "", "extras": {"signature": "s"}}]}],
    ),
    (
        [{"role": "reasoning", "id": "r", "content": "hm"}, ANSWER],
        [{"content": [{"type": "reasoning", "reasoning": "hm"}, HI]}],
    ),
    (
        [{"role": "reasoning", "id": "rs_1", "content": "hm", "encryptedValue": "e"}, ANSWER],
        [
            {
                "content": [
                    {
                        "type": "reasoning",
                        "summary": [{"type": "summary_text", "text": "hm"}],
                        "id": "rs_1",
                        "encrypted_content": "e",
                    },
                    HI,
                ]
            }
        ],
    ),
    (
        [
            {
                "role": "user",
                "id": "u",
                "content": [HI, PNG],
            }
        ],
        [{"content": [HI, {"type": "image", "base64": "aa", "mime_type": "image/png"}]}],
    ),
]


@pytest.mark.parametrize(("wires", "read"), BACK)
def test_an_ag_ui_message_is_read_as_far_as_it_can_be(wires: list[dict[str, Any]], read: list[dict[str, Any]]) -> None:
    messages = to_langchain_messages(wires)
    assert [{name: getattr(one, name) for name in wanted} for one, wanted in zip(messages, read, strict=True)] == read
