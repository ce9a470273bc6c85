"""What of a client's messages goes into a graph, and what a thread's messages say to the planning."""

from typing import Any, cast

import pytest
from ag_ui.core import Message
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph_agui.connect.errors import InvalidInputError
from langgraph_agui.connect.inputs.messages import as_json, left_unanswered, same_content, to_graph_messages
from langgraph_agui.translator import ClientView, to_agui_messages, unanswered_calls
from pydantic import TypeAdapter

Wire = dict[str, Any]
_MODEL = TypeAdapter[Message](Message)
PIXEL = "iVBORw0KGgo="
IMAGE = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}


def sent(wire: Wire) -> Message:
    return _MODEL.validate_python({"id": "1", **wire})


def take(*wires: Wire) -> list[BaseMessage]:
    return to_graph_messages([sent(wire) for wire in wires])


def user(content: Any, **more: Any) -> Wire:
    return {"role": "user", "content": content, **more}


def call(call_id: str = "c", name: str = "f", arguments: str = "{}", **more: Any) -> Wire:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def lc_call(call_id: str = "c", name: str = "f", **args: Any) -> Any:
    return {"id": call_id, "name": name, "args": args, "type": "tool_call"}


def result(call_id: str = "c", content: Any = "done", **more: Any) -> Wire:
    return {"role": "tool", "toolCallId": call_id, "content": content, **more}


DEVELOPER = SystemMessage("x", id="1", additional_kwargs={"__openai_role__": "developer"})


# --- taken


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (user("hi", name="ann"), HumanMessage("hi", id="1", name="ann")),
        (user([]), HumanMessage("", id="1")),
        ({"role": "system", "content": "x"}, SystemMessage("x", id="1")),
        ({"role": "developer", "content": "x"}, DEVELOPER),
        ({"role": "assistant", "content": "x", "name": "bot"}, AIMessage("x", id="1", name="bot")),
        (
            {"role": "assistant", "toolCalls": [call(arguments='{"a": 1}')]},
            AIMessage("", id="1", tool_calls=[lc_call(a=1)]),
        ),
        (result(), ToolMessage("done", id="1", tool_call_id="c")),
        (result(content="half", error="broke"), ToolMessage("half", id="1", tool_call_id="c", status="error")),
        (result(content="", error="broke"), ToolMessage("broke", id="1", tool_call_id="c", status="error")),
    ],
)
def test_each_role_becomes_its_message_under_the_clients_id(wire: Wire, message: BaseMessage) -> None:
    assert take(wire) == [message]


def test_what_is_shown_is_taken_as_a_block_that_every_adapter_reads() -> None:
    (message,) = take(user([{"type": "text", "text": "see"}, IMAGE]))
    image = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    assert message.content == [{"type": "text", "text": "see"}, image]


def test_a_data_url_is_taken_as_its_data() -> None:
    url = {"type": "image", "source": {"type": "url", "value": f"data:image/png;base64,{PIXEL}"}}
    assert take(user([url])) == take(user([IMAGE]))


def test_a_file_keeps_its_name_and_nothing_else_that_was_said_of_it() -> None:
    source = {"type": "url", "value": "https://a.example/x.pdf"}
    told = {"filename": "x.pdf", "cache_control": {"type": "ephemeral"}}
    (message,) = take(user([{"type": "document", "source": source, "metadata": told}]))
    assert message.content == [{"type": "file", "url": "https://a.example/x.pdf", "extras": {"filename": "x.pdf"}}]


@pytest.mark.parametrize(
    "wire",
    [
        user("hi"),
        user([{"type": "text", "text": "hi"}, IMAGE]),
        {"role": "system", "content": "x"},
        {"role": "developer", "content": "x"},
        {"role": "assistant", "content": "x", "toolCalls": [call()]},
        result(),
        result(content=[{"type": "text", "text": "hi"}, IMAGE]),
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        {"encryptedValue": "sig"},
        {
            "metadata": {
                "langchain": {"additional_kwargs": {"reasoning": "r"}},
                "finishReason": "length",
                "status": "error",
                "citations": [{}],
            }
        },
        {"type": "remove"},
        {"__overwrite__": []},
        {"additional_kwargs": {"reasoning_content": "r"}, "response_metadata": {"a": 1}, "artifact": 1},
    ],
)
def test_what_only_a_server_may_say_is_not_taken(wire: Wire, more: Wire) -> None:
    assert take({**wire, **more}) == take(wire)


@pytest.mark.parametrize("more", [{"encryptedValue": "sig"}, {"metadata": {"langchain": {"content": []}}}])
def test_of_a_call_only_its_id_name_and_arguments_are_taken(more: Wire) -> None:
    answer = {"role": "assistant", "content": "x"}
    assert take({**answer, "toolCalls": [call(**more)]}) == take({**answer, "toolCalls": [call()]})


@pytest.mark.parametrize("key", ["__overwrite__", "cache_control", "extras", "id"])
def test_of_a_part_only_what_ag_ui_knows_is_taken(key: str) -> None:
    for part in ({"type": "text", "text": "hi"}, IMAGE):
        assert take(user([{**part, key: "x"}])) == take(user([part]))


@pytest.mark.parametrize(
    "wire",
    [
        {"role": "reasoning", "content": "hm", "encryptedValue": "sig"},
        {"role": "activity", "activityType": "media", "content": IMAGE},
        user("hi", subagentRunId="s"),
        {"role": "assistant", "content": "hi", "subagentRunId": "s"},
        {"role": "assistant", "content": ""},
        {"role": "assistant"},
        {"role": "assistant", "toolCalls": [call(arguments="[1]")]},
        {"role": "assistant", "toolCalls": [call(call_id="")]},
    ],
)
def test_what_is_no_part_of_a_conversation_is_not_taken(wire: Wire) -> None:
    assert take(wire) == []


def test_a_broken_call_beside_text_costs_the_call() -> None:
    assert take({"role": "assistant", "content": "x", "toolCalls": [call(arguments="{")]}) == [AIMessage("x", id="1")]


def test_reasoning_of_a_client_does_not_get_into_the_answer_after_it() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "hm", "metadata": {"langchain": {"content": []}}}
    assert take(thought, {"role": "assistant", "content": "x"}) == [AIMessage("x", id="1")]


@pytest.mark.parametrize("message_id", ["", "  ", REMOVE_ALL_MESSAGES, "x" * 513, "a\nb", "a\x00"])
@pytest.mark.parametrize("wire", [user("secret"), result(content="secret"), {"role": "assistant", "content": "secret"}])
def test_an_id_that_can_be_none_is_refused_by_its_place_alone(wire: Wire, message_id: str) -> None:
    with pytest.raises(InvalidInputError, match=r"messages\[1\]") as refused:
        take(user("hi", id="0"), {**wire, "id": message_id})
    assert "secret" not in str(refused.value)


def test_what_is_not_taken_may_have_any_id() -> None:
    assert take({"id": "", "role": "reasoning", "content": "hm"}) == []


def test_a_message_that_comes_twice_is_taken_once() -> None:
    assert take(user("hi"), user("hi", metadata={"try": 2})) == [HumanMessage("hi", id="1")]


@pytest.mark.parametrize("other", [user("secret"), {"role": "system", "content": "hi"}])
def test_one_id_for_two_messages_is_refused_by_their_places_alone(other: Wire) -> None:
    with pytest.raises(InvalidInputError, match=r"messages\[2\].*messages\[0\]") as refused:
        take(user("hi"), user("ho", id="2"), other)
    assert "secret" not in str(refused.value)


# --- same_content


STORED = [
    HumanMessage("hi", id="1"),
    HumanMessage([{"type": "text", "text": "hi"}], id="1"),
    HumanMessage(["h", {"type": "text", "text": "i"}], id="1"),
    HumanMessage([{"type": "text", "text": "see"}, {"type": "image", "base64": PIXEL, "mime_type": "image/png"}]),
    HumanMessage([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}], id="1"),
    HumanMessage([{"type": "image_url", "image_url": "https://a.example/x.png"}], id="1"),
    HumanMessage([{"type": "file", "base64": PIXEL, "mime_type": "image/png", "filename": "x.png"}], id="1"),
    HumanMessage([{"type": "text", "text": "hi"}, {"type": "unheard", "of": 1}], id="1"),
    SystemMessage("x", id="1"),
    DEVELOPER,
    AIMessage("x", id="1", tool_calls=[lc_call(a=1, b=2)]),
    AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}], id="1"),
    ToolMessage("done", id="1", tool_call_id="c", status="error"),
    ToolMessage([{"a": 1}], id="1", tool_call_id="c"),
    ToolMessage([{"type": "image", "base64": PIXEL, "mime_type": "image/png"}], id="1", tool_call_id="c"),
]


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("form", ["object", "json"])
def test_what_a_client_was_told_is_what_is_held(stored: BaseMessage, form: str) -> None:
    told = next(message for message in to_agui_messages([stored]) if message.role not in ("reasoning", "activity"))
    assert same_content(stored if form == "object" else stored.model_dump(), told)


@pytest.mark.parametrize("stored", [message for message in STORED if message.type in ("human", "tool")])
def test_what_an_older_client_was_told_is_what_is_held(stored: BaseMessage) -> None:
    view = ClientView(to_agui_messages([stored]), None, None)
    assert same_content(stored, sent(view.messages[0]))


@pytest.mark.parametrize(
    "content", ["hi", [{"type": "text", "text": "hi"}], [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]]
)
@pytest.mark.parametrize("stored", STORED[:3])
def test_a_text_is_the_same_in_one_part_or_in_several(stored: BaseMessage, content: Any) -> None:
    assert same_content(stored, sent(user(content)))


def test_a_data_url_is_the_data() -> None:
    url = {"type": "image", "source": {"type": "url", "value": f"data:image/png;base64,{PIXEL}"}}
    stored = HumanMessage([{"type": "image", "base64": PIXEL, "mime_type": "image/png"}], id="1")
    assert same_content(stored, sent(user([url], metadata={"a": 1})))


@pytest.mark.parametrize("wire", [user("hi"), user([{"type": "text", "text": "hi"}, IMAGE]), result(), result("d", "")])
def test_what_was_taken_is_what_was_sent(wire: Wire) -> None:
    (stored,) = take(wire)
    assert same_content(stored, sent(wire))


@pytest.mark.parametrize(
    ("stored", "wire"),
    [
        (HumanMessage("hi"), user("hi!")),
        (HumanMessage("hi"), user("")),
        (HumanMessage("hi"), user([{"type": "text", "text": "hi"}, IMAGE])),
        (HumanMessage("hi"), {"role": "system", "content": "hi"}),
        (HumanMessage("hi"), {"role": "reasoning", "content": "hi"}),
        (AIMessage("hi"), user("hi")),
        (AIMessage("hi"), {"role": "assistant", "content": "ho"}),
        (AIMessage("", tool_calls=[lc_call(a=1)]), {"role": "assistant", "toolCalls": [call(arguments='{"a":2}')]}),
        (ToolMessage("done", tool_call_id="c"), result(content="do")),
        ({"type": "remove", "id": "1"}, user("")),
        ("no message", {"role": "assistant", "content": "no message"}),
        (None, user("")),
    ],
)
def test_other_content_or_another_role_is_not_the_same(stored: Any, wire: Wire) -> None:
    assert not same_content(stored, sent(wire))


def test_calls_are_the_same_whatever_the_order_of_their_arguments() -> None:
    stored = AIMessage("", tool_calls=[lc_call(a=1, b=2)])
    assert same_content(stored, sent({"role": "assistant", "toolCalls": [call(arguments='{ "b": 2, "a": 1 }')]}))


def test_a_call_that_was_hidden_from_a_client_makes_no_difference() -> None:
    stored = AIMessage("x", tool_calls=[lc_call()])
    assert same_content(stored, sent({"role": "assistant", "content": "x"}))


def test_a_message_that_was_truncated_for_a_client_is_the_same() -> None:
    mark: Wire = {"metadata": {"truncated": True, "size": 4}}
    assert same_content(ToolMessage("done", tool_call_id="c"), sent(result(content="do", **mark)))
    user = {"role": "user", "content": "do<truncated: 6 bytes>"}
    assert same_content(HumanMessage("done", id="m"), sent({**user, **mark}))
    assert not same_content(HumanMessage("done", id="m"), sent(user))


# --- left_unanswered


ASKED = AIMessage("", id="a", tool_calls=[lc_call("c1", "f"), lc_call("c2", "g")])


def test_a_call_that_was_left_is_answered_by_that() -> None:
    held = [HumanMessage("x", id="1"), ASKED]
    after = cast(Any, add_messages)(held, [left_unanswered(*each) for each in unanswered_calls(held)])
    assert unanswered_calls(after) == []
    assert [(each.tool_call_id, each.name, each.status) for each in after[2:]] == [
        ("c1", "f", "error"),
        ("c2", "g", "error"),
    ]


def test_the_same_call_left_twice_is_one_message() -> None:
    left = cast(Any, add_messages)([left_unanswered("c", "f")], [left_unanswered("c", "f")])
    assert len(left) == 1


def test_a_call_that_was_left_is_shown_as_a_failed_one() -> None:
    (told,) = to_agui_messages([left_unanswered("c", "f")])
    assert (told.role, getattr(told, "error", None)) == ("tool", told.content)


# --- as_json


@pytest.mark.parametrize(
    "message",
    [
        *take(
            user("hi", id="1", name="ann"),
            user([{"type": "text", "text": "see"}, IMAGE], id="2"),
            {"id": "3", "role": "system", "content": "x"},
            {"id": "4", "role": "developer", "content": "x", "name": "dev"},
            {"id": "5", "role": "assistant", "content": "x", "toolCalls": [call(arguments='{"a": [1]}'), call("d")]},
            result(id="6", content=[{"type": "text", "text": "t"}, IMAGE]),
            result("d", id="7", error="broke"),
            user("", id="8"),
        ),
        left_unanswered("c", "f"),
    ],
    ids=lambda message: f"{message.type}-{message.id}",
)
def test_a_platform_makes_an_equal_message_of_the_json(message: BaseMessage) -> None:
    assert convert_to_messages([as_json(message)]) == [message]
