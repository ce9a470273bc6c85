"""A run that resumes where another stopped: nothing is removed, doubled or started again."""

from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView

from fixtures import FIXTURES
from fixtures.graphs.speech import said, speaker
from fixtures.run import MODES
from tests.support.streams.event_lines import Translated, run_fixture, run_made
from tests.support.streams.translator_runs import TranslatorRun

RESUMED = [name for name, fixture in FIXTURES.items() if any(turn.answer for turn in fixture.turns)]
IN_TOOLS = [
    "interrupt_in_tool",
    "interrupt_in_one_of_two_tools",
    "interrupts_in_two_tools",
    "interrupt_in_stock_tool_node",
    "review_approved",
    "review_rejected",
    "review_edited",
    "review_per_call",
]


@pytest.mark.parametrize("fixture", IN_TOOLS)
async def test_a_call_the_client_has_is_not_started_again(fixture: str) -> None:
    first, second = await run_fixture(fixture)
    known = {event["toolCallId"] for event in first.kinds("TOOL_CALL_START")}
    assert known.isdisjoint(event["toolCallId"] for event in second.kinds("TOOL_CALL_START", "TOOL_CALL_ARGS"))


@pytest.mark.parametrize("fixture", IN_TOOLS)
async def test_every_result_is_emitted_once_over_all_runs(fixture: str) -> None:
    runs = await run_fixture(fixture)
    answered = [event["toolCallId"] for run in runs for event in run.kinds("TOOL_CALL_RESULT")]
    called = [event["toolCallId"] for event in runs[0].kinds("TOOL_CALL_START")]
    assert sorted(answered) == sorted(called)


@pytest.mark.parametrize("fixture", IN_TOOLS)
async def test_answers_to_tools_need_no_snapshot(fixture: str) -> None:
    assert [run.kinds("MESSAGES_SNAPSHOT") for run in await run_fixture(fixture)] == [[], []]


async def test_a_rejected_call_has_an_error_as_its_result() -> None:
    _, second = await run_fixture("review_rejected")
    metadata = {event["toolCallId"]: event.get("metadata", {}) for event in second.kinds("TOOL_CALL_RESULT")}
    status = {call_id: found.get("status") for call_id, found in metadata.items()}
    assert status == {"call_add": None, "call_slow": "error", "call_weather": None}


UNSAVED = ("interrupt_after_speech", "functional_interrupt")
"""Fixtures in which the waiting node has said what nobody saves: it goes when the run continues."""


@pytest.mark.parametrize("fixture", [name for name in RESUMED if name not in UNSAVED])
async def test_the_view_loses_nothing_when_a_run_is_resumed(fixture: str) -> None:
    """Whatever a client has at the interrupt it has until the checkpoint has more."""
    runs = await run_fixture(fixture)
    for before, run in pairwise(runs):
        if FIXTURES[fixture].turns[runs.index(run)].answer is None:
            continue
        view = ClientView(before.view.messages, before.view.state)
        known = {message["id"] for message in view.messages}
        for event in run.events:
            view.apply(event)
            full = event["type"] != "MESSAGES_SNAPSHOT" or not _is_first_of_two(event, run)
            assert not full or known <= {message["id"] for message in view.messages}


@pytest.mark.parametrize("fixture", RESUMED)
async def test_every_run_ends_as_the_checkpoint(fixture: str) -> None:
    for run in await run_fixture(fixture):
        own = [message for message in run.view.messages if "subagentRunId" not in message]
        waiting = [message for message in own if message["id"] in run.waiting]
        if FIXTURES[fixture].messages_key and run.values is not None:
            assert comparable(own) == comparable(expected(run.values, waiting=waiting).messages)


async def test_a_finished_siblings_messages_are_not_emitted_again() -> None:
    first, second = await run_fixture("interrupts_in_parallel")
    assert list(first.texts.values()) == ["I need no answer at all."]
    assert "I need no answer at all." not in second.texts.values()


async def test_what_came_before_an_interrupt_needs_nothing_on_resume() -> None:
    _, second, _ = await run_fixture("interrupt_in_node")
    assert second.lines == [
        *("ask-heard begins", "ask-heard: ask heard left.", "ask-heard ends"),
        *("lc_run--#1 begins", "lc_run--#1: Thank you for that.", "lc_run--#1 ends"),
    ]


async def test_a_breakpoint_is_passed_without_emitting_anything_again() -> None:
    _, second = await run_fixture("breakpoint_before")
    assert second.lines == ["lc_run--#1 begins", "lc_run--#1: The second part.", "lc_run--#1 ends"]


KNOWN = [
    {"id": "u", "role": "user", "content": "hi"},
    {"id": "a", "role": "assistant", "content": "Written by a finished sibling."},
]
USER, ANSWER = HumanMessage("hi", id="u"), AIMessage("Written by a finished sibling.", id="a")
BACK = ("values", {"messages": [USER], "count": 0})
CACHED = ("updates", {"sibling": {"messages": [ANSWER]}, "__metadata__": {"cached": True}})
AHEAD = ("values", {"messages": [USER, ANSWER], "count": 1})


def test_values_that_go_back_before_cached_updates_take_nothing_back() -> None:
    run = run_made([BACK, CACHED, AHEAD], view=ClientView(KNOWN, {"count": 1}))
    assert [event["type"] for event in run.events] == ["RUN_STARTED", "RUN_FINISHED"]


def test_values_that_go_back_before_anything_else_are_the_threads_change() -> None:
    run = run_made([BACK], view=ClientView(KNOWN, {"count": 1}))
    assert ([message["id"] for message in run.view.messages], run.view.state) == (["u"], {"count": 0})


def test_a_cached_update_that_the_client_does_not_have_is_emitted_at_once() -> None:
    """A client that joined late, or got nothing of the run before."""
    run = run_made([BACK, CACHED], view=ClientView(KNOWN[:1], {"count": 0}))
    assert "a: Written by a finished sibling." in run.lines


async def test_a_hit_of_a_nodes_cache_is_no_resumed_run() -> None:
    """LangGraph marks it as it marks what a resumed run replays; here the client had other messages than the thread."""

    async def greet(state: Any) -> Any:
        return {"messages": [AIMessage("Hello.", id="greeting")]}

    graph = StateGraph(MessagesState).add_node("speak", speaker(said("So it is.")))
    graph.add_node("greet", greet, cache_policy=CachePolicy(key_func=lambda state: b"any"))
    compiled = graph.add_edge(START, "greet").add_edge(START, "speak").compile(cache=InMemoryCache())
    asked = {"messages": [HumanMessage("hi", id="u")]}
    await compiled.ainvoke(asked)  # type: ignore[call-overload]
    old = [*KNOWN[:1], {"id": "old", "role": "assistant", "content": "Of a branch that was left."}]
    run = TranslatorRun(view=ClientView(old, {}))
    async for part in compiled.astream(asked, stream_mode=MODES, subgraphs=True):  # type: ignore[call-overload]
        run.feed(part)
        if run.view.open.texts:
            break
    assert [message["id"] for message in run.view.messages][:2] == ["u", "greeting"]


def test_a_client_that_may_have_anything_gets_everything_on_resume() -> None:
    run = run_made([BACK, CACHED, AHEAD])
    assert [message["id"] for message in run.view.messages] == ["u", "a"]


def _is_first_of_two(event: object, run: Translated) -> bool:
    """Whether a snapshot only makes room for the one right after it."""
    place = next(at for at, other in enumerate(run.events) if other is event)
    following: str = run.events[place + 1]["type"]
    return following == "MESSAGES_SNAPSHOT"
