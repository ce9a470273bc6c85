"""The fields of a message of any form: what is none is left out, nothing raises."""

from collections import deque
from typing import Any

import pytest
from langgraph_agui.translator.parts.message import fields_of, is_chunk

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
    assert fields_of(message) == read


def test_a_message_whose_type_is_no_text_is_no_chunk() -> None:
    assert not is_chunk({"type": 7})
