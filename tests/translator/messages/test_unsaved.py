"""Text that a model said and nobody saved, in graphs that were not written for chat: the option `unsaved`.

What is removed must be gone for who watched and for who comes later. What the thread has is always the same.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.idle import idle_events
from langgraph_agui.connect.run_outcome import RunOutcome
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator import ClientView, Failed, Finished, Options

from fixtures import FIXTURES
from fixtures.graphs.speech import said
from fixtures.recordings import Recording
from tests.support.clients.agui_client import VERSIONS
from tests.support.streams.translated import BOUNDED, THREADS, reads
from tests.support.streams.translator_runs import TranslatorRun, options_for, view_for
from tests.support.sweeps import CHOSEN, Choice, in_turn

UNSAVED = ("step", "run", "keep")
MODES = ["messages", "updates", "values", "custom", "tasks"]


class Debate(MessagesState):
    """The state of a team that argues in a channel of its own, and answers in the conversation."""

    argued: Annotated[list[str], lambda before, more: before + more]


class Plan(TypedDict):
    """The state of a graph without a conversation."""

    topic: str
    plan: str
    text: str


def debate() -> Any:
    """Two argue, a third answers; what the two say is in the state alone."""

    def argues(words: str) -> Any:
        async def node(state: Debate) -> dict[str, Any]:
            return {"argued": [(await said(words).ainvoke("argue")).text]}

        return node

    async def judge(state: Debate) -> dict[str, Any]:
        return {"messages": [await said("Hold it.").ainvoke("decide")]}

    nodes = [("bull", argues("Buy it now.")), ("bear", argues("Sell it all.")), ("judge", judge)]
    return StateGraph(Debate).add_sequence(nodes).add_edge(START, "bull").compile(InMemorySaver())


def plan_and_write() -> Any:
    """A model plans, a human approves, a model writes: no messages anywhere."""

    async def plan(state: Plan) -> dict[str, Any]:
        return {"plan": (await said("First this, then that.").ainvoke("plan")).text}

    async def approve(state: Plan) -> dict[str, Any]:
        await said("Is this right?").ainvoke("ask")
        interrupt("good?")
        return {}

    async def write(state: Plan) -> dict[str, Any]:
        return {"text": (await said("A long text.").ainvoke("write")).text}

    nodes = [("plan", plan), ("approve", approve), ("write", write)]
    return StateGraph(Plan).add_sequence(nodes).add_edge(START, "plan").compile(InMemorySaver())


class Page:
    """A page on one thread: what its user says, and what it shows after each step of each run."""

    def __init__(self, graph: Any, **options: Any) -> None:
        self.graph, self.options = graph, Options(**options)
        self.view = ClientView([], {})
        self.config = {"configurable": {"thread_id": "t"}}
        self.runs = 0

    async def run(self, given: Any, says: str | None = None) -> list[list[str]]:
        """What it shows at the end of each step, and at the end of the run."""
        self.runs += 1
        own = [] if says is None else [{"id": f"user-{self.runs}", "role": "user", "content": says}]
        run = TranslatorRun(self.options, ClientView([*self.view.messages, *own], self.view.state), f"run-{self.runs}")
        shown = []
        async for part in self.graph.astream(given, self.config, stream_mode=MODES, subgraphs=True):
            run.feed(part)
            if part[1] == "values" and "__interrupt__" not in part[2]:
                shown.append(texts(run.view.messages))
        run.finish()
        self.view = run.view
        return [*shown, texts(run.view.messages)]

    async def reloaded(self, view: ClientView | None = None) -> list[str]:
        """What a page shows that comes when nothing runs; `view`: what it has had before."""
        state = await self.graph.aget_state(self.config)
        asked = [one for task in state.tasks for one in task.interrupts]
        reader = Reader(self.options, view)
        now = RunOutcome(f"run-{self.runs}", state.values, Finished(asked, state.values))
        view = view.copy() if view is not None else ClientView([], {})
        for event in idle_events(reader, "t", now, self.options):
            view.apply(event)
        return texts(view.messages)


def texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(message.get("content", "")) for message in messages]


HI = {"messages": [{"id": "user-1", "role": "user", "content": "NVDA?"}]}
BULL, BEAR, JUDGE = "Buy it now.", "Sell it all.", "Hold it."
SHOWN = {
    "step": [["NVDA?"], ["NVDA?"], ["NVDA?"], ["NVDA?", JUDGE], ["NVDA?", JUDGE]],
    "run": [["NVDA?"], ["NVDA?", BULL], ["NVDA?", BULL, BEAR], ["NVDA?", BULL, BEAR, JUDGE], ["NVDA?", JUDGE]],
    "keep": [["NVDA?"], ["NVDA?", BULL], ["NVDA?", BULL, BEAR], *[["NVDA?", BULL, BEAR, JUDGE]] * 2],
}


@pytest.mark.parametrize("unsaved", UNSAVED)
async def test_what_was_not_saved_stays_as_long_as_the_option_says(unsaved: str) -> None:
    page = Page(debate(), unsaved=unsaved)
    assert await page.run(HI, "NVDA?") == SHOWN[unsaved]
    assert await page.reloaded() == ["NVDA?", JUDGE]


async def test_what_is_kept_stays_in_its_place_in_later_runs() -> None:
    page = Page(debate(), unsaved="keep")
    await page.run(HI, "NVDA?")
    again = {"messages": [{"id": "user-2", "role": "user", "content": "And now?"}]}
    last = (await page.run(again, "And now?"))[-1]
    assert last == ["NVDA?", BULL, BEAR, JUDGE, "And now?", BULL, BEAR, JUDGE]


async def test_what_is_kept_and_what_the_graph_removes_are_told_apart() -> None:
    """A message that a run has saved and removed goes; one that no run has saved stays."""
    from langchain_core.messages import RemoveMessage

    async def speak(state: MessagesState) -> dict[str, Any]:
        await said("Never saved.").ainvoke("think")
        return {"messages": [AIMessage("Saved, then removed.", id="saved")]}

    async def remove(state: MessagesState) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id="saved")]}

    graph = StateGraph(MessagesState).add_sequence([("speak", speak), ("remove", remove)]).add_edge(START, "speak")
    page = Page(graph.compile(InMemorySaver()), unsaved="keep")
    shown = await page.run(HI, "NVDA?")
    assert shown[-2:] == [["NVDA?", "Never saved."]] * 2
    assert ["NVDA?", "Never saved.", "Saved, then removed."] in shown


PLAN, ASKS, TEXT = "First this, then that.", "Is this right?", "A long text."
WITHOUT_CHANNEL = {
    "step": (["Tea", ASKS], ["Tea"]),
    "run": (["Tea", PLAN, ASKS], ["Tea"]),
    "keep": (["Tea", PLAN, ASKS], ["Tea", PLAN, ASKS, ASKS, TEXT]),
}


@pytest.mark.parametrize("unsaved", UNSAVED)
async def test_a_graph_without_messages_follows_the_same_rule(unsaved: str, caplog: pytest.LogCaptureFixture) -> None:
    """At the interrupt the node that asks has not ended: what it said stays. What the user said is the page's own."""
    caplog.set_level(logging.INFO)
    page = Page(plan_and_write(), unsaved=unsaved)
    waits, ends = WITHOUT_CHANNEL[unsaved]
    first = await page.run({"topic": "tea"}, "Tea")
    assert first[-1] == waits
    resumed = await page.run(Command(resume="yes"))
    assert resumed[-1] == ends
    assert await page.reloaded() == []
    assert await page.reloaded(page.view) == ends
    lines = [
        record.getMessage() for record in caplog.records if "have no messages channel 'messages'" in record.getMessage()
    ]
    assert len(lines) == {"step": 2, "run": 1, "keep": 0}[unsaved]


async def test_a_page_that_left_in_the_middle_of_a_step_does_not_keep_its_text() -> None:
    """It has what the user said, and a text that the step's end has removed for all others."""
    page = Page(plan_and_write())
    await page.run({"topic": "tea"}, "Tea")
    await page.run(Command(resume="yes"))
    left = [{"id": "user-1", "role": "user", "content": "Tea"}, {"id": "x", "role": "assistant", "content": "A long"}]
    assert await page.reloaded(ClientView(left, {})) == ["Tea"]


@pytest.mark.parametrize(("shown", "lines"), [({"topic"}, 1), ({"topic", "text"}, 0), (None, 0)])
async def test_a_result_that_nobody_sees_is_named_in_the_log(
    shown: set[str] | None, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    page = Page(plan_and_write(), state_include=shown)
    await page.run({"topic": "tea"})
    assert "do not see" not in caplog.text  # it waits
    await page.run(Command(resume="yes"))
    found = [line for line in caplog.messages if "do not see" in line]
    assert [line.partition("shows them: ")[2].partition(" ")[0] for line in found] == ["text"] * lines


@pytest.mark.parametrize("ending", [Finished(), Finished(state={"reply": "It is so."})], ids=["unknown", "known"])
def test_the_values_of_a_platform_do_not_show_that_a_channel_is_missing(ending: Finished) -> None:
    """They have only the channels of the output schema; the thread's state has all."""
    recording = THREADS["platform/output_schema"][0]
    run = TranslatorRun(Options(), ClientView([], {}))
    for part in recording.parts:
        run.feed(part)
    assert texts(run.view.messages) == ["An answer in two places."]
    run.finish(ending)
    assert texts(run.view.messages) == (["An answer in two places."] if ending.state is None else [])


# --- before and after a reload, on every recorded run -----------------------------------------------------------------

ENDED = ("success", "interrupt", "breakpoint")
KEPT = [
    name
    for name, turns in BOUNDED.items()
    if FIXTURES[turns[0].fixture].checkpointed and any(turn.ended in ENDED for turn in turns)
]
"""The threads that a checkpointer keeps: of others there is nothing to be read."""


@CHOSEN
@pytest.mark.parametrize(("fixture", "read"), in_turn(reads(KEPT, ["step", "run"]), of=2))
def test_who_watched_or_joined_shows_what_a_new_page_shows(fixture: str, read: str, chosen: Choice) -> None:
    """The same messages, in the same order, with the same content, from any cut of a run on. What a page has besides is
    what no thread has: subagents, reasoning and activities; and at an interrupt what the waiting step has said."""
    messages: list[dict[str, Any]] = []
    state: Any = {}
    source, _, unsaved = read.rpartition("-")
    for recording in THREADS[f"{source}/{fixture}"]:
        version = VERSIONS[len(messages) % 2]
        options = options_for(version, recording.about["messages_key"], unsaved=unsaved)
        run = TranslatorRun(options, view_for(version, messages, state), recording.name, recording.origin)
        views = [run.view.copy()]
        for part in recording.parts:
            views.append(run.view.copy() if run.feed(part) else views[-1])
        run.finish(_ending(recording))
        messages, state = run.view.messages, run.view.state
        if recording.ended not in ENDED:
            continue
        fresh = view_for(version, [], {})
        ended = RunOutcome("run-1", recording.state["values"], _ending(recording), recording.ended == "breakpoint")
        for event in idle_events(Reader(options), "thread-1", ended, options):
            fresh.apply(event)
        ids = [message["id"] for message in fresh.messages]
        wanted = comparable(run.own(fresh.messages, ids))
        shown = [("watched", run.view)]
        for cut, view in chosen(list(enumerate(views)), recording.name):
            joined = view_for(version, [], {})
            for event in [*view.catch_up(ClientView([], {}, options.protocol_version)), *_after(run, cut)]:
                joined.apply(event)
            shown.append((f"joined at {cut}", joined))
        for who, each in shown:
            assert comparable(run.own(each.messages, ids)) == wanted, f"{recording.name}, {who}"


def _after(run: TranslatorRun, cut: int) -> list[dict[str, Any]]:
    return [event for feed in run.feeds[cut + 1 :] for event in feed]


def _ending(recording: Recording) -> Any:
    """How the run ended, as `connect` finds it: with the thread's state."""
    if recording.ended == "error":
        return Failed(recording.about["error"])
    return Finished(tuple(recording.state["interrupts"]), recording.state["values"])
