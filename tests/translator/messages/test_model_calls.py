"""Which chunks are one message, and which whole messages and checkpoints repeat one: a row for each condition.

The ids that adapters really send are in `test_ids`; here are the cases that differ from those in one thing.
"""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.graph import MessagesState
from langgraph_agui.connect.testing import ScriptedChatModel, text
from langgraph_agui.translator import ClientView, Translator

from fixtures.graphs.speech import one_node
from fixtures.scripts import blocks, identified
from tests.support.streams.event_lines import lines, run_made

Part = Any
METADATA = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
WHOLE = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1"}


def fragment(call_id: str) -> dict[str, Any]:
    return {"name": "look", "args": "{}", "id": call_id, "index": 0}


def chunk(message_id: str | None, content: str = "", *calls: str, **more: Any) -> Part:
    """A chunk as a platform sends it."""
    fragments = [fragment(call_id) for call_id in calls]
    message = {"type": "AIMessageChunk", "id": message_id, "content": content, "tool_call_chunks": fragments}
    return {"event": "messages", "data": [message | more, METADATA]}


def live(message_id: str | None, content: str = "", **metadata: Any) -> Part:
    """A chunk of this process; without `metadata` all have the same metadata object."""
    return ("messages", (AIMessageChunk(content=content, id=message_id), METADATA | metadata if metadata else METADATA))


def whole(message_id: str, content: str = "", *calls: str, task: str = "n:1") -> Part:
    """A message that came whole: a node returned it."""
    made: list[Any] = [{"name": "look", "args": {}, "id": call_id} for call_id in calls]
    message = AIMessage(content, id=message_id, tool_calls=made)
    return ("messages", (message, {**WHOLE, "langgraph_checkpoint_ns": task}))


STREAMS: dict[str, tuple[list[Part], dict[str, str]]] = {
    "a message without id has its task's": ([chunk("", "Hi")], {"n:1": "Hi"}),
    "the first of changing ids counts": ([live("p1"), live("p2", "Hi")], {"p1": "Hi"}),
    "two run ids are two messages, whatever the metadata": (
        [live("lc_run--1", "A"), live("lc_run--2", "B")],
        {"lc_run--1": "A", "lc_run--2": "B"},
    ),
    "a run id continues no call that has one": (
        [chunk("lc_run--1"), chunk("lc_run--2", "B")],
        {"lc_run--2": "B"},
    ),
    "a run id continues no call that has text": (
        [chunk("p1", "A"), chunk("lc_run--2", "B")],
        {"p1": "A", "lc_run--2": "B"},
    ),
    "a run id continues no call that has tool calls": (
        [chunk("p1", "", "c1"), chunk("lc_run--2", "B")],
        {"lc_run--2": "B"},
    ),
    "a provider id continues no call that has one": (
        [chunk("lc_run--1", "A"), chunk("p1", "B"), chunk("p2", "C")],
        {"lc_run--1": "AB", "p2": "C"},
    ),
    "a provider id continues no call that has only another one": ([chunk("p1"), chunk("p2", "B")], {"p2": "B"}),
    "a run id continues none of two calls": (
        [chunk("p1"), chunk("p2"), chunk("lc_run--1", "C")],
        {"lc_run--1": "C"},
    ),
}


@pytest.mark.parametrize(("parts", "texts"), STREAMS.values(), ids=STREAMS)
def test_which_chunks_are_one_message(parts: list[Part], texts: dict[str, str]) -> None:
    assert run_made(parts).texts == texts


def test_a_run_id_continues_no_call_whose_text_is_hidden() -> None:
    hidden = METADATA | {"emit-messages": False}
    parts: list[Part] = [
        {"event": "messages", "data": [{"type": "AIMessageChunk", "id": "p1", "content": "Hidden."}, hidden]},
        chunk("lc_run--2", "", "c1"),
    ]
    assert run_made(parts).lines == ["c1 calls look in lc_run--2", "c1: {}", "c1 ends"]


def test_an_id_that_comes_again_after_its_call_has_ended_is_another_call() -> None:
    told = run_made([chunk("m", "One."), chunk("m", chunk_position="last"), chunk("m", "Two.")])
    assert [message["content"] for message in told.view.messages if message["id"] == "m"] == ["Two."]


@pytest.mark.parametrize(("name", "shown"), [("writer", " as writer"), ("", ""), (7, ""), (None, "")])
def test_a_message_has_the_name_of_its_agent(name: Any, shown: str) -> None:
    assert run_made([live("m", "Hi", lc_agent_name=name)]).lines[0] == f"m begins{shown}"


COPIES: dict[str, tuple[list[Part], Part, list[str]]] = {
    "the same text": ([chunk("a", "Hi")], whole("b", "Hi"), []),
    "another text": ([chunk("a", "Hi")], whole("b", "Ho"), ["b begins", "b: Ho", "b ends"]),
    "the same text of another task": (
        [chunk("a", "Hi")],
        *(whole("b", "Hi", task="n:2"), ["b begins", "b: Hi", "b ends"]),
    ),
    "the same text and another call": (
        [chunk("a", "Hi", "c1")],
        whole("b", "Hi", "c2"),
        ["b begins", "b: Hi", "c2 calls look in b", "c2: {}", "c2 ends", "b ends"],
    ),
    "the same text and a call more": (
        [chunk("a", "Hi")],
        whole("b", "Hi", "c1"),
        ["b begins", "b: Hi", "c1 calls look in b", "c1: {}", "c1 ends", "b ends"],
    ),
    "nothing at all": ([chunk("a")], whole("b"), ["b begins", "b ends"]),
    "the text of two calls": (
        [chunk("lc_run--1", "Hi"), chunk("lc_run--2", "Hi")],
        *(whole("b", "Hi"), ["b begins", "b: Hi", "b ends"]),
    ),
}


@pytest.mark.parametrize(("streamed", "message", "emitted"), COPIES.values(), ids=COPIES)
def test_a_whole_message_is_emitted_unless_one_call_of_its_task_has_just_that(
    streamed: list[Part], message: Part, emitted: list[str]
) -> None:
    run = Translator("thread", "run")
    run.start()
    for part in streamed:
        run.feed(part)
    assert lines(run.feed(message)) == emitted


def test_a_copy_of_calls_alone_leaves_their_results_to_be_emitted() -> None:
    result = {"type": "tool", "id": "t", "tool_call_id": "c1", "content": "Found."}
    streamed = [chunk("a", "", "c1"), chunk("a", chunk_position="last")]
    told = run_made([*streamed, whole("b", "", "c1"), ("messages", (result, WHOLE))])
    assert told.lines == ["c1 calls look in a", "c1: {}", "c1 ends", "t answers c1: Found."]


def test_a_message_that_repeats_a_hidden_call_is_emitted() -> None:
    hidden = METADATA | {"agui_visibility": "hide"}
    message = {"type": "AIMessageChunk", "id": "a", "content": "", "tool_call_chunks": [fragment("c1")]}
    told = run_made([{"event": "messages", "data": [message, hidden]}, whole("b", "", "c1")])
    assert told.lines == ["c1 calls look in b", "c1: {}", "c1 ends"]


def test_a_message_keeps_the_id_of_its_first_event() -> None:
    told = run_made([chunk("lc_run--1", "A"), chunk("p1", "", "c1")])
    assert told.lines[:3] == ["lc_run--1 begins", "lc_run--1: A", "c1 calls look in lc_run--1"]


def stored(content: Any = "", *calls: str, message_id: str = "m") -> AIMessage:
    made: list[Any] = [{"name": "look", "args": {}, "id": call_id} for call_id in calls]
    return AIMessage(content, id=message_id, tool_calls=made)


CHECKPOINTS: dict[str, tuple[Part, Any, bool]] = {
    "more of the text": (chunk("m", "Hi"), stored("Hi there"), False),
    "another text": (chunk("m", "Hi"), stored("Ho there"), True),
    "the call, and no text": (chunk("m", "", "c1"), stored("", "c1"), False),
    "another call": (chunk("m", "", "c1"), stored("", "c2"), True),
    "the text without the call": (chunk("m", "Hi", "c1"), stored("Hi"), True),
    "the text, and a call more": (chunk("m", "Hi"), stored("Hi", "c1"), False),
    "a user's message of its id": (chunk("m", "Hi"), HumanMessage([{"type": "text", "text": "Hi"}], id="m"), True),
    "the text under another id": (chunk("m", "Hi"), stored("Hi there", message_id="kept"), False),
    "another text under another id": (chunk("m", "Hi"), stored("Ho there", message_id="kept"), True),
}


@pytest.mark.parametrize(("part", "message", "continues"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_a_message_streams_on_unless_a_checkpoint_has_what_came_and_more(
    part: Part, message: Any, continues: bool
) -> None:
    run = Translator("thread", "run", view=ClientView([], {}))
    run.start()
    run.feed(part)
    run.apply_checkpoint({"messages": [message]})
    assert (lines(run.feed(chunk("m", " again."))) != []) == continues
    terminal = run.finish()[-1]
    assert "lost" not in terminal.get("metadata", {})


async def test_media_of_a_message_that_the_client_has_already_are_not_emitted() -> None:
    """The id is used again, and a client whose other messages are unknown cannot be made to drop the first message."""
    image = {"type": "image", "url": "https://example.org/cat.png"}
    first, second = identified(text("Said first."), ["m"]), identified(blocks(image), ["m"])

    async def node(state: MessagesState) -> dict[str, Any]:
        for turn in (first, second):
            await ScriptedChatModel(turns=[turn]).ainvoke(state["messages"])
        return {}

    graph = one_node(node)(None)
    run = Translator("t", "r")
    run.start()
    parts = [part async for part in graph.astream({"messages": []}, stream_mode=["messages"], subgraphs=True)]
    events = [event for part in parts for event in run.feed(part)]
    assert lines(events) == ["m begins", "m: Said first.", "m ends"]


def test_a_run_id_is_one_message_also_if_its_metadata_is_copied_on_the_way() -> None:
    run = Translator("t", "r", view=ClientView([], {}))
    parts = [live("lc_run--1", delta, trace="copied") for delta in ("Hello ", "there.")]
    events = [*run.start(), *(event for part in parts for event in run.feed(part))]
    assert [event["type"] for event in events[-3:]] == ["TEXT_MESSAGE_START", *["TEXT_MESSAGE_CONTENT"] * 2]
