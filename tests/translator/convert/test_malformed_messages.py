"""Each condition under which a message is converted, to AG-UI and back, met but for one part: what is left is
converted, nothing raises."""

from typing import Any

import pytest
from langgraph_agui.translator import Options, to_agui_messages, to_langchain_messages
from langgraph_agui.translator.content.blocks import (
    Citation,
)
from langgraph_agui.translator.convert.to_agui import to_agui

HI = {"type": "text", "text": "hi"}
PNG = {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/png"}}
THINKS = {"type": "thinking", "thinking": "hm"}
CALL = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}


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
        [
            {
                "role": "tool",
                "content": "a",
                "toolCallId": "c",
                "error": "a",
                "metadata": {"status": "error", "error": "a"},
            }
        ],
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
