"""What one stored message becomes, and the whole conversation as AG-UI messages."""

import json
import logging
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph_agui.translator.convert.to_agui import to_agui, to_agui_messages
from langgraph_agui.translator.options import Options
from pydantic import TypeAdapter

OPTIONS = Options()
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
IMAGE_PART = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
CALL = {"id": "c", "name": "f", "args": {"a": 1}}
WIRE_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}


def one(message: Any, options: Options = OPTIONS) -> dict[str, Any]:
    (made,) = to_agui(message, 0, options)
    return made


# --- roles


def test_a_human_message_is_the_users() -> None:
    assert one(HumanMessage("hi", id="u", name="ann")) == {"id": "u", "role": "user", "content": "hi", "name": "ann"}


def test_an_answer_is_the_assistants() -> None:
    assert one(AIMessage("hi", id="a", name="bot")) == {"id": "a", "role": "assistant", "content": "hi", "name": "bot"}


def test_an_empty_answer_is_an_empty_message() -> None:
    assert one(AIMessage("", id="a")) == {"id": "a", "role": "assistant", "content": ""}


def test_an_answer_of_calls_alone_has_no_content() -> None:
    assert one(AIMessage("", id="a", tool_calls=[CALL])) == {"id": "a", "role": "assistant", "toolCalls": [WIRE_CALL]}


def test_a_tool_message_is_the_tools() -> None:
    made = one(ToolMessage("42", tool_call_id="c", id="t"))
    assert made == {"id": "t", "role": "tool", "content": "42", "toolCallId": "c"}


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("secret", id="s"),
        ChatMessage(content="secret", role="system", id="s"),
        {"role": "developer", "content": "secret"},
        RemoveMessage(id="x"),
        FunctionMessage(content="1", name="f", id="x"),
        HumanMessage("Here is a summary.", id="x", additional_kwargs={"lc_source": "summarization"}),
        {"role": "user", "content": "Here is a summary.", "additional_kwargs": {"lc_source": "summarization"}},
        None,
        7,
        {},
        {"type": "unheard_of", "content": "x"},
    ],
)
def test_what_is_not_for_the_client_is_not_visible(message: Any) -> None:
    assert to_agui(message, 0, OPTIONS) == []


@pytest.mark.parametrize("kwargs", [{}, {"lc_source": 7}, {"lc_source": ""}, None])
def test_a_user_message_without_the_mark_of_a_middleware_is_visible(kwargs: Any) -> None:
    assert one({"type": "human", "content": "hi", "id": "u", "additional_kwargs": kwargs})["content"] == "hi"


def test_a_chat_message_of_another_role_is_an_assistant_of_that_name() -> None:
    made = one(ChatMessage(content="no", role="critic", id="k"))
    assert (made["role"], made["name"]) == ("assistant", "critic")


def test_a_chat_message_of_the_user_is_the_users() -> None:
    assert one(ChatMessage(content="hi", role="user", id="k"))["role"] == "user"


def test_a_message_without_id_goes_by_its_position() -> None:
    assert to_agui(AIMessage("x"), 5, OPTIONS)[0]["id"] == "message-5"


# --- content


def test_a_multimodal_question_is_content_parts() -> None:
    made = one(HumanMessage([{"type": "text", "text": "what?"}, IMAGE], id="u"))
    assert made["content"] == [{"type": "text", "text": "what?"}, IMAGE_PART]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (IMAGE, IMAGE_PART),
        ({"type": "image", "base64": "AAAA", "mime_type": "image/png"}, IMAGE_PART),
        ({"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/png"}, IMAGE_PART),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, IMAGE_PART),
        ({"type": "media", "mime_type": "image/png", "data": "AAAA"}, IMAGE_PART),
        ({"type": "file", "base64": "AAAA", "mime_type": "image/png"}, IMAGE_PART),
        ({"type": "binary", "mimeType": "image/png", "data": "AAAA"}, IMAGE_PART),
        (IMAGE_PART, IMAGE_PART),
        (
            {"type": "image", "url": "https://x.org/a.png"},
            {"type": "image", "source": {"type": "url", "value": "https://x.org/a.png"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/mp3"}},
        ),
        (
            {"type": "file", "file": {"file_id": "file_1", "filename": "a.pdf"}},
            {"type": "document", "source": {"type": "file", "value": "file_1"}},
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://x.org/a.pdf"}, "title": "A"},
            {
                "type": "document",
                "source": {"type": "url", "value": "https://x.org/a.pdf"},
                "metadata": {"title": "A"},
            },
        ),
        (
            {"type": "video", "file_id": "v1", "mime_type": "video/mp4", "extras": {"provider": "google"}},
            {
                "type": "video",
                "source": {"type": "file", "value": "v1", "mimeType": "video/mp4", "provider": "google"},
            },
        ),
        (
            {"type": "text-plain", "text": "hey", "mime_type": "text/plain"},
            {"type": "document", "source": {"type": "data", "value": "aGV5", "mimeType": "text/plain"}},
        ),
    ],
)
def test_media_of_every_shape_is_one_kind_of_part(block: dict[str, Any], part: dict[str, Any]) -> None:
    assert one(HumanMessage([block], id="u"))["content"] == [part]


def test_media_an_assistant_makes_is_an_activity() -> None:
    _, activity = to_agui(AIMessage([IMAGE], id="a"), 0, OPTIONS)
    assert activity == {"id": "a-media-0", "role": "activity", "activityType": "media", "content": IMAGE_PART}


def test_reasoning_comes_before_the_answer_and_results_of_the_provider_after_it() -> None:
    content: list[Any] = [
        {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}},
        {"type": "server_tool_result", "tool_call_id": "s", "status": "success", "output": [1]},
        {"type": "reasoning", "reasoning": "hm"},
        IMAGE,
    ]
    made = to_agui(AIMessage(content, id="a"), 0, OPTIONS)
    assert [message["id"] for message in made] == ["a-reasoning-0", "a", "a-media-0", "a-result-s"]


def test_an_unsigned_block_is_numbered_though_it_is_empty() -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "", "index": 0},
        {"type": "thinking", "thinking": "hm", "index": 1},
    ]
    assert [message["id"] for message in to_agui(AIMessage(content, id="a"), 0, OPTIONS)] == ["a-reasoning-1", "a"]


def test_signed_blocks_without_an_index_stay_apart() -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "one", "signature": "1"},
        {"type": "text", "text": "x"},
        {"type": "thinking", "thinking": "two", "signature": "2"},
    ]
    made = to_agui(AIMessage(content, id="a"), 0, OPTIONS)
    assert [(m["content"], m["encryptedValue"]) for m in made[:2]] == [("one", "1"), ("two", "2")]


def test_fragments_without_an_index_are_one_block() -> None:
    content: list[Any] = [{"type": "thinking", "thinking": "o"}, {"type": "thinking", "thinking": "ne"}]
    assert to_agui(AIMessage(content, id="a"), 0, OPTIONS)[0]["content"] == "one"


def test_arguments_that_are_no_json_stay_as_they_are() -> None:
    broken = [{"id": "c", "name": "f", "args": '{"a"', "error": None, "type": "invalid_tool_call"}]
    made = one(AIMessage("", id="a", invalid_tool_calls=broken))
    assert made["toolCalls"][0]["function"]["arguments"] == '{"a"'


def test_a_call_without_id_is_numbered() -> None:
    assert one(AIMessage("", id="a", tool_calls=[{**CALL, "id": None}]))["toolCalls"][0]["id"] == "a-call-0"


def test_an_answer_that_stopped_early_is_marked() -> None:
    made = one(AIMessage("x", id="a", response_metadata={"finish_reason": "length"}))
    assert made["metadata"] == {"finishReason": "length"}


# --- tool results


@pytest.mark.parametrize(
    ("content", "made"),
    [
        ("x", "x"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        (["a", "b"], "ab"),
        ([{"type": "json", "json": {"b": 1}}], '[{"type":"json","json":{"b":1}}]'),
        ([], ""),
    ],
)
def test_a_tools_text_becomes_text(content: Any, made: str) -> None:
    got = one(ToolMessage(content, tool_call_id="c", id="t"))["content"]
    assert got == made or json.loads(got) == json.loads(made)


def test_media_in_a_tools_result_is_content_parts() -> None:
    message = ToolMessage([{"type": "text", "text": "a"}, IMAGE], tool_call_id="c", id="t")
    assert one(message)["content"] == [{"type": "text", "text": "a"}, IMAGE_PART]


def test_media_in_a_tools_result_is_text_for_an_older_client() -> None:
    message = ToolMessage([IMAGE], tool_call_id="c", id="t")
    assert isinstance(one(message, Options(protocol_version=None))["content"], str)


def test_a_failed_tool_is_marked() -> None:
    message = ToolMessage("no", tool_call_id="c", id="t", status="error")
    assert one(message)["metadata"] == {"status": "error", "error": "no"}
    assert one(message)["error"] == "no"


def test_a_result_beyond_the_limit_is_truncated_and_has_its_size() -> None:
    made = one(ToolMessage("x" * 11, tool_call_id="c", id="t"), Options(result_limit=10))
    assert (made["content"], made["metadata"]) == ("x" * 10, {"truncated": True, "size": 11})


def test_a_result_at_the_limit_is_whole() -> None:
    assert "metadata" not in one(ToolMessage("x" * 10, tool_call_id="c", id="t"), Options(result_limit=10))


def test_media_beyond_the_limit_is_left_out_and_has_its_size() -> None:
    message = ToolMessage([{"type": "text", "text": "abc"}, IMAGE], tool_call_id="c", id="t")
    made = one(message, Options(result_limit=2))
    assert (made["content"], made["metadata"]) == ("ab", {"truncated": True, "size": 7})


# --- options


def test_without_reasoning_none_is_visible() -> None:
    message = AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}], id="a")
    assert [m["role"] for m in to_agui(message, 0, Options(reasoning=False))] == ["assistant"]


def test_without_tool_results_none_is_visible() -> None:
    assert to_agui(ToolMessage("x", tool_call_id="c"), 0, Options(tool_results=False)) == []


def test_a_hidden_tools_call_is_not_visible() -> None:
    message = AIMessage("x", id="a", tool_calls=[CALL])
    assert "toolCalls" not in one(message, Options(hidden_tools=frozenset({"f"})))


def test_an_answer_of_hidden_calls_alone_is_not_visible() -> None:
    message = AIMessage("", id="a", tool_calls=[CALL])
    assert to_agui(message, 0, Options(hidden_tools=frozenset({"f"}))) == []


def test_a_hidden_tools_result_is_not_visible() -> None:
    message = ToolMessage("x", tool_call_id="c", name="f")
    assert to_agui(message, 0, Options(hidden_tools=frozenset({"f"}))) == []


# --- to_agui_messages


def test_system_and_developer_messages_are_in_full_conversations() -> None:
    developer = SystemMessage("d", id="2", additional_kwargs={"__openai_role__": "developer"})
    made = to_agui_messages([SystemMessage("s", id="1"), developer])
    assert [(m.role, m.content) for m in made] == [("system", "s"), ("developer", "d")]


def test_results_are_whole_in_full_conversations() -> None:
    (made,) = to_agui_messages([ToolMessage("x" * 60_000, tool_call_id="c", id="t")])
    assert made.content is not None
    assert len(made.content) == 60_000


def test_a_tools_error_becomes_one() -> None:
    (made,) = to_agui_messages([ToolMessage("no", tool_call_id="c", id="t", status="error")])
    assert made.model_dump()["error"] == "no"


def test_messages_are_models_of_the_protocol() -> None:
    (made,) = to_agui_messages([AIMessage("x", id="a", tool_calls=[CALL])])
    assert isinstance(made, AssistantMessage)


@pytest.mark.parametrize("odd", [None, 7, {"type": "unheard_of"}, {"content": object()}])
def test_an_odd_item_costs_itself_and_one_line(odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = to_agui_messages([HumanMessage("a", id="1"), odd, HumanMessage("b", id="2")])
    assert ([m.content for m in made], len(caplog.records)) == (["a", "b"], 1)


VALID: TypeAdapter[Message] = TypeAdapter(Message)
plain_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
content_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, plain_texts),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, plain_texts),
    st.just(IMAGE),
    st.builds(lambda id_: {"type": "web_search_call", "id": id_, "status": "completed"}, plain_texts),
)
stored_messages = st.one_of(
    st.builds(lambda content: HumanMessage(content), plain_texts | st.lists(st.just(IMAGE), max_size=2)),
    st.builds(lambda content: AIMessage(content), plain_texts | st.lists(content_blocks, max_size=4)),
    st.builds(
        lambda content, status: ToolMessage(content, tool_call_id="c", status=status),
        plain_texts | st.lists(content_blocks, max_size=3),
        st.sampled_from(["success", "error"]),
    ),
)


@given(stored_messages, st.sampled_from([Options(), Options(result_limit=1), Options(protocol_version=None)]))
def test_whatever_is_visible_is_a_message_of_the_protocol(message: Any, options: Options) -> None:
    for wire in to_agui(message, 0, options):
        assert VALID.validate_python(wire).model_dump(by_alias=True) == wire
