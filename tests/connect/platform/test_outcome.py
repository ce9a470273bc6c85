"""How a platform's run ended, read off what a server said of it: the answers are as measured, trimmed."""

from typing import Any

import pytest
from langgraph_agui.connect.platform.outcome import paused, run_outcome
from langgraph_agui.translator import Cancelled, Failed, Finished

ASKED = {"id": "i-1", "value": "?"}
VALUES = {"messages": [{"type": "human", "content": "hi", "id": "u"}]}


def state(**given: Any) -> dict[str, Any]:
    made = {"values": VALUES, "next": [], "tasks": [], "interrupts": [], "metadata": {"run_id": "r", "source": "loop"}}
    return {**made, **given}


def run(status: str) -> dict[str, Any]:
    return {"run_id": "r", "status": status}


IDLE = {"status": "idle", "error": None}
PAUSED = {"status": "interrupted", "error": None}
STOPPED = {"status": "interrupted", "error": {"error": "UserInterrupt", "message": "interrupt requested"}}
FAILED = {"status": "error", "error": {"error": "ValueError", "message": "no"}}
TASK_CANCELLED = {"id": "t", "error": "CancelledError()", "interrupts": []}


@pytest.mark.parametrize(
    ("given", "thread", "status", "expected", "stopped"),
    [
        pytest.param(state(), IDLE, "success", Finished((), VALUES), False, id="well"),
        pytest.param(
            state(interrupts=[ASKED], next=["n"]), PAUSED, "success", Finished([ASKED], VALUES), False, id="asks"
        ),
        pytest.param(
            state(interrupts=[ASKED], next=["n"]),
            PAUSED,
            "interrupted",
            Finished([ASKED], VALUES),
            False,
            id="asks-aegra",
        ),
        pytest.param(
            state(tasks=[{"interrupts": [ASKED]}], next=["n"]),
            PAUSED,
            "success",
            Finished([ASKED], VALUES),
            False,
            id="asks-in-task",
        ),
        pytest.param(state(next=["n"]), PAUSED, "success", Finished((), VALUES), True, id="breakpoint"),
        pytest.param(state(next=["n"]), PAUSED, "interrupted", Finished((), VALUES), True, id="breakpoint-aegra"),
        pytest.param(state(next=["n"]), STOPPED, "interrupted", Cancelled(), False, id="cancelled"),
        pytest.param(
            state(next=["n"], tasks=[TASK_CANCELLED]), PAUSED, "interrupted", Cancelled(), False, id="cancelled-in-task"
        ),
        pytest.param(state(next=["n"]), IDLE, "interrupted", Cancelled(), False, id="cancelled-aegra"),
        pytest.param(state(next=["n"]), FAILED, "error", Failed(FAILED["error"]), False, id="failed"),
        pytest.param(
            state(next=["n"], tasks=[{"error": "KeyError('x')"}]),
            IDLE,
            "error",
            Failed({"error": "KeyError", "message": "x"}),
            False,
            id="failed-in-task",
        ),
        pytest.param(
            state(next=["n"], metadata={"source": "update"}),
            FAILED,
            "error",
            Finished((), VALUES),
            False,
            id="written-after",
        ),
    ],
)
def test_the_end_is_read_off_run_thread_and_state(
    given: dict[str, Any], thread: dict[str, Any], status: str, expected: Any, stopped: bool
) -> None:
    found = run_outcome(run(status), given, thread, run_id="r")
    assert (type(found.ending), vars_of(found.ending), found.stopped) == (type(expected), vars_of(expected), stopped)


def test_a_failure_of_which_nothing_is_said_names_the_status() -> None:
    found = run_outcome(run("timeout"), state(), IDLE, run_id="r")
    assert found.ending == Failed({"error": "timeout", "message": "The run ended with the status 'timeout'."})


@pytest.mark.parametrize(("status", "expected"), [("success", Finished()), ("interrupted", Cancelled())])
def test_a_later_runs_state_says_nothing_of_this_run(status: str, expected: Any) -> None:
    later = state(interrupts=[ASKED], next=["n"], metadata={"run_id": "other", "source": "loop"})
    found = run_outcome(run(status), later, PAUSED, run_id="r")
    assert (found.values, found.ending, found.stopped) == (None, expected, False)


@pytest.mark.parametrize("has_own_state", [True, False])
def test_an_interrupt_of_a_tool_has_the_call_of_the_tool(has_own_state: bool) -> None:
    called = {"type": "ai", "content": "", "id": "a", "tool_calls": [{"name": "ask", "args": {}, "id": "call_1"}]}
    task = {"id": "t", "name": "tools", "path": ["__pregel_push", 0, False], "interrupts": [ASKED]}
    asking = state(values={"messages": [called]}, next=["tools"], tasks=[task], interrupts=[ASKED])
    own = run_outcome(run("success"), asking, PAUSED, run_id="r")
    found = own if has_own_state else paused(run("success"), asking, PAUSED)
    assert found is not None
    assert found.ending == Finished([{**ASKED, "tool_call_id": "call_1"}], asking["values"])


def test_a_thread_without_runs_has_finished() -> None:
    found = run_outcome(None, state(next=["n"]), IDLE, run_id="checkpoint-1")
    assert (found.ending, found.stopped) == (Finished([], VALUES), False)


def vars_of(ending: Any) -> dict[str, Any]:
    return {name: list(value) if name == "interrupts" else value for name, value in fields(ending).items()}


def fields(ending: Any) -> dict[str, Any]:
    return {name: getattr(ending, name) for name in ending.__dataclass_fields__}
