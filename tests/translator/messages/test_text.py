"""What a graph says as text: one message per model call, every word of it, in its own lane, told as it comes."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import Options
from pydantic import ValidationError

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.speech import one_node, said, speaker
from fixtures.models import ChatMessageModel
from fixtures.scripts import end
from tests.support.streams.event_lines import Translated, run_turn

ONE_MESSAGE = {
    "plain_text": ["lc_run--#1 begins", "lc_run--#1: Hello there, how are you?", "lc_run--#1 ends"],
    "sync_node": ["lc_run--#1 begins", "lc_run--#1: Said from a thread.", "lc_run--#1 ends"],
    "whole_model": ["lc_run--#1-0 begins", "lc_run--#1-0: All at once.", "lc_run--#1-0 ends"],
    "streaming_disabled": ["lc_run--#1-0 begins", "lc_run--#1-0: All at once.", "lc_run--#1-0 ends"],
    "made_without_model": ["#1 begins", "#1: Nobody computed this.", "#1 ends"],
    "made_as_dict": ["dict-1 begins", "dict-1: From a dict.", "dict-1 ends"],
    "made_as_tuple": ["#1 begins", "#1: From a tuple.", "#1 ends"],
    "made_as_chunk_sum": ["lc_run--#1 begins", "lc_run--#1: Summed by the node itself.", "lc_run--#1 ends"],
    "no_checkpointer": ["lc_run--#1 begins", "lc_run--#1: Not stored.", "lc_run--#1 ends"],
    "empty_answer": ["lc_run--#1 begins", "lc_run--#1 ends"],
    "finish_with_text": ["lc_run--#1 begins", "lc_run--#1: The last word comes with the end.", "lc_run--#1 ends"],
    "several_commands": [
        *("first-1 begins", "first-1: By the first command.", "first-1 ends"),
        *("second-1 begins", "second-1: By the second.", "second-1 ends"),
        *("lc_run--#1 begins", "lc_run--#1: Closed.", "lc_run--#1 ends"),
    ],
    "two_models": [
        *("lc_run--#1 begins", "lc_run--#1: From the small one.", "lc_run--#1 ends"),
        *("lc_run--#2-0 begins", "lc_run--#2-0: From the large one.", "lc_run--#2-0 ends"),
    ],
    "messages_from_node": [
        *("asked-1 begins by user", "asked-1: Asked by a node.", "asked-1 ends"),
        *("lc_run--#1 begins", "lc_run--#1: I am.", "lc_run--#1 ends"),
    ],
    "other_message_class": [
        *("#1 begins as critic", "#1: From a chat message.", "#1 ends"),
        *("#2 begins", "#2: After it.", "#2 ends"),
    ],
}


@pytest.mark.parametrize("fixture", ONE_MESSAGE)
async def test_a_message_is_told_once_and_whole(fixture: str) -> None:
    assert (await run_turn(fixture)).lines == ONE_MESSAGE[fixture]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [True, False])
async def test_every_form_of_parts_tells_the_same(version: Any, subgraphs: bool) -> None:
    told = await run_turn("plain_text", version=version, subgraphs=subgraphs)
    assert told.lines == ONE_MESSAGE["plain_text"]


async def test_each_token_is_an_event_of_its_own() -> None:
    told = await run_turn("plain_text")
    deltas = [event["delta"] for event in told.kinds("TEXT_MESSAGE_CONTENT")]
    assert deltas == ["Hello ", "there, ", "how ", "are ", "you?"]


async def test_several_text_blocks_of_one_chunk_are_all_told_in_order() -> None:
    told = await run_turn("reasoning_and_text_in_one_chunk")
    assert list(told.texts.values()) == ["First block. Second block."]


async def test_bare_strings_among_blocks_are_text() -> None:
    assert list((await run_turn("content_with_bare_strings")).texts.values()) == ["Bare strings."]


async def test_sequential_calls_in_one_node_are_two_messages() -> None:
    told = await run_turn("two_calls_in_sequence")
    assert told.lines == [
        *("lc_run--#1 begins", "lc_run--#1: The first answer.", "lc_run--#1 ends"),
        *("lc_run--#2 begins", "lc_run--#2: The second answer.", "lc_run--#2 ends"),
    ]


LANES = {
    "gathered_calls": ["Left side speaking now.", "Right side speaking too."],
    "parallel_nodes": ["Left one two three four.", "Right one two three four.", "Both have spoken."],
    "fan_out": [f"A line about {topic} and no more." for topic in ("sun", "moon", "sea")],
    "subgraphs_in_parallel": ["Left child says this.", "Right child says that."],
    "subgraph_called_at_once": ["Left child says this.", "Right child says that."],
}


@pytest.mark.parametrize("fixture", LANES)
async def test_speech_at_the_same_time_stays_apart(fixture: str) -> None:
    assert sorted((await run_turn(fixture)).texts.values()) == sorted(LANES[fixture])


@pytest.mark.parametrize("fixture", LANES)
async def test_speech_at_the_same_time_interleaves(fixture: str) -> None:
    told = await run_turn(fixture)
    kinds = [event["type"] for event in told.kinds("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")]
    assert kinds[:2] == ["TEXT_MESSAGE_START"] * 2


@pytest.mark.parametrize("fixture", [*LANES, "two_calls_in_sequence", "subgraph_two_levels", "subgraph_called_twice"])
async def test_messages_told_as_they_are_stored_need_no_snapshot(fixture: str) -> None:
    assert (await run_turn(fixture)).kinds("MESSAGES_SNAPSHOT") == []


async def test_a_graph_that_ends_closes_nothing_of_the_one_called_beside_it() -> None:
    """Both are called by one task: the second's namespace begins with the first's."""
    told = await run_turn(Fixture("beside", one_node(_short_beside_long), (says("hi"),)))
    assert told.lines[-4:] == [
        *("call_x calls look in lc_run--#2", 'call_x: {"at": "the tree in the garden"}', "call_x ends"),
        "lc_run--#2 ends",
    ]


async def _short_beside_long(state: Any) -> Any:
    turn = text("This goes on for a while. ") + tool_call(
        "look", {"at": "the tree in the garden"}, "call_x", fragments=9
    )
    children = [_child(said("Short.")), _child(ScriptedChatModel(turns=[turn + end("tool_calls")]))]
    states = await asyncio.gather(*(child.ainvoke({"messages": state["messages"]}) for child in children))
    return {"messages": [one["messages"][-1] for one in states]}


def _child(model: Any) -> Any:
    return StateGraph(MessagesState).add_node("leaf", speaker(model)).add_edge(START, "leaf").compile()


@pytest.mark.parametrize(
    ("fixture", "texts"),
    [
        ("subgraph_shared_state", ["Before the child.", "Inside the child."]),
        ("subgraph_two_levels", ["Two levels down.", "One level down.", "At the root."]),
        ("subgraph_called_twice", ["Spoken by a called graph."] * 2),
        ("subgraph_with_memory", ["I remember."]),
        ("handoff_to_parent", ["I hand you over.", "Transferred to bob.", "Bob here, hello."]),
    ],
)
@pytest.mark.parametrize("subgraphs", [True, False])
async def test_a_subgraph_speaks_once_per_call(fixture: str, texts: list[str], subgraphs: bool) -> None:
    assert list((await run_turn(fixture, subgraphs=subgraphs)).texts.values()) == texts


@pytest.mark.parametrize(
    ("fixture", "reason"), [("finish_length", "length"), ("finish_content_filter", "content_filter")]
)
async def test_an_abnormal_finish_is_in_the_end_of_the_message_once(fixture: str, reason: str) -> None:
    ends = (await run_turn(fixture)).kinds("TEXT_MESSAGE_END")
    assert [event.get("metadata") for event in ends] == [{"finishReason": reason}]


async def test_an_ordinary_finish_is_not_told() -> None:
    assert "metadata" not in (await run_turn("plain_text")).kinds("TEXT_MESSAGE_END")[0]


async def test_a_named_agent_speaks_under_its_name_from_the_start() -> None:
    starts = (await run_turn("named_agents")).kinds("TEXT_MESSAGE_START")
    assert [event["name"] for event in starts] == ["alice", "bob", "bob"]


@pytest.mark.parametrize(("role", "begins"), [("assistant", "begins"), ("critic", "begins as critic")])
async def test_a_model_that_streams_chat_messages_streams_each_of_their_chunks(role: str, begins: str) -> None:
    """LangChain cannot add several of these chunks up, and its model call fails at their end."""
    model = ChatMessageModel(turns=["One two three."], role=role)

    async def node(state: MessagesState) -> dict[str, Any]:
        with suppress(ValidationError):
            await model.ainvoke(state["messages"])
        return {}

    told = await run_turn(Fixture("chat", one_node(node), (says("hi"),)))
    deltas = [event["delta"] for event in told.kinds("TEXT_MESSAGE_CONTENT")]
    assert (told.lines[0], deltas) == (f"lc_run--#1 {begins}", ["One ", "two ", "three."])


async def test_a_named_agent_that_only_calls_a_tool_is_named_too() -> None:
    told = await run_turn("named_agents")
    assert _lines_of(told, "#2")[:2] == ["lc_run--#2 begins as bob", "call_bob calls add in lc_run--#2"]


async def test_without_a_known_view_the_question_is_told_before_the_answer() -> None:
    told = await run_turn("plain_text", known=False)
    assert told.lines == ["snapshot user-1", *ONE_MESSAGE["plain_text"]]


async def test_a_client_without_a_version_is_told_the_same_text() -> None:
    assert (await run_turn("plain_text", Options(protocol_version=None))).lines == ONE_MESSAGE["plain_text"]


def _lines_of(told: Translated, number: str) -> list[str]:
    return [line for line in told.lines if number in line]
