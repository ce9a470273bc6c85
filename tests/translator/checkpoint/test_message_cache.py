"""A stored message edited in place is seen, whatever was edited, and whatever stands around it."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph_agui.translator import ClientView, Options, Translator
from langgraph_agui.translator.checkpoint.message_cache import MessageCache
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.losses import Losses

Edit = Callable[[dict[str, Any]], Any]
EDITS: dict[str, tuple[int, Edit]] = {
    "text": (1, lambda fields: fields.update(content="other")),
    "an item of content": (2, lambda fields: fields["content"][0].update(text="other")),
    "an argument of a call": (3, lambda fields: fields["tool_calls"][0]["args"].update(query="other")),
    "a call taken away": (3, lambda fields: fields["tool_calls"].clear()),
    "a first call": (1, lambda fields: fields["tool_calls"].append({"name": "t", "args": {}, "id": "new"})),
    "a first keyword argument": (1, lambda fields: fields["additional_kwargs"].update(reasoning_content="hm")),
    "how it ended": (1, lambda fields: fields["response_metadata"].update(finish_reason="length")),
    "the status of a result": (4, lambda fields: fields.update(status="error")),
    "a name": (0, lambda fields: fields.update(name="Ann")),
    "an id": (0, lambda fields: fields.update(id="other")),
    "True in place of 1": (3, lambda fields: fields["tool_calls"][0]["args"].update(count=True)),
}


def conversation() -> list[AnyMessage]:
    call = {"name": "look_up", "args": {"query": "it", "count": 1}, "id": "call"}
    return [
        HumanMessage("asked", id="human"),
        AIMessage("answered", id="answer"),
        AIMessage([{"type": "text", "text": "in a list"}], id="list"),
        AIMessage("", id="asks", tool_calls=[call]),
        ToolMessage("found", tool_call_id="call", id="tool"),
        SystemMessage("be good", id="system"),
    ]


def as_json(messages: list[AnyMessage]) -> list[dict[str, Any]]:
    return [message.model_dump(mode="json") for message in messages]


def expected(messages: list[Any]) -> list[Any]:
    return [wire for at, message in enumerate(messages) for wire in to_agui(message, at, Options())]


@pytest.mark.parametrize("last", [[], [ChatMessage(content="hello", role="critic", id="chat")]], ids=["", "odd last"])
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_in_place_is_seen(name: str, last: list[AnyMessage]) -> None:
    messages, stored = [*conversation(), *last], MessageCache(Options(), Losses("t", "r"))
    stored.read(messages)
    at, edit = EDITS[name]
    edit(messages[at].__dict__)
    stored.read(messages)
    assert stored.messages == expected(messages)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_seen_in_json(name: str) -> None:
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read(as_json(conversation()))
    messages = as_json(conversation())
    at, edit = EDITS[name]
    edit(messages[at])
    stored.read(messages)
    assert stored.messages == expected(messages)


def test_equal_messages_made_anew_are_not_read_anew() -> None:
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read(as_json(conversation()))
    before = stored.messages
    stored.read(as_json(conversation()))
    assert all(was is now for was, now in zip(before, stored.messages, strict=True))


def test_an_edit_beside_a_message_of_another_kind_is_seen() -> None:
    messages: list[AnyMessage] = [ChatMessage(content="hello", role="critic", id="chat"), *conversation()]
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read(messages)
    messages[0].content = "other"
    messages[2].content = "another"
    stored.read(messages)
    assert stored.messages == expected(messages)


def test_a_text_that_is_no_json_is_made_json() -> None:
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read([*conversation(), HumanMessage("lone \ud800", id="odd")])
    assert stored.messages == [*expected(conversation()), {"id": "odd", "role": "user", "content": "lone \ufffd"}]


def test_new_messages_follow_unchanged_ones() -> None:
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read(conversation()[:2])
    stored.read(conversation())
    assert stored.messages == expected(conversation())


def test_fewer_messages_are_seen() -> None:
    stored = MessageCache(Options(), Losses("t", "r"))
    stored.read(conversation())
    stored.read(conversation()[:3])
    assert stored.messages == expected(conversation()[:3])


def test_a_field_that_does_not_compare_costs_no_more_than_a_closer_look() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError

        __hash__ = None  # type: ignore[assignment]

    messages, stored = conversation(), MessageCache(Options(), Losses("t", "r"))
    messages[0].__dict__["name"] = Odd()
    stored.read(messages)
    messages[1].content = "other"
    messages[0].__dict__["name"] = None
    stored.read(messages)
    assert stored.messages == expected(messages)


def test_an_edit_in_what_stood_is_told() -> None:
    view = ClientView([], {})
    run, messages = Translator("thread", "run", view=view), conversation()
    run.start()
    for length in range(1, len(messages) + 1):
        run.feed(((), "values", {"messages": messages[:length]}))
    messages[1].content = "other"
    run.feed(((), "values", {"messages": list(messages)}))
    assert [message.get("content") for message in view.messages if message["id"] == "answer"] == ["other"]


def test_a_result_inserted_into_what_stood_is_kept_in_place() -> None:
    view = ClientView([], {})
    run, messages = Translator("thread", "run", view=view), conversation()
    run.start()
    run.feed(((), "values", {"messages": [*messages[:4], HumanMessage("and?", id="and")]}))
    run.feed(((), "values", {"messages": [*messages[:5], HumanMessage("and?", id="and")]}))
    assert [message["id"] for message in view.messages] == ["human", "answer", "list", "asks", "tool", "and"]
