"""Ordinary messages are converted to what reading their content blocks gives, and the others are left to that."""

from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph_agui.translator import Options
from langgraph_agui.translator.convert.ordinary import ordinary
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.parts.message import fields_of


class Word(str):
    __slots__ = ()


OPTIONS = (
    Options(),
    Options(result_limit=4),
    Options(hidden_tools=frozenset({"hidden"})),
    Options(tool_results=False),
    Options(reasoning=False, protocol_version=None),
)
_texts = st.sampled_from(["", "a", "caf\u00e9", "a longer text", Word("word")])
_names = st.sampled_from([None, "", "look_up", "hidden", Word("word"), 5])
_arguments = st.sampled_from(
    [None, {}, {"q": 1}, {"q": {"r": [1, None]}}, {1: 2**60}, "{}", Word("{}"), [1], {"s": {1, 2}}]
)
_calls = st.lists(
    st.fixed_dictionaries({"name": _names, "args": _arguments, "id": st.sampled_from(["c", "d", "", None, 7])}),
    max_size=3,
)
_kwargs = st.sampled_from(
    [
        {},
        None,
        "odd",
        {"x": 1},
        {"refusal": None},
        {"refusal": "no"},
        {"reasoning_content": "hm"},
        {"audio": {"transcript": "heard"}},
        {"tool_outputs": [{"type": "text", "text": "out"}]},
        {"lc_source": "summarization"},
        {"__gemini_function_call_thought_signatures__": {"c": "signed"}},
    ]
)
_metadata = st.sampled_from(
    [
        {},
        None,
        "odd",
        {"model_name": "m"},
        {"finish_reason": "length"},
        {"finish_reason": "stop"},
        {"incomplete_details": {"reason": "content_filter"}},
        {"grounding_metadata": {"grounding_chunks": [{"web": {"uri": "https://example.org", "title": "t"}}]}},
    ]
)
_messages = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["human", "ai", "tool", "AIMessageChunk", "system", "chat", None]),
        "content": st.one_of(_texts, st.sampled_from([None, 5, [{"type": "text", "text": "in a list"}]])),
        "id": st.sampled_from(["id", "", None, Word("word"), 5]),
    },
    optional={
        "name": _names,
        "additional_kwargs": _kwargs,
        "response_metadata": _metadata,
        "tool_calls": st.one_of(_calls, st.sampled_from([None, (), "odd"])),
        "invalid_tool_calls": st.one_of(st.just([]), _calls),
        "tool_call_id": st.sampled_from(["c", "", None, 5]),
        "status": st.sampled_from(["success", "error", None]),
        "role": st.sampled_from(["user", "assistant", "critic"]),
    },
)


@given(_messages, st.sampled_from(OPTIONS))
def test_an_ordinary_message_is_what_its_content_blocks_are(message: dict[str, Any], options: Options) -> None:
    assert to_agui(message, 3, options) == to_agui(MappingProxyType(message), 3, options)  # no dict is ordinary
    wire = ordinary(message, options)
    assert wire is None or wire == orjson.loads(orjson.dumps(wire))


CALL = ToolCall(name="look_up", args={"query": "it"}, id="call")
ORDINARY: dict[str, AnyMessage] = {
    "a question": HumanMessage("asked", id="m"),
    "an answer": AIMessage("answered", id="m", response_metadata={"finish_reason": "stop"}),
    "an answer of OpenAI": AIMessage("answered", id="m", additional_kwargs={"refusal": None}),
    "calls": AIMessage("", id="m", tool_calls=[CALL, ToolCall(name="look_up", args={}, id="other")]),
    "a sum of chunks": AIMessageChunk(content="answered", id="m", tool_calls=[CALL]),
    "a result": ToolMessage("found", tool_call_id="call", id="m", status="error"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_most_conversations_consist_of_is_ordinary(name: str) -> None:
    assert ordinary(fields_of(ORDINARY[name]), Options()) is not None
