"""A message that streams stays with the client, or is closed before a snapshot drops it: no text comes for a message
that the client does not have."""

from itertools import product
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.types import Interrupt
from langgraph_agui.translator import ClientView, Translator

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.translator_runs import Event, TranslatorRun, left_open

ASKED, OLD = HumanMessage("hi", id="asked"), AIMessage("Old.", id="old")
WIRE = [{"id": "asked", "role": "user", "content": "hi"}, {"id": "old", "role": "assistant", "content": "Old."}]
METADATA = {"langgraph_node": "say", "langgraph_checkpoint_ns": "say:1", "ls_model_type": "chat"}


def chunk(text: str, **more: Any) -> Any:
    return ("messages", (AIMessageChunk(content=text, id="m1", **more), METADATA))


def values(*messages: Any, waits: bool = False) -> Any:
    asked = {"__interrupt__": [Interrupt(value="Which?", id="i1")]} if waits else {}
    return ("values", {"messages": list(messages), "count": len(messages), **asked})


VIEWS: dict[str, Any] = {"unknown": None, "as asked": WIRE[:1], "with what was removed since": WIRE}
BETWEEN: dict[str, list[Any]] = {"nothing": [], "a custom part": [("custom", {"x": 1})]}
CASES = [*product(VIEWS, BETWEEN, [True, False], [True, False])]


def run_of(view: str, between: str, *, waits: bool, ends: bool) -> TranslatorRun:
    """A stream that was joined when the message `m1` was half said; another task may ask a person meanwhile. Without
    `ends` the model gives no last chunk."""
    held = VIEWS[view]
    run = TranslatorRun(view=None if held is None else ClientView(held, {}))
    streamed = ""
    last = {"chunk_position": "last"} if ends else {}
    parts = [chunk("One "), values(ASKED, waits=waits), chunk("two "), *BETWEEN[between], chunk("three ")]
    for part in [*parts, chunk("four.", **last)]:
        if part[0] == "messages":
            streamed += part[1][0].content
        for event in run.feed(part):
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                assert run.view.has(event["messageId"])
        message = run.view.message("m1")
        if waits:  # its superstep goes on, and the client has each chunk once it was fed
            assert message is not None
            assert message["content"] == streamed
        else:
            assert set(run.view.open.texts) <= set(run.view.order)
    return run


@pytest.mark.parametrize(("view", "between", "waits", "ends"), CASES)
def test_no_text_comes_for_a_message_that_the_client_does_not_have(
    view: str, between: str, waits: bool, ends: bool
) -> None:
    run = run_of(view, between, waits=waits, ends=ends)
    run.feed(values(ASKED, AIMessage("One two three four.", id="m1")))
    run.finish()
    assert [(message["id"], message["content"]) for message in run.view.messages] == [
        ("asked", "hi"),
        ("m1", "One two three four."),
    ]
    assert left_open(run.events) == []


def test_the_client_takes_each_of_these_streams(agui_client: AguiClient) -> None:
    for view, between, waits, ends in CASES:
        run = run_of(view, between, waits=waits, ends=ends)
        run.finish()
        held: list[Event] = VIEWS[view] or []
        answer = agui_client.play(run.events, messages=held)
        assert answer.accepted, (view, between, waits, ends)
        assert answer.messages == run.view.messages


def test_the_state_of_an_opening_in_mid_run_is_shown_though_a_task_waits() -> None:
    for view in (None, ClientView(WIRE[:1], {})):
        run = TranslatorRun(view=view)
        for part in (chunk("One "), values(ASKED, waits=True), chunk("two.")):
            run.feed(part)
        run.finish()
        assert run.view.state == {"count": 1}


def test_a_message_that_the_client_has_is_not_taken_for_a_renamed_copy_of_what_streams() -> None:
    """The client has "Hi there", a new message begins with "Hi", and a checkpoint is read that has another new one."""
    there = AIMessage("Hi there", id="there")
    held = [WIRE[0], {"id": "there", "role": "assistant", "content": "Hi there"}]
    run = Translator("thread", "run", view=ClientView(held, {}))
    run.start()
    run.feed(chunk("Hi"))
    run.apply_checkpoint({"messages": [ASKED, there, AIMessage("Elsewhere.", id="elsewhere")]})
    run.feed(chunk(" again."))
    assert run.view.message("m1") == {"id": "m1", "role": "assistant", "content": "Hi again."}
