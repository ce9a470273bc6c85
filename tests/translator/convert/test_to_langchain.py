"""AG-UI messages as LangChain messages, and round trips in both directions."""

import logging
from typing import Any

import pytest
from ag_ui.core import Message, UserMessage
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph_agui.translator.convert.to_agui import to_agui, to_agui_messages
from langgraph_agui.translator.convert.to_langchain import to_langchain_messages
from langgraph_agui.translator.options import Options
from pydantic import TypeAdapter

WHOLE = Options(result_limit=None)


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def one(*wires: dict[str, Any]) -> BaseMessage:
    (got,) = to_langchain_messages(wires)
    return got


# --- roles and fields


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"id": "1", "role": "user", "content": "x", "name": "ann"}, HumanMessage("x", id="1", name="ann")),
        ({"id": "1", "role": "system", "content": "x"}, SystemMessage("x", id="1")),
        ({"id": "1", "role": "assistant", "content": "x", "name": "bot"}, AIMessage("x", id="1", name="bot")),
        ({"id": "1", "role": "assistant"}, AIMessage("", id="1")),
        (
            {"id": "1", "role": "developer", "content": "x"},
            SystemMessage("x", id="1", additional_kwargs={"__openai_role__": "developer"}),
        ),
        ({"id": "1", "role": "tool", "content": "x", "toolCallId": "c"}, ToolMessage("x", id="1", tool_call_id="c")),
        (
            {"id": "1", "role": "tool", "content": "", "toolCallId": "c", "error": "no"},
            ToolMessage("no", id="1", tool_call_id="c", status="error"),
        ),
        (
            {"id": "1", "role": "tool", "content": "x", "toolCallId": "c", "metadata": {"status": "error"}},
            ToolMessage("x", id="1", tool_call_id="c", status="error"),
        ),
    ],
)
def test_each_role_is_a_message_of_its_class(wire: dict[str, Any], message: BaseMessage) -> None:
    assert one(wire) == message


def test_models_are_taken_like_their_wire_form() -> None:
    wire = {"id": "1", "role": "assistant", "content": "x", "toolCalls": [call("{}")]}
    model = TypeAdapter[Message](Message).validate_python(wire)
    assert to_langchain_messages([model]) == to_langchain_messages([wire])


@pytest.mark.parametrize("arguments", ["", "{}", " {} "])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    got = one({"id": "1", "role": "assistant", "toolCalls": [call(arguments)]})
    assert isinstance(got, AIMessage)
    assert got.tool_calls == [{"id": "c", "name": "f", "args": {}, "type": "tool_call"}]


@pytest.mark.parametrize("arguments", ['{"a"', "[1]", "nonsense"])
def test_arguments_that_are_no_object_make_an_invalid_call(arguments: str) -> None:
    got = one({"id": "1", "role": "assistant", "toolCalls": [call(arguments)]})
    assert isinstance(got, AIMessage)
    assert [(item["id"], item["args"]) for item in got.invalid_tool_calls] == [("c", arguments)]


def test_a_result_takes_the_name_of_its_call() -> None:
    answer = {"id": "1", "role": "assistant", "toolCalls": [call("{}")]}
    got = to_langchain_messages([answer, {"id": "2", "role": "tool", "content": "x", "toolCallId": "c"}])
    assert got[1].name == "f"


# --- media


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}},
            {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        ),
        (
            {"type": "audio", "source": {"type": "url", "value": "https://x.org/a.mp3"}},
            {"type": "audio", "url": "https://x.org/a.mp3"},
        ),
        (
            {"type": "document", "source": {"type": "file", "value": "file_1", "provider": "openai"}},
            {"type": "file", "file_id": "file_1", "extras": {"provider": "openai"}},
        ),
    ],
)
def test_a_part_is_a_standard_block(part: dict[str, Any], block: dict[str, Any]) -> None:
    assert one({"id": "1", "role": "user", "content": [part]}).content == [block]


def test_media_of_an_activity_are_put_into_the_answer() -> None:
    source = {"type": "data", "value": "AAAA", "mimeType": "image/png"}
    activity = {"id": "a-media-0", "role": "activity", "activityType": "media"}
    got = one(
        {"id": "a", "role": "assistant", "content": "see"},
        {**activity, "content": {"type": "image", "source": source}},
    )
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    assert got.content == [{"type": "text", "text": "see"}, image]


def test_other_activities_are_dropped() -> None:
    assert to_langchain_messages([{"id": "p", "role": "activity", "activityType": "plan", "content": {}}]) == []


# --- reasoning


def test_reasoning_of_another_server_is_a_standard_block() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "hm", "encryptedValue": "s"}
    got = one(thought, {"id": "a", "role": "assistant", "content": "x"})
    block = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}
    assert got.content == [block, {"type": "text", "text": "x"}]


def test_an_item_of_the_responses_api_keeps_its_id() -> None:
    thought = {"id": "rs_1", "role": "reasoning", "content": "hm", "encryptedValue": "s"}
    got = one(thought, {"id": "a", "role": "assistant", "content": ""})
    summary = [{"type": "summary_text", "text": "hm"}]
    assert got.content == [{"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "s"}]


def test_reasoning_that_follows_its_answer_is_put_into_it() -> None:
    answer = {"id": "a", "role": "assistant", "content": "x"}
    later = {"id": "b", "role": "assistant", "content": "y"}
    thought = {"id": "a-reasoning-1", "role": "reasoning", "content": "hm"}
    got = to_langchain_messages([answer, thought, later])
    assert [isinstance(message.content, list) for message in got] == [True, False]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}],
        [{"type": "redacted_thinking", "data": "s"}, {"type": "text", "text": "x"}],
        [
            {"type": "thinking", "thinking": "one", "signature": "1"},
            {"type": "text", "text": "x"},
            {"type": "thinking", "thinking": "two", "signature": "2"},
            {"type": "text", "text": "y"},
        ],
        [{"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "s"}}],
        [{"type": "reasoning_content", "reasoning_content": {"redacted_content": "s"}}],
        [{"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}, {"type": "text", "text": "x"}],
        [
            {"type": "reasoning", "id": "rs_1", "reasoning": "a\n\nb"},
            {"type": "reasoning", "id": "rs_1", "reasoning": "c"},
        ],
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "a\n\nb"}, {"type": "summary_text", "text": "c"}],
                "encrypted_content": "e",
            },
            {"type": "text", "text": "x"},
        ],
        [{"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "text", "text": "x"}],
        [{"type": "text", "text": "x", "extras": {"signature": "s"}}],
        [{"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "https://x.org", "title": "X"}]}],
        [
            {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {"q": 1}},
            {"type": "server_tool_result", "tool_call_id": "s", "status": "error", "output": {"error_code": "x"}},
            {"type": "text", "text": "x"},
        ],
        [
            {"type": "executable_code", "executable_code": "1+1", "language": "PYTHON"},
            {"type": "code_execution_result", "code_execution_result": "2", "outcome": 1},
            {"type": "thinking", "thinking": "hm", "index": 2},
            {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        ],
    ],
)
def test_content_comes_back_in_the_shape_of_its_provider(content: list[Any]) -> None:
    message = AIMessage(content, id="a")
    assert to_langchain_messages(to_agui_messages([message])) == [message]


def test_a_summary_comes_back_as_one() -> None:
    message = HumanMessage("Here is a summary.", id="u", additional_kwargs={"lc_source": "summarization"})
    assert to_langchain_messages(to_agui_messages([message])) == [message]


def test_reasoning_beside_the_content_comes_back_beside_it() -> None:
    message = AIMessage("x", id="a", additional_kwargs={"reasoning_content": "hm"})
    assert to_langchain_messages(to_agui_messages([message])) == [message]


def test_thought_signatures_of_calls_come_back() -> None:
    kwargs = {"__gemini_function_call_thought_signatures__": {"c": "s"}}
    message = AIMessage("", id="a", tool_calls=[{"id": "c", "name": "f", "args": {}}], additional_kwargs=kwargs)
    assert to_langchain_messages(to_agui_messages([message])) == [message]


def test_an_abnormal_end_comes_back_as_one() -> None:
    message = AIMessage("x", id="a", response_metadata={"stop_reason": "pause_turn"})
    (back,) = to_langchain_messages(to_agui_messages([message]))
    assert to_agui(back, 0, WHOLE) == to_agui(message, 0, WHOLE)


def test_text_that_a_client_shortened_is_the_text() -> None:
    content: list[Any] = [{"type": "text", "text": "long text"}, {"type": "thinking", "thinking": "hm"}]
    wires = [m.model_dump(by_alias=True) for m in to_agui_messages([AIMessage(content, id="a")])]
    wires[-1]["content"] = "lo"
    (back,) = to_langchain_messages(wires)
    assert back.content == [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "lo"}]


# --- oddities


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        "x",
        {},
        {"id": "x", "role": "narrator", "content": "x"},
        {"id": "x", "role": "user"},
        {"id": "x", "role": "user", "content": 7},
        {"id": "x", "role": "user", "content": [{"type": "unheard_of"}]},
        {"id": "x", "role": "assistant", "content": 7},
        {"id": "x", "role": "tool", "content": "x"},
        {"id": "x", "role": "system", "content": None},
        {"id": "x", "role": "reasoning", "content": None},
        {"id": "x", "role": "reasoning", "content": "no answer follows"},
        {"id": "x", "role": "assistant", "toolCalls": [{"id": "c"}]},
        {"id": "x", "role": "assistant", "content": "", "name": 7},
    ],
)
def test_an_odd_item_costs_no_other_and_one_line(odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    good = {"id": "1", "role": "user", "content": "a"}
    with caplog.at_level(logging.WARNING):
        got = to_langchain_messages([good, odd, {**good, "id": "2"}])
    assert len(caplog.records) == 1
    assert [message.id for message in got if message.id != "x"] == ["1", "2"]


TEXT, IMAGE = {"type": "text", "text": "see"}, {"type": "image", "source": {"type": "url", "value": "u"}}
ODD_PARTS = [{"type": "unheard_of"}, 7, {"type": "image"}, {"type": "image", "source": {"type": "url", "value": ""}}]


@pytest.mark.parametrize("odd", ODD_PARTS)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_an_odd_part_costs_no_other_and_one_line(role: str, odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    wires: list[Any] = [{"id": "a", "role": "assistant", "toolCalls": [call]}] if role == "tool" else []
    more = {"toolCallId": "c"} if role == "tool" else {}
    wires.append({"id": "x", "role": role, "content": [TEXT, odd, IMAGE], **more})
    with caplog.at_level(logging.WARNING):
        *_, message = to_langchain_messages(wires)
    assert message.content == [TEXT, {"type": "image", "url": "u"}]
    (record,) = caplog.records
    assert record.getMessage().startswith("A part of the AG-UI message 'x' is left out: ")


def test_an_odd_part_of_a_model_costs_no_other() -> None:
    message = UserMessage.model_validate({"id": "x", "role": "user", "content": [TEXT, ODD_PARTS[-1]]})
    assert [one.content for one in to_langchain_messages([message])] == [[TEXT]]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
wire_keys = st.sampled_from(
    [
        *("id", "role", "content", "toolCalls", "toolCallId", "name", "metadata", "encryptedValue", "error"),
        *("activityType", "type", "source", "value", "text", "function", "arguments", "langchain"),
    ]
)
roles = st.sampled_from(["user", "assistant", "tool", "system", "developer", "reasoning", "activity"])
odd_wires = st.builds(
    lambda role, rest: {**rest, "role": role},
    roles | json_values,
    st.dictionaries(wire_keys, json_values | st.dictionaries(wire_keys, json_values, max_size=3), max_size=5),
)


@given(st.lists(odd_wires | json_values, max_size=4))
def test_no_list_however_odd_makes_it_fail(wires: list[Any]) -> None:
    assert isinstance(to_langchain_messages(wires), list)


# --- round trips

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
some_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
arguments = st.dictionaries(words, st.integers(-9, 9) | words | st.none() | st.lists(words, max_size=2), max_size=2)
user_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, words),
    st.builds(lambda data: {"type": "image", "base64": data, "mime_type": "image/png"}, some_words),
    st.builds(lambda url: {"type": "file", "url": f"https://{url}"}, words),
    st.builds(lambda id_: {"type": "video", "file_id": id_, "mime_type": "video/mp4"}, some_words),
)
thoughts = st.one_of(
    st.builds(lambda text, sig: {"type": "thinking", "thinking": text, "signature": sig}, words, some_words),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, some_words),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[BaseMessage]:
    """A conversation in the forms that this package writes: what AG-UI can say of it comes back as it was."""
    got: list[BaseMessage] = []
    for number in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["human", "system", "ai"]))
        name = draw(st.none() | some_words)
        if kind == "human":
            got.append(HumanMessage(draw(words | st.lists(user_blocks, max_size=3)), id=f"u{number}", name=name))
        elif kind == "system":
            got.append(SystemMessage(draw(words), id=f"s{number}", name=name))
        else:
            got += draw(turns(number, name))
    return got


@st.composite
def turns(draw: st.DrawFn, number: int, name: str | None) -> list[BaseMessage]:
    """An answer and the results of its calls."""
    text = draw(words)
    blocks: list[Any] = draw(st.lists(thoughts, max_size=2))
    content: str | list[Any] = [*blocks, {"type": "text", "text": text}] if text else blocks
    calls = [
        {"id": f"c{number}-{index}", "name": "f", "args": draw(arguments), "type": "tool_call"}
        for index in range(draw(st.integers(0, 2)))
    ]
    answer = AIMessage(content if blocks else text, id=f"a{number}", name=name, tool_calls=calls)
    results = [
        ToolMessage(
            draw(words),
            tool_call_id=made["id"],
            id=f"t-{made['id']}",
            name="f",
            status=draw(st.sampled_from(["success", "error"])),
        )
        for made in calls
    ]
    return [answer, *results]


@given(conversations())
def test_a_conversation_goes_to_agui_and_back(conversation: list[BaseMessage]) -> None:
    assert to_langchain_messages(to_agui_messages(conversation)) == conversation


@given(conversations())
def test_agui_messages_go_to_langchain_and_back(conversation: list[BaseMessage]) -> None:
    wires = to_agui_messages(conversation)
    assert to_agui_messages(to_langchain_messages(wires)) == wires
