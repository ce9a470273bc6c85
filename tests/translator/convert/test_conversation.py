"""The ids and the waiting calls of a thread's messages."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph_agui.translator import message_ids, to_agui_messages, unanswered_calls


def _call(call_id: str, name: str) -> Any:
    return {"id": call_id, "name": name, "args": {}, "type": "tool_call"}


def test_a_message_without_an_id_is_named_by_its_position() -> None:
    messages = [HumanMessage("a", id="x"), HumanMessage("b"), {"type": "ai", "content": "c", "id": ""}]
    assert message_ids(messages) == ["x", "message-1", "message-2"]


def test_ids_are_those_that_a_client_has() -> None:
    messages = [HumanMessage("a"), AIMessage("b", id="y"), ToolMessage("c", tool_call_id="d")]
    assert message_ids(messages) == [message.id for message in to_agui_messages(messages)]


ASKED = AIMessage("", id="a", tool_calls=[_call("c1", "f"), _call("c2", "g")])
OLD_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("messages", "waiting"),
    [
        ([], []),
        ([HumanMessage("x")], []),
        ([HumanMessage("x"), ASKED], [("c1", "f"), ("c2", "g")]),
        ([ASKED, ToolMessage("y", tool_call_id="c1")], [("c2", "g")]),
        ([ASKED, ToolMessage("y", tool_call_id="c2"), ToolMessage("y", tool_call_id="c1")], []),
        ([ASKED, SystemMessage("note")], [("c1", "f"), ("c2", "g")]),
        ([ASKED, HumanMessage("x")], []),
        ([ASKED, {"type": "chat", "role": "user", "content": "x"}], []),
        ([ASKED, AIMessage("x")], []),
        ([ASKED, {"type": "chat", "role": "critic", "content": "x"}], []),
        ([ToolMessage("y", tool_call_id="c1"), ASKED], [("c1", "f"), ("c2", "g")]),
        ([AIMessage("", tool_calls=[{"id": None, "name": "f", "args": {}}])], []),
        ([AIMessage([{"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}}])], []),
        ([{"role": "assistant", "content": None, "tool_calls": [OLD_CALL]}], [("c1", "f")]),
        ([AIMessage("", invalid_tool_calls=[{"id": "c", "name": "f", "args": "{", "error": None}])], [("c", "f")]),
        ([ASKED, None, 7, {"type": "tool"}], [("c1", "f"), ("c2", "g")]),
    ],
)
@pytest.mark.parametrize("form", ["object", "json"])
def test_calls_wait_only_where_a_result_can_still_follow_them(
    messages: list[Any], waiting: list[Any], form: str
) -> None:
    given = [each.model_dump() if form == "json" and isinstance(each, BaseMessage) else each for each in messages]
    assert unanswered_calls(given) == waiting
