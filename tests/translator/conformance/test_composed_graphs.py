"""Graphs composed at random, really run for several turns: right in the end, on the way, again, and for who joins."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, StateSnapshot
from langgraph_agui.connect.testing.checks import Items
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import encode

from fixtures.fixture import user
from fixtures.recordings import part_of, row_of
from fixtures.run import MODES
from tests.support.clients.agui_client import AguiClient
from tests.support.random.composed_graphs import Agent, Ask, HandOff, Loop, Plan, Speak, Sub, Together, built, plans
from tests.support.random.examples import LONG
from tests.support.streams.joining import anew, contents, view_after
from tests.support.streams.on_the_way import Run, faults, in_view, stored_items
from tests.support.streams.translator_runs import TranslatorRun, left_open, needless, options_for, view_for

pytestmark = pytest.mark.newest
ANSWERS = 8
"""How many runs may wait for an answer, one after the other."""
SETTINGS = settings(max_examples=2000 if LONG else 8, deadline=None, suppress_health_check=list(HealthCheck))
"""Few examples; `make fuzz` (the profile `long`) draws many."""


@dataclass
class Ran:
    """One run: its parts as a platform has them, its events as they came, and the thread after it."""

    parts: list[Any]
    telling: TranslatorRun
    begun: Any
    state: StateSnapshot
    waiting: list[Any] = field(default_factory=list)
    """Messages of the namespaces in which an interrupt is pending."""


async def ran(plan: Plan) -> list[Ran]:
    """Every run of a plan: its turns, and an answer to each interrupt. One client follows, whose view is known."""
    graph = built(plan, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 60}
    runs: list[Ran] = []
    for turn in range(plan.turns):
        given: Any = {"messages": [user(f"Turn {turn}", f"user-{turn}")]}
        for _ in range(ANSWERS):
            runs.append(await one(graph, given, config, runs))
            pending = runs[-1].state.interrupts
            if not pending:
                break
            given = Command(resume={asked.id: answer(asked.value) for asked in pending})
    return runs


async def one(graph: Any, given: Any, config: Any, before: list[Ran]) -> Ran:
    begun = before[-1].telling.view if before else view_for("1.0.0", [], {})
    if isinstance(given, dict):
        begun = view_for("1.0.0", [*begun.messages, {**given["messages"][0]}], begun.state)
    telling = TranslatorRun(options_for("1.0.0"), view_for("1.0.0", begun.messages, begun.state), f"run-{len(before)}")
    parts = []
    async for part in graph.astream(given, config, stream_mode=[*MODES, "tasks"], subgraphs=True):
        parts.append(part_of(row_of(part)))
        telling.feed(part)
    telling.finish()
    state = await graph.aget_state(config, subgraphs=True)
    return Ran(parts, telling, view_for("1.0.0", begun.messages, begun.state), state, waiting_messages(state))


def waiting_messages(state: StateSnapshot) -> list[Any]:
    """The messages of subgraphs that wait."""
    found: list[Any] = []
    for task in state.tasks:
        if task.interrupts and isinstance(task.state, StateSnapshot):
            found += [*task.state.values.get("messages", ()), *waiting_messages(task.state)]
    return found


def answer(asked: Any) -> Any:
    """What a person says to an interrupt."""
    requests = asked.get("action_requests") if isinstance(asked, dict) else None
    return "yes" if requests is None else {"decisions": [{"type": "approve"} for _ in requests]}


def judge_end(run: Ran, client: AguiClient) -> None:
    telling, options = run.telling, run.telling.options
    said = client.play(telling.events, messages=run.begun.messages, state=run.begun.state)
    assert (said.error, said.warnings) == (None, [])
    assert (said.messages, said.state) == (telling.view.messages, telling.view.state)
    waiting = expected({"messages": run.waiting}, options).messages
    wanted = expected(run.state.values, options, waiting=waiting)
    stored = [message["id"] for message in wanted.messages]
    assert comparable(telling.own(said.messages, stored)) == comparable(wanted.messages)
    assert said.state == wanted.state
    assert telling.end == ("interrupt" if run.state.interrupts else "success")
    assert left_open(telling.events) == []
    assert needless(telling.events, run.begun.copy()) == []


def judge_way(run: Ran, stored: Items) -> None:
    shown = in_view(run.begun.copy(), run.telling.feeds)
    assert faults(Run(run.parts, run.telling.feeds, shown, run.telling.options, stored)) == []


def judge_again(run: Ran, cuts: tuple[float, float]) -> None:
    """The same from JSON parts, twice, and for clients that join at two cuts."""
    first, second = (TranslatorRun(run.telling.options, run.begun.copy(), "run") for _ in range(2))
    views = [(first.view.copy(), len(first.events))]
    for part in run.parts:
        first.feed(part)
        second.feed(part)
        views.append((first.view.copy(), len(first.events)))
    first.finish()
    second.finish()
    assert list(map(encode, first.events)) == list(map(encode, second.events))
    assert contents(first.view) == contents(run.telling.view)
    at = sorted(int(cut * (len(views) - 1)) for cut in cuts)
    (stale, _), (view, done) = (views[number] for number in at)
    after, end = first.events[done:], contents(first.view)
    outside = anew(stale, version="1.0.0")
    for reader in (view_for("1.0.0", [], {}), outside, stale):
        assert contents(view_after(reader, view.catch_up(reader), after)) == end


@SETTINGS
@example(Plan((Sub((Together((Ask(), Speak(1))),)),)), (0.0, 1.0))
@example(Plan((Agent((("note", "ask"),)),)), (0.5, 1.0))
@example(Plan((Together((Ask(), Speak(4, False))),)), (0.0, 1.0))
@example(Plan((Together((Ask(), Sub((Speak(1, False),)))),)), (0.0, 1.0))
@example(Plan((Together((Ask(), Together((Ask(), HandOff(True), Speak(4))))),)), (0.0, 1.0))
@example(Plan((Together((Sub((Agent((("add",),)), Ask())), HandOff(True))),)), (0.3, 0.7))
@example(Plan((Together((Loop(1), Sub((Together((Ask(), Loop(1))),)))),), numbers_anew=True), (0.3, 0.7))
@given(plan=plans(), cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_composed_graph_is_shown_right(agui_client: AguiClient, plan: Plan, cuts: tuple[float, float]) -> None:
    stored: Items = {}
    for number, run in enumerate(asyncio.run(ran(plan))):
        note(f"run {number}")
        judge_end(run, agui_client)
        judge_way(run, stored)
        judge_again(run, cuts)
        stored = stored_items(run.state.values, run.telling.options)
