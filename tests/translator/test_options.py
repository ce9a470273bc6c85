"""Options are checked when they are made, and a refusal names the choices."""

import dataclasses
from typing import Any

import pytest
from langgraph_agui.translator import PROTOCOL_VERSION, InvalidOptionError, Options, Prediction

CHOICES = {
    "state": ["deltas", "initial", "final", "all", "none"],
    "history": ["mirror", "keep"],
    "subagents": ["attributed", "inline", "hidden"],
    "interrupts": ["outcome", "legacy", "both"],
    "error_detail": ["none", "code", "message", "full"],
}


def _made(**choices: Any) -> Options:
    return Options(**choices)


@pytest.mark.parametrize(
    ("name", "choice"), [(name, choice) for name, choices in CHOICES.items() for choice in choices]
)
def test_every_choice_can_be_made(name: str, choice: str) -> None:
    assert getattr(_made(**{name: choice}), name) == choice


@pytest.mark.parametrize("value", ["other", None, 1, True, ["deltas"]])
@pytest.mark.parametrize("name", CHOICES)
def test_any_other_choice_is_refused_with_the_choices(name: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        _made(**{name: value})
    assert all(repr(choice) in str(refused.value) for choice in CHOICES[name])
    assert str(refused.value).startswith(f"option {name}=")


@pytest.mark.parametrize("value", ["yes", 1, None])
@pytest.mark.parametrize("name", ["steps", "reasoning", "tool_results", "raw_events"])
def test_a_switch_is_on_or_off(name: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="expected True or False"):
        _made(**{name: value})


@pytest.mark.parametrize("value", [-1, 1.5, "50", True])
def test_the_size_limit_is_a_number_of_characters(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="result_limit"):
        _made(result_limit=value)


@pytest.mark.parametrize("value", [0, 10, None])
def test_the_size_limit_may_be_zero_or_none(value: Any) -> None:
    assert _made(result_limit=value).result_limit == value


@pytest.mark.parametrize("value", ["", None, 5])
def test_the_messages_channel_has_a_name(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="the name of a channel"):
        _made(messages_key=value)


@pytest.mark.parametrize("value", ["", 1.0, False])
def test_the_protocol_version_is_a_text_or_none(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match=r"a version such as '1.0', or None"):
        _made(protocol_version=value)


@pytest.mark.parametrize("name", ["state_include", "state_exclude", "hidden_tools", "speakers"])
def test_names_may_come_in_any_collection(name: str) -> None:
    for names in (["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab")):
        assert getattr(_made(**{name: names}), name) == frozenset("ab")


@pytest.mark.parametrize("value", ["a name", 5, [1, 2]])
@pytest.mark.parametrize("name", ["state_include", "state_exclude", "hidden_tools", "speakers"])
def test_one_bare_name_or_no_names_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="a collection of names"):
        _made(**{name: value})


def test_speakers_may_be_a_predicate() -> None:
    def speaks(metadata: Any) -> bool:
        return True

    assert _made(speakers=speaks).speakers is speaks


def test_predictions_may_be_mappings() -> None:
    given = {"state_key": "doc", "tool": "write", "tool_argument": "text"}
    assert _made(predict_state=[given]).predict_state == (Prediction("doc", "write", "text"),)


NO_PREDICTIONS: list[Any] = [
    "doc",
    5,
    {"state_key": "doc", "tool": "write"},
    [{"tool": "write"}],
    [{"state_key": "doc", "tool": "write", "argument": "x"}],
    [{"state_key": 5, "tool": "write"}],
]


@pytest.mark.parametrize("value", NO_PREDICTIONS, ids=repr)
def test_what_is_no_prediction_is_refused(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="predict_state"):
        _made(predict_state=value)


def test_a_name_that_is_no_option_is_refused_with_the_names() -> None:
    with pytest.raises(InvalidOptionError, match="'stat' is not an option") as refused:
        _made(stat="deltas")
    assert all(field.name in str(refused.value) for field in dataclasses.fields(Options))


def test_options_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().steps = False  # type: ignore[misc]


def test_options_that_say_the_same_are_the_same() -> None:
    assert _made(state_exclude=["a"]) == _made(state_exclude={"a"})


def test_the_default_protocol_version_is_ours() -> None:
    assert Options().protocol_version == PROTOCOL_VERSION
