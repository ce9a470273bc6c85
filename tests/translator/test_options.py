"""Options are checked when they are made, and a refusal names the choices."""

import ast
import dataclasses
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest
from langgraph_agui.translator import PROTOCOL_VERSION, InvalidOptionError, Options, Prediction, options

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


@pytest.mark.parametrize("name", ["state_include", "state_exclude", "hidden_tools"])
def test_names_may_come_in_any_collection(name: str) -> None:
    for names in (["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab")):
        assert getattr(_made(**{name: names}), name) == frozenset("ab")


@pytest.mark.parametrize("value", ["a name", 5, [1, 2]])
@pytest.mark.parametrize("name", ["state_include", "state_exclude", "hidden_tools"])
def test_one_bare_name_or_no_names_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="a collection of names"):
        _made(**{name: value})


@pytest.mark.parametrize("name", ["state_exclude", "hidden_tools"])
def test_none_is_no_collection_of_names(name: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"option {name}=None: expected a collection of names$"):
        _made(**{name: None})


def test_visibility_is_a_function_or_names_with_their_choice() -> None:
    def choose(metadata: Any) -> Any:
        return None

    names = {"planner": "hide", "*": "stream"}
    for value in (None, choose, names):
        assert _made(visibility=value).visibility == value
        assert hash(_made(visibility=value)) == hash(Options())
    made = _made(visibility=names)
    names["planner"] = "stream"
    assert made.visibility == {"planner": "hide", "*": "stream"}


@pytest.mark.parametrize("value", ["hide", {"planner"}, {"planner": True}, {"planner": ["hide"]}, {1: "hide"}, 5])
def test_any_other_visibility_is_refused_with_the_choices(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="names of nodes and tags, or '\\*', to one of 'stream', 'hide'"):
        _made(visibility=value)


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


@pytest.mark.parametrize("value", [True, "deltas", Options()])
def test_a_value_without_a_name_is_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(InvalidOptionError, match=r"by name, such as Options\(steps=False\), got .+ without a name"):
        Options(value)  # type: ignore[call-arg]


@pytest.mark.parametrize("described", [Options, Prediction])
def test_help_explains_every_field(described: Any) -> None:
    page = pydoc.plain(pydoc.render_doc(described))
    for field in dataclasses.fields(described):
        default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
        line = re.escape(f"|  {field.name}: {field.type}{default}\n") + r" \|      \S.{10,}"
        assert re.search(line, page), field.name


def test_the_signature_names_every_option() -> None:
    named = inspect.signature(Options).parameters
    assert list(named) == [field.name for field in dataclasses.fields(Options)]
    assert {parameter.kind for parameter in named.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_no_alias_of_a_mode_has_the_name_of_a_class() -> None:
    sources = Path(options.__file__).parent.rglob("*.py")
    trees = [ast.walk(ast.parse(source.read_text(encoding="utf-8"))) for source in sources]
    classes = {node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef)}
    assert {name for name, value in vars(options).items() if get_origin(value) is Literal} & classes == set()


def test_options_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().steps = False  # type: ignore[misc]


def test_options_that_say_the_same_are_the_same() -> None:
    assert _made(state_exclude=["a"]) == _made(state_exclude={"a"})


def test_the_default_protocol_version_is_ours() -> None:
    assert Options().protocol_version == PROTOCOL_VERSION
