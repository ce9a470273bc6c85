"""The ids and the waiting calls of a thread's messages."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph_agui.translator import message_ids, to_agui_messages, unanswered_calls


def _call(call_id: str, name: str) -> Any:
    return {"id": call_id, "name": name, "args": {}, "type": "tool_call"}


def test_a_message_without_an_id_is_known_by_its_place() -> None:
    held = [HumanMessage("a", id="x"), HumanMessage("b"), {"type": "ai", "content": "c", "id": ""}]
    assert message_ids(held) == ["x", "message-1", "message-2"]


def test_ids_are_those_a_client_is_told() -> None:
    held = [HumanMessage("a"), AIMessage("b", id="y"), ToolMessage("c", tool_call_id="d")]
    assert message_ids(held) == [message.id for message in to_agui_messages(held)]


ASKED = AIMessage("", id="a", tool_calls=[_call("c1", "f"), _call("c2", "g")])
OLD_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("held", "waiting"),
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
        ([ToolMessage("y", tool_call_id="c1"), ASKED], [("c1", "f"), ("c2", "g")]),
        ([AIMessage("", tool_calls=[{"id": None, "name": "f", "args": {}}])], []),
        ([{"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [OLD_CALL]}}], [("c1", "f")]),
        ([{"role": "assistant", "content": None, "tool_calls": [OLD_CALL]}], [("c1", "f")]),
        ([AIMessage("", invalid_tool_calls=[{"id": "c", "name": "f", "args": "{", "error": None}])], [("c", "f")]),
        ([ASKED, None, 7, {"type": "tool"}], [("c1", "f"), ("c2", "g")]),
    ],
)
@pytest.mark.parametrize("form", ["object", "json"])
def test_calls_wait_only_where_a_result_can_still_follow_them(held: list[Any], waiting: list[Any], form: str) -> None:
    as_told = [each.model_dump() if form == "json" and isinstance(each, BaseMessage) else each for each in held]
    assert unanswered_calls(as_told) == waiting
