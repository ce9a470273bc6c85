"""Node runs as steps: balanced, one pair per run of a node, named by their path."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import ClientView, Options

from fixtures import FIXTURES
from fixtures.run import MODES, Conversation, local_parts
from tests.support.streams.event_lines import run_turn
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

_METADATA = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "scripted"}


def _steps(events: Sequence[Event]) -> list[str]:
    """`+name` for a start, `-name` for an end."""
    marks = {"STEP_STARTED": "+", "STEP_FINISHED": "-"}
    return [marks[event["type"]] + event["stepName"] for event in events if event["type"] in marks]


async def _with_tasks(name: str) -> list[Event]:
    conversation = Conversation(FIXTURES[name])
    run = TranslatorRun(view=ClientView([], {}))
    async for part in conversation.stream(FIXTURES[name].turns[0], modes=[*MODES, "tasks"]):
        run.feed(part)
    run.finish()
    return run.events


async def test_each_node_is_one_step() -> None:
    run = await run_turn("state_counters")
    assert _steps(run.events) == ["+one", "-one", "+two", "-two", "+tell", "-tell"]


async def test_what_a_node_says_lies_within_its_step() -> None:
    run = await run_turn("plain_text")
    kinds = [event["type"] for event in run.events]
    assert kinds.index("STEP_STARTED") < kinds.index("TEXT_MESSAGE_START")
    assert kinds.index("TEXT_MESSAGE_END") < kinds.index("STEP_FINISHED")


async def test_parallel_nodes_are_steps_at_once() -> None:
    run = await run_turn("parallel_nodes")
    steps = _steps(run.events)
    assert sorted(steps[:2]) == ["+left", "+right"]
    assert sorted(steps[2:4]) == ["-left", "-right"]
    assert steps[4:] == ["+join", "-join"]


async def test_a_fan_out_of_one_node_is_one_pair() -> None:
    run = await run_turn("fan_out")
    assert _steps(run.events) == ["+write", "-write", "+close", "-close"]


async def test_a_node_that_says_nothing_is_a_step_all_the_same() -> None:
    run = await run_turn("nodes_that_stream_nothing")
    assert _steps(run.events) == ["+nothing", "-nothing", "+tell", "-tell"]


async def test_a_node_of_a_subgraph_is_named_by_its_path() -> None:
    run = await run_turn("child_raises")
    assert _steps(run.events) == ["+before", "-before", "+child", "+child/leaf", "-child/leaf", "-child"]


async def test_a_step_that_failed_is_finished_before_the_error() -> None:
    run = await run_turn("model_raises_mid_text")
    assert [event["type"] for event in run.events[-3:]] == ["STEP_FINISHED", "ACTIVITY_SNAPSHOT", "RUN_ERROR"]


@pytest.mark.parametrize("name", ["plain_text", "parallel_nodes", "agent_parallel_tools", "interrupt_in_subgraph"])
async def test_no_step_is_emitted_if_steps_are_off(name: str) -> None:
    run = await run_turn(name, Options(steps=False))
    assert _steps(run.events) == []


@pytest.mark.parametrize("name", ["nodes_that_stream_nothing", "parallel_nodes", "fan_out", "agent_parallel_tools"])
async def test_with_tasks_the_same_steps_are_emitted(name: str) -> None:
    assert sorted(_steps(await _with_tasks(name))) == sorted(_steps((await run_turn(name)).events))


async def test_with_tasks_a_node_that_streams_nothing_starts_when_it_starts() -> None:
    conversation = Conversation(FIXTURES["nodes_that_stream_nothing"])
    run = TranslatorRun(view=ClientView([], {}))
    part_of: dict[str, str] = {}
    async for part in conversation.stream(FIXTURES["nodes_that_stream_nothing"].turns[0], modes=[*MODES, "tasks"]):
        for step in _steps(run.feed(part)):
            part_of[step] = f"{part[1]} {'input' if part[1] == 'tasks' and 'input' in part[2] else 'result'}"
    assert part_of["+nothing"] == "tasks input"
    assert part_of["-nothing"] == "tasks result"


async def test_with_tasks_an_interrupted_node_is_finished() -> None:
    assert _steps(await _with_tasks("interrupt_in_node"))[-2:] == ["+ask", "-ask"]


async def test_with_tasks_the_step_of_a_node_that_ran_before_ends_where_it_begins() -> None:
    fixture = FIXTURES["interrupts_answered_one_by_one"]
    conversation, found = Conversation(fixture), list[str]()
    for turn in fixture.turns[:2]:
        run = TranslatorRun(view=ClientView([], {}))
        async for part in conversation.stream(turn, modes=[*MODES, "tasks"]):
            run.feed(part)
        run.finish()
        found = _steps(run.events)
    assert found[:4] == ["+left", "+right", "+talks", "-talks"]


async def test_a_step_starts_with_the_first_part_of_its_node() -> None:
    ran = (await local_parts(FIXTURES["plain_text"]))[0]
    run = TranslatorRun(view=ClientView([], {}))
    first = next(at for at, part in enumerate(ran.parts) if part[1] == "messages")
    for part in ran.parts[:first]:
        assert _steps(run.feed(part)) == []
    assert _steps(run.feed(ran.parts[first])) == ["+answer"]


def test_two_tasks_of_one_node_end_their_step_with_the_last() -> None:
    def chunk(task: str) -> Any:
        chunk = {"type": "AIMessageChunk", "id": f"lc_run--{task}", "content": "x"}
        return ("messages", (chunk, {**_METADATA, "langgraph_checkpoint_ns": f"talk:{task}"}))

    updates = ("updates", {"talk": None})
    feeds = run_parts([chunk("1"), chunk("2"), updates, updates]).feeds
    assert [_steps(feed) for feed in feeds[1:5]] == [["+talk"], [], [], ["-talk"]]


def test_a_graph_that_a_tool_calls_has_no_steps() -> None:
    chunk = {"type": "AIMessageChunk", "id": "lc_run--1", "content": "x"}
    metadata = {**_METADATA, "langgraph_checkpoint_ns": "tools:1|talk:1"}
    run = run_parts([(("tools:1",), "messages", (chunk, metadata))])
    assert _steps(run.events) == ["+tools", "-tools"]


@pytest.mark.parametrize("is_shared", [True, False], ids=["one metadata object", "one for each part"])
def test_what_a_node_streams_after_its_end_begins_no_step(is_shared: bool) -> None:
    metadata = {**_METADATA, "langgraph_checkpoint_ns": "talk:1", "ls_provider": "p"}

    def chunk(**fields: Any) -> Any:
        message = AIMessageChunk(id="lc_run--1", **fields)
        return ("messages", (message, metadata if is_shared else {**metadata}))

    parts = [chunk(content="a"), ("updates", {"talk": None}), chunk(content="b")]
    last = chunk(content="", chunk_position="last")
    values: Any = ("values", {"messages": []})
    again = chunk(content="c")
    run = run_parts([*parts, last, values, again])
    assert _steps(run.events) == ["+talk", "-talk", "+talk", "-talk"]
    assert [_steps(feed) for feed in run.feeds[1:5]] == [["+talk"], ["-talk"], [], []]
