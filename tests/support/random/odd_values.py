"""Arbitrary Python values, JSON and not, as hypothesis strategies.

Here: `values()` (anything), `json_values()` (what is JSON already, with neighbours that `==` confuses). Never here:
tests.
"""

import datetime as dt
import decimal
import enum
import uuid
from collections import ChainMap, OrderedDict, UserDict, UserList, UserString, deque
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import attrs
import numpy as np
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, ConfigDict, RootModel, SecretStr


class Colour(enum.Enum):
    RED = "red"
    NOTHING = float("nan")
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1
    HUGE = 2**60


class Word(str):
    __slots__ = ()


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Record:
    name: Any
    _private: int = 0


@dataclass(slots=True, frozen=True)
class Slotted:
    inner: Any


@attrs.define
class Described:
    inner: Any


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    inner: Any


class Root(RootModel[Any]):
    pass


class Raises:
    """Raises at every look, except at its class."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        return "Raises()"


class RaisesInside(UserDict[str, Any]):
    def items(self) -> Any:
        raise KeyError("no")


def _raises(name: str) -> Any:
    def raising(self: Any, *_: Any) -> Any:
        raise RuntimeError(name)

    return raising


def refusals() -> list[Any]:
    """New values that raise at one look each: where they are hashed, counted, compared, iterated, shown, or asked what
    they are; plain objects, and mappings, lists, texts and numbers that are subclasses."""
    looks = ("__len__", "__bool__", "__eq__", "__hash__", "__iter__", "__str__", "__repr__", "__getitem__", "get")
    body: dict[str, Any]
    refused: list[Any] = []
    for look in (*looks, "__contains__", "items", "keys", "__class__"):
        raising = _raises(look)
        body = {look: property(raising) if look == "__class__" else raising}
        if look == "__eq__":
            body["__hash__"] = object.__hash__
        if look not in ("__repr__", "__str__"):
            body["__repr__"] = lambda _, look=look: f"<raises at {look}>"
        name = f"Raises{look}"
        refused.append(type(name, (), body)())
        refused += [type(name, (kind,), body)(of) for kind, of in ((UserDict, {"a": 1}), (dict, {"a": 1}))]
        refused += [type(name, (kind,), body)(of) for kind, of in ((list, [1]), (str, "odd"), (int, 1), (tuple, (1,)))]
    return refused


class Endless:
    """Always offers another object to ask."""

    def model_dump(self) -> Any:
        return Endless()


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**53, -(2**53), 2**63, 2**64, 0, 1]),
    st.builds(lambda: 10**5000),
    st.floats(),
    st.text(st.characters(codec=None), max_size=5),
    st.sampled_from(["\ud800", "\udc00x", "\ud83d\ude00", "a\ud800b", "__proto__", "\0", "\u2028"]),
    st.binary(max_size=4),
    st.sampled_from([*Colour, *Level, Word("word"), Word("\ud800")]),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.sampled_from([decimal.Decimal("1e400"), decimal.Decimal("NaN"), decimal.Decimal(2**60)]),
    st.uuids(),
    st.complex_numbers(),
    st.sampled_from([uuid.UUID(int=1), PurePosixPath("/a"), dt.UTC, range(3), UserString("abc"), ..., SecretStr("s")]),
    st.builds(np.float32, st.floats(width=32)),
    st.sampled_from([np.int64(5), np.bool_(True), np.datetime64("2020-01-01"), np.longdouble(1.5), np.str_("s")]),
)
_hashable = st.recursive(
    _scalars, lambda inner: st.one_of(st.tuples(inner), st.frozensets(inner, max_size=2)), max_leaves=3
)
_objects = st.one_of(
    st.builds(lambda: Raises()),  # hypothesis looks at what it samples from, and at classes it builds
    st.builds(lambda: RaisesInside()),
    st.integers(0, len(refusals()) - 1).map(lambda at: refusals()[at]),
    st.builds(lambda: (x for x in "ab")),
    st.sampled_from([Endless(), decimal.Decimal("sNaN"), object(), len, Colour, ValueError("bad"), dt, list[int]]),
)


def _array(elements: list[Any]) -> Any:
    array = np.empty(len(elements), dtype=object)
    for at, element in enumerate(elements):
        array[at] = element
    return array


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    named = st.dictionaries(st.text(max_size=2), inner, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(deque),
        lists.map(UserList),
        st.lists(_hashable, max_size=3).map(_array),
        named,
        st.dictionaries(_hashable, inner, max_size=4),
        named.map(OrderedDict),
        named.map(UserDict),
        named.map(MappingProxyType),
        named.map(ChainMap),
        named.map(lambda one: one.values()),
        st.sets(_hashable, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Record, inner),
        st.builds(Slotted, inner),
        st.builds(Described, inner),
        st.builds(lambda one: Model(inner=one), inner),
        st.builds(lambda one: Root(one), inner),
        st.builds(Overwrite, inner),
        st.builds(lambda one: Send("node", one), inner),
        st.builds(lambda one: Command(update=one), inner),
        st.builds(lambda one: Interrupt(one, id="i"), inner),
        st.builds(lambda one: AIMessage("hi", id="1", additional_kwargs={"one": one}), inner),
        st.builds(lambda one: [HumanMessage("hi"), one], inner),
    )


def values() -> st.SearchStrategy[Any]:
    """Any value a state, a message or a payload may hold."""
    return st.recursive(_scalars | _objects, _around, max_leaves=8)


_json_scalars = st.sampled_from([None, True, False, 0, 1, 2, 1.0, 0.5, "", "a", "x" * 40, "é"])
_json_keys = st.sampled_from(["a", "b", "id", "", "/", "~", "~1", "0", "-", "__proto__", "constructor", "prototype"])


def json_values() -> st.SearchStrategy[Any]:
    """Plain values over few keys and scalars, so that two of them have much in common."""
    return st.recursive(
        _json_scalars,
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(_json_keys, inner, max_size=5),
        max_leaves=25,
    )
