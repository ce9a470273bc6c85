"""Options are checked when they are made, and a refusal names the choices."""

import ast
import dataclasses
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest
from langgraph_agui.translator import PROTOCOL_VERSION, ClientView, Options, Prediction, Translator, options
from pydantic import ValidationError

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in CHOICES for value in ("other", 1, True, ["deltas"])),
        *((name, None) for name in CHOICES if name not in ("interrupts", "subagents")),
    ],
)
def test_any_other_choice_is_refused_with_the_choices(name: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=f"^1 validation error for Options\n{name}\n") as refused:
        _made(**{name: value})
    assert all(repr(choice) in str(refused.value) for choice in CHOICES[name])


SWITCHES = ["steps", "reasoning", "tool_results", "raw_events"]
NAMES = ["state_include", "state_exclude", "hidden_tools"]
NO_PREDICTIONS: list[Any] = [
    "doc",
    5,
    {"state_key": "doc", "tool": "write"},
    [{"tool": "write"}],
    [{"state_key": "doc", "tool": "write", "argument": "x"}],
    [{"state_key": 5, "tool": "write"}],
]
WRONG: list[tuple[str, Any]] = [
    *((name, value) for name in SWITCHES for value in ("yes", 1, None)),
    *(("result_limit", value) for value in (-1, 1.5, "50", True)),
    *(("messages_key", value) for value in ("", None, 5)),
    *(("protocol_version", value) for value in ("", 1.0, False)),
    *((name, value) for name in NAMES for value in ("a name", 5, [1, 2])),
    *((name, None) for name in NAMES[1:]),
    *(("visibility", value) for value in ("hide", {"planner"}, {"a": True}, {"a": ["hide"]}, {1: "hide"}, 5)),
    *(("predict_state", value) for value in NO_PREDICTIONS),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=repr)
def test_a_value_of_the_wrong_type_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=f"validation errors? for Options\n{name}[.\n]"):
        _made(**{name: value})


@pytest.mark.parametrize("value", [0, 10, None])
def test_the_size_limit_may_be_zero_or_none(value: Any) -> None:
    assert _made(result_limit=value).result_limit == value


@pytest.mark.parametrize("name", NAMES)
def test_names_may_come_in_any_collection(name: str) -> None:
    for names in (["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}.keys()):
        assert getattr(_made(**{name: names}), name) == frozenset("ab")


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


def test_predictions_may_be_mappings() -> None:
    given = {"state_key": "doc", "tool": "write", "tool_argument": "text"}
    assert _made(predict_state=[given]).predict_state == (Prediction("doc", "write", "text"),)


def test_an_unknown_name_and_a_value_without_a_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="stat\n  Unexpected keyword argument"):
        _made(stat="deltas")
    with pytest.raises(ValidationError, match="Unexpected positional argument"):
        Options(True)  # type: ignore[arg-type, call-arg]


@pytest.mark.parametrize("described", [Options, Prediction])
def test_help_explains_every_field(described: Any) -> None:
    page = pydoc.plain(pydoc.render_doc(described))
    for field in dataclasses.fields(described):
        assert re.search(rf"\|  `{field.name}`: \S.{{10,}}", page), field.name


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


def test_a_channel_called_messages_is_state_where_another_has_the_conversation() -> None:
    assert Options(messages_key="chat").shows_channel("messages")
    assert not Options(messages_key="chat").shows_channel("chat")
    assert not Options(messages_key="chat", state_exclude={"messages"}).shows_channel("messages")  # type: ignore[arg-type]


def test_a_view_of_a_newer_client_than_the_options_are_for_is_refused() -> None:
    with pytest.raises(ValueError, match=r"declares '1\.0': give both the same version"):
        Translator("t", "r", Options(protocol_version=None), ClientView([], {}))
    Translator("t", "r", Options(protocol_version=None), ClientView([], {}, version=None))
