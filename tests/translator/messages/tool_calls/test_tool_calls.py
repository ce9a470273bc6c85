"""Tool calls as models stream them: whatever the shape, each call has its own start, exactly its arguments, its end."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.translator import Options

from tests.support.streams.event_lines import Translated, is_subsequence, run_fixture, run_made, run_turn

SUM = '{"a": 1, "b": 2}'
OSLO = '{"city": "Oslo \\"\\u00d8\\" \\\\ \\n"}'
ARGUMENTS = {
    "args_on_naming_chunk": {"c1": SUM},
    "args_in_one_chunk": {"c1": SUM},
    "args_char_by_char": {"c1": OSLO},
    "args_empty": {"c1": "{}"},
    "args_truncated": {"c1": '{"a": 1, "b": 2'},
    "args_interleaved": {"c1": SUM, "c2": OSLO},
    "calls_index_gaps": {"c1": SUM, "c2": OSLO},
    "calls_without_index": {"c1": SUM, "c2": OSLO},
    "calls_in_one_chunk": {"c1": SUM, "c2": OSLO},
    "calls_in_one_chunk_without_index": {"c1": SUM, "c2": OSLO},
    "calls_same_index_new_id": {"c1": SUM, "c2": OSLO},
    "text_between_calls": {"c1": SUM, "c2": OSLO},
    "text_and_call_in_one_chunk": {"c1": SUM},
    "call_without_id": {"lc_run--#1-call-0": SUM},
    "agent_two_rounds": {"call_add": SUM, "call_2": '{"a": 3, "b": 4}'},
}


@pytest.mark.parametrize("fixture", ARGUMENTS)
async def test_the_fragments_of_a_call_are_exactly_the_models_json(fixture: str) -> None:
    told = await run_turn(fixture)
    assert arguments(told) == ARGUMENTS[fixture]


@pytest.mark.parametrize("fixture", ARGUMENTS)
async def test_a_call_starts_once_and_ends_once_around_its_arguments(fixture: str) -> None:
    told = await run_turn(fixture)
    for call_id in {event["toolCallId"] for event in told.kinds("TOOL_CALL_START")}:
        kinds = [event["type"] for event in told.kinds(*PARTS) if event["toolCallId"] == call_id]
        arguments = len(kinds) - 2
        assert kinds == [PARTS[0], *[PARTS[1]] * arguments, PARTS[2]]


PARTS = ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")


@pytest.mark.parametrize("fixture", ["args_in_one_chunk", "calls_without_index", "agent_whole_model"])
async def test_whole_arguments_are_one_event(fixture: str) -> None:
    told = await run_turn(fixture)
    assert len(told.kinds("TOOL_CALL_ARGS")) == len(told.kinds("TOOL_CALL_START"))


async def test_fragments_are_forwarded_one_by_one() -> None:
    assert len((await run_turn("args_char_by_char")).kinds("TOOL_CALL_ARGS")) == len(OSLO)


@pytest.mark.parametrize("fixture", ARGUMENTS)
async def test_a_call_belongs_to_the_message_that_makes_it(fixture: str) -> None:
    told = await run_turn(fixture)
    called = {message["id"] for message in told.view.messages if message.get("toolCalls")}
    assert {event["parentMessageId"] for event in told.kinds("TOOL_CALL_START")} == called


async def test_text_before_between_and_after_calls_is_one_message() -> None:
    assert (await run_turn("text_between_calls")).lines[:11] == [
        *("lc_run--#1 begins", "lc_run--#1: First "),
        *("c1 calls add in lc_run--#1", f"c1: {SUM}"),
        "lc_run--#1: then ",
        *("c2 calls weather in lc_run--#1", f"c2: {OSLO}"),
        "lc_run--#1: that.",
        *("c1 ends", "c2 ends", "lc_run--#1 ends"),
    ]


async def test_calls_whose_fragments_interleave_are_open_together() -> None:
    lines = (await run_turn("args_interleaved")).lines
    assert is_subsequence(["c1 calls add in lc_run--#1", "c2 calls weather in lc_run--#1", "c1 ends"], lines)


async def test_a_call_for_the_client_is_told_whole_from_a_message_without_a_model() -> None:
    assert (await run_turn("calls_for_the_client")).lines == [
        *("#1 begins", "#1: Do this yourself:"),
        *("call_open calls open in #1", 'call_open: {"page":1}', "call_open ends"),
        *("#1-call-1 calls scroll in #1", "#1-call-1: {}", "#1-call-1 ends"),
        "#1 ends",
    ]


async def test_a_message_of_calls_alone_opens_no_text() -> None:
    assert (await run_turn("agent_parallel_tools")).lines[0] == "call_add calls add in lc_run--#1"


async def test_arguments_that_langchain_mended_end_as_the_checkpoint_has_them() -> None:
    told = await run_turn("args_truncated")
    calls = [call for message in told.view.messages for call in message.get("toolCalls", ())]
    assert [call["function"]["arguments"] for call in calls] == ['{"a":1,"b":2}']


async def test_a_call_id_used_again_in_the_next_turn_gets_no_more_arguments() -> None:
    first, second = await run_fixture("agent_repeated_call_ids")
    assert arguments(first) == {"call_0": '{"a": 1, "b": 1}'}
    assert second.kinds(*PARTS) == []


async def test_a_call_id_used_again_in_the_next_turn_ends_as_a_call_of_its_own() -> None:
    _, second = await run_fixture("agent_repeated_call_ids")
    calls = [call["function"]["arguments"] for one in second.view.messages for call in one.get("toolCalls", ())]
    assert [json.loads(call) for call in calls] == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]


async def test_a_call_id_used_again_costs_one_snapshot_for_the_call_and_one_for_its_result() -> None:
    _, second = await run_fixture("agent_repeated_call_ids")
    assert len(second.kinds("MESSAGES_SNAPSHOT")) == 2


async def test_a_hidden_tool_is_told_neither_as_a_call_nor_as_a_result() -> None:
    told = await run_turn("agent_parallel_tools", Options(hidden_tools=frozenset({"weather"})))
    assert {event["toolCallId"] for event in told.kinds(*PARTS, "TOOL_CALL_RESULT")} == {"call_add"}


async def test_a_hidden_tool_needs_no_snapshot_in_the_end() -> None:
    told = await run_turn("agent_parallel_tools", Options(hidden_tools=frozenset({"weather"})))
    assert told.kinds("MESSAGES_SNAPSHOT") == []


async def test_the_own_call_of_structured_output_is_shown() -> None:
    assert arguments(await run_turn("structured_by_tool")) == {"call_person": '{"name": "Ada", "age": 36}'}


async def test_the_own_call_of_structured_output_can_be_hidden() -> None:
    told = await run_turn("structured_by_tool", Options(hidden_tools=frozenset({"Person"})))
    assert told.lines == []


async def test_a_call_of_a_message_that_fails_is_closed_before_the_error() -> None:
    told = await run_turn("model_raises_mid_call")
    assert told.lines == [
        *("lc_run--#1 begins", "lc_run--#1: Calling. "),
        *("call_half calls add in lc_run--#1", 'call_half: {"a": 1, "b"', "call_half ends", "lc_run--#1 ends"),
        "run-1-error shows run_error",
    ]


async def test_a_call_whose_name_comes_late_is_told_with_the_arguments_that_came_before() -> None:
    told = run_made([fragment(None, '{"a":', "c1"), fragment("add", " 1}", None)])
    assert [line for line in told.lines if line.startswith("c1")][:2] == ["c1 calls add in m", 'c1: {"a": 1}']


async def test_a_fragment_that_names_nothing_tells_nothing() -> None:
    assert run_made([fragment("", None, None)]).kinds(*PARTS) == []


async def test_a_call_that_a_child_graph_has_closed_takes_no_more_arguments() -> None:
    """A call left running behind its node: the client refuses arguments after the end."""
    told = run_made(
        [
            (("child:1",), "messages", (one_chunk("add", "{", "c1"), METADATA)),
            (("child:1",), "values", {"messages": []}),
            (("child:1",), "messages", (one_chunk(None, "}", None), METADATA)),
        ]
    )
    assert told.lines == ["c1 calls add in m", "c1: {", "c1 ends"]


async def test_two_messages_of_one_step_with_the_same_call_id_both_end_with_their_call() -> None:
    made = [AIMessage("", id=name, tool_calls=[{"name": "f", "args": {}, "id": "call_0"}]) for name in ("m1", "m2")]
    calls = tool_call_chunk(name="f", args="{}", id="call_0", index=0)

    def said(name: str) -> Any:
        return AIMessageChunk(content="", id=name, tool_call_chunks=[calls]), {**METADATA, "langgraph_node": name}

    told = run_made(
        [
            *(("messages", said(name)) for name in ("m1", "m2")),
            ("values", {"messages": [HumanMessage("hi", id="u"), *made]}),
        ]
    )
    held = {message["id"]: [call["id"] for call in message.get("toolCalls", ())] for message in told.view.messages}
    assert held == {"u": [], "m1": ["call_0"], "m2": ["call_0"]}


METADATA: dict[str, Any] = {"langgraph_checkpoint_ns": "child:1|n:2", "langgraph_node": "n", "ls_model_type": "chat"}


def fragment(name: str | None, args: str | None, call_id: str | None) -> Any:
    return ("messages", (one_chunk(name, args, call_id), METADATA))


def one_chunk(name: str | None, args: str | None, call_id: str | None) -> AIMessageChunk:
    return AIMessageChunk(
        content="", id="m", tool_call_chunks=[tool_call_chunk(name=name, args=args, id=call_id, index=0)]
    )


def arguments(told: Translated) -> dict[str, str]:
    """What was streamed of each call."""
    lines = [line.partition(": ") for line in told.lines]
    called = {line.split(" calls ")[0] for line in told.lines if " calls " in line}
    found: dict[str, str] = {}
    for head, _, rest in lines:
        if head in called:
            found[head] = found.get(head, "") + rest
    return found
