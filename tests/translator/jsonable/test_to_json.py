"""What each Python value becomes as JSON, and what becomes of keys, depth and cycles."""

import datetime as dt
import decimal
import enum
import re
import uuid
from collections import UserList, UserString, deque
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
from langchain_core.messages import AIMessage
from langgraph.types import Interrupt, Send
from langgraph_agui.translator.jsonable.to_json import MAX_DEPTH, freeze, to_json, to_text
from pydantic import BaseModel, SecretStr, field_serializer

from tests.support.random.odd_values import Colour, Described, Endless, Level, Point, Raises, RaisesInside, Record, Word

NAN = float("nan")


def _function() -> None: ...


class Stubborn(BaseModel):
    inner: int

    @field_serializer("inner")
    def _no(self, _: int) -> int:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NAN, None),
        (float("-inf"), None),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (10**5000, hex(10**5000)),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud800", "a\ufffd"),
        (Word("w"), "w"),
        (Level.HUGE, str(2**60)),
        (Colour.PAIR, [1, 2]),
        (Colour.NOTHING, None),
        ((1, (2,)), [1, [2]]),
        (deque([1]), [1]),
        (UserList([1]), [1]),
        (UserString("abc"), "abc"),
        ({3, 1, "a", 2}, ["a", 1, 2, 3]),
        (frozenset({(2,), (1,)}), [[1], [2]]),
        ({1: 2}.items(), [[1, 2]]),
        (range(3), [0, 1, 2]),
        (b"\xff\x00", "/wA="),
        (bytearray(b"ab"), "YWI="),
        (memoryview(b"ab"), "YWI="),
        (dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), "2026-01-02T03:00:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1), 60.0),
        (decimal.Decimal("1.50"), 1.5),
        (decimal.Decimal("12"), 12),
        (decimal.Decimal("1e400"), "1E+400"),
        (decimal.Decimal("NaN"), None),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (dt.UTC, "UTC"),
        (re.compile("a+"), "a+"),
        (1j, "1j"),
        (Point(1, {2}), {"x": 1, "y": [2]}),
        (Record("n"), {"name": "n"}),
        (Described([1]), {"inner": [1]}),
        (Send("node", {"a": 1}), {"node": "node", "args": {"a": 1}}),
        (Interrupt("v", id="i"), {"value": "v", "id": "i", "response_schema": None}),
        (ValueError("bad"), {"error": "ValueError", "message": "bad"}),
        (np.float32(0.5), 0.5),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array([{1}], dtype=object), [[1]]),
        (dict, "<type>"),
        (_function, "<function>"),
        (enum, "<module>"),
        (object(), "<object>"),
        (SecretStr("secret"), "<pydantic.types.SecretStr>"),
        (Raises(), "<tests.support.random.odd_values.Raises: cannot be read>"),
        (RaisesInside(), "<tests.support.random.odd_values.RaisesInside: cannot be read>"),
        (Endless(), "<tests.support.random.odd_values.Endless: cannot be read>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_becomes(value: Any, expected: Any) -> None:
    assert orjson.dumps(to_json(value)) == orjson.dumps(expected)


def test_a_message_becomes_what_the_platform_sends() -> None:
    message = AIMessage("hi", id="m", response_metadata={"at": dt.date(2026, 1, 2)})
    assert to_json(message) == {**message.model_dump(), "response_metadata": {"at": "2026-01-02"}}


def test_a_model_that_cannot_be_dumped_becomes_its_attributes() -> None:
    assert to_json(Stubborn(inner=1)) == {"inner": 1}


def test_an_iterator_is_not_consumed() -> None:
    iterator = iter([1, 2])
    to_json(iterator)
    assert list(iterator) == [1, 2]


def test_attributes_of_an_unknown_object_do_not_leave() -> None:
    assert to_json(SimpleNamespace(password="p")) == "<types.SimpleNamespace>"


def test_keys_become_text() -> None:
    keys = {True: 1, None: 2, 1.5: 3, (1, "a"): 4, b"x": 5, Colour.RED: 6, "\ud800": 7, dt.date(2026, 1, 2): 8, 2: 9}
    assert list(to_json(keys)) == ["true", "null", "1.5", '[1,"a"]', "eA==", "red", "\ufffd", "2026-01-02", "2"]


def test_the_last_of_keys_that_become_the_same_counts_and_a_line_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert to_json({1: "int", "1": "str", Word("2"): "word", 2: "int"}) == {"1": "str", "2": "int"}
    assert caplog.messages == ["Several keys of an object become the same text, so only the last value is kept."]


def test_a_key_named_proto_stays() -> None:
    assert to_json({"__proto__": {1: 2}}) == {"__proto__": {"1": 2}}


def test_a_cycle_is_marked_and_what_is_only_shared_is_not() -> None:
    shared = [1]
    cyclic: dict[str, Any] = {"a": shared, "b": shared}
    cyclic["self"] = [cyclic]
    assert to_json(cyclic) == {"a": [1], "b": [1], "self": ["<cycle>"]}


def test_a_cycle_through_an_object_is_marked() -> None:
    record = Record(None)
    record.name = {"back": record}
    assert to_json({"record": record}) == {"record": {"name": {"back": "<cycle>"}}}


def _nested(depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize("inner", [1, "\ud800", Record(1)], ids=["json", "walked", "object"])
def test_nesting_ends_at_max_depth(inner: Any) -> None:
    depth = MAX_DEPTH - isinstance(inner, Record)
    assert b"deep" not in freeze(_nested(depth, inner)).data
    assert b"deep" in freeze(_nested(depth + 1, inner)).data


def test_nesting_a_thousand_deep_stays_readable() -> None:
    assert orjson.loads(freeze(_nested(1000)).data) == _nested(MAX_DEPTH, "<too deep>")


def test_the_plain_value_shares_nothing_with_the_value() -> None:
    value = {"a": [1]}
    frozen = freeze(value)
    value["a"].append(2)
    assert frozen.json == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "a"), ("é", "é"), ("\ud83d\ude00", "\U0001f600"), ("\udfff", "\ufffd"), (1, "1"), ({"a": 1}, '{"a":1}')],
)
def test_text_can_be_written_as_utf8(value: Any, expected: str) -> None:
    assert to_text(value) == expected
