"""What is told of an error, by the level of detail, and that no error is too odd to be told."""

from typing import Any

import pytest
from langgraph_agui.translator import Failed, Lost, Options

from fixtures import FIXTURES
from tests.support.clients.agui_client import AguiClient
from tests.support.random.odd_values import Raises
from tests.support.streams.event_lines import run_turn
from tests.support.streams.translator_runs import Event, run_parts

_REMOTE = {"error": "ValueError", "message": "the key is sk-1234"}


def _raised() -> ValueError:
    try:
        raise ValueError("the key is sk-1234") from LookupError("inner")
    except ValueError as error:
        return error


def _error(detail: Any, error: Any) -> Event:
    event = run_parts([], Failed(error), Options(error_detail=detail)).events[-1]
    return {key: value for key, value in event.items() if key != "type"}


@pytest.mark.parametrize("error", [_raised(), _REMOTE])
def test_none_tells_a_neutral_message_and_nothing_else(error: Any) -> None:
    assert _error("none", error) == {"message": "The run failed."}


@pytest.mark.parametrize("error", [_raised(), _REMOTE])
def test_code_tells_the_class_and_no_text(error: Any) -> None:
    assert _error("code", error) == {"message": "The run failed.", "code": "ValueError"}


@pytest.mark.parametrize("error", [_raised(), _REMOTE])
def test_message_tells_class_and_text(error: Any) -> None:
    assert _error("message", error) == {"message": "the key is sk-1234", "code": "ValueError"}


@pytest.mark.parametrize("detail", ["code", "message", "full"])
def test_that_a_run_did_not_come_to_its_end_is_said_where_the_code_is(detail: Any) -> None:
    said = _error(detail, {"error": "unfinished"})
    assert said["message"].startswith("The run did not come to its end")
    assert _error("none", {"error": "unfinished"}) == {"message": "The run failed."}


def test_message_is_the_default() -> None:
    assert _error("message", _raised()) == _error(Options().error_detail, _raised())


def test_full_tells_the_stack_in_the_metadata() -> None:
    told_error = _error("full", _raised())
    assert told_error["message"] == "the key is sk-1234"
    assert "test_errors.py" in told_error["metadata"]["stack"]
    assert "LookupError: inner" in told_error["metadata"]["stack"]


def test_full_tells_of_a_platforms_error_what_there_is() -> None:
    assert _error("full", _REMOTE) == _error("message", _REMOTE)


@pytest.mark.parametrize("detail", ["none", "code"])
def test_a_lost_sources_reason_is_told_by_level_too(detail: Any) -> None:
    event = run_parts([], Lost("host 10.0.0.7 refused"), Options(error_detail=detail)).events[-1]
    lost = "The connection to the run was lost, and the run may continue."
    assert (event["message"], event["code"]) == (lost, "lost")


def test_a_text_may_be_the_error() -> None:
    assert _error("message", "out of money") == {"message": "out of money"}


def test_an_error_without_text_has_a_neutral_message() -> None:
    assert _error("message", ValueError()) == {"message": "The run failed.", "code": "ValueError"}


class _SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("detail", ["message", "full"])
def test_an_error_whose_text_raises_is_told_by_its_class(detail: Any) -> None:
    told_error = _error(detail, _SilentError())
    assert (told_error["message"], told_error["code"]) == ("The run failed.", "_SilentError")


ODD: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "an object that raises": Raises(),
    "surrogates": ValueError("\ud800 broken"),
    "an empty mapping": {},
    "a mapping of other things": {"error": 5, "message": None},
    "a group": ExceptionGroup("two", [ValueError("a"), LookupError("b")]),
}


@pytest.mark.parametrize("detail", ["none", "code", "message", "full"])
@pytest.mark.parametrize("what", ODD)
def test_every_error_is_told(what: str, detail: Any, agui_client: AguiClient) -> None:
    events = run_parts([], Failed(ODD[what]), Options(error_detail=detail)).events
    answer = agui_client.play(events)
    assert (events[-1]["type"], answer.error, answer.warnings) == ("RUN_ERROR", None, [])


def test_a_message_beyond_a_frame_is_cut(agui_client: AguiClient) -> None:
    events = run_parts([], Failed(ValueError("x" * 12_000_000))).events
    assert agui_client.play(events).error is None
    assert len(events[-1]["message"]) < 10_000_000


@pytest.mark.parametrize(
    ("name", "code"),
    [("node_raises", "LookupError"), ("recursion_limit", "GraphRecursionError"), ("tool_raises", None)],
)
async def test_an_exception_of_a_graph_is_told_by_its_class(name: str, code: str | None) -> None:
    telling = await run_turn(name)
    assert telling.events[-1]["type"] == "RUN_ERROR"
    assert telling.events[-1]["code"] == (code or FIXTURES[name].turns[0].error)
