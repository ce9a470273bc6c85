"""Each condition under which the content of a message is read, met but for one part: what is left is read,
nothing raises.

Tables of inputs and what they become. Never here: whole streams, and values that raise (`test_last_resort`).
"""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import ClientView, to_model
from langgraph_agui.translator.content.blocks import (
    Citation,
    Encrypted,
    Media,
    Reasoning,
    ServerResult,
    Signature,
    Text,
    ToolCallBlock,
    Unknown,
)
from langgraph_agui.translator.content.read_blocks import (
    CALL_SIGNATURES,
    finish_reason,
    read_content,
    text_delta,
    text_of,
)
from langgraph_agui.translator.content.reasoning import ReasoningBlocks
from langgraph_agui.translator.parts.message import fields_of

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.translator_runs import TranslatorRun

METADATA = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
HI = {"type": "text", "text": "hi"}
PNG = {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/png"}}
THINKS = {"type": "thinking", "thinking": "hm"}


def server(name: str | None, args: str | None, id_: str | None = "s", index: Any = None) -> ToolCallBlock:
    """A fragment of a call of a tool the provider runs."""
    return ToolCallBlock(index, id_, name, args, server=True)


def cited(**fields_of: Any) -> Citation:
    """A citation in the standard form."""
    return Citation({"type": "citation", **fields_of})


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
    ([{"type": "unheard of", "base64": "aa"}, HI], [Unknown("unheard of"), Text("hi")]),
    # what LangChain wraps
    ([{"type": "non_standard", "value": HI}], [Text("hi")]),
    (
        [{"type": "non_standard", "value": "hi"}, {"type": "other", "value": HI}],
        [Unknown("non_standard"), Unknown("other")],
    ),
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
    assert text_delta({**fields_of(AIMessageChunk(content="")), "content": content}) == text


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


HALF_PAIR = "a\ud800b"
"""A text with half of a surrogate pair: UTF-8 has no form for it."""
CARRIERS: list[dict[str, Any]] = [
    {"content": [{"type": "image", "url": HALF_PAIR}]},
    {"content": [{"type": "image", "url": "u", "extras": {"x": HALF_PAIR}}]},
    {"content": [{"type": "image_generation_call", "result": "a", "output_format": HALF_PAIR}]},
    {"content": [{"type": "reasoning", "reasoning": HALF_PAIR, "index": 0}]},
    {"content": [{"type": "reasoning", "reasoning": "t", "id": HALF_PAIR}]},
    {"content": [{"type": "thinking", "thinking": "t", "signature": HALF_PAIR, "index": 0}]},
    {"content": [{"type": "text", "text": "", "extras": {"signature": HALF_PAIR}}]},
    {"content": [{"type": "server_tool_call", "id": HALF_PAIR, "name": HALF_PAIR, "args": {}}]},
    {"content": [{"type": "server_tool_result", "tool_call_id": HALF_PAIR, "output": HALF_PAIR}]},
    {"content": "", "tool_call_chunks": [{"name": HALF_PAIR, "args": HALF_PAIR, "id": HALF_PAIR, "index": 0}]},
]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_lone_surrogate_costs_no_more_than_itself(carrier: dict[str, Any], agui_client: AguiClient) -> None:
    run = TranslatorRun(view=ClientView([], {}))
    for fields_ in ({"content": "Before, "}, carrier, {"content": "after.", "chunk_position": "last"}):
        run.feed(("messages", (AIMessageChunk(id="m", **fields_), METADATA)))
    caught_up = run.view.catch_up()
    run.finish()
    answer = agui_client.play([event.model_dump(by_alias=True) for event in map(to_model, run.events)])
    assert (answer.error, answer.warnings, answer.messages) == (None, [], run.view.messages)
    assert "Before, after." in [message.get("content") for message in answer.messages]
    assert "metadata" not in run.events[-1]
    assert agui_client.play(caught_up).error is None
