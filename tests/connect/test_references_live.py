"""Local parts hold objects that nodes go on changing: what is told is what was true when the part was fed."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.translator import ClientView, Options, Translator

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.history import chain
from fixtures.graphs.speech import said, speaker
from tests.support.streams.event_lines import Event, run_turn

NODE: dict[str, Any] = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
CALL: Any = {"name": "f", "args": {"a": [1]}, "id": "c", "type": "tool_call"}


def _text(message: Any) -> None:
    message.content = "changed"


def _args(message: Any) -> None:
    message.tool_calls[0]["args"]["a"].append("changed")


def _block(message: Any) -> None:
    message.content[0]["text"] = "changed"


def _chunk_args(message: Any) -> None:
    message.tool_call_chunks[0]["args"] = "changed"


def _thought(message: Any) -> None:
    message.content[0]["thinking"] = "changed"


WHOLE: dict[str, tuple[Any, Callable[[Any], None]]] = {
    "text": (AIMessage("true", id="m"), _text),
    "tool arguments": (AIMessage("", id="m", tool_calls=[CALL]), _args),
    "a content block": (AIMessage([{"type": "text", "text": "true"}], id="m"), _block),
    "a result": (ToolMessage("true", id="m", tool_call_id="c"), _text),
    "a result in parts": (ToolMessage([{"type": "text", "text": "true"}], id="m", tool_call_id="c"), _block),
    "reasoning": (AIMessage([{"type": "thinking", "thinking": "true"}], id="m"), _thought),
    "a user's content parts": (HumanMessage([{"type": "text", "text": "true"}], id="m"), _block),
    "a chunk's text": (AIMessageChunk(content="true", id="m"), _text),
    "a chunk's block": (AIMessageChunk(content=[{"type": "text", "text": "true", "index": 0}], id="m"), _block),
    "a chunk's arguments": (
        AIMessageChunk(content="", id="m", tool_call_chunks=[tool_call_chunk(name="f", args="{}", id="c", index=0)]),
        _chunk_args,
    ),
}


@pytest.mark.parametrize(("message", "change"), WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("mode", ["messages", "values"])
def test_what_is_told_is_what_was_true_when_it_was_fed(message: Any, change: Callable[[Any], None], mode: str) -> None:
    assert told(message, mode, change) == told(message, mode, lambda message: None)


@pytest.mark.parametrize(("message", "change"), WHOLE.values(), ids=WHOLE)
def test_a_change_is_told_with_the_next_values(message: Any, change: Callable[[Any], None]) -> None:
    """A view that shared structure with the message would take the change for known."""
    if isinstance(message, AIMessageChunk):
        message = AIMessage(content=message.content or "true", id="m", tool_calls=[CALL])
        change = _args if change is _chunk_args else change
    message, view = deepcopy(message), ClientView([], {})
    run = Translator("thread-1", "run-1", view=view)
    run.start()
    run.feed(("values", {"messages": [message]}))
    change(message)
    run.feed(("values", {"messages": [message]}))
    assert "changed" in str(run.view.messages)


def test_state_is_told_as_it_was_when_it_was_fed() -> None:
    state: dict[str, Any] = {"plan": {"steps": ["true"]}}
    run = Translator("thread-1", "run-1", view=ClientView([], {}))
    run.start()
    events = run.feed(("values", state))
    state["plan"]["steps"].append("changed")
    assert "changed" not in str([events, run.view.state])


def test_custom_payloads_are_told_as_they_were_when_fed() -> None:
    payload = {"name": "progress", "value": {"done": ["true"]}}
    run = Translator("thread-1", "run-1")
    run.start()
    events = run.feed(("custom", payload))
    payload["value"]["done"].append("changed")  # type: ignore[index]
    assert "changed" not in str(events)


def test_raw_events_are_told_as_they_were_when_fed() -> None:
    update = {"n": {"done": ["true"]}}
    run = Translator("thread-1", "run-1", Options(raw_events=True))
    run.start()
    events = run.feed(("updates", update))
    update["n"]["done"].append("changed")
    assert "changed" not in str(events)


def test_interrupts_are_told_as_they_were_when_fed() -> None:
    value = {"question": ["true"]}
    run = Translator("thread-1", "run-1")
    run.start()
    run.feed(("updates", {"__interrupt__": ({"id": "i", "value": value},)}))
    value["question"].append("changed")
    assert "changed" not in str(run.finish())


async def test_a_message_that_a_later_node_edits_in_place_streams_as_it_was_and_ends_as_it_is() -> None:
    told = await run_turn("guardrail_in_place")
    assert list(told.texts.values()) == ["My secret is 1234."]
    assert told.view.messages[-1]["content"] == "My secret is ****."


async def test_an_edit_that_no_node_returns_is_told_with_the_next_values() -> None:
    async def edit(state: Any) -> Any:
        state["messages"][-1].content = "Edited in silence."
        return {"messages": [AIMessage("Next.", id="next")]}

    graph = chain(answer=speaker(said("As it was.")), edit=edit, after=speaker(said("Done.")))
    told = await run_turn(Fixture("editing", graph, (says("go"),)))
    contents = [message["content"] for message in told.view.messages]
    assert contents == [message.content for message in told.values["messages"]]


def told(message: Any, mode: str, change: Callable[[Any], None]) -> list[Event]:
    """The events of a message, which is changed right after it was fed, and what the client then holds."""
    message = deepcopy(message)
    data = (message, NODE) if mode == "messages" else {"messages": [message]}
    run = Translator("thread-1", "run-1", view=ClientView([], {}))
    events = run.start() + run.feed((mode, data))
    change(message)
    return events + run.view.messages + run.finish()
