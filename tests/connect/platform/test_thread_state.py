"""How a platform's thread stands, by what the server says of it, and what a run is asked for by. No server."""

from typing import Any

import pytest
from langgraph_agui.connect.platform.look import Look, ThreadRuns, client_run_id
from langgraph_agui.connect.platform.outcome import paused
from langgraph_agui.connect.platform.submit import create_arguments
from langgraph_agui.connect.run_outcome import Subgraph
from langgraph_agui.connect.thread_info import RUN_ID
from langgraph_agui.translator import Finished

ASKED: dict[str, Any] = {"id": "i", "value": "really?"}


def look(status: str = "success", thread: str = "idle", *, is_active: bool = False, **state: Any) -> Look:
    """A thread with one run, which made its state."""
    run = {"run_id": "r", "status": status, "metadata": {RUN_ID: "mine"}}
    held = {"values": {"messages": [{"type": "human", "content": "go"}]}, "next": [], "metadata": {"run_id": "r"}}
    return Look(ThreadRuns(run if is_active else None, [run]), {**held, **state}, {"status": thread})


def test_what_a_thread_holds_of_the_conversation_is_where_its_graph_has_it() -> None:
    told = look(values={"talk": ["said"], "messages": ["else"]}).thread_state("talk")
    assert told.messages == ["said"]


def test_a_run_is_known_by_the_id_that_its_client_gave() -> None:
    assert look().thread_state("messages").run_id == "mine"


@pytest.mark.parametrize("status", ["success", "interrupted", "error"])
def test_interrupts_wait_whatever_became_of_the_last_run(status: str) -> None:
    standing = look(status, interrupts=[ASKED], next=["ask"]).thread_state("messages")
    assert (standing.interrupts, standing.is_stopped) == ([ASKED], False)


@pytest.mark.parametrize("status", ["success", "interrupted"])  # as one server says it, and as another does
def test_a_breakpoint_waits(status: str) -> None:
    standing = look(status, "interrupted", next=["later"]).thread_state("messages")
    assert (standing.is_stopped, standing.waits) == (True, True)


@pytest.mark.parametrize(("status", "has_failed"), [("error", True), ("interrupted", False)])
def test_work_that_was_left_undone_waits_for_nobody(status: str, has_failed: bool) -> None:
    standing = look(status, "idle", next=["later"]).thread_state("messages")
    assert (standing.is_unfinished, standing.has_failed, standing.waits) == (True, has_failed, False)


def test_a_thread_waits_for_nobody_while_a_run_goes_on() -> None:
    standing = look("running", "busy", is_active=True, interrupts=[ASKED], next=["ask"]).thread_state("messages")
    assert (standing.waits, standing.is_unfinished, len(standing.messages)) == (False, False, 1)


@pytest.mark.parametrize(
    ("status", "thread"), [("success", "interrupted"), ("success", "idle"), ("interrupted", "interrupted")]
)
def test_a_run_that_answered_one_of_several_stopped_at_the_others(status: str, thread: str) -> None:
    """`langgraph dev` calls a thread idle whose questions are those of subgraphs."""
    said = {"messages": [{"type": "ai", "content": "A question.", "id": "m"}]}
    inner = {"next": ["ask"], "values": said, "checkpoint": {"checkpoint_ns": "right:1"}, "interrupts": [ASKED]}
    state = {"values": {"done": ["left"]}, "interrupts": [ASKED], "tasks": [{"id": "t", "state": inner}]}
    found = paused({"run_id": "r2", "status": status}, state, {"status": thread})
    assert found is not None
    assert (found.run_id, found.values) == ("r2", {"done": ["left"]})
    assert found.ending == Finished([ASKED], {"done": ["left"]})
    assert found.waiting == [Subgraph(("right:1",), said, (ASKED,))]


@pytest.mark.parametrize(
    ("status", "thread"),
    [
        ("interrupted", {"status": "idle"}),
        ("interrupted", {"status": "interrupted", "error": "stopped"}),
        ("error", {"status": "interrupted"}),
    ],
)
def test_a_run_that_was_stopped_or_failed_did_not_stop_at_them(status: str, thread: dict[str, Any]) -> None:
    assert paused({"run_id": "r2", "status": status}, {"interrupts": [ASKED]}, thread) is None


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"metadata": {RUN_ID: "mine"}}, "mine"),
        ({"config": {"metadata": {RUN_ID: "mine"}}}, "mine"),
        ({"metadata": {RUN_ID: 7}}, "r"),
        ({"metadata": {RUN_ID: ""}}, "r"),
        ({"metadata": None}, "r"),
        ({}, "r"),
    ],
)
def test_a_run_is_told_under_its_clients_id_if_it_has_one(run: dict[str, Any], told: str) -> None:
    assert client_run_id({"run_id": "r", **run}) == told


@pytest.mark.parametrize(
    ("is_turn", "answers", "values", "checkpoint_id", "arguments"),
    [
        (True, None, {"mood": "fair"}, None, {"input": {"mood": "fair"}}),
        (True, None, {}, None, {"input": {}}),
        (True, None, {}, "c", {"input": {}, "checkpoint": {"checkpoint_ns": "", "checkpoint_id": "c"}}),
        (False, None, {}, "c", {"checkpoint": {"checkpoint_ns": "", "checkpoint_id": "c"}}),
        (False, {"i": None}, {}, None, {"command": {"resume": {"i": None}}}),
        (False, {"i": 1}, {"mood": "fair"}, None, {"command": {"resume": {"i": 1}, "update": {"mood": "fair"}}}),
        (False, None, {}, None, {"checkpoint": {"checkpoint_ns": ""}}),
        (False, None, {"mood": "fair"}, None, {"command": {"update": {"mood": "fair"}}}),
    ],
)
def test_the_arguments_with_which_a_run_is_created(
    is_turn: bool, answers: Any, values: Any, checkpoint_id: str | None, arguments: Any
) -> None:
    assert create_arguments(values, is_turn, answers, checkpoint_id) == arguments
