"""What a person is shown of events: `Screen`, on a terminal and into a pipe."""

import io
import json
from datetime import datetime
from typing import Any

import pytest
from ag_ui.core import BaseEvent
from langgraph_agui.connect.cli.terminal.screen import Screen
from langgraph_agui.connect.cli.terminal.wording import LONGEST
from langgraph_agui.translator import to_model
from rich.console import Console

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


def event(kind: str, **fields: Any) -> BaseEvent:
    return to_model({"type": kind, **fields})


def text(message: str, *pieces: str) -> list[BaseEvent]:
    """A message that is begun and not ended."""
    begun = event("TEXT_MESSAGE_START", messageId=message, role="assistant")
    return [begun, *(event("TEXT_MESSAGE_CONTENT", messageId=message, delta=piece) for piece in pieces)]


def ended(message: str) -> BaseEvent:
    return event("TEXT_MESSAGE_END", messageId=message)


def shown(*events: BaseEvent, terminal: bool = False, width: int = 80, **how: Any) -> list[str]:
    """The lines that are shown of these events, in a run; without what stands before the labels."""
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=terminal,
        no_color=True,
        color_system=None,
        highlight=False,
        soft_wrap=True,
        width=width,
    )
    screen = Screen(console, now=lambda: datetime(2025, 1, 2, 3, 4, 5), **how)
    for each in (to_model(START), *events):
        screen.show(each)
    return [line.strip() for line in out.getvalue().splitlines()][1:]


def test_into_a_pipe_a_text_goes_out_when_it_is_whole() -> None:
    assert shown(*text("1", "One ", "two")) == []
    assert shown(*text("1", "One ", "two"), ended("1")) == ["text  One two"]


def test_on_a_terminal_a_text_grows() -> None:
    assert shown(*text("1", "One ", "two"), terminal=True) == ["text  One two"]


def test_into_a_pipe_texts_at_once_are_told_one_by_one() -> None:
    at_once = [*text("1", "One "), *text("2", "Uno "), *text("1", "two")[1:], ended("1"), ended("2")]
    assert shown(*at_once) == ["text  One two", "text  Uno"]


def test_on_a_terminal_texts_at_once_take_turns() -> None:
    at_once = [*text("1", "One"), *text("2", "Uno"), *text("1", "two")[1:], ended("1"), ended("2")]
    assert shown(*at_once, terminal=True) == ["text  One", "text  Uno", "text  two"]


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_half_said_is_said_at_the_end(terminal: bool) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=terminal, no_color=True, color_system=None))
    for each in (to_model(START), *text("1", "One ")):
        screen.show(each)
    screen.rest()
    assert out.getvalue().endswith("text  One \n")


def test_a_text_of_several_lines_stays_behind_its_label() -> None:
    assert shown(*text("1", "One\ntwo"), ended("1")) == ["text  One", "two"]


def test_nothing_that_a_terminal_would_obey_gets_through() -> None:
    assert shown(*text("1", "\x1b[2Jgone\x07\r"), ended("1")) == ["text  \ufffd[2Jgone\ufffd\ufffd"]


def test_of_a_state_only_what_is_new_is_shown() -> None:
    first = event("STATE_SNAPSHOT", snapshot={"a": 1, "b": {"c": [2]}, "d": 0})
    second = event("STATE_SNAPSHOT", snapshot={"a": 1, "b": {"c": [3]}})
    assert shown(first, second) == [
        "state  a = 1",
        'state  b = {"c": [2]}',
        "state  d = 0",
        'state  b = {"c": [3]}',
        "state  d is gone",
    ]


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"op": "add", "path": "/b/c/1", "value": "x"}, 'b.c.1 = "x"'),
        ({"op": "replace", "path": "/b/a~1b~0c", "value": None}, "b.a/b~c = null"),
        ({"op": "remove", "path": "/b/c/0"}, "b.c.0 is gone"),
    ],
)
def test_a_change_is_a_path_and_a_value(operation: dict[str, Any], said: str) -> None:
    state = event("STATE_SNAPSHOT", snapshot={"b": {"c": [2], "a/b~c": 1}})
    assert shown(state, event("STATE_DELTA", delta=[operation]))[1:] == [f"state  {said}"]


def test_a_long_value_is_cut_and_its_length_told() -> None:
    [line] = shown(event("STATE_SNAPSHOT", snapshot={"a": "x" * 10_000}))
    assert line.endswith("… (10,002 characters)")
    assert len(line) < LONGEST + 100


def test_of_messages_only_what_is_new_is_shown() -> None:
    one, two = ({"id": name, "role": "user", "content": name} for name in ("one", "two"))
    first, second = event("MESSAGES_SNAPSHOT", messages=[one]), event("MESSAGES_SNAPSHOT", messages=[one, two])
    assert shown(first, second) == ["message  user: one", "message  user: two"]


def test_what_was_heard_is_not_shown_again() -> None:
    said = {"id": "1", "role": "assistant", "content": "One two"}
    told = event("MESSAGES_SNAPSHOT", messages=[said])
    assert shown(*text("1", "One ", "two"), ended("1"), told) == ["text  One two"]


def test_calls_in_a_message_are_shown_with_their_arguments() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Lisbon"}'}}
    said = {"id": "1", "role": "assistant", "content": "Looking.", "toolCalls": [call]}
    assert shown(event("MESSAGES_SNAPSHOT", messages=[said])) == [
        'message  assistant: Looking.; calls look_up {"city": "Lisbon"}'
    ]


def test_each_interrupt_is_shown_before_the_end() -> None:
    interrupts = [{"id": "i", "reason": "confirmation", "message": "Really?"}]
    finished = event("RUN_FINISHED", threadId="t", runId="r", outcome={"type": "interrupt", "interrupts": interrupts})
    assert shown(finished) == [
        "interrupt  Really?",
        'answer with "resume": [{"interruptId": "i", "status": "resolved", "payload": "..."}]',
        "run finished  interrupt  03:04:05",
    ]


def asked(**interrupt: Any) -> list[str]:
    """The lines of one interrupt."""
    outcome = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input_required", **interrupt}]}
    *lines, _ = shown(event("RUN_FINISHED", threadId="t", runId="r", outcome=outcome))
    return lines


def answered(payload: Any) -> str:
    given = {"interruptId": "i", "status": "resolved", "payload": payload}
    return f'answer with "resume": [{json.dumps(given)}]'


def test_a_question_has_its_choices_and_an_answer() -> None:
    value = {"question": "Which way?", "options": ["left", "right"]}
    assert asked(message="Which way?", metadata={"value": value}) == [
        "interrupt  Which way?",
        '{"question": "Which way?", "options": ["left", "right"]}',
        "choices: left, right",
        answered("left"),
    ]
    assert asked(message="Sure?", responseSchema={"type": "boolean"}, metadata={"value": "Sure?"}) == [
        "interrupt  Sure?",
        "choices: true, false",
        answered(True),
    ]
    assert asked(message="Size?", responseSchema={"enum": [1, 2]})[1:] == ["choices: 1, 2", answered(1)]
    assert asked(reason="langgraph:breakpoint") == ["interrupt  langgraph:breakpoint", answered("...")]


def test_an_approval_names_the_tool_and_its_decisions() -> None:
    allowed = [("book", ["approve", "edit"]), ("pay", None)]
    value = {
        "action_requests": [{"name": "book", "args": {"city": "Lisbon"}}, {"name": "pay", "args": {}}],
        "review_configs": [{"action_name": name, "allowed_decisions": kinds} for name, kinds in allowed],
    }
    assert asked(message="Approve?", metadata={"value": value}) == [
        "interrupt  Approve?",
        'book {"city": "Lisbon"}: approve, edit',
        "pay {}: any decision",
        answered({"decisions": [{"type": "approve"}, {"type": "approve"}]}),
    ]


@pytest.mark.parametrize("value", [None, 5, [], {"options": 3}, {"options": []}, {"action_requests": [1]}])
@pytest.mark.parametrize("schema", [{}, {"oneOf": 1}, {"oneOf": [True]}, {"properties": []}, {"enum": {}}])
def test_an_odd_question_is_shown_all_the_same(value: Any, schema: Any) -> None:
    assert asked(message="?", metadata={"value": value}, responseSchema=schema)[-1] == answered("...")


PLAN = [{"content": "Look", "status": "completed"}, {"content": "Go", "status": "in_progress"}]
STEPS = ["[x] Look", "[>] Go"]


def test_a_plan_is_shown_step_by_step() -> None:
    begun = [{**PLAN[0]}, {**PLAN[1], "status": "pending"}]
    patch = [{"op": "replace", "path": "/todos/1/status", "value": "in_progress"}]
    changed = event("STATE_DELTA", delta=[*patch, *patch, {"op": "add", "path": "/n", "value": 1}])
    lines = shown(event("STATE_SNAPSHOT", snapshot={"todos": begun}), changed)
    assert lines == ["state  todos:", "[x] Look", "[ ] Go", "state  todos:", *STEPS, "state  n = 1"]
    activity = {"messageId": "p", "activityType": "plan", "content": {"todos": PLAN}}
    assert shown(event("ACTIVITY_SNAPSHOT", **activity)) == [f"plan  {STEPS[0]}", STEPS[1]]


@pytest.mark.parametrize("value", [[], [1], [{"content": "x"}], [{"status": []}], [{"status": "unknown"}]])
def test_a_list_that_is_no_plan_is_json(value: Any) -> None:
    assert shown(event("STATE_SNAPSHOT", snapshot={"todos": value})) == [f"state  todos = {json.dumps(value)}"]


def progress(**changes: Any) -> BaseEvent:
    """The progress of a tool; `changes` are members of its content that are new."""
    patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in changes.items()]
    return event("ACTIVITY_DELTA", messageId="c-progress", activityType="tool_progress", patch=patch)


CONTENT = {"toolCallId": "c", "toolName": "dig", "status": "running", "progress": {"m": 1}}
DIGGING = event("ACTIVITY_SNAPSHOT", messageId="c-progress", activityType="tool_progress", content=CONTENT)
DUG = [DIGGING, progress(output=["sand"]), progress(status="done")]


def test_into_a_pipe_each_word_of_a_tool_is_a_line() -> None:
    assert shown(*DUG) == [
        'progress  dig  {"m": 1}',
        'progress  dig  {"m": 1}  sand',
        'progress  dig  done  {"m": 1}  sand',
    ]


def test_on_a_terminal_the_progress_of_a_tool_is_one_line() -> None:
    up = "\x1b[1A\x1b[2K"
    lines = shown(*DUG, event("STEP_STARTED", stepName="s"), progress(progress="x" * 99), terminal=True, width=50)
    assert [line.split() for line in lines] == [
        ["progress", "dig", '{"m":', "1}"],
        [up, "progress", "dig", '{"m":', "1}", "sand"],
        [up, "progress", "dig", "done", '{"m":', "1}", "sand"],
        ["step", "started", "s"],
        ["progress", "dig", "done", "x" * 18 + "…"],
    ]


def test_what_is_hidden_is_left_out() -> None:
    steps = [event("STEP_STARTED", stepName="s"), event("STEP_FINISHED", stepName="s")]
    call = [
        event("TOOL_CALL_START", toolCallId="c", toolCallName="dig"),
        event("TOOL_CALL_END", toolCallId="c"),
        event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="ok"),
    ]
    rest = [event("STATE_SNAPSHOT", snapshot={"a": 1}), event("CUSTOM", name="n", value=1)]
    for terminal in (True, False):
        hidden = shown(*steps, *call, *DUG, *rest, terminal=terminal, hidden=["steps", "tools", "state", "custom"])
        assert hidden == []
        assert len(shown(*steps, *call, *rest, terminal=terminal, hidden=["reasoning"])) == 6


def test_an_error_is_shown_with_its_code() -> None:
    assert shown(event("RUN_ERROR", message="No.", code="lost")) == ["run error  No. (lost)  03:04:05"]


def test_a_run_that_failed_is_shown_once_with_the_place_of_its_details() -> None:
    content = {"runId": "r", "message": "No."}
    failed = event("ACTIVITY_SNAPSHOT", messageId="r-error", activityType="run_error", content=content)
    past = {"id": "p-error", "role": "activity", "activityType": "run_error", "content": content}
    events = [event("MESSAGES_SNAPSHOT", messages=[past]), failed, event("RUN_ERROR", message="No.", code="ValueError")]
    assert shown(*events, details="in the log") == ["run error  No. (ValueError)  03:04:05", "details  in the log"]
    assert len(shown(event("RUN_ERROR", message="No.", code="lost"), details="in the log")) == 1
