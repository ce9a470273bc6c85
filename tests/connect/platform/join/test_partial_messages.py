"""What of a stream joined in the middle is shown: rule by rule, and over every recording, joined and torn anywhere."""

from typing import Any

import pytest
from langgraph_agui.connect.platform.join.partial_messages import PartialMessageFilter
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator.parts.part import Part

from fixtures.recordings import Source, recordings
from tests.support.streams.late_joiners import Late, Told, cut, root_values
from tests.support.streams.translator_runs import TranslatorRun
from tests.support.sweeps import SWEEP, Choice, every, one

INTERRUPT = {"__interrupt__": [{"value": "Really?", "id": "i-1"}]}
BEGINS = Part((), "metadata", {"run_id": "run-1", "attempt": 1})
VALUES = Part((), "values", {"messages": []})
HOLES = (1, 2, 3, 5, 8)
"""How many parts a gap takes away, in turn."""


def said(task: str, step: int | None = 1, kind: str = "AIMessageChunk") -> Part:
    """Something a task says, by its checkpoint namespace."""
    metadata = {"langgraph_checkpoint_ns": task, **({} if step is None else {"langgraph_step": step})}
    return Part(tuple(task.split("|")[:-1]), "messages", ({"type": kind, "content": "word"}, metadata))


def passing(*parts: Part, latecomer: PartialMessageFilter | None = None) -> list[bool]:
    """Which of these parts pass."""
    late = latecomer or PartialMessageFilter()
    return [late.passes(part) for part in parts]


# --- what is suspect --------------------------------------------------------------------------------------------------


def test_a_chunk_that_is_heard_first_is_muted() -> None:
    assert passing(said("model:1")) == [False]


def test_and_so_is_what_follows_it() -> None:
    assert passing(said("model:1"), said("model:1"), said("other:2")) == [False] * 3


@pytest.mark.parametrize("kind", ["ai", "human", "tool", "ToolMessageChunk"])
def test_a_message_that_is_told_whole_passes(kind: str) -> None:
    assert passing(said("model:1", kind=kind)) == [True]


@pytest.mark.parametrize("mode", ["updates", "custom", "values", "tasks", "checkpoints", "debug", "error"])
@pytest.mark.parametrize("data", [{"any": "thing"}, None, "text", ["list"]])
def test_parts_of_other_modes_pass(mode: str, data: Any) -> None:
    assert passing(Part((), mode, data)) == [True]


def test_a_chunk_without_metadata_is_muted() -> None:
    assert passing(Part((), "messages", ({"type": "AIMessageChunk", "content": "word"}, None))) == [False]


def test_a_chunk_within_a_task_that_is_suspect_is_muted() -> None:
    assert passing(said("child:1|model:2")) == [False]


def test_a_graph_that_a_suspect_task_of_a_subgraph_called_is_muted_with_its_whole_messages() -> None:
    """That task may answer calls which came before the join: then nobody else is shown what is said there."""
    values, inside = Part(("child:1", "inner:2"), "values", {}), "child:1|inner:2|model:3"
    whole = said(inside)._replace(from_start=True)
    assert passing(values, said(inside), said(inside, kind="tool"), whole) == [True, False, False, False]


def test_it_is_muted_to_its_end_and_graphs_of_the_next_tasks_pass() -> None:
    values = Part(("child:1",), "values", {})
    later = [
        said("child:1|inner:2|model:4", kind="ai"),
        said("child:1|inner:3|model:5"),
        said("child:1|1|model:6", kind="ai"),
    ]
    assert passing(said("child:1|inner:2|model:3"), values, *later) == [False, True, False, True, True]


# --- what ends suspicion ----------------------------------------------------------------------------------------------


def test_from_the_runs_first_part_on_everything_passes() -> None:
    assert passing(BEGINS, said("model:1"), said("child:1|model:2")) == [True] * 3


@pytest.mark.parametrize("data", [{"status": "run_done", "run_id": "run-1"}, {"run_id": "run-1"}, None, "attempt"])
def test_metadata_without_an_attempt_begins_nothing(data: Any) -> None:
    assert passing(Part((), "metadata", data), said("model:1")) == [True, False]


def test_after_root_values_new_tasks_pass() -> None:
    assert passing(said("model:1"), VALUES, said("child:2|model:3"), said("model:4")) == [False, True, True, True]


def test_a_task_that_was_cut_is_muted_after_root_values_too() -> None:
    assert passing(said("model:1"), VALUES, said("model:1")) == [False, True, False]


def test_a_subgraph_without_an_id_passes_when_it_runs_again_after_root_values() -> None:
    assert passing(said("child|model:1"), VALUES, said("child|model:2")) == [False, True, True]


def test_a_subgraph_that_runs_beside_another_is_as_suspect_as_its_task() -> None:
    values = Part(("child:1",), "values", {})
    assert passing(values, said("child:1|1|model:2"), said("child:1|model:3")) == [True, False, True]


@pytest.mark.parametrize(
    "asking",
    [Part((), "values", {"messages": [], **INTERRUPT}), Part((), "values", {}, interrupts=INTERRUPT["__interrupt__"])],
)
def test_values_with_an_interrupt_come_in_the_middle_of_a_superstep(asking: Part) -> None:
    assert passing(asking, said("model:1")) == [True, False]


def test_after_a_subgraphs_values_its_next_tasks_pass() -> None:
    values = Part(("child:1",), "values", {})
    assert passing(said("child:1|model:2"), values, said("child:1|model:3")) == [False, True, True]


def test_a_subgraphs_values_say_nothing_of_the_task_that_was_cut() -> None:
    values = Part(("child:1",), "values", {})
    assert passing(said("child:1|model:2"), values, said("child:1|model:2")) == [False, True, False]


def test_a_subgraphs_values_say_nothing_of_the_root() -> None:
    assert passing(Part(("child:1",), "values", {}), said("model:2")) == [True, False]


def test_a_subgraphs_values_say_nothing_of_another() -> None:
    assert passing(Part(("child:1",), "values", {}), said("child:2|model:3")) == [True, False]


def test_a_higher_step_is_a_superstep_that_ended() -> None:
    assert passing(said("model:1", 1), said("model:2", 2), said("model:3", 2)) == [False, True, True]


def test_a_task_that_was_cut_is_muted_in_whatever_step_it_says_it_is() -> None:
    assert passing(said("model:1", 1), said("model:1", 2)) == [False, False]


def test_a_higher_step_in_a_subgraph_says_nothing_of_the_root() -> None:
    assert passing(said("child:1|model:2", 1), said("child:1|model:3", 2), said("model:4", 1)) == [False, True, False]


def test_a_task_that_was_seen_to_start_passes() -> None:
    start = Part((), "tasks", {"id": "1", "name": "model", "input": {}, "triggers": []})
    assert passing(start, said("model:1"), said("model:2")) == [True, True, False]


def test_a_task_that_was_seen_to_end_was_not_seen_to_start() -> None:
    end = Part((), "tasks", {"id": "1", "name": "model", "result": {}, "error": None, "interrupts": []})
    assert passing(end, said("model:1")) == [True, False]


def test_within_a_task_that_was_seen_to_start_everything_passes() -> None:
    start = Part((), "tasks", {"id": "1", "name": "child", "input": {}, "triggers": []})
    assert passing(start, said("child:1|model:2"), said("child:1|inner:3|model:4")) == [True] * 3


def test_after_a_gap_everything_is_suspect_again() -> None:
    late = PartialMessageFilter()
    assert passing(BEGINS, said("model:1"), latecomer=late) == [True, True]
    late.gap()
    assert passing(said("model:1"), VALUES, said("model:2"), latecomer=late) == [False, True, True]


def test_after_a_gap_steps_are_counted_anew() -> None:
    late = PartialMessageFilter()
    assert passing(said("model:1", 1), latecomer=late) == [False]
    late.gap()
    assert passing(said("model:2", 2), latecomer=late) == [False]


# --- every recording, joined and torn anywhere ------------------------------------------------------------------------

OUTLIVES_ITS_STEP = "removed_while_another_streams"
"""A recording in which a model call goes on after its superstep: what cannot be known of it, `latecomer` says."""
PLATFORM: tuple[Source, ...] = (
    "platform",
    "platform-flat",
    "platform-messages",
    "platform-messages-flat",
    "platform-v3",
)


def joins(run: Told, chosen: Choice) -> list[Late]:
    """Late joiners."""
    return [cut(run, 0, place) for place in chosen(range(1, len(run.parts)), run.recording.name)]


def ahead(run: Told, chosen: Choice) -> list[Late]:
    """Late joiners that read a state which the stream has not reached; at most at every third place."""
    places = chosen(range(1, len(run.parts), 3), run.recording.name)
    return [cut(run, 0, place, run.newer(place)) for place in places]


def tears(run: Told, chosen: Choice) -> list[Late]:
    """Readers that were there from the start and lost some parts; at most at every third place."""
    last = len(run.parts) - 1
    places = chosen(range(1, last, 3), run.recording.name)
    return [cut(run, place, min(last, place + HOLES[place % len(HOLES)])) for place in places]


HOW = {"joins": joins, "ahead": ahead, "tears": tears}


BEGAN_UNSEEN = frozenset(
    {"fan_out", "functional_tasks", "gathered_calls", "parallel_nodes", "sibling_raises", "tool_calls_model"}
)
"""Recordings of protocol v3 that can be joined between the beginnings of two messages, or of a tool and its model, when
nothing shows the first of them (`translator/parts/v3.py`, rules 1 and 3). At some places a text is wrong."""


class Found:
    """What is wrong with what was told to latecomers of one source's runs."""

    def __init__(self, source: Source, how: Any, chosen: Choice) -> None:
        self.told = 0
        self._is_sweep = chosen is every
        self.wrong: list[str] = []
        self.unlike: list[str] = []
        self.muted_late: list[str] = []
        self._earlier: dict[str, dict[str, set[bytes]]] = {}
        """What earlier runs of a thread have shown: a subgraph that still waits has it in its values."""
        for recording in recordings(source):
            if recording.fixture == OUTLIVES_ITS_STEP:
                continue
            run = Told(recording)
            for late in how(run, chosen):
                self.told += 1
                self._judge(run, late)
            self._earlier.setdefault(recording.fixture, {}).update(run.texts)

    def _judge(self, run: Told, late: Late) -> None:
        name = f"{run.recording.name}, without {late.start} to {late.stop}"
        earlier = self._earlier.get(run.recording.fixture, {})
        wrong = [(at, text) for at, text in late.wrong if text not in earlier.get(at, ())]
        if run.recording.source == "platform-v3" and run.recording.fixture in BEGAN_UNSEEN and self._is_sweep:
            wrong = []
        self.wrong += [f"{name}: {at} {text.decode('utf-16-le', 'replace')!r}" for at, text in wrong]
        if run.recording.ended != "error":
            self._compare(run, late.telling, name)
        clear = next((place for place in range(late.stop, len(run.parts)) if root_values(run.read[place])), None)
        self.muted_late += [f"{name}: {place}" for place in late.muted if clear is not None and place > clear]

    def _compare(self, run: Told, telling: TranslatorRun, name: str) -> None:
        values, options, view = run.recording.state["values"], run.options, telling.view
        has_messages = isinstance(values, dict) and options.messages_key in values
        stored = expected(values, options).messages
        own = telling.own(view.messages, [item["id"] for item in stored])
        if has_messages and comparable(stored) != comparable(own):
            self.unlike.append(f"{name}: {view.messages}")
        if values and expected(values, options).state != view.state:
            self.unlike.append(f"{name}: {view.state}")


@pytest.mark.parametrize("chosen", [one, pytest.param(every, marks=SWEEP)], ids=["one", "every"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("source", PLATFORM)
def test_late_joiners_get_beginnings_of_texts_until_the_next_root_values_and_end_with_the_checkpoint(
    source: Source, how: str, chosen: Choice
) -> None:
    found = Found(source, HOW[how], chosen)
    assert found.told
    assert found.wrong == []
    assert found.unlike == []
    assert found.muted_late == []


@pytest.mark.parametrize("source", PLATFORM)
def test_a_run_heard_from_its_first_part_is_told_in_full(source: Source) -> None:
    for recording in recordings(source):
        late = PartialMessageFilter()
        assert all(late.passes(part) for parts in Told(recording).read for part in parts), recording.name
