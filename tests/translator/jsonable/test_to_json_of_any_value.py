"""Whatever a value is: it becomes JSON, without an error, and the same JSON on both ways there."""

import json
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import lists
from langgraph_agui.translator.jsonable.to_json import MAX_DEPTH, freeze, to_json, to_json_each, to_text
from langgraph_agui.translator.wire.sse import encode

from tests.support.random.examples import examples
from tests.support.random.odd_values import values

SETTINGS = settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(values())
def test_any_value_becomes_json(value: Any) -> None:
    frozen = freeze(value)
    assert orjson.loads(frozen.data) == frozen.json
    assert orjson.dumps(frozen.json) == frozen.data


@SETTINGS
@given(values())
def test_what_is_frozen_again_is_the_same(value: Any) -> None:
    assert freeze(value) == freeze(value)
    assert freeze(to_json(value)) == freeze(value)


@SETTINGS
@given(values())
def test_the_walk_in_python_gives_what_orjson_gives(value: Any) -> None:
    beside_an_odd_key = {1: 0, "value": [[[value]]]}
    assert freeze(beside_an_odd_key).data == b'{"1":0,"value":[[[' + freeze(value).data + b"]]]}"


@SETTINGS
@given(values())
def test_a_frame_is_one_line_of_json(value: Any) -> None:
    frame = encode({"type": "CUSTOM", "name": "n", "value": value})
    assert frame.startswith(b"data: ")
    assert frame.index(b"\n") == len(frame) - 2
    json.loads(frame[6:])


@SETTINGS
@given(values())
def test_any_value_has_a_text(value: Any) -> None:
    to_text(value).encode()


@SETTINGS
@given(lists(values(), max_size=4))
def test_many_values_at_once_are_what_each_is(several: list[Any]) -> None:
    assert to_json_each(several) == [to_json(value) for value in several]


def test_many_deep_values_at_once_are_what_each_is() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    for value in (deep, [deep]):
        assert to_json_each([value, {}]) == [to_json(value), {}]
