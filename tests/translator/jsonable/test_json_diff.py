"""Patches turn one value into the other, for jsonpatch and for the client, and are never larger than a replacement."""

import copy
import random
from itertools import pairwise
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph_agui.translator.jsonable.json_diff import diff, escape

from tests.support.clients.agui_client import AguiClient
from tests.support.random.examples import examples
from tests.support.random.odd_values import json_values

SETTINGS = settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ITEMS = [{"name": f"item {at}", "value": at} for at in range(2000)]


def canonical(value: Any) -> bytes:
    """Bytes that are equal only for equal JSON."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def got(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    operations = diff(before, after, path)
    assert operations is not None
    return operations


def size(operations: Any) -> int:
    return len(orjson.dumps(operations))


@st.composite
def edited(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value, and the value after some edits somewhere inside."""
    before = draw(st.lists(json_values(), min_size=1, max_size=8) | st.dictionaries(st.text(max_size=2), json_values()))
    after = copy.deepcopy(before)
    for _ in range(draw(st.integers(1, 3))):
        at: Any = after
        while at and draw(st.booleans()):
            inner = at[draw(st.sampled_from(list(at)))] if isinstance(at, dict) else draw(st.sampled_from(at))
            if not isinstance(inner, (dict, list)):
                break
            at = inner
        if isinstance(at, dict):
            at[draw(st.sampled_from([*at, "new"]))] = draw(json_values())
        elif draw(st.booleans()) and at:
            del at[draw(st.integers(0, len(at) - 1))]
        else:
            at.insert(draw(st.integers(0, len(at))), draw(json_values()))
    return before, after


@SETTINGS
@given(edited() | st.tuples(json_values(), json_values()))
def test_a_patch_turns_before_into_after(pair: tuple[Any, Any]) -> None:
    before, after = pair
    document = {"at": copy.deepcopy(before)}
    patched = jsonpatch.apply_patch(document, copy.deepcopy(got(before, after, "/at")))
    assert canonical(patched["at"]) == canonical(after)


@SETTINGS
@given(edited() | st.tuples(json_values(), json_values()))
def test_a_patch_is_never_larger_than_the_replacement(pair: tuple[Any, Any]) -> None:
    before, after = pair
    assert size(got(before, after, "/at")) <= size([{"op": "replace", "path": "/at", "value": after}])


@SETTINGS
@given(edited())
def test_neither_value_is_changed(pair: tuple[Any, Any]) -> None:
    untouched = copy.deepcopy(pair)
    diff(*pair)
    assert canonical(pair) == canonical(untouched)


@SETTINGS
@given(json_values())
def test_equal_values_need_no_patch(value: Any) -> None:
    assert diff(value, copy.deepcopy(value)) == []


def test_the_client_applies_what_is_told(agui_client: AguiClient) -> None:
    values: list[Any] = [{}]

    @settings(max_examples=examples(60), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(edited())
    def collect(pair: tuple[Any, Any]) -> None:
        values.extend(pair)

    collect()
    deltas = [{"type": "STATE_DELTA", "delta": got(before, after)} for before, after in pairwise(values)]
    run = {"threadId": "t", "runId": "r"}
    answer = agui_client.play([{"type": "RUN_STARTED", **run}, *deltas, {"type": "RUN_FINISHED", **run}], trace=True)
    assert answer.accepted
    for seen, value in zip(answer.trace[1:-1], values[1:], strict=True):
        assert canonical(seen["state"]) == canonical(value).replace(b"1.0", b"1")  # one to JavaScript


@pytest.mark.parametrize(
    ("before", "after"),
    [([1], [True]), ({"a": [0]}, {"a": [False]}), (1, 1.0), (None, False), ("1", 1)],
)
def test_what_python_takes_for_equal_is_told(before: Any, after: Any) -> None:
    assert got(before, after) != []


def test_the_order_of_keys_does_not_count() -> None:
    assert diff({"a": 1, "b": [{"c": 1, "d": 2}]}, {"b": [{"d": 2, "c": 1}], "a": 1}) == []


@pytest.mark.parametrize(("key", "escaped"), [("a/b", "a~1b"), ("m~n", "m~0n"), ("~1", "~01"), ("", "")])
def test_keys_are_escaped(key: str, escaped: str) -> None:
    assert escape(key) == escaped
    assert got({key: 1, "x": "x" * 50}, {key: 2, "x": "x" * 50}) == [
        {"op": "replace", "path": f"/{escaped}", "value": 2}
    ]


@pytest.mark.parametrize("path", ["/__proto__", "/a/__proto__/b", "/constructor/prototype"])
def test_a_place_the_client_refuses_has_no_patch(path: str) -> None:
    assert diff(1, 2, path) is None


@pytest.mark.parametrize("keys", [("__proto__",), ("constructor", "prototype")])
def test_a_change_below_such_a_key_replaces_the_level_above(keys: tuple[str, ...]) -> None:
    def value(leaf: int) -> Any:
        inner: Any = leaf
        for key in reversed(keys):
            inner = {key: inner}
        return {"safe": {"more": inner, "rest": "x" * 200}, "beside": "y" * 200}

    (operation,) = got(value(1), value(2))
    assert operation["path"] in ("/safe/more", "/safe/more/constructor")


@pytest.mark.parametrize(
    ("before", "after", "operations", "limit"),
    [
        pytest.param(ITEMS, [*ITEMS, {"name": "new"}], 1, 100, id="append"),
        pytest.param(ITEMS, [{"name": "new"}, *ITEMS], 1, 100, id="insert at the head"),
        pytest.param(ITEMS, [*ITEMS[:999], {"name": "new"}, *ITEMS[999:]], 1, 100, id="insert in the middle"),
        pytest.param(ITEMS, ITEMS[1:], 1, 100, id="delete the head"),
        pytest.param(ITEMS, ITEMS[:900] + ITEMS[903:], 3, 150, id="delete in the middle"),
        pytest.param(ITEMS, [*ITEMS[:-1], ITEMS[-1] | {"value": 0}], 1, 100, id="edit the last"),
        pytest.param(
            [{"id": str(at), "text": "x" * 99, "done": False} for at in range(100)],
            [{"id": str(at), "text": "x" * 99, "done": at == 7} for at in range(100) if at != 50],
            2,
            150,
            id="edit one by id, delete another",
        ),
        pytest.param(
            ITEMS,
            [one | {"value": -1} if at % 100 == 0 else one for at, one in enumerate(ITEMS)],
            20,
            1200,
            id="scattered edits",
        ),
        pytest.param({"a": {"b": ITEMS}}, {"a": {"b": ITEMS, "c": 1}}, 1, 60, id="key deep inside"),
        pytest.param(
            {str(at): "x" * 99 for at in range(300)}, {str(at): "x" * 99 for at in range(301)}, 1, 200, id="file"
        ),
    ],
)
def test_a_small_change_is_a_small_patch(before: Any, after: Any, operations: int, limit: int) -> None:
    patch = got(before, after)
    assert len(patch) == operations
    assert size(patch) < limit


def test_of_many_equal_elements_the_changed_ones_are_told() -> None:
    before = [{"kind": "empty", "text": "x" * 99}] * 200
    after = [*before[:20], {"kind": "full", "text": "x" * 99}, *before[20:150], *before[151:]]
    assert len(got(before, after)) <= 2


@pytest.mark.parametrize("count", [4000, 16000])
def test_the_worst_changes_become_a_replacement_in_linear_time(count: int) -> None:
    numbers = list(range(count))
    shuffled = random.Random(0).sample(numbers, count)
    assert got(numbers, shuffled) == [{"op": "replace", "path": "", "value": shuffled}]


def test_a_leaf_at_the_bottom_of_a_deep_chain_is_replaced_alone() -> None:
    def chain(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(120):
            value = {"next": [value], "here": "x" * 100}
        return value

    (operation,) = got(chain(1), chain(2))
    assert operation["value"] == 2
