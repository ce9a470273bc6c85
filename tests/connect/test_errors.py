"""Errors as `RUN_ERROR`, and ids that can be none."""

from typing import Any

import pytest
from langgraph_agui.connect.errors import (
    ConnectionLost,
    InvalidInputError,
    InvalidRunIdError,
    InvalidThreadIdError,
    PlatformError,
    RunConflictError,
    checked_run_id,
    checked_thread_id,
    code_of,
    failed,
)
from langgraph_agui.translator import Options
from langgraph_agui.translator.run.error_detail import NEUTRAL

GONE = PlatformError(404, "no such thread")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PlatformError(400, ""), "invalid"),
        (PlatformError(401, ""), "unauthorized"),
        (PlatformError(403, ""), "forbidden"),
        (PlatformError(404, ""), "not_found"),
        (PlatformError(409, ""), "conflict"),
        (PlatformError(422, ""), "invalid"),
        (PlatformError(307, ""), "platform_error"),
        (PlatformError(418, ""), "platform_error"),
        (ConnectionLost("gone"), "lost"),
        (InvalidThreadIdError(""), "invalid_thread_id"),
        (InvalidRunIdError(""), "invalid_run_id"),
        (ZeroDivisionError(), "internal_error"),
    ],
)
def test_each_error_has_its_code(error: Exception, code: str) -> None:
    assert code_of(error) == code


@pytest.mark.parametrize(
    ("detail", "told"),
    [
        ("none", {"message": NEUTRAL}),
        ("code", {"message": NEUTRAL}),
        ("message", {"message": "no such thread"}),
    ],
)
def test_as_much_is_told_as_was_chosen_and_always_the_code(detail: Any, told: dict[str, str]) -> None:
    assert failed(GONE, Options(error_detail=detail)) == {"type": "RUN_ERROR", "code": "not_found", **told}


@pytest.mark.parametrize("error", [InvalidThreadIdError("why"), InvalidInputError("why"), RunConflictError("why")])
def test_what_is_wrong_with_the_callers_input_is_told_beside_its_code(error: Exception) -> None:
    assert failed(error, Options(error_detail="code"))["message"] == "why"


def test_in_full_the_traceback_is_told_too() -> None:
    assert "PlatformError" in failed(GONE, Options(error_detail="full"))["metadata"]["stack"]


def test_an_error_without_words_has_neutral_ones() -> None:
    assert failed(ConnectionLost(""), Options())["message"] == NEUTRAL


@pytest.mark.parametrize(
    "value", ["t", "3f8e8f0a-5f0e-4d57-8f0e-3f8e8f0a5f0e", "user:1@x.y+z", "a.b", "..a", "Zürich 1"]
)
def test_an_id_that_can_be_one_is_itself(value: str) -> None:
    assert (checked_thread_id(value), checked_run_id(value)) == (value, value)


UNFIT: list[Any] = [None, "", " ", "\u3000", 1, b"t", ["t"], "x" * 513, "a\nb", "a\x00", "\x7f", "a\u2028b", "\ud83d"]


@pytest.mark.parametrize("value", UNFIT)
def test_an_id_that_can_be_none_is_refused(value: Any) -> None:
    for in_url in (True, False):
        with pytest.raises(InvalidThreadIdError):
            checked_thread_id(value, in_url=in_url)
        with pytest.raises(InvalidRunIdError):
            checked_run_id(value, in_url=in_url)


@pytest.mark.parametrize("value", ["a/b", "../../x", ".", "..", "...", "a?b", "a#b", "a%2fb", "a\\b"])
def test_an_id_that_would_be_another_path_is_refused_where_it_is_part_of_one(value: str) -> None:
    assert checked_thread_id(value, in_url=False) == value
    with pytest.raises(InvalidThreadIdError, match="URL"):
        checked_thread_id(value)


def test_what_was_given_is_not_said_again() -> None:
    with pytest.raises(InvalidThreadIdError) as error:
        checked_thread_id("<script>/")
    assert "script" not in str(error.value)
