"""What a person is shown of events: `Screen`, on a terminal and into a pipe."""

import io
from datetime import datetime
from typing import Any

import pytest
from ag_ui.core import BaseEvent
from langgraph_agui.connect.cli.screen import Screen
from langgraph_agui.connect.cli.wording import LONGEST
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


def shown(*events: BaseEvent, terminal: bool = False) -> list[str]:
    """The lines that are shown of these events, in a run; without what stands before the labels."""
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, no_color=True, color_system=None, highlight=False, soft_wrap=True
    )
    screen = Screen(console, now=lambda: datetime(2025, 1, 2, 3, 4, 5))
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
        'interrupt  i {"reason": "confirmation", "message": "Really?"}',
        "run finished  interrupt  03:04:05",
    ]


def test_an_error_is_shown_with_its_code() -> None:
    assert shown(event("RUN_ERROR", message="No.", code="lost")) == ["run error  No. (lost)  03:04:05"]
